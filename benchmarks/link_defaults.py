"""The defaults of links against other settings, on validation alone, and where links are lost.

    python benchmarks/link_defaults.py --graphs power usair --set lr=0.01 --set 'layers=1 dim=32'
    python benchmarks/link_defaults.py --graphs cora --preset --lost
    python benchmarks/link_defaults.py --graphs openflights --seeds 1 --term

For each graph and model: the defaults (src/hgcn/training/link_defaults.py; with --preset those of
the data set, if it has some), and the same with the changes of each --set. The splits are others
than those of the tables. A tenth of the edges is for validation: its one half picks the epoch, the
other one is scored. No test part is evaluated.

With --lost also where the score is lost: for edges with common neighbours, for others on a path of
up to sixteen edges, and for those with nothing in common, their share in per cent, and how much of
the difference of the ROC AUC to 100 comes from them. With --term also the two scores with none and
with half of the structural term of the trained network.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from dataclasses import replace
from typing import Any

import torch
from node_defaults import parsed

from hgcn.compiled import fixed_order
from hgcn.config import Config
from hgcn.data import Graph, LinkSplit, load
from hgcn.experiments.cells import GRAPHS
from hgcn.training.links import LinkTask
from hgcn.training.loop import train
from hgcn.training.presets import preset
from hgcn.training.problem import Problem, choose

FIRST_SEED = 20
SHARES = {"val_share": 0.1, "test_share": 0.05}
SCORES = ("roc_auc", "roc_auc_degrees")


def halved(split: LinkSplit) -> LinkSplit:
    """The two halves of the validation part, as parts for validation and test."""
    val = split.val
    if val.negatives is None:
        raise SystemExit("Expected a split whose validation part has negatives.")
    drawn = torch.Generator().manual_seed(5)
    halves = []
    for pairs in (val.positives, val.negatives):
        order = torch.randperm(pairs.shape[1], generator=drawn)
        halves.append(pairs[:, order].tensor_split((len(order) // 2,), dim=1))
    first, second = (
        replace(val, positives=positives, negatives=negatives)
        for positives, negatives in zip(*halves, strict=True)
    )
    return replace(split, val=first, test=second)


def trained(graph: Graph, settings: dict[str, Any]) -> LinkTask:
    """The task of a trained network, whose test part is a half of the validation edges."""
    problem = Problem(graph, choose(graph, Config(**settings)))
    problem = replace(problem, given=halved(problem.split))
    task = problem.task(problem.predictor())
    with fixed_order(graph.size):
        train(task)
    if not isinstance(task, LinkTask):
        raise SystemExit("Expected links.")
    return task


def lost(task: LinkTask) -> list[tuple[float, float]]:
    """Per cent of edges, and of the score lost, by what the nodes of an edge have in common."""
    edges, others = task.outputs("test")
    above = len(others) - torch.searchsorted(others.sort().values, edges)
    missed = 100 * above.double() / len(others) / len(edges)
    part = task.parts.test
    found = task.predictor.facts(part.positives, part.messages, None, task.graph.num_nodes)
    if found is None:
        raise SystemExit("Expected a network with the structural term.")
    linked, shared = found[:, 0] > 0, found[:, 1] > 0
    kinds = shared, linked & ~shared, ~linked
    return [(100 * float(kind.double().mean()), float(missed[kind].sum())) for kind in kinds]


@torch.no_grad()
def with_part(task: LinkTask, share: float) -> list[float]:
    """The scores with a share of the term, which is linear in its last weights."""
    term = task.predictor.structure
    if term is None:
        raise SystemExit("Expected a network with the structural term.")
    kept = [(weight, weight.clone()) for weight in (term.out.weight, term.direct.weight)]
    for weight, value in kept:
        weight.copy_(share * value)
    found = task.metrics("test")
    for weight, value in kept:
        weight.copy_(value)
    return [100 * found[score] for score in SCORES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--models", nargs="+", default=["hgcn"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE ...")
    parser.add_argument("--preset", action="store_true")
    parser.add_argument("--lost", action="store_true")
    parser.add_argument("--term", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    variants = {"as it is": {}} | {text: parsed(text) for text in options.set}
    more = ["common neighbours, a path, nothing"] * options.lost
    more += ["no term", "half of it"] * options.term
    header = ["graph", "model", "settings", "ROC AUC", "same degrees", "each", "seconds", *more]
    print(f"| {' | '.join(header)} |\n|{' --- |' * len(header)}")
    for name in options.graphs:
        graph = load(name)
        for model in options.models:
            base = preset(name, {"task": "link", "model": model})[1] if options.preset else {}
            for title, changes in variants.items():
                given = {**SHARES, "task": "link", "model": model, **base}
                given |= {"epochs": options.epochs, **changes}
                start = time.process_time()
                tasks = [
                    trained(graph, {**given, "seed": FIRST_SEED + seed})
                    for seed in range(options.seeds)
                ]
                seconds = (time.process_time() - start) / options.seeds
                found = [task.metrics("test") for task in tasks]
                means = [100 * statistics.fmean(one[score] for one in found) for score in SCORES]
                each = " ".join(f"{100 * one['roc_auc']:.2f}" for one in found)
                line = [name, model, title, *(f"{mean:.2f}" for mean in means), each]
                line.append(f"{seconds:.0f}")
                if options.lost:
                    parts = zip(*map(lost, tasks), strict=True)
                    means_of = [[statistics.fmean(x) for x in zip(*p, strict=True)] for p in parts]
                    line.append(", ".join(f"{s:.0f} %: {m:.2f}" for s, m in means_of))
                term = options.term and tasks[0].predictor.structure is not None
                for share in (0.0, 0.5) if term else ():
                    both = zip(*[with_part(task, share) for task in tasks], strict=True)
                    line.append(", ".join(f"{statistics.fmean(one):.2f}" for one in both))
                print(f"| {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    main()
