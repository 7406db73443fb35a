"""`hgcn view`: the interactive page of a run."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from hgcn.commands._run import add_run, open_run
from hgcn.errors import ConfigError

EXAMPLES = """\
examples:
  hgcn view runs/cora                       writes and opens runs/cora/disk.html
  hgcn view runs/hgcn --compare runs/gcn    two runs side by side
  hgcn view runs/cora -o page.html --no-open
  hgcn view runs/cora --graph edges.csv --features nodes.csv
  hgcn view runs/cora --serve               at 127.0.0.1, for this computer only

The page is one file that needs no network; send it to whom you like.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser)
    parser.add_argument("--compare", metavar="RUN2", help="another run, shown beside the first")
    parser.add_argument("--label-column", metavar="NAME", help="the column that names nodes")
    parser.add_argument("-o", "--out", metavar="FILE", help=".html file (in the run folder)")
    parser.add_argument("--no-open", action="store_true", help="write only, open no browser")
    parser.add_argument("--serve", action="store_true", help="serve on 127.0.0.1 until Ctrl-C")
    parser.add_argument("--port", default="0", metavar="N", help="with --serve (any that is free)")
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Write the page, then show it."""
    path = _path(arguments)
    port = _port(arguments)
    trained, graph = open_run(arguments)
    from hgcn.runs.pictures import scene_from_run
    from hgcn.viewer import serve, write_page

    options = {"label_column": arguments.label_column, "say": _say}
    scenes = [scene_from_run(trained, graph, **options)]
    if arguments.compare is not None:
        from hgcn.runs.folder import load_run

        scenes.append(scene_from_run(load_run(arguments.compare), graph, **options))
    _say("writing the page")
    write_page(path, *scenes)
    if arguments.serve:
        serve(path, port=port, open_browser=not arguments.no_open)
        return 0
    sys.stdout.write(f"{path}\n")
    if not arguments.no_open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


def _say(step: str) -> None:
    """What is done now, for somebody who waits."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{step} ..." if step != "writing the page" else "\r\033[K")
        sys.stderr.flush()


def _path(arguments: argparse.Namespace) -> Path:
    """The file to write; pages of different graphs do not overwrite one another."""
    if arguments.out is not None:
        path = Path(arguments.out)
        if path.suffix.lower() not in (".html", ".htm"):
            raise ConfigError(f"Expected --out to end in .html, got {arguments.out!r}.")
        return path
    words = ["disk"]
    if arguments.graph is not None:
        words.append(Path(arguments.graph).stem)
    if arguments.compare is not None:
        words.append(Path(arguments.compare).resolve().name)
    return Path(arguments.run) / (re.sub(r"[^\w-]+", "-", "-".join(words)) + ".html")


def _port(arguments: argparse.Namespace) -> int:
    try:
        port = int(arguments.port)
    except ValueError:
        port = -1
    if not 0 <= port < 65536:
        raise ConfigError(f"Expected --port to be a number in 0..65535, got {arguments.port!r}.")
    return port
