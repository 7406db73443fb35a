"""`hgcn report`: charts and tables about a run, as one page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hgcn.commands._run import RUN_HELP
from hgcn.errors import ConfigError
from hgcn.runs.layout import REPORT, is_packed, name_of_packed

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
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument(
        "--beside", nargs="+", default=[], metavar="RUN", help="runs on the same split, to compare"
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", help=".html file (in the run folder, or beside the zip file)"
    )
    parser.add_argument("--no-open", action="store_true", help="write only, open no browser")
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Write the report, then show it."""
    if arguments.out is not None and Path(arguments.out).suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"Expected --out to end in .html, got {arguments.out!r}.")
    from hgcn.runs.folder import load_run
    from hgcn.runs.report import report

    others = [load_run(name) for name in arguments.beside]
    path = arguments.out
    if path is None and is_packed(arguments.run):
        path = f"{name_of_packed(arguments.run)}-{REPORT}"
    page = report(load_run(arguments.run), path, beside=others)
    sys.stdout.write(f"{page}\n")
    if not arguments.no_open:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return 0
