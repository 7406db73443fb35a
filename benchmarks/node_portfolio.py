"""Choose settings of nodes with few labels: the same trials for every method, on many splits.

    python benchmarks/node_portfolio.py --graphs cora
    python benchmarks/node_portfolio.py --graphs cora --write

Where 500 nodes are for validation, the best of many trials is the luckiest one. So a few trials,
written down below, are trained on several splits drawn among the nodes that are not in the public
test part (`node_defaults.py --other-splits`), and the best mean is taken. Finished runs are kept in
results/node_portfolio.jsonl, so that an interrupted choice goes on. With --write the settings go
where `hgcn train` and `hgcn reproduce` find them, in place of those that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from choose_settings import make_section, write
from node_defaults import parsed, score

from hgcn.data import load
from hgcn.experiments.cells import NODE_METHODS, Cell
from hgcn.models.table import options_of

RESULTS = Path(__file__).parents[1] / "results" / "node_portfolio.jsonl"
FIXED = {
    "task": "node", "ties_by_loss": True, "class_weights": True, "normalise": "row",
    "patience": 200,
}  # fmt: skip
EPOCHS = 1500
GCN = "lr=0.0439 weight_decay=0.000647 dropout=0.382 feature_dropout=0.792 layers=2 act=tanh"
"""What an earlier search chose for GCN on Cora."""
GRAND = "lr=0.03 weight_decay=0.0005 dropout=0.3 feature_dropout=0.8 layers=1 last_act=relu"
RULE = "lr=0.03 weight_decay=0.0005 dropout=0.3 layers=2 act=tanh"
"""What `hgcn train` does with words and few labels, where there is no preset."""
TRIALS: Mapping[str, tuple[str, ...]] = {
    "cora": (
        f"{GCN} consistency=1.5",
        f"{GCN} consistency=3.0 views=4 link_regulariser=0.15",
        f"{GRAND} propagation=8 node_dropout=0.5 consistency=2.0 views=4",
    ),
    "citeseer": (
        f"{GCN} consistency=3.0 views=4 link_regulariser=0.15",
        f"{RULE} feature_dropout=0.8 consistency=2.0 views=4 normalise=none",
        f"{RULE} feature_dropout=0.8 consistency=2.0 views=4 link_regulariser=0.15",
        f"{RULE} feature_dropout=0.8 consistency=2.0 weight_decay=0.002 normalise=none",
    ),
    "pubmed": (
        f"{GCN} consistency=3.0 views=4 link_regulariser=0.15",
        f"{RULE} feature_dropout=0.5 consistency=0.0 link_regulariser=0.7",
        f"{RULE} feature_dropout=0.5 consistency=0.5 link_regulariser=0.7",
        f"{RULE} feature_dropout=0.5 consistency=0.0 link_regulariser=0.7 pretrain=50 act=none",
    ),
}
"""For each graph, in words of GCN; :func:`own` says what they are called in other models."""


def own(model: str, text: str) -> dict[str, Any]:
    """A trial as settings of a model: in hyperbolic space GCN's dropout is that of points."""
    settings = parsed(text)
    known = options_of(model)
    if "point_dropout" in known:
        settings |= {"point_dropout": settings.pop("dropout", 0.0), "dropout": 0.0}
    if "symmetric" in known:
        settings |= {"symmetric": True, "attention": False, "aggregation": "origin"}
    return {
        k: v for k, v in settings.items() if k in known or k not in ("act", "last_act", "dropout")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--models", nargs="+", default=list(NODE_METHODS))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--write", action="store_true", help="run nothing, write the presets")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = {}
    if options.results.exists():
        lines = options.results.read_text().splitlines()
        known = {tuple(key): found for key, found in map(json.loads, lines)}
    for name in options.graphs:
        graph = load(name)
        for model in options.models:
            means: dict[str, float] = {}
            for trial in TRIALS[name]:
                given = {**FIXED, "model": model, "epochs": EPOCHS, **own(model, trial)}
                for seed in range(options.splits):
                    key = (name, model, trial, seed)
                    if key in known or options.write:
                        continue
                    known[key] = score(graph, {**given, "seed": seed}, True)
                    with options.results.open("a") as file:
                        file.write(json.dumps([key, known[key]]) + "\n")
                    print(*key, f"{known[key]:.2f}", flush=True)
                every = [known[name, model, trial, seed] for seed in range(options.splits)]
                means[trial] = statistics.fmean(every)
            best = max(means, key=lambda trial: means[trial])
            print(f"{name} {model}: {means[best]:.2f} with {best}", flush=True)
            if options.write:
                how = f"{means[best]:.2f}) on {options.splits} splits without the public test part"
                notes = [
                    f"# Chosen by the mean accuracy ({how},",
                    f"# among {len(means)} trials: benchmarks/node_portfolio.py.",
                ]
                cell = Cell("nodes", model, name, "node", {"model": model})
                settings = {**FIXED, **own(model, best)}
                del settings["task"]
                write(cell, make_section(cell, notes, settings))


if __name__ == "__main__":
    main()
