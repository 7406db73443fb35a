"""`hgcn evaluate`: scores of a trained run."""

from __future__ import annotations

import argparse

from hgcn.commands._run import add_run, open_run

EXAMPLES = """\
examples:
  hgcn evaluate runs/cora                 scores on the run's own test part
  hgcn evaluate runs/cora --graph pubmed  scores on a graph it has never seen
  hgcn evaluate runs/cora --negatives hard  each edge among its likest pairs

Of another graph, all labelled nodes are classified; or a tenth of its edges is
hidden and predicted from the others. Hard negatives of an edge are 250 pairs
that have one of its ends, and another node that has many neighbours in common
with that end.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    parser.add_argument(
        "--negatives", default="random", metavar="KIND", help="of links: random or hard (random)"
    )
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Evaluate as asked."""
    trained, graph = open_run(arguments)
    scores = trained.evaluate(graph, negatives=arguments.negatives)

    from hgcn.commands._display import output, percent, plain, rows_table
    from hgcn.names import PLAIN_SCORES, score_name

    where = "its own test part" if graph is None else str(arguments.graph)
    if arguments.negatives == "hard":
        where += ", hard negatives"
    title = f"{arguments.run}: {trained.config.task} prediction with {trained.config.model}"
    rows = [
        [score_name(name), (plain if name in PLAIN_SCORES else percent)(value)]
        for name, value in scores.items()
    ]
    output().print(rows_table(["score", f"on {where}"], rows, title))
    return 0
