"""`hgcn ancestors`: what is above nodes of a hierarchy."""

from __future__ import annotations

import argparse

from hgcn.commands._run import add_k, add_output, add_run, deliver_nodes

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
    add_k(parser, 10)
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Find the ancestors."""
    return deliver_nodes(arguments, lambda run, graph, k: run.ancestors(arguments.nodes, k, graph))
