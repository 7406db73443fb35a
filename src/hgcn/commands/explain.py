"""`hgcn explain`: what a prediction rests on."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hgcn.commands._run import add_run, deliver, open_run
from hgcn.errors import ConfigError
from hgcn.text import one_of

EXAMPLES = """\
examples:
  hgcn explain runs/cora 17                  why node 17 has its class
  hgcn explain runs/flights 580 507          why there is a link, or none
  hgcn explain runs/cora 17 -o why.svg       the same as a picture
  hgcn explain runs/cora 17 -o why.csv       all of it as a table

Features are explained by integrated gradients: what each adds to the score.
For a class the score is its logit less that of the next best class, for a
link its logit. Attention is that of the last layer, the node itself included.
"""
TABLES, PICTURES = (".csv", ".parquet"), (".svg", ".pdf", ".png")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    parser.add_argument(
        "nodes", metavar="NODE", nargs="+", help="id or name of a node; of two for a link"
    )
    parser.add_argument("--label-column", metavar="NAME", help="the column that names nodes")
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="a picture (.svg, .pdf, .png) or a table (.csv, ...)"
    )
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Explain a prediction."""
    path = None if arguments.out is None else Path(arguments.out)
    if path is not None and path.suffix.lower() not in (*TABLES, *PICTURES):
        raise ConfigError(one_of("the ending of --out", path.suffix, (*TABLES, *PICTURES)))
    trained, graph = open_run(arguments)
    why = trained.explain(*arguments.nodes, graph=graph, label_column=arguments.label_column)
    sys.stderr.write(
        f"{why.subject}: {why.prediction}, probability {why.probability:.4f}, score "
        f"{why.score:.4g} ({why.baseline:.4g} without features)\n"
    )
    if path is not None and path.suffix.lower() in PICTURES:
        from hgcn.figures.explanation import explanation_figure
        from hgcn.plots.style import save

        sys.stdout.write(f"{save(explanation_figure(why), path)}\n")
    else:
        deliver([why.table(10 if path is None else 1 << 30)], path)
    return 0
