"""What a graph of any size costs: a step in full batch, layer-wise inference, mini-batches, memory.

    python benchmarks/scale.py                      # 1M to 16M directed edges
    python benchmarks/scale.py --edges 1e5 2e5 4e5  # smaller ones

Scale-free graphs of 10 directed edges a node, 64 features, HGCN of two layers and 16 dimensions,
one thread. Each size has a process of its own. A cost model, so many seconds and bytes for each
edge, is fitted on the first two sizes and compared with the others.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import deque
from typing import Any

import torch
from _graphs import scale_free
from _measure import _peak, _reset_peak, clock, set_threads

from hgcn.config import Config
from hgcn.cores import worker_pool
from hgcn.data import Graph
from hgcn.inference.layerwise import each_layer
from hgcn.training.problem import Problem, choose
from hgcn.training.task import Task

DEGREE, FEATURES, CLASSES, STEPS = 10, 64, 8, 3
NAMES = {
    "full": "full batch, step",
    "inference": "layer-wise inference",
    "mini": "mini-batch 1024, fan-out 15,10, step",
}


def network(graph: Graph, batch_size: int) -> Task:
    sizes = {"batch_size": batch_size, "fanout": "15,10" if batch_size else None}
    config = Config(task="node", val_share=0.1, test_share=0.1, normalise="none", **sizes)
    problem = Problem(graph, choose(graph, config))
    return problem.task(problem.predictor())


def steps(task: Task) -> float:
    """Seconds of a step of training, the fastest of some, after one that does not count."""
    optimizer = task.predictor.encoder.make_optimizer(0.01)
    generator, found = torch.Generator().manual_seed(0), []
    epochs = itertools.chain.from_iterable(task.batches(e, generator) for e in itertools.count(1))
    for _ in range(STEPS + 1):
        began = clock()
        optimizer.zero_grad()
        torch.autograd.backward(task.loss(next(epochs)))
        optimizer.step()
        found.append(clock() - began)
    return min(found[1:])


def measure(edges: int) -> dict[str, Any]:
    """Seconds and peak bytes of each way, at one size."""
    set_threads(1)
    made = scale_free(edges // DEGREE, features=FEATURES, degree=DEGREE, classes=CLASSES)
    graph = Graph(made.edge_index, len(made.x), x=made.x, y=made.y)
    found: dict[str, Any] = {"nodes": graph.num_nodes, "edges": graph.edge_index.shape[1]}
    for name, size in (("full", 0), ("mini", 1024)):
        before = _reset_peak()
        task = network(graph, size)
        found[name] = steps(task), _peak() - before
        if name == "mini":
            seen = task._parts["train"].seen  # type: ignore[attr-defined]
            encoder, given = task.predictor.eval().encoder, (task.device, task.dtype)
            for _ in range(2):  # the first one compiles
                before, began = _reset_peak(), clock()
                deque(each_layer(encoder, seen.x, seen.rows, *given), maxlen=1)
            found["inference"] = clock() - began, _peak() - before
        del task
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=float, nargs="+", default=[1e6, 2e6, 4e6, 8e6, 16e6])
    given = parser.parse_args()
    rows = []
    for edges in given.edges:
        with worker_pool(1) as pool:
            rows.append(pool.submit(measure, int(edges)).result())
        print(f"{int(edges):,} edges measured at {time.strftime('%H:%M')}", flush=True)
    print(
        "\n| directed edges | "
        + " | ".join(f"{name}: ns an edge | B an edge" for name in NAMES.values())
        + " |"
    )
    print("|--:|" + "--:|--:|" * len(NAMES))
    for row in rows:
        cells = []
        for name in NAMES:
            seconds, peak = row[name]
            cells.append(f"{1e9 * seconds / row['edges']:.0f} | {peak / row['edges']:.0f}")
        print(f"| {row['edges']:,} | " + " | ".join(cells) + " |")
    if len(rows) > 2:
        print("\nmeasured / model, fitted on the first two sizes:")
        for name in ("full", "inference"):
            for kind, unit in enumerate(("seconds", "bytes")):
                per_edge = sum(row[name][kind] for row in rows[:2]) / sum(
                    r["edges"] for r in rows[:2]
                )
                ratios = [row[name][kind] / (per_edge * row["edges"]) for row in rows[2:]]
                print(f"  {NAMES[name]}, {unit}: " + ", ".join(f"{ratio:.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
