"""Arguments and tables shared by the commands that use a trained run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.commands._loading import preload
from hgcn.commands._settings import above_zero
from hgcn.errors import ConfigError, DataError
from hgcn.text import one_of

if TYPE_CHECKING:
    import polars as pl

    from hgcn.data import Graph
    from hgcn.runs.run import Run

ENDINGS = (".parquet", ".csv")
SHOWN = 20
"""Rows of a table in the terminal; the others are for files."""


RUN_HELP = "run folder of `hgcn train`, a zip file of one, or its address"


def add_run(parser: argparse.ArgumentParser, what: str = RUN_HELP) -> None:
    """Add the run folder, and another graph to apply the run to."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", metavar="RUN", help=what)
    group = parser.add_argument_group("another graph than the run's own")
    group.add_argument("--graph", metavar="SOURCE", help="name of a data set, edge list or folder")
    group.add_argument("--features", metavar="FILE", help="its node features")
    group.add_argument(
        "--labels", metavar="NAME", help="its node labels; a column is found by its old name"
    )


def add_k(parser: argparse.ArgumentParser, default: int, of: str = "so many of each node") -> None:
    """Add how many rows are asked for."""
    parser.add_argument("-k", default=str(default), metavar="K", help=f"{of} ({default})")


def add_only_new(parser: argparse.ArgumentParser) -> None:
    """Add the choice of new nodes."""
    parser.add_argument(
        "--only-new", action="store_true", help="with --graph: only nodes that the run has not seen"
    )


def add_output(parser: argparse.ArgumentParser, required: bool) -> None:
    """Add the file to write."""
    help_ = "file to write, .parquet or .csv"
    if not required:
        help_ += "; without, a table in the terminal, or CSV in a pipe"
    parser.add_argument("-o", "--out", metavar="FILE", required=required, help=help_)


def open_run(arguments: argparse.Namespace) -> tuple[Run, Graph | None]:
    """The run, and the other graph if one is given."""
    preload(arguments, "hgcn.runs.folder")
    from hgcn.runs.folder import load_run

    options = graph_options(arguments)
    if arguments.graph is None and getattr(arguments, "only_new", False):
        raise ConfigError("Expected --graph beside --only-new: the run's own nodes are known.")
    run = load_run(arguments.run)
    return run, None if arguments.graph is None else run.resolve(arguments.graph, **options)


def graph_options(arguments: argparse.Namespace) -> dict[str, str]:
    """How to read the other graph; flags without one are refused."""
    options = {name: getattr(arguments, name) for name in ("features", "labels")}
    options = {name: value for name, value in options.items() if value is not None}
    if arguments.graph is None and options:
        flags = " and ".join(f"--{name}" for name in options)
        raise ConfigError(f"Expected --graph beside {flags}: they belong to another graph.")
    return options


def deliver_nodes(
    arguments: argparse.Namespace, table: Callable[[Run, Graph | None, int], pl.DataFrame]
) -> int:
    """Deliver a table of k nodes that a run finds; what is wrong with the flags is told first."""
    k, path = above_zero("-k", arguments.k), check_output(arguments.out)
    trained, graph = open_run(arguments)
    deliver([table(trained, graph, k)], path)
    return 0


def check_output(name: str | None) -> Path | None:
    """The file to write; refused before the work if its ending or folder is wrong."""
    if name is None:
        return None
    path = Path(name)
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(one_of("the ending of --out", path.suffix, ENDINGS))
    if not path.parent.is_dir():
        raise DataError(
            f"Expected the folder {path.parent} to write {path.name} to: there is none."
        )
    return path


def deliver(blocks: Iterable[pl.DataFrame], path: Path | None) -> None:
    """Write a table, which comes as blocks of rows, to a file, or show it."""
    if path is not None:
        from hgcn.files import write_blocks

        rows = write_blocks(path, blocks)
        sys.stderr.write(f"{path}: {rows:,} rows\n")
    elif sys.stdout.isatty():
        _show(blocks)
    else:
        for number, block in enumerate(blocks):
            sys.stdout.write(block.write_csv(include_header=not number))


def _show(blocks: Iterable[pl.DataFrame]) -> None:
    from hgcn.commands._display import output, rows_table

    console = output()
    names: list[str] = []
    rows: list[list[str]] = []
    total = 0
    for block in blocks:
        names, total = block.columns, total + block.height
        top = block.head(SHOWN - len(rows)).iter_rows()
        rows += [[_cell(value) for value in row] for row in top]
    console.print(rows_table(names, rows))
    if total > SHOWN:
        console.print(f"{total - SHOWN:,} more rows; -o FILE writes all.")


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
