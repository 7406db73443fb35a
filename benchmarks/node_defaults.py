"""The defaults of node classification against plain settings, on validation alone.

    python benchmarks/node_defaults.py --graphs citeseer --seeds 2 --epochs 300 --patience 100
    python benchmarks/node_defaults.py --graphs disease airport --set smooth=0.5 --set smooth=0.9
    python benchmarks/node_defaults.py --graphs cora --other-splits --set 'lr=0.02 views=4'

For each graph and model: the settings without a rule, the defaults (src/hgcn/training/
node_defaults.py), and the defaults with the changes of each --set; what is the same is run once. No
test part is evaluated, and no preset is used, so that all graphs are treated as one that nobody
tuned for. Prints the mean score in per cent, that of each seed, and the seconds of processor time
of a run.

The score is that of validation. Where few nodes are for validation it says little. Then, with
--other-splits, each seed has training nodes (as many of each class as the public split has) and
validation nodes of its own, drawn among all that are not in the public test part, and the score is
the accuracy on the nodes that are left of these.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from dataclasses import replace
from typing import Any

import torch

from hgcn.compiled import fixed_order
from hgcn.config import Config
from hgcn.data import Graph, NodeSplit, load
from hgcn.experiments.cells import NODES
from hgcn.training.loop import train
from hgcn.training.problem import Problem, choose

PLAIN = {"consistency": 0.0, "ties_by_loss": True}
"""Given agreement switches the rule off; ties are told apart alike."""


def score(graph: Graph, settings: dict[str, Any], other: bool) -> float:
    """The score of the best epoch, on validation or on the rest of another split."""
    problem = Problem(graph, choose(graph, Config(**settings)))
    if other:
        problem = replace(problem, given=other_split(graph, problem.split, settings["seed"]))
    task = problem.task(problem.predictor())
    with fixed_order(graph.size):
        best = train(task).best.score
    return 100 * (task.metrics("test")["accuracy"] if other else best)


def other_split(graph: Graph, public: NodeSplit, seed: int) -> NodeSplit:
    """Parts drawn among the labelled nodes that are not in the public test part."""
    if graph.y is None:
        raise SystemExit("Expected a graph with classes.")
    left = graph.y >= 0
    left[public.test] = False
    pool = left.nonzero()[:, 0]
    pool = pool[torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))]
    count = torch.bincount(graph.y[public.train], minlength=graph.num_classes)
    of_class = [pool[graph.y[pool] == k][: int(count[k])] for k in range(graph.num_classes)]
    train_nodes = torch.cat(of_class)
    rest = pool[~torch.isin(pool, train_nodes)]
    val, held = rest[: len(public.val)], rest[len(public.val) :]
    parts = (part.sort().values for part in (train_nodes, val, held))
    return NodeSplit(*parts, protocol="clean", inductive=False)


def parsed(text: str) -> dict[str, Any]:
    found = {}
    for word in text.split():
        name, _, value = word.partition("=")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=list(NODES))
    parser.add_argument("--models", nargs="+", default=["hgcn"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--patience", type=int, help="by default that of each setting")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE ...")
    parser.add_argument("--other-splits", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    variants = {"plain": PLAIN, "defaults": {}} | {text: parsed(text) for text in options.set}
    print("| graph | model | settings | score | seeds | seconds |")
    print("| --- | --- | --- | --: | --: | --: |")
    for name in options.graphs:
        graph = load(name)
        for model in options.models:
            done: list[Config] = []
            for title, changes in variants.items():
                given = {"task": "node", "model": model, "epochs": options.epochs, **changes}
                if options.patience:
                    given["patience"] = options.patience
                settled = choose(graph, Config(**given))
                if settled in done:  # the rule has nothing for this graph
                    continue
                done.append(settled)
                start = time.process_time()
                scores = [
                    score(graph, {**given, "seed": s}, options.other_splits)
                    for s in range(options.seeds)
                ]
                seconds = (time.process_time() - start) / options.seeds
                each = " ".join(f"{score:.1f}" for score in scores)
                mean = statistics.fmean(scores)
                print(
                    f"| {name} | {model} | {title} | {mean:.1f} | {each} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
