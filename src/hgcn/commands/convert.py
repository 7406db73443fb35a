"""`hgcn convert`: a graph as a folder of arrays, which may be larger than memory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hgcn.commands._interruption import explained
from hgcn.commands._loading import preload
from hgcn.commands._settings import add_settings, given_settings
from hgcn.errors import ConfigError

EXAMPLES = """\
examples:
  hgcn convert edges.parquet -o graph/
  hgcn convert edges.csv -o graph/ --features nodes.parquet --labels kind
  hgcn convert cora -o graph/       a data set
  hgcn train graph/                 maps the arrays: nothing is copied
  hgcn convert --check graph/       compare all arrays with their checksums

Edge lists and tables in CSV and Parquet may be larger than memory. After an
interruption, the same command goes on where it stopped.
"""
SETTINGS = (
    "features", "labels", "feature_columns", "drop", "text", "date_parts", "directed", "split",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", metavar="SOURCE", help="name of a data set, edge list or folder")
    parser.add_argument("-o", "--out", metavar="FOLDER", help="folder to make")
    parser.add_argument(
        "--check", action="store_true", help="look for damage in a folder made before, SOURCE"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--nodes", metavar="FILE", help="table of nodes, keyed by id")
    parser.add_argument("--graph-ids", metavar="NAME", help="the graph of each node, as for labels")
    add_settings(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Convert, or check."""
    options: dict[str, Any] = given_settings(arguments)
    for name in ("nodes", "graph_ids"):
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    if arguments.check:
        if arguments.out is not None or options:
            raise ConfigError("Expected a folder alone with --check: hgcn convert --check graph/")
        return _check(arguments)
    if arguments.out is None:
        raise ConfigError("Expected a folder to write to: hgcn convert SOURCE -o graph/")
    preload(arguments, "hgcn.data.mapped.build")
    from hgcn.data import load
    from hgcn.data.mapped.build import convert

    shown = sys.stderr.isatty() and not arguments.quiet

    def tell(step: str) -> None:
        sys.stderr.write(f"\r\033[K{step} ...")
        sys.stderr.flush()

    def left() -> str:
        return "What is done is kept. The same command goes on from there."

    with explained(left):
        try:
            out = convert(arguments.source, arguments.out, tell=tell if shown else None, **options)
        finally:
            sys.stderr.write("\r\033[K" * shown)
    graph = load(Path(out))
    if not arguments.quiet:
        print(f"{out}: {graph!r}")
        for note in graph.notes:
            print(f"  {note}")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    preload(arguments, "hgcn.data.mapped.load")
    from hgcn.data.mapped.load import check_folder

    size = check_folder(arguments.source)
    if not arguments.quiet:
        print(f"{arguments.source}: {size:,} bytes, all as they were written.")
    return 0
