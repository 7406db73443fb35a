"""Where the time of training goes: steps, validations, and everything else of the loop.

    python benchmarks/training.py [EPOCHS]

Trains on a graph of the size of Cora (2,708 nodes, 5,278 edges, 1,433 sparse features) with a
display and checkpoints, as `hgcn train` does, and prints the share of each part.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from hgcn.commands._display import TrainingDisplay
from hgcn.data import Graph
from hgcn.data.sparse import csr_matrix
from hgcn.names import TASKS
from hgcn.runs.checkpoint import Checkpoint
from hgcn.runs.fit import fit

NODES, EDGES, FEATURES, WORDS, CLASSES = 2708, 5278, 1433, 18, 7


def cora_sized(seed: int = 0) -> Graph:
    random = np.random.default_rng(seed)
    ends = np.unique(np.sort(random.integers(NODES, size=(EDGES, 2)), axis=1), axis=0)
    edges = torch.from_numpy(ends[ends[:, 0] != ends[:, 1]].T.copy())
    column = np.sort(np.stack([random.choice(FEATURES, WORDS, False) for _ in range(NODES)]))
    x = csr_matrix(
        torch.arange(0, NODES * WORDS + 1, WORDS),
        torch.from_numpy(column.ravel()),
        torch.ones(NODES * WORDS),
        (NODES, FEATURES),
    )
    y = torch.from_numpy(random.integers(CLASSES, size=NODES))
    return Graph(torch.cat((edges, edges.flip(0)), dim=1), NODES, x=x, y=y)


class Clock:
    """Seconds spent inside functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent = time.perf_counter() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + spent

        return wrapper


def measure(graph: Graph, task: str, epochs: int) -> None:
    training = import_module("hgcn.training.loop")
    fitting = import_module("hgcn.runs.fit")
    kind, clock, display = TASKS[task], Clock(), TrainingDisplay()
    with ExitStack() as stack:

        def patch(owner: Any, name: str, label: str) -> None:
            wrapped = clock.timed(label, getattr(owner, name))
            stack.enter_context(mock.patch.object(owner, name, wrapped))

        patch(training, "_step", "steps")
        patch(kind, "outputs", "forward passes of validation")
        loop = clock.timed("all", training._train)
        inside: dict[str, float] = {}

        def train(*arguments: Any) -> Any:
            state = loop(*arguments)
            inside.update(clock.seconds)  # the evaluation after training is not part of the loop
            return state

        stack.enter_context(mock.patch.object(training, "_train", train))
        patch(Checkpoint, "store", "checkpoints")
        stack.enter_context(mock.patch.object(fitting, "_draw"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(display)
        update = clock.timed("display", display.update)
        fit(graph, task=task, epochs=epochs, patience=epochs, out=folder / "run", on_epoch=update)
    total = inside["all"]
    model = inside["steps"] + inside["forward passes of validation"]
    print(f"{task}: {1000 * total / epochs:.2f} ms an epoch")
    for name in ("steps", "forward passes of validation", "display", "checkpoints"):
        print(f"  {name:<30} {100 * inside.get(name, 0.0) / total:5.1f} %")
    print(f"  {'everything but the network':<30} {100 * (total - model) / total:5.1f} %")


def main() -> None:
    torch.set_num_threads(1)
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    graph = cora_sized()
    fit(graph, task="link", epochs=2)  # compiles the kernels
    for task in ("link", "node"):
        measure(graph, task, epochs)


if __name__ == "__main__":
    main()
