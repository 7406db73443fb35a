"""What two ranks do for tests/runs/test_ranks.py, and what one process does alone."""

import json
import sys
from pathlib import Path

import hgcn
from hgcn.errors import HGCNError
from hgcn.ranks import started
from hgcn.runs.seeds import fit_seeds
from small_graphs import forest, tree

EXACT = {"dtype": "float64", "dim": 4, "batch_size": 33, "fanout": "-1", "dropout": 0.0,
         "feature_dropout": 0.0, "epochs": 4, "eval_every": 1}  # fmt: skip
CASES = {
    "node": {"task": "node"},
    "node, all losses": {
        "task": "node", "class_weights": True, "link_regulariser": 0.5, "consistency": 0.5,
        "pretrain": 1,
    },
    "node, some ranks have nothing": {"task": "node", "batch_size": 1, "epochs": 2},
    "node, many graphs": {"task": "node", "graph": "forest"},
    "node, float32": {"task": "node", "dtype": "float32"},
    "link": {"task": "link"},
    "link, sampled": {"task": "link", "structure": True, "fanout": "2", "degree_features": True},
}  # fmt: skip
"""Settings of trainings that come out the same on one and on two ranks."""


def curves():
    """History and metrics of every case."""
    found = {}
    for name, case in CASES.items():
        settings = {**EXACT, **case}
        graph = forest() if settings.pop("graph", None) else tree(60)
        run = hgcn.fit(graph, **settings)
        found[name] = {"history": run.history, "metrics": run.metrics}
    return found


def complaint(call):
    """What an error says."""
    try:
        call()
    except HGCNError as error:
        return str(error)
    return ""


def main(folder):
    rank = started().rank
    if rank:
        sys.stdout.close()  # only the first rank has something to write
    small = {**EXACT, "epochs": 2, "task": "node"}
    told = {
        "curves": curves(),
        "full batch": complaint(lambda: hgcn.fit(tree(60), task="node", batch_size=0)),
        "auto": complaint(lambda: hgcn.fit(tree(60), task="node", auto=5)),
        "seeds": complaint(lambda: fit_seeds("disease", 2, out=folder / "seeds")),
        "search": complaint(lambda: hgcn.search(tree(60), trials=1)),
        "graph": complaint(lambda: hgcn.fit(tree(60, seed=rank), **small)),
        "own": complaint(lambda: hgcn.fit(tree(60), **{**small, "dim": -rank or 4})),
        "path": str(hgcn.fit(tree(60), out=folder / "run", **small).path),
        "again": complaint(lambda: hgcn.fit(tree(60), out=folder / "run", **small)),
        "dropout": hgcn.fit(tree(60), **{**small, "dropout": 0.5}).history,
    }
    (folder / f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
