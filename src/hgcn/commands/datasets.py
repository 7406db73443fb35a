"""``hgcn datasets``: the table of data sets, and which of them are on this machine."""

from __future__ import annotations

import argparse
import json

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


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    from rich import box
    from rich.table import Table

    from hgcn.commands._display import output
    from hgcn.data.datasets import DATASETS, is_present
    from hgcn.errors import DataError
    from hgcn.text import one_of

    for name in arguments.names:
        if name not in DATASETS:
            raise DataError(one_of("NAME", name, DATASETS))
    chosen = [DATASETS[name] for name in arguments.names or DATASETS]
    if arguments.json:
        rows = [
            {fact: getattr(dataset, fact) for fact in FACTS} | {"present": is_present(dataset.name)}
            for dataset in chosen
        ]
        print(json.dumps(rows, indent=2))
        return 0
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("name", "nodes", "edges", "features", "classes", "graphs", "delta", "here"):
        table.add_column(title, justify="left" if title in ("name", "here") else "right")
    table.add_column("licence")
    table.add_column("description")
    for dataset in chosen:
        table.add_row(
            dataset.name,
            *(
                f"{value:,}" if value else "-"
                for value in (
                    dataset.nodes,
                    dataset.edges,
                    dataset.features,
                    dataset.classes,
                    dataset.graphs,
                )
            ),
            "-" if dataset.delta is None else f"{dataset.delta:g}",
            "yes" if is_present(dataset.name) else "no",
            dataset.licence,
            dataset.description,
        )
    output().print(table)
    return 0
