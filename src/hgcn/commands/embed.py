"""`hgcn embed`: embeddings of a trained run as a table."""

from __future__ import annotations

import argparse

from hgcn.commands._run import (
    add_only_new,
    add_output,
    add_run,
    check_output,
    deliver,
    open_run,
)

EXAMPLES = """\
examples:
  hgcn embed runs/cora -o cora.parquet
  hgcn embed runs/cora -o disk.csv --coordinates ball
  hgcn embed runs/cora -o index.parquet --coordinates mips   for a vector store
  hgcn embed runs/cora -o new.parquet --graph edges.csv --features nodes.csv
  hgcn embed runs/cora -o new.csv --graph bigger.csv --features x.csv --only-new

A row for each node: its id, then z0, z1, ...
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    add_only_new(parser)
    add_output(parser, required=True)
    parser.add_argument(
        "--coordinates",
        metavar="normal|hyperboloid|ball|mips",
        default="normal",
        help="logarithms at the origin, the hyperboloid, the Poincaré ball, or vectors for an "
        "index of inner products (normal)",
    )
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Write the embeddings."""
    path = check_output(arguments.out)
    trained, graph = open_run(arguments)
    if arguments.coordinates == "mips":
        from hgcn.nearest.points import tell_of_single_precision

        tell_of_single_precision(trained.points(graph))
    blocks = trained.embedding_blocks(
        graph, coordinates=arguments.coordinates, only_new=arguments.only_new
    )
    deliver(blocks, path)
    return 0
