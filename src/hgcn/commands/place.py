"""`hgcn place`: where new nodes belong in a hierarchy."""

from __future__ import annotations

import argparse

from hgcn.commands._loading import preload
from hgcn.commands._run import RUN_HELP, add_k, add_output, check_output, deliver
from hgcn.commands._settings import above_zero

EXAMPLES = """\
examples:
  hgcn train edges.csv --features nodes.csv --text description --task hierarchy
  hgcn place runs/edges --features new.csv
  hgcn place runs/edges --features new.csv -k 3 -o places.csv

A row for each new node and each of the k nodes that are likeliest to be above
it. The table has an id and the columns that the run was trained on.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument(
        "--features", metavar="FILE", required=True, help="the new nodes: a table with an id"
    )
    add_k(parser, 5)
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Place the nodes."""
    k, path = above_zero("-k", arguments.k), check_output(arguments.out)
    preload(arguments, "hgcn.runs.folder")
    from hgcn.runs.folder import load_run

    deliver([load_run(arguments.run).place(arguments.features, k)], path)
    return 0
