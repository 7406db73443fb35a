"""`hgcn reproduce`: the paper's tables from this code."""

from __future__ import annotations

import argparse
import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.errors import ConfigError
from hgcn.text import one_of

if TYPE_CHECKING:
    from hgcn.experiments import Cell, Store

NAMES = ("table1", "legacy", "ablation", "curvature", "datasets")
QUICK_ROWS = ("hgcn", "gcn")

EXAMPLES = """\
examples:
  hgcn reproduce table1 --quick           HGCN and GCN, 3 seeds
  hgcn reproduce table1 --cells 'hgcn/*/*' --seeds 10
  hgcn reproduce table1 --cells '*/cora/link' 'gcn/disease/*'
  hgcn reproduce ablation --seeds 3
  hgcn reproduce table1 --show            print what the store holds; run nothing

Finished runs are kept in the store, one line of JSON each, so an interrupted reproduction goes on
where it stopped, and what is there is not run again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("experiment", help=", ".join(NAMES))
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="seeds a cell (10)")
    parser.add_argument("--quick", action="store_true", help="3 seeds, only HGCN and GCN")
    parser.add_argument(
        "--cells", nargs="+", metavar="PATTERN", help="only cells ROW/DATASET/TASK that match"
    )
    parser.add_argument(
        "--store", default="results/runs.jsonl", metavar="FILE", help="(results/runs.jsonl)"
    )
    parser.add_argument("--processes", type=int, metavar="N", help="at once (one for each core)")
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
    from hgcn.experiments import EXPERIMENTS, Store
    from hgcn.experiments.tables import blocks

    seeds = 3 if arguments.quick else arguments.seeds
    store = Store(arguments.store)
    failures: list[str] = []
    if arguments.experiment != "datasets" and not arguments.show:
        cells = _chosen(EXPERIMENTS[arguments.experiment](), arguments)
        failures = _reproduce(cells, seeds, store, arguments.processes)
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


def _reproduce(cells: list[Cell], seeds: int, store: Store, processes: int | None) -> list[str]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from hgcn.commands._display import duration
    from hgcn.experiments.reproduce import Status, missing, reproduce, seconds_left

    jobs = missing(cells, seeds, store)
    console = Console(stderr=True)
    console.print(
        f"{len(jobs)} runs to do; about {duration(seconds_left(jobs, store))} of one core."
    )
    columns: tuple[Any, ...] = (
        BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.fields[text]}"),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(jobs), text="starting")

        def show(status: Status) -> None:
            text = f"about {duration(status.seconds_left)} left; last: {status.last}"
            if status.failed:
                text += f"; {status.failed} failed"
            bar.update(task, completed=status.done, text=text)
            if bar.disable:
                console.print(f"{status.done}/{status.total}: {text}", highlight=False)

        return reproduce(cells, seeds=seeds, store=store, processes=processes, on_status=show)


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
    import sys

    sys.stdout.write(text + "\n")
