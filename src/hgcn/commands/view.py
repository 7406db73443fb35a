"""`hgcn view`: the interactive page of a run, or of points that somebody already has."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hgcn.commands._points import add_coordinates, is_table, read_table
from hgcn.commands._run import add_run, graph_options, open_run
from hgcn.errors import ConfigError
from hgcn.runs.layout import is_packed, name_of_packed

if TYPE_CHECKING:
    from hgcn.scenes.scene import Scene

EXAMPLES = """\
examples:
  hgcn view runs/cora                       writes and opens runs/cora/disk.html
  hgcn view runs/hgcn --compare runs/gcn    two runs side by side
  hgcn view runs/cora -o page.html --no-open
  hgcn view runs/cora --graph edges.csv --features nodes.csv
  hgcn view points.parquet --coordinates ball      any embedding, points.html
  hgcn view points.csv --graph edges.csv           with the edges of its graph
  hgcn view runs/cora --serve               at 127.0.0.1, for this computer only

The page is one file that needs no network; send it to whom you like.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    add_run(parser, "run folder, or a table of points: an id, then coordinates")
    add_coordinates(parser)
    parser.add_argument(
        "--compare", metavar="RUN2", help="another run or table, shown beside the first"
    )
    parser.add_argument("--label-column", metavar="NAME", help="the column that names nodes")
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help=".html file (in the run folder, or beside the table or zip file)",
    )
    parser.add_argument("--no-open", action="store_true", help="write only, open no browser")
    parser.add_argument("--serve", action="store_true", help="serve on 127.0.0.1 until Ctrl-C")
    parser.add_argument("--port", default="0", metavar="N", help="with --serve (any that is free)")
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Write the page, then show it."""
    path = _path(arguments)
    port = _port(arguments)
    scenes = list(_scenes(arguments))
    from hgcn.viewer import serve, write_page

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


def _scenes(arguments: argparse.Namespace) -> Iterator[Scene]:
    """The scene of the run or table that is named, and of another one to compare."""
    if is_table(arguments.run, arguments):
        names = [name for name in (arguments.run, arguments.compare) if name is not None]
        yield from _table_scenes(arguments, names)
        return
    trained, graph = open_run(arguments)
    from hgcn.runs.folder import load_run
    from hgcn.runs.pictures import scene_from_run

    options = {"label_column": arguments.label_column, "say": _say}
    yield scene_from_run(trained, graph, **options)
    if arguments.compare is not None:
        yield scene_from_run(load_run(arguments.compare), graph, **options)


def _table_scenes(arguments: argparse.Namespace, names: list[str]) -> Iterator[Scene]:
    """Scenes of tables of points, all in the same coordinates."""
    options, column = graph_options(arguments), arguments.label_column
    if arguments.graph is None and column is not None:
        raise ConfigError(
            "Expected --graph beside --label-column: behind the id, all columns of a table of "
            "points are coordinates."
        )
    _say("reading the points")
    tables = [read_table(name, arguments) for name in names]
    from hgcn.data import load
    from hgcn.scenes.of_points import points_scene

    graph = None if arguments.graph is None else load(arguments.graph, **options)
    for points in tables:
        about = {"name": Path(points.name).name, "label_column": column}
        yield points_scene(points, graph, **about, say=_say)


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
    named = Path(arguments.run)
    if is_packed(arguments.run):
        named = name_of_packed(arguments.run)
        folder, words = named.parent, [named.name]
    else:
        folder, words = (named.parent, [named.stem]) if named.is_file() else (named, ["disk"])
    if arguments.graph is not None:
        words.append(Path(arguments.graph).stem)
    if arguments.compare is not None:
        words.append(Path(arguments.compare).resolve().name)
    return folder / (re.sub(r"[^\w-]+", "-", "-".join(words)) + ".html")


def _port(arguments: argparse.Namespace) -> int:
    try:
        port = int(arguments.port)
    except ValueError:
        port = -1
    if not 0 <= port < 65536:
        raise ConfigError(f"Expected --port to be a number in 0..65535, got {arguments.port!r}.")
    return port
