"""Points that a command works on: those of a run, or of a table that somebody already has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hgcn.commands._loading import preload
from hgcn.errors import ConfigError
from hgcn.names import POINT_COORDINATES

if TYPE_CHECKING:
    from hgcn.nearest.points import Points


def add_points(parser: argparse.ArgumentParser) -> None:
    """Add a run folder or a table of points, and how to read the latter."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "points", metavar="RUN", help="run folder, or a table of points: an id, then coordinates"
    )
    group = parser.add_argument_group("a table of points")
    group.add_argument(
        "--coordinates", metavar="|".join(POINT_COORDINATES),
        help="its columns: logarithms at the origin, the hyperboloid, or the ball (normal)",
    )  # fmt: skip
    group.add_argument("--curvature", metavar="C", help="the curvature is -C; 0 for flat space (1)")


def open_points(arguments: argparse.Namespace) -> Points:
    """The points of the run or table that is named."""
    if Path(arguments.points).is_file():
        preload(arguments, "hgcn.nearest.files")
        from hgcn.nearest.files import read_points

        return read_points(
            arguments.points,
            coordinates=arguments.coordinates or "normal",
            c=_curvature(arguments.curvature),
        )
    for flag in ("coordinates", "curvature"):
        if getattr(arguments, flag) is not None:
            raise ConfigError(
                f"Expected a table of points beside --{flag}, got {arguments.points!r}: a run "
                "knows its own."
            )
    preload(arguments, "hgcn.runs.folder")
    from hgcn.runs.folder import load_run

    return load_run(arguments.points).points()


def _curvature(text: str | None) -> float:
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        raise ConfigError(f"Expected --curvature to be a number, got {text!r}.") from None
