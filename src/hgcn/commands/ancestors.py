"""`hgcn ancestors`: what is above nodes of a hierarchy."""

from __future__ import annotations

import argparse

from hgcn.commands._run import add_output, add_run, check_output, deliver, open_run
from hgcn.commands._settings import above_zero

EXAMPLES = """\
examples:
  hgcn ancestors runs/mammals dog.n.01
  hgcn ancestors runs/mammals dog.n.01 cat.n.01 -k 3 -o above.csv

A row for each node and each of the k likeliest ancestors, the likeliest first.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    parser.add_argument("nodes", metavar="NODE", nargs="+", help="id of a node")
    parser.add_argument("-k", default="10", metavar="K", help="so many of each node (10)")
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Find the ancestors."""
    k, path = above_zero("-k", arguments.k), check_output(arguments.out)
    trained, graph = open_run(arguments)
    deliver([trained.ancestors(arguments.nodes, k, graph)], path)
    return 0
