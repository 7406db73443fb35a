"""`hgcn reproduce`: the paper's tables from this code."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.commands._interruption import explained
from hgcn.commands._loading import preload
from hgcn.commands._settings import above_zero
from hgcn.cores import count_cores
from hgcn.errors import ConfigError
from hgcn.text import one_of

if TYPE_CHECKING:
    from hgcn.experiments import Cell, Store

NAMES = (
    "table1", "legacy", "ablation", "curvature", "strangers", "seal", "presets", "nodes", "lowdim",
    "datasets",
)  # fmt: skip
QUICK_ROWS = ("hgcn", "gcn")

EXAMPLES = """\
examples:
  hgcn reproduce table1 --quick           HGCN and GCN, 3 seeds
  hgcn reproduce table1 --cells 'hgcn/*/*' --seeds 10
  hgcn reproduce table1 --cells '*/cora/link' 'gcn/disease/*'
  hgcn reproduce ablation --seeds 3
  hgcn reproduce strangers --cells '*/power/*'  graphs nobody tuned for
  hgcn reproduce nodes --cells '*/citeseer/*'   classes on eight graphs
  hgcn reproduce lowdim                   2, 4, 8 and 16 dimensions
  hgcn reproduce table1 --show            show what the store holds

Finished runs are kept in the store, one line of JSON each, so an interrupted
reproduction goes on where it stopped, and what is there is not run again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("experiment", metavar="EXPERIMENT", help=", ".join(NAMES))
    parser.add_argument("--seeds", default="10", metavar="N", help="seeds a cell (10)")
    parser.add_argument("--quick", action="store_true", help="3 seeds, only HGCN and GCN")
    parser.add_argument(
        "--cells", nargs="+", metavar="PATTERN", help="only cells ROW/DATASET/TASK that match"
    )
    parser.add_argument(
        "--store", default="results/runs.jsonl", metavar="FILE", help="(results/runs.jsonl)"
    )
    parser.add_argument("--processes", metavar="N", help="at once (one for each core)")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the table")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument(
        "--write", metavar="FILE", nargs="+", help="put the tables between the markers of FILE"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train the runs that are not in the store, then show the table."""
    if arguments.experiment not in NAMES:
        raise ConfigError(one_of("experiment", arguments.experiment, NAMES))
    if arguments.show and (arguments.cells or arguments.quick):
        raise ConfigError("`--cells` and `--quick` say what to run, and `--show` runs nothing.")
    seeds = 3 if arguments.quick else above_zero("--seeds", arguments.seeds)
    processes = above_zero("--processes", arguments.processes or str(count_cores()))
    preload(arguments, "hgcn.experiments.reproduce")
    from hgcn.experiments import EXPERIMENTS, Store
    from hgcn.experiments.tables import blocks

    store = Store(arguments.store)
    failures: list[str] = []
    if arguments.experiment != "datasets" and not arguments.show:
        cells = _chosen(EXPERIMENTS[arguments.experiment](), arguments)
        failures = _reproduce(cells, seeds, store, processes, arguments.quiet)
    tables = blocks(store, seeds)
    _print(tables[arguments.experiment])
    for path in arguments.write or ():
        _write(Path(path), tables)
    for failure in failures:
        _print(f"failed: {failure}")
    return 1 if failures else 0


def _chosen(cells: list[Cell], arguments: argparse.Namespace) -> list[Cell]:
    if arguments.quick:
        cells = [cell for cell in cells if cell.experiment != "table1" or cell.row in QUICK_ROWS]
    if arguments.cells:
        names = [f"{cell.row}/{cell.dataset}/{cell.task}" for cell in cells]
        unused = [p for p in arguments.cells if not fnmatch.filter(names, p)]
        if unused:
            raise ConfigError(
                f"Expected `--cells` to match ROW/DATASET/TASK, such as {names[0]!r}, but nothing "
                f"matches {unused[0]!r}."
            )
        cells = [
            cell
            for cell, name in zip(cells, names, strict=True)
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in arguments.cells)
        ]
    return cells


def _reproduce(
    cells: list[Cell], seeds: int, store: Store, processes: int, quiet: bool
) -> list[str]:
    from hgcn.commands._display import ReproductionDisplay, duration
    from hgcn.experiments.reproduce import missing, reproduce, seconds_left

    jobs = missing(cells, seeds, store)
    left = duration(seconds_left(jobs, store))
    if not quiet:
        sys.stderr.write(f"{len(jobs)} runs to do; about {left} of one core.\n")
    kept = f"Finished runs are kept in {store.path}. The same command goes on."
    with explained(lambda: kept), ReproductionDisplay(quiet, every=0.0) as display:
        return reproduce(
            cells, seeds=seeds, store=store, processes=processes, on_status=display.update
        )


def _write(path: Path, tables: dict[str, Any]) -> None:
    """Replace each table of a document, between its markers."""
    from hgcn.files import write_text

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"Expected a file with markers, but {path}: {error.strerror}.") from error
    write_text(path, fill(text, tables))


def fill(text: str, tables: dict[str, Any]) -> str:
    """A document with new tables, each between the marks ``begin NAME`` and ``end NAME``."""
    for name, table in tables.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        if begin in text and end in text:
            head, rest = text.split(begin, 1)
            text = f"{head}{begin}\n{table}\n\n{end}{rest.split(end, 1)[1]}"
    return text


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
