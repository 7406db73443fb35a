"""`hgcn roots`: the nodes at the top of a hierarchy."""

from __future__ import annotations

import argparse

from hgcn.commands._run import add_output, add_run, check_output, deliver, open_run
from hgcn.commands._settings import above_zero

EXAMPLES = """\
examples:
  hgcn roots runs/mammals
  hgcn roots runs/mammals -k 50 -o top.csv

The nodes with the smallest radius, and how many parents and children the graph
has for each of them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    parser.add_argument("-k", default="10", metavar="K", help="so many nodes (10)")
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Find the roots."""
    k, path = above_zero("-k", arguments.k), check_output(arguments.out)
    trained, graph = open_run(arguments)
    deliver([trained.roots(k, graph)], path)
    return 0
