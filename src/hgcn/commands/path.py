"""`hgcn path`: the nodes along the way from one node to another."""

from __future__ import annotations

import argparse

from hgcn.commands._points import add_points, open_points
from hgcn.commands._run import add_output, check_output, deliver

EXAMPLES = """\
examples:
  hgcn path runs/mammals dog.n.01 cat.n.01
  hgcn path points.csv ann bob --coordinates ball

The nodes nearest to the geodesic between two: where on the way, as a share of
it, and how far off. In a good embedding of a hierarchy the way leads up to the
common ancestor and down again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_points(parser)
    parser.add_argument("first", metavar="A", help="id of a node")
    parser.add_argument("last", metavar="B", help="id of another node")
    add_output(parser, required=False)
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Find the way."""
    path = check_output(arguments.out)
    points = open_points(arguments)
    from hgcn.nearest.paths import path_between

    deliver([path_between(points, arguments.first, arguments.last)], path)
    return 0
