"""Small graphs and short trainings for the tests of runs."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hgcn.data import Graph
from hgcn.runs.fit import fit
from hgcn.runs.run import Run

QUICK: dict[str, Any] = {"epochs": 6, "eval_every": 2, "dim": 3}


def tree(nodes: int = 90, *, seed: int = 0, features: int = 4, **fields: Any) -> Graph:
    """A random tree; its classes are the sides of the root's first child, seen in the features."""
    generator = torch.Generator().manual_seed(seed)
    child = torch.arange(1, nodes)
    parent = (torch.rand(nodes - 1, generator=generator) * child).long()
    y = torch.zeros(nodes, dtype=torch.int64)
    for node in range(1, nodes):
        y[node] = 1 if node == 1 else y[parent[node - 1]]
    x = torch.randn(nodes, features, generator=generator)
    x[:, 0] += 2 * y
    edges = torch.stack((parent, child))
    known: dict[str, Any] = {
        "x": x,
        "y": y,
        "ids": np.array([f"n{i}" for i in range(nodes)]),
        "class_names": ("left", "right"),
    }
    return Graph(torch.cat((edges, edges.flip(0)), dim=1), nodes, **{**known, **fields})


def forest(sizes: tuple[int, ...] = (40, 30, 35, 45), **fields: Any) -> Graph:
    """Several trees as one graph with graph ids."""
    parts = [tree(size, seed=seed) for seed, size in enumerate(sizes)]
    start = np.cumsum((0, *sizes))
    edges = [part.edge_index + int(at) for part, at in zip(parts, start[:-1], strict=True)]
    known: dict[str, Any] = {
        "x": torch.cat([part.x for part in parts if part.x is not None]),
        "y": torch.cat([part.y for part in parts if part.y is not None]),
        "graph_ids": torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)),
        "class_names": ("left", "right"),
    }
    return Graph(torch.cat(edges, dim=1), int(start[-1]), **{**known, **fields})


def quick_run(task: str = "link", graph: Graph | None = None, **settings: Any) -> Run:
    return fit(tree() if graph is None else graph, task=task, **{**QUICK, **settings})


def write_files(folder: Path, graph: Graph) -> tuple[str, str]:
    """The graph as an edge list and a table of nodes; their paths."""
    names = graph.ids.astype(str)
    edges = [f"{names[i]},{names[j]}" for i, j in graph.pairs().T.tolist()]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    assert graph.x is not None
    assert graph.y is not None
    columns = [f"f{k}" for k in range(graph.num_features)]
    rows = [
        ",".join([name, *(repr(value) for value in row), f"side{label}"])
        for name, row, label in zip(names, graph.x.tolist(), graph.y.tolist(), strict=True)
    ]
    (folder / "nodes.csv").write_text("\n".join([",".join(["id", *columns, "side"]), *rows]) + "\n")
    return str(folder / "edges.csv"), str(folder / "nodes.csv")


def same_weights(one: Run, two: Run) -> bool:
    first, second = one.predictor.state_dict(), two.predictor.state_dict()
    return list(first) == list(second) and all(torch.equal(first[k], second[k]) for k in first)


def touch_pages(run, folder):
    """In place of drawing the pages of a run, which takes longer than its training."""
    for name in ("disk.html", "report.html"):
        (folder / name).touch()
