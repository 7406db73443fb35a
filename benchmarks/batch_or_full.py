"""How long do full batches and mini-batches take to the same validation score of links?

    python benchmarks/batch_or_full.py email_enron --models hgcn

Each network is trained once either way on one core; what is printed is the validation ROC AUC and
the seconds of the processor so far. The test part is not looked at.
"""

from __future__ import annotations

import argparse
import time
import warnings

import torch

from hgcn.config import Config
from hgcn.data import load
from hgcn.data.graph import Graph
from hgcn.runs.fit import run_problem
from hgcn.training.link_defaults import ENOUGH
from hgcn.training.loop import Progress
from hgcn.training.problem import Problem, choose


def curve(graph: Graph, settings: dict[str, object]) -> list[tuple[float, float]]:
    """Seconds and score at each validation."""
    found: list[tuple[float, float]] = []
    start = time.process_time()

    def listen(progress: Progress) -> None:
        if progress.score is not None:
            found.append((time.process_time() - start, progress.score))

    config = choose(graph, Config(task="link", workers=0, **settings))
    run_problem(Problem(graph, config), parts=("val",), on_epoch=listen)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--models", nargs="+", default=["hgcn"])
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    graph = load(options.dataset)
    ways = {
        "mini-batches": {"batch_size": 1024, "epochs": 40},
        "full batches": {
            "batch_size": 0, "epochs": 300, "hidden_share": min(0.1, ENOUGH / graph.num_edges)
        },
    }  # fmt: skip
    for model in options.models:
        for name, settings in ways.items():
            print(f"{model}, {name}: seconds and ROC AUC")
            points = curve(graph, {"model": model, "seed": options.seed, **settings})
            for seconds, score in points[:: max(1, len(points) // 8)]:
                print(f"  {seconds:6.0f}  {100 * score:.2f}", flush=True)


if __name__ == "__main__":
    main()
