"""`hgcn report`: charts and tables about a run, as one page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hgcn.errors import ConfigError

EXAMPLES = """\
examples:
  hgcn report runs/cora                 writes and opens runs/cora/report.html
  hgcn report runs/cora -o report.html --no-open
  hgcn report runs/cora --beside runs/gcn runs/gat   scores of others, too

The page is one file that needs no network: curves of the training, ROC and
reliability or the confusion matrix, distances, radii, degrees and Gromov's
delta, scores without training, settings and versions.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", metavar="RUN", help="run folder, as `hgcn train` writes it")
    parser.add_argument(
        "--beside", nargs="+", default=[], metavar="RUN", help="runs on the same split, to compare"
    )
    parser.add_argument("-o", "--out", metavar="FILE", help=".html file (in the run folder)")
    parser.add_argument("--no-open", action="store_true", help="write only, open no browser")
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Write the report, then show it."""
    if arguments.out is not None and Path(arguments.out).suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"Expected --out to end in .html, got {arguments.out!r}.")
    from hgcn.runs.folder import load_run
    from hgcn.runs.report import report

    others = [load_run(name) for name in arguments.beside]
    page = report(load_run(arguments.run), arguments.out, beside=others)
    sys.stdout.write(f"{page}\n")
    if not arguments.no_open:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return 0
