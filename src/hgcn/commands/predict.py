"""`hgcn predict`: classes of nodes, probabilities of links, or links that are missing."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hgcn.commands._run import (
    add_only_new,
    add_output,
    add_run,
    check_output,
    deliver,
    open_run,
)
from hgcn.commands._settings import above_zero
from hgcn.errors import ConfigError, DataError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from hgcn.data import Graph
    from hgcn.runs.run import Run

EXAMPLES = """\
examples:
  hgcn predict runs/classes -o classes.csv        the class of each node
  hgcn predict runs/classes --graph bigger.csv --features nodes.csv --only-new
  hgcn predict runs/links --pairs pairs.csv       how probable these links are
  hgcn predict runs/links --top-k 20              the 20 likeliest missing links
  hgcn predict runs/links --top-k 5 --per-node    5 for each node
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    add_only_new(parser)
    add_output(parser, required=False)
    links = parser.add_argument_group("links")
    links.add_argument("--pairs", metavar="FILE", help="table whose first two columns are ids")
    links.add_argument("--top-k", metavar="K", help="the K most probable links that are missing")
    links.add_argument("--per-node", action="store_true", help="K of each node, not of all")
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Predict as asked."""
    k = _check(arguments)
    path = check_output(arguments.out)
    trained, graph = open_run(arguments)
    graph = trained.resolve(graph)
    if arguments.pairs is not None:
        blocks = _links(trained, graph, arguments.pairs)
    elif k is not None:
        pairs, probability = trained.top_links(k, graph, per_node=arguments.per_node)
        blocks = _link_blocks(graph, pairs.numpy(), probability.numpy())
    else:
        blocks = trained.prediction_blocks(graph, only_new=arguments.only_new)
    deliver(blocks, path)
    return 0


def _check(arguments: argparse.Namespace) -> int | None:
    """The number of --top-k; flags that do not go together are refused."""
    if arguments.only_new and (arguments.pairs is not None or arguments.top_k is not None):
        raise ConfigError("Expected --only-new with predictions of nodes, not of links.")
    if arguments.pairs is not None and arguments.top_k is not None:
        raise ConfigError("Expected --pairs or --top-k, got both.")
    if arguments.top_k is None:
        if arguments.per_node:
            raise ConfigError("Expected --top-k K beside --per-node.")
        return None
    return above_zero("--top-k", arguments.top_k)


def _links(trained: Run, graph: Graph, file: str) -> Iterator[pl.DataFrame]:
    """Probabilities of the links that a file asks for."""
    import numpy as np
    import polars as pl

    from hgcn.data.reading.edges import edges_from_table
    from hgcn.data.reading.ids import positions
    from hgcn.data.reading.tables import Table

    asked = edges_from_table(Table(file))
    nodes = positions(asked.ids, pl.Series(graph.ids.tolist()))
    if (nodes < 0).any():
        at = int(np.argmax(nodes < 0))
        raise DataError(
            f"Expected ids of nodes of the graph, got {asked.ids[at]!r} "
            f"({asked.location_of_end(at)})."
        )
    pairs = nodes.reshape(2, -1)
    return _link_blocks(graph, pairs, trained.predict_links(pairs, graph).numpy())


def _link_blocks(
    graph: Graph, pairs: np.ndarray, probability: np.ndarray
) -> Iterator[pl.DataFrame]:
    """Links and their probabilities, some rows at a time; a table without rows is one block."""
    import polars as pl

    from hgcn.inference.trained import row_blocks

    for rows in list(row_blocks(len(probability))) or [slice(0, 0)]:
        source, target = (
            pl.Series(graph.ids[end].tolist(), strict=False) for end in pairs[:, rows]
        )
        yield pl.DataFrame({"source": source, "target": target, "probability": probability[rows]})
