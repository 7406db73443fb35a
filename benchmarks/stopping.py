"""When to stop training for classes of nodes, measured without the test part.

    python benchmarks/stopping.py cora --models hgcn gcn

The preset of each network is trained for 600 epochs. Then the validation nodes are halved at
random: the epoch is chosen on one half, by different rules, and its accuracy is that on the other.
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional

from hgcn.config import Config
from hgcn.data import Graph, load
from hgcn.runs.fit import run_problem
from hgcn.training.nodes import NodeTask
from hgcn.training.presets import preset
from hgcn.training.problem import Problem, choose

EPOCHS, EVERY, HALVES = 600, 5, 100
PATIENCES = (100, 200, 300, EPOCHS)


def curves(graph: Graph, settings: dict[str, object]) -> tuple[Tensor, Tensor]:
    """For each validation and node: whether it was right, and its cross-entropy."""
    right, entropy = [], []
    score = NodeTask.score

    def listen(task: NodeTask, part: str) -> float:
        logits, y = task.outputs(part)
        right.append((logits.argmax(-1) == y).double())
        entropy.append(functional.cross_entropy(logits, y, reduction="none").double())
        return score(task, part)

    with mock.patch.object(NodeTask, "score", listen):
        run_problem(Problem(graph, choose(graph, Config(**settings))), parts=("val",))
    return torch.stack(right), torch.stack(entropy)


def stop(curve: Tensor, patience: int) -> int:
    """The best validation before patience runs out, as a number of the curve."""
    best, at = -math.inf, 0
    for number, value in enumerate(curve.tolist()):
        if number - at >= patience:
            break
        if value > best:
            best, at = value, number
    return at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--models", nargs="+", default=["hgcn", "gcn"])
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    graph = load(options.dataset)
    for model in options.models:
        fixed = {
            "task": "node",
            "model": model,
            "epochs": EPOCHS,
            "patience": EPOCHS,
            "eval_every": EVERY,
        }
        _, base = preset(options.dataset, fixed)
        runs = [curves(graph, {**base, **fixed, "seed": s}) for s in range(options.seeds)]
        rules: dict[str, list[list[float]]] = {}
        generator = torch.Generator().manual_seed(0)
        for _ in range(HALVES):
            order = torch.randperm(runs[0][0].shape[1], generator=generator)
            one, other = order.chunk(2)
            for right, entropy in runs:
                accuracy, loss = right[:, one].mean(1), entropy[:, one].mean(1)
                for name, curve in {
                    "accuracy": accuracy,
                    "accuracy, then loss": accuracy - 1e-6 * loss,
                    "loss": -loss,
                }.items():
                    found = [stop(curve, patience // EVERY) for patience in PATIENCES]
                    rules.setdefault(name, []).append(
                        [float(right[at, other].mean()) for at in found]
                    )
        print(f"{model} on nodes of {options.dataset}, by patience {PATIENCES}:")
        for name, scores in rules.items():
            means = (100 * statistics.fmean(column) for column in zip(*scores, strict=True))
            print(f"  {name:20}", "  ".join(f"{mean:.2f}" for mean in means))


if __name__ == "__main__":
    main()
