"""The models that a hyperbolic one is to be compared with, trained on the same split and seeds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hgcn.commands._interruption import explained
from hgcn.commands._loading import fetch, preload
from hgcn.commands._settings import above_zero, given_settings, new_folder, source_and_settings
from hgcn.errors import ConfigError
from hgcn.packages import require

FIRST = "hgcn"
BASELINES = ("gcn", "gat", "sage", "mlp")
OF_ONE_GRAPH = ("euc", "hyp")
"""For links of one graph: they learn a vector for each node."""


def train_baselines(arguments: argparse.Namespace) -> tuple[list[Path], int]:
    """Train all models; returns the folders of those with a result, and the exit code."""
    given = given_settings(arguments)
    arguments.source = arguments.baselines
    source, given = source_and_settings(arguments, given, "compare --baselines")
    if "model" in given:
        raise ConfigError("Expected no `model` with --baselines: it trains all of them.")
    if source == "-":
        raise ConfigError("Expected a file with --baselines: standard input can be read only once.")
    seeds = above_zero("--seeds", arguments.seeds or "1")
    folder = Path(arguments.out) if arguments.out else new_folder(source, "-baselines")
    require("torch_geometric.nn", "--baselines")  # now, and not after the first training
    preload(arguments, "hgcn.runs.seeds")
    from hgcn.commands._display import BaselinesDisplay

    fetch(source)
    found: list[Path] = []
    missing = False
    goes_on = f"The same command with --out {folder} goes on."
    names = [FIRST, *BASELINES]
    with explained(lambda: goes_on), BaselinesDisplay(arguments.quiet) as display:
        for name in names:
            display.begin(f"{name} ({names.index(name) + 1} of {len(names)})")
            state = _train(name, source, seeds, folder / name, given, display)
            if state.interrupted:
                raise KeyboardInterrupt
            missing = missing or bool(state.missing)
            if state.finished:
                found.append(folder / name)
            if name == FIRST and _one_graph_of_links(folder / name, state.finished):
                names += OF_ONE_GRAPH
    sys.stderr.write(f"hgcn: {goes_on}\n" if missing else "")
    return found, 1 if missing else 0


def _train(
    name: str, source: str, seeds: int, out: Path, given: dict[str, Any], display: Any
) -> Any:
    """Train one model with the given settings that it has, or take what is there of it."""
    from hgcn.models import options_of
    from hgcn.models.predictor import MODEL_OPTIONS
    from hgcn.runs.seeds import fit_seeds

    known = options_of(name)
    own = {k: v for k, v in given.items() if k not in MODEL_OPTIONS or k in known}
    return fit_seeds(source, seeds, out=out, on_change=display.update, model=name, **own)


def _one_graph_of_links(folder: Path, finished: dict[int, Any]) -> bool:
    """Whether vectors of single nodes can be learnt for the task."""
    from hgcn.runs.folder import load_run

    if not finished or next(iter(finished.values()))["task"] != "link":
        return False
    return load_run(folder / f"seed-{min(finished)}").graph.num_graphs == 1
