"""``hgcn datasets``: the table of data sets, and which of them are on this machine."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hgcn.commands._loading import preload

if TYPE_CHECKING:
    from rich.table import Table

    from hgcn.data import Dataset

EXAMPLES = """\
examples:
  hgcn datasets                  the table
  hgcn datasets cora pubmed      some of it
  hgcn datasets --json           for programs

A data set that is not here is downloaded when it is first used.
"""

FACTS = (
    "name",
    "description",
    "nodes",
    "edges",
    "features",
    "classes",
    "graphs",
    "licence",
    "source",
    "tasks",
    "delta",
)
"""The fields of a data set that the JSON has, beside ``present``."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = "List the data sets: their size, hyperbolicity, licence and presence."
    parser.epilog = EXAMPLES
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets to list; all if none")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


COLUMNS: dict[str, Callable[[Dataset], str]] = {
    "name": lambda one: one.name,
    "nodes": lambda one: _number(one.nodes),
    "edges": lambda one: _number(one.edges),
    "features": lambda one: _number(one.features),
    "classes": lambda one: _number(one.classes),
    "graphs": lambda one: _number(one.graphs),
    "delta": lambda one: "-" if one.delta is None else f"{one.delta:g}",
    "here": lambda one: "yes" if _is_present(one.name) else "no",
    "licence": lambda one: one.licence,
    "description": lambda one: one.description,
}
"""The columns of the table, and what they say of a data set."""
LEAST = {"description": 24, "licence": 12}
"""Columns that may wrap, and their least width."""
SPARE = ("licence", "graphs", "description", "delta", "features", "classes", "here", "edges")
"""Columns that a narrow terminal has no room for; the first of them go first."""
GAP = 2
"""Between two columns: a space of padding, and one where others draw a line."""


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    preload(arguments, "hgcn.data.datasets")
    from hgcn.commands._display import output
    from hgcn.data.datasets import DATASETS
    from hgcn.errors import DataError
    from hgcn.text import one_of

    for name in arguments.names:
        if name not in DATASETS:
            raise DataError(one_of("NAME", name, DATASETS))
    chosen = [DATASETS[name] for name in arguments.names or DATASETS]
    if arguments.json:
        rows = [
            {fact: getattr(one, fact) for fact in FACTS} | {"present": _is_present(one.name)}
            for one in chosen
        ]
        print(json.dumps(rows, indent=2))
        return 0
    console = output()
    table, left_out = _table(chosen, console.width)
    console.print(table)
    if left_out:
        console.print(f"No room for: {', '.join(left_out)}. A wider terminal or --json shows them.")
    return 0


def _table(chosen: Sequence[Dataset], width: int) -> tuple[Table, list[str]]:
    """A table as wide as the terminal allows, and the columns that it has no room for."""
    from rich import box
    from rich.table import Table

    cells = {title: [value(one) for one in chosen] for title, value in COLUMNS.items()}
    least = {title: max(map(len, [title, *column])) for title, column in cells.items()}
    least |= {title: min(size, least[title]) for title, size in LEAST.items()}
    left_out = []
    for title in SPARE:
        if sum(least.values()) + GAP * len(least) > width:
            left_out.append(title)
            del least[title]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, GAP - 1, 0, 0))
    for title, size in least.items():
        table.add_column(
            title,
            justify="left" if title in ("name", "here", *LEAST) else "right",
            min_width=min(size, width),
            # A name must be typed: it is never cut.
            overflow="fold",
        )
    for row in zip(*(cells[title] for title in least), strict=True):
        table.add_row(*row)
    return table, left_out


def _number(value: int | None) -> str:
    return f"{value:,}" if value else "-"


def _is_present(name: str) -> bool:
    from hgcn.data.datasets import is_present

    return is_present(name)
