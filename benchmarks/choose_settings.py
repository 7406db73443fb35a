"""Choose the settings of each method on each column of Table 1, on validation, with one budget.

    python benchmarks/choose_settings.py --cells 'hgcn/*/link' 'gcn/*/link' --trials 20
    python benchmarks/choose_settings.py --cells '*/airport/*' --try degree_features=true

Writes a file for each cell into src/hgcn/presets/, where `hgcn train` and `hgcn reproduce` find
it. Cells that have one are passed over; delete the file to choose anew. With --try they are trained
as chosen and with a change, and keep the change if it is better: for what a search did not know of.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import statistics
import tomllib
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import fields
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch

from hgcn.config import Config
from hgcn.data import Graph, load
from hgcn.errors import HGCNError
from hgcn.experiments.cells import INDUCTIVE, Cell, table1
from hgcn.runs.fit import run_problem
from hgcn.training.problem import Problem, choose
from hgcn.tuning.search import search
from hgcn.tuning.space import TUNABLE

PRESETS = Path(__file__).parents[1] / "src" / "hgcn" / "presets"
EPOCHS, LARGE_EPOCHS, PATIENCE = 1500, 500, 100
LARGE = ("pubmed", "disease_m", "tissue_ppi")
"""Here the best trial is taken as it is, and has at most ``LARGE_EPOCHS``.

On many graphs so have the runs that come after."""
FINALISTS, SEEDS = 3, 3
"""Elsewhere so many of the best trials are trained with so many seeds; their mean decides."""
SMALL, MANY_SEEDS = ("disease",), 10
"""With a hundred validation nodes so many."""
LONGER = {("cora", "node"): 200}
"""Patience of the runs that come after, where `PATIENCE` is too short: benchmarks/stopping.py."""


def preset_path(cell: Cell) -> Path:
    return PRESETS / f"{cell.source}-{cell.task}-{cell.row}.toml"


def choose_cell(cell: Cell, trials: int, given: dict[str, Any]) -> str:
    """Search, then let the best few run with more seeds; writes the preset."""
    seeds = seeds_of(cell)
    graph, fixed = prepare(cell)
    fixed |= given
    result = search(graph, trials=trials, seed=0, **fixed)
    done = result.trials.filter(state="complete").sort("value", descending=True)
    best: tuple[float, dict[str, Any]] = (-math.inf, {})
    for row in done.head(1 if seeds == 1 else FINALISTS).iter_rows(named=True):
        settings = {k: rounded(v) for k, v in row.items() if k in TUNABLE and v is not None}
        settings |= given
        scores = (
            [row["value"]]
            if seeds == 1
            else [validation(graph, {**fixed, **settings, "seed": seed}) for seed in range(seeds)]
        )
        best = max(best, (statistics.fmean(scores), settings), key=itemgetter(0))
    score, settings = f"{100 * best[0]:.2f}", best[1]
    of = "of one seed" if seeds == 1 else f"the mean of {seeds} seeds"
    extra = "".join(f" --set {k}={json.dumps(v)}" for k, v in given.items())
    notes = [
        f"# Chosen by the validation {result.score} ({score}, {of}) among",
        f"# {trials} trials: benchmarks/choose_settings.py{extra}.",
    ]
    write(cell, notes, settings)
    return f"validation {score} with {settings}"


def try_change(cell: Cell, changes: dict[str, Any]) -> str:
    """Train as chosen and with changes; writes the preset anew if they are better."""
    graph, fixed = prepare(cell)
    text = preset_path(cell).read_text()
    chosen = {k: v for k, v in tomllib.loads(text).items() if k in TUNABLE}
    seeds = seeds_of(cell)
    before, after = (
        statistics.fmean(validation(graph, {**fixed, **s, "seed": seed}) for seed in range(seeds))
        for s in (chosen, {**chosen, **changes})
    )
    said = f"validation {100 * after:.2f} against {100 * before:.2f} with {changes}"
    if after <= before:
        return f"{said}: not kept"
    notes = [line for line in text.splitlines() if line.startswith("#")]
    names = " ".join(f"--try {k}={json.dumps(v)}" for k, v in changes.items())
    notes.append(f"# Then {names}: {100 * after:.2f} against {100 * before:.2f}.")
    write(cell, notes, {**chosen, **changes})
    return said


def seeds_of(cell: Cell) -> int:
    if cell.source in LARGE:
        return 1
    return MANY_SEEDS if cell.source in SMALL else SEEDS


def prepare(cell: Cell) -> tuple[Graph, dict[str, Any]]:
    """The data, and the settings that are not searched."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    epochs = LARGE_EPOCHS if cell.source in LARGE else EPOCHS
    fixed = {"task": cell.task, "model": cell.row, "patience": PATIENCE, "epochs": epochs}
    return load(cell.source), fixed


def write(cell: Cell, notes: list[str], settings: dict[str, Any]) -> None:
    """The preset of a cell: what differs from the defaults."""
    default = {setting.name: setting.default for setting in fields(Config)}
    patience = LONGER.get((cell.source, cell.task), default["patience"])
    settings = {"patience": patience, **settings}
    lines = [
        *notes,
        f'task = "{cell.task}"',
        f'model = "{cell.row}"',
        f"epochs = {LARGE_EPOCHS if cell.dataset in INDUCTIVE else EPOCHS}",
        *[f"{k} = {json.dumps(v)}" for k, v in settings.items() if v != default[k]],
    ]
    preset_path(cell).write_text("\n".join(lines) + "\n")


def validation(graph: Graph, settings: dict[str, Any]) -> float:
    """The validation score of a run; the test part is not evaluated."""
    problem = Problem(graph, choose(graph, Config(**settings)))
    metrics = run_problem(problem, parts=("val",)).metrics
    return float(metrics["val"][metrics["select"]])


def parsed(text: str) -> tuple[str, Any]:
    """A setting as NAME=VALUE; the value is JSON, or else text."""
    name, _, value = text.partition("=")
    if name not in TUNABLE:
        raise SystemExit(f"Expected one of {', '.join(TUNABLE)} in --set and --try, got {name!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def rounded(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", default=["*"], help="patterns of ROW/DATASET/TASK")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="not searched")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--try", nargs="+", default=[], metavar="NAME=VALUE", dest="changes",
        help="a change to what was chosen, kept if it is better; searches nothing",
    )  # fmt: skip
    options = parser.parse_args()
    changes = dict(parsed(text) for text in options.changes)
    if changes and options.set:
        parser.error("--try searches nothing, so --set has no place beside it.")
    given = dict(parsed(text) for text in options.set)
    cells = {
        f"{cell.row}/{cell.dataset}/{cell.task}": cell
        for pattern in options.cells
        for cell in table1()
        if fnmatch.fnmatchcase(f"{cell.row}/{cell.dataset}/{cell.task}", pattern)
    }
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        waiting = {
            (
                pool.submit(try_change, cell, changes)
                if changes
                else pool.submit(choose_cell, cell, options.trials, given)
            ): name
            for name, cell in cells.items()
            if preset_path(cell).exists() == bool(changes)
        }
        for future in as_completed(waiting):
            try:
                print(f"{waiting[future]}: {future.result()}", flush=True)
            except HGCNError as error:
                print(f"{waiting[future]}: failed: {error}", flush=True)


if __name__ == "__main__":
    main()
