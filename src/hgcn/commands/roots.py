"""`hgcn roots`: the nodes at the top of a hierarchy."""

from __future__ import annotations

import argparse

from hgcn.commands._run import add_k, add_output, add_run, deliver_nodes

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
    add_k(parser, 10, "so many nodes")
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Find the roots."""
    return deliver_nodes(arguments, lambda run, graph, k: run.roots(k, graph))
