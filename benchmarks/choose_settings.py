"""Choose the settings of each method on each column of a table, on validation, with one budget.

    python benchmarks/choose_settings.py --cells 'hgcn/*/link' 'gcn/*/link' --trials 20
    python benchmarks/choose_settings.py --cells 'hgcn-structure/cora/link'
    python benchmarks/choose_settings.py --cells '*/citeseer/node' --trials 20
    python benchmarks/choose_settings.py --cells '*/airport/*' --try degree_features=true

Writes a section for each method into the file of its data set and task, in
src/hgcn/data/datasets/presets/, where `hgcn train` and `hgcn reproduce` find it. Cells that have
one are passed over; delete the section to choose anew. With --try they are trained as chosen and
with a change, and keep the change if it is better: for what a search did not know of.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import re
import statistics
import tomllib
import warnings
from concurrent.futures import as_completed
from dataclasses import dataclass, fields
from operator import itemgetter
from pathlib import Path
from typing import Any

from hgcn.config import Config
from hgcn.cores import count_cores, worker_pool
from hgcn.data import Graph, load
from hgcn.errors import HGCNError
from hgcn.experiments.cells import INDUCTIVE, Cell, nodes, presets, table1
from hgcn.experiments.paper import METHODS
from hgcn.runs.fit import run_problem
from hgcn.training.presets import STRUCTURE
from hgcn.training.problem import Problem, choose
from hgcn.tuning.search import search
from hgcn.tuning.space import TUNABLE

PRESETS = Path(__file__).parents[1] / "src" / "hgcn" / "data" / "datasets" / "presets"
EPOCHS, LARGE_EPOCHS, PATIENCE = 1500, 500, 100
LARGE = ("pubmed", "disease_m", "tissue_ppi")
"""Here trials have at most ``LARGE_EPOCHS``. On many graphs so have the runs that come after."""
FINALISTS, SEEDS = 3, 3
"""So many of the best trials are trained with so many seeds; their mean decides."""
OTHER_SEEDS = (
    {("disease", "node"): 10, ("disease_m", "node"): 1}
    | {(source, "node"): 5 for source in ("cora", "citeseer", "pubmed", "airport")}
    | {(source, "link"): 1 for source in LARGE}
)
"""More of them where few nodes are for validation; with one the best trial is taken as it is."""
TIES = {"node": {"ties_by_loss": True}}
"""Of epochs with the same accuracy the one of the lowest loss: benchmarks/stopping.py."""
LONGER = {("cora", "node"): 200, ("citeseer", "node"): 200, ("pubmed", "node"): 200}
"""Patience of the runs that come after, where `PATIENCE` is too short: benchmarks/stopping.py."""


@dataclass(frozen=True)
class Chosen:
    """What a worker found: a line to print, and the section to write, if there is one."""

    said: str
    section: list[str] | None = None


def preset_file(cell: Cell) -> Path:
    return PRESETS / f"{cell.source}-{cell.task}.toml"


def sections(cell: Cell) -> dict[str, list[str]]:
    """The lines of each section of the cell's file, without the head of the file."""
    if not preset_file(cell).exists():
        return {}
    parts = re.split(r"^\[(.+)\]$", preset_file(cell).read_text(), flags=re.MULTILINE)
    return {name: text.split("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def write(cell: Cell, section: list[str]) -> None:
    """Put a section into the cell's file."""
    every = {**sections(cell), cell.row: section}
    title = f"# Settings for {cell.task}s of {cell.source}, a section for each model"
    lines = [f"{title}; see docs/results.md."]
    for name in sorted(every, key=place):
        lines += ["", f"[{name}]", *(line for line in every[name] if line)]
    preset_file(cell).write_text("\n".join(lines) + "\n")


def place(name: str) -> tuple[int, bool]:
    """Where a section stands in its file: the paper's own method first."""
    model = name.removesuffix(STRUCTURE)
    return -METHODS.index(model), name != model


def choose_cell(cell: Cell, trials: int, given: dict[str, Any]) -> Chosen:
    """Search, then let the best few run with more seeds."""
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
    return Chosen(f"validation {score} with {settings}", make_section(cell, notes, settings))


def try_change(cell: Cell, changes: dict[str, Any]) -> Chosen:
    """Train as chosen and with changes; there is a new section if they are better."""
    graph, fixed = prepare(cell)
    section = sections(cell)[cell.row]
    chosen = {k: v for k, v in tomllib.loads("\n".join(section)).items() if k in TUNABLE}
    seeds = seeds_of(cell)
    before, after = (
        statistics.fmean(validation(graph, {**fixed, **s, "seed": seed}) for seed in range(seeds))
        for s in (chosen, {**chosen, **changes})
    )
    said = f"validation {100 * after:.2f} against {100 * before:.2f} with {changes}"
    if after <= before:
        return Chosen(f"{said}: not kept")
    notes = [line for line in section if line.startswith("#")]
    names = " ".join(f"--try {k}={json.dumps(v)}" for k, v in changes.items())
    notes.append(f"# Then {names}: {100 * after:.2f} against {100 * before:.2f}.")
    return Chosen(said, make_section(cell, notes, {**chosen, **changes}))


def seeds_of(cell: Cell) -> int:
    return OTHER_SEEDS.get((cell.source, cell.task), SEEDS)


def prepare(cell: Cell) -> tuple[Graph, dict[str, Any]]:
    """The data, and the settings that are not searched."""
    warnings.simplefilter("ignore")
    epochs = LARGE_EPOCHS if cell.source in LARGE else EPOCHS
    # The rows of the paper have its decoder, and no structural term.
    fixed = {"structure": False, **cell.settings, "task": cell.task, **TIES.get(cell.task, {})}
    return load(cell.source), {**fixed, "patience": PATIENCE, "epochs": epochs}


def make_section(cell: Cell, notes: list[str], settings: dict[str, Any]) -> list[str]:
    """The preset of a cell: what differs from the defaults."""
    default = {setting.name: setting.default for setting in fields(Config)}
    patience = LONGER.get((cell.source, cell.task), default["patience"])
    settings = {"patience": patience, **TIES.get(cell.task, {}), **settings}
    return [
        *notes,
        f"epochs = {LARGE_EPOCHS if cell.dataset in INDUCTIVE else EPOCHS}",
        *[f"{k} = {json.dumps(v)}" for k, v in settings.items() if v != default[k]],
    ]


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
    parser.add_argument("--processes", type=int, default=count_cores())
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
        for cell in (*table1(), *presets(), *nodes())
        if fnmatch.fnmatchcase(f"{cell.row}/{cell.dataset}/{cell.task}", pattern)
    }
    with worker_pool(options.processes) as pool:
        waiting = {
            (
                pool.submit(try_change, cell, changes)
                if changes
                else pool.submit(choose_cell, cell, options.trials, given)
            ): name
            for name, cell in cells.items()
            if (cell.row in sections(cell)) == bool(changes)
        }
        for future in as_completed(waiting):
            try:
                chosen = future.result()
                print(f"{waiting[future]}: {chosen.said}", flush=True)
                if chosen.section is not None:  # written here alone: methods share a file
                    write(cells[waiting[future]], chosen.section)
            except HGCNError as error:
                print(f"{waiting[future]}: failed: {error}", flush=True)


if __name__ == "__main__":
    main()
