"""What a graph of any size costs: a step in full batch, layer-wise inference, mini-batches, memory.

    python benchmarks/scale.py --edges 1e6 4e6      # measure these sizes, and print all so far
    python benchmarks/scale.py --parts full --edges 16e6
    python benchmarks/scale.py --edges              # print only

Scale-free graphs of 10 directed edges a node, 64 features, HGCN of two layers and 16 dimensions,
one thread. Each part of each size has a process of its own, and its result goes to a file, so that
the whole can be measured bit by bit. Times are of the processor, the fastest of some turns, and
each part takes turns with one product of a CSR matrix of the same graph and 16 columns: the ratio
of the two depends less on what else the machine does. Memory is what comes on top of the graph. A
cost model, so many seconds and bytes for each edge, is fitted on the first two sizes and compared
with the others.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _graphs import scale_free
from _measure import _peak, _reset_peak, clock, set_threads

from hgcn import kernels
from hgcn.config import Config
from hgcn.cores import worker_pool
from hgcn.data import Graph
from hgcn.inference.layerwise import each_layer
from hgcn.training.problem import Problem, choose
from hgcn.training.task import Task

DEGREE, FEATURES, CLASSES, DIM, TURNS = 10, 64, 8, 16, 4
WARM_UP = 20_000
"""Edges of a graph on which everything is compiled before anything counts."""
NAMES = {
    "full": "full batch, step",
    "inference": "layer-wise inference",
    "mini": "mini-batch 1024, fan-out 15,10, step",
    "local": "`local_sum`, forward",
    "local_backward": "`local_sum`, backward",
    "centroid": "centroid layer, step",
    "frechet": "Fréchet layer, step",
    "local_layer": "local layer, step",
}
STORE = Path(__file__).with_name("scale.json")

Call = Callable[[], Any]


def make_graph(edges: int) -> Graph:
    made = scale_free(edges // DEGREE, features=FEATURES, degree=DEGREE, classes=CLASSES)
    return Graph(made.edge_index, len(made.x), x=made.x, y=made.y)


def network(graph: Graph, batch_size: int) -> Task:
    sizes = {"batch_size": batch_size, "fanout": "15,10" if batch_size else None}
    config = Config(task="node", val_share=0.1, test_share=0.1, normalise="none", **sizes)
    problem = Problem(graph, choose(graph, config))
    return problem.task(problem.predictor())


def training(graph: Graph, batch_size: int) -> dict[str, Call]:
    """A function that makes a step of training."""
    task = network(graph, batch_size)
    optimizer = task.predictor.encoder.make_optimizer(0.01)
    generator = torch.Generator().manual_seed(0)
    epochs = itertools.chain.from_iterable(task.batches(e, generator) for e in itertools.count(1))

    def step() -> None:
        optimizer.zero_grad()
        torch.autograd.backward(task.loss(next(epochs)))
        optimizer.step()

    return {"mini" if batch_size else "full": step}


def inference(graph: Graph) -> dict[str, Call]:
    """A function that embeds all nodes, layer by layer."""
    task = network(graph, 1024)
    seen = task._parts["train"].seen  # type: ignore[attr-defined]
    encoder, given = task.predictor.eval().encoder, (task.device, task.dtype)
    return {"inference": lambda: deque(each_layer(encoder, seen.x, seen.rows, *given), maxlen=1)}


def operations(graph: Graph) -> dict[str, Call]:
    """Functions of the local aggregation alone, and of one layer of each aggregation."""
    from hgcn.nn import HGCNConv

    n = graph.num_nodes
    v = (torch.randn(n, DIM, generator=torch.Generator().manual_seed(0)) / 4).requires_grad_()
    rows = kernels.neighbourhoods(
        graph.edge_index, num_sources=n, num_targets=n, add_self_loops=True
    )
    weight, c = rows.shares(torch.float32).clone().requires_grad_(), torch.tensor(1.0)
    out = kernels.local_sum(v, v, weight, c, rows)
    gradient = torch.ones_like(out)

    def layer(aggregation: str) -> Call:
        conv = HGCNConv(DIM, DIM, aggregation=aggregation, attention=False)
        return lambda: conv(v, graph.edge_index).sum().backward()

    return {
        "local": lambda: kernels.local_sum(v.detach(), v.detach(), weight, c, rows),
        "local_backward": lambda: torch.autograd.grad(
            out, (v, weight), gradient, retain_graph=True
        ),
        "local_layer": layer("local"),
        "centroid": layer("centroid"),
        "frechet": layer("frechet"),
    }


PARTS: dict[str, Callable[[Graph], dict[str, Call]]] = {
    "full": lambda graph: training(graph, 0),
    "mini": lambda graph: training(graph, 1024),
    "inference": inference,
    "operations": operations,
}


def product(graph: Graph) -> Call:
    """One product of the adjacency matrix, self-loops included, and 16 columns."""
    n = graph.num_nodes
    loops = torch.arange(n).expand(2, -1)
    target, source = torch.cat((graph.edge_index, loops), dim=1).flip(0)
    entries = torch.sparse_coo_tensor(torch.stack((target, source)), torch.ones(len(source)))
    matrix, x = entries.to_sparse_csr(), torch.randn(n, DIM)
    return lambda: matrix @ x


def measure(part: str, edges: int) -> dict[str, Any]:
    """Seconds and peak bytes of a part, at one size."""
    set_threads(1)
    for call in PARTS[part](make_graph(WARM_UP)).values():
        call()
    graph = make_graph(edges)
    before = _reset_peak()
    calls = PARTS[part](graph)
    for call in calls.values():
        call()
    found: dict[str, Any] = {"edges": graph.edge_index.shape[1], "peak": _peak() - before}
    calls["product"] = product(graph)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            began = clock()
            call()
            times[name].append(clock() - began)
    return found | {"seconds": {name: min(values) for name, values in times.items()}}


def table(results: dict[str, dict[str, Any]]) -> str:
    """All that was measured: ns an edge, ratios to a sparse product, bytes an edge."""
    lines = ["| what | directed edges | ns an edge | / sparse product | B an edge |"]
    lines.append("|---|--:|--:|--:|--:|")
    for found in sorted(results.values(), key=lambda row: (row["part"], row["edges"])):
        edges, seconds = found["edges"], dict(found["seconds"])
        base = seconds.pop("product")
        for name, value in seconds.items():
            alone = "" if len(seconds) > 1 else f"{found['peak'] / edges:.0f}"
            lines.append(
                f"| {NAMES[name]} | {edges:,} | {1e9 * value / edges:.1f} | "
                f"{value / base:.2f} | {alone} |"
            )
    return "\n".join(lines)


def model(results: dict[str, dict[str, Any]]) -> str:
    """Measured over modelled, where the model is fitted on the first two sizes of each part."""
    lines = []
    for part in ("full", "inference"):
        rows = sorted(
            (row for row in results.values() if row["part"] == part), key=lambda row: row["edges"]
        )
        if len(rows) < 3:
            continue
        kinds: dict[str, Callable[[Any], float]] = {
            "seconds": lambda row, part=part: row["seconds"][part],  # type: ignore[misc]
            "seconds, by products": lambda row, part=part: (  # type: ignore[misc]
                row["edges"] * row["seconds"][part] / row["seconds"]["product"]
            ),
            "bytes": lambda row: row["peak"],
        }
        for kind, value in kinds.items():
            per_edge = sum(map(value, rows[:2])) / sum(row["edges"] for row in rows[:2])
            shown = ", ".join(
                f"{row['edges']:,}: {value(row) / (per_edge * row['edges']):.2f}"
                for row in rows[2:]
            )
            lines.append(f"{NAMES[part]}, {kind}, measured / model: {shown}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=float, nargs="*", default=[1e6, 2e6, 4e6, 8e6, 16e6])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--store", type=Path, default=STORE)
    given = parser.parse_args()
    results = json.loads(given.store.read_text()) if given.store.exists() else {}
    for edges, part in itertools.product(map(int, given.edges), given.parts):
        with worker_pool(1) as pool:
            found = pool.submit(measure, part, edges).result()
        results[f"{part} {edges}"] = found | {"part": part}
        given.store.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{part}, {edges:,} edges: measured", flush=True)
    print(table(results))
    print(model(results))


if __name__ == "__main__":
    main()
