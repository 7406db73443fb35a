"""`hgcn neighbours`: the nearest nodes of nodes."""

from __future__ import annotations

import argparse

from hgcn.commands._points import add_points, open_points
from hgcn.commands._run import add_k, add_output, check_output, deliver
from hgcn.commands._settings import above_zero

EXAMPLES = """\
examples:
  hgcn neighbours runs/cora 17 42
  hgcn neighbours runs/cora -k 20 -o nearest.parquet     of every node
  hgcn neighbours points.parquet --coordinates ball -o nearest.csv

A row for each node and each of its k nearest, the nearest first, in the
distance of the model. The search is exact.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_points(parser)
    parser.add_argument(
        "nodes", metavar="NODE", nargs="*", help="id of a node; without, all of them"
    )
    add_k(parser, 10)
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Find the neighbours."""
    k, path = above_zero("-k", arguments.k), check_output(arguments.out)
    points = open_points(arguments)
    blocks = points.neighbour_blocks(arguments.nodes or None, k)
    from hgcn.commands._display import counted

    deliver(counted(blocks, "nodes", len(arguments.nodes or points.z), k), path)
    return 0
