"""Points that a command works on: those of a run, or of a table that somebody already has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hgcn.commands._loading import preload
from hgcn.errors import ConfigError
from hgcn.names import POINT_COORDINATES
from hgcn.runs.layout import is_packed

if TYPE_CHECKING:
    from hgcn.nearest.points import Points


def add_points(parser: argparse.ArgumentParser) -> None:
    """Add a run folder or a table of points, and how to read the latter."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "points", metavar="RUN", help="run folder, or a table of points: an id, then coordinates"
    )
    add_coordinates(parser)


def add_coordinates(parser: argparse.ArgumentParser) -> None:
    """Add how to read a table of points."""
    group = parser.add_argument_group("a table of points")
    group.add_argument(
        "--coordinates", metavar="|".join(POINT_COORDINATES),
        help="its columns: logarithms at the origin, the hyperboloid, or the ball (normal)",
    )  # fmt: skip
    group.add_argument("--curvature", metavar="C", help="the curvature is -C; 0 for flat space (1)")


def open_points(arguments: argparse.Namespace) -> Points:
    """The points of the run or table that is named."""
    if is_table(arguments.points, arguments):
        return read_table(arguments.points, arguments)
    preload(arguments, "hgcn.runs.folder")
    from hgcn.runs.folder import load_run

    return load_run(arguments.points).points()


def is_table(name: str, arguments: argparse.Namespace) -> bool:
    """Whether a name is that of a table of points; a run is refused beside flags of a table."""
    if Path(name).is_file() and not is_packed(name):
        return True
    for flag in ("coordinates", "curvature"):
        if getattr(arguments, flag) is not None:
            raise ConfigError(
                f"Expected a table of points beside --{flag}, got {name!r}: a run knows its own."
            )
    return False


def read_table(name: str, arguments: argparse.Namespace) -> Points:
    """The points of a table, in the coordinates that flags name."""
    preload(arguments, "hgcn.nearest.files")
    from hgcn.nearest.files import read_points

    return read_points(
        name,
        coordinates=arguments.coordinates or "normal",
        c=_curvature(arguments.curvature),
    )


def _curvature(text: str | None) -> float:
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        raise ConfigError(f"Expected --curvature to be a number, got {text!r}.") from None
