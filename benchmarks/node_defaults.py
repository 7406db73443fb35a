"""The defaults of node classification against plain settings, on validation alone.

    python benchmarks/node_defaults.py --graphs citeseer --seeds 2 --epochs 300 --patience 100
    python benchmarks/node_defaults.py --graphs disease airport --set smooth=0.5 --set smooth=0.9

For each graph and model: the settings without a rule, the defaults (src/hgcn/training/
node_defaults.py), and the defaults with each change of --set; what is the same is run once. No test
part is evaluated, and no preset is used, so that all graphs are treated as one that nobody tuned
for. Prints the mean validation score in per cent, that of each seed, and the seconds of processor
time of a run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from typing import Any

from hgcn.compiled import fixed_order
from hgcn.config import Config
from hgcn.data import Graph, load
from hgcn.experiments.cells import NODES
from hgcn.training.loop import train
from hgcn.training.problem import Problem, choose

PLAIN = {"consistency": 0.0, "ties_by_loss": True}
"""Given agreement switches the rule off; ties are told apart alike."""


def validation(graph: Graph, settings: dict[str, Any]) -> float:
    """The score of the best epoch on validation."""
    problem = Problem(graph, choose(graph, Config(**settings)))
    with fixed_order(graph.size):
        return 100 * train(problem.task(problem.predictor())).best.score


def parsed(text: str) -> dict[str, Any]:
    name, _, value = text.partition("=")
    try:
        return {name: json.loads(value)}
    except json.JSONDecodeError:
        return {name: value}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=list(NODES))
    parser.add_argument("--models", nargs="+", default=["hgcn"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--patience", type=int, help="by default that of each setting")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    variants = {"plain": PLAIN, "defaults": {}} | {text: parsed(text) for text in options.set}
    print("| graph | model | settings | validation | seeds | seconds |")
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
                scores = [validation(graph, {**given, "seed": s}) for s in range(options.seeds)]
                seconds = (time.process_time() - start) / options.seeds
                each = " ".join(f"{score:.1f}" for score in scores)
                mean = statistics.fmean(scores)
                print(
                    f"| {name} | {model} | {title} | {mean:.1f} | {each} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
