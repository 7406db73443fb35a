"""The style of figures and plots: colours, fonts, and files that are the same each time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.errors import ConfigError
from hgcn.files import make_folder, replacing
from hgcn.packages import require
from hgcn.text import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf", ".png")

# The palette of the interactive page: apart for all common kinds of colour vision.
PALETTE = (
    "#0072b2", "#d95f02", "#1b9e77", "#c2599a", "#e6a700", "#56b4e9", "#5b4a9c", "#8a7a5c",
)  # fmt: skip
BLUE, ORANGE, GREEN = PALETTE[:3]
INK = "#2b2f36"
SOFT = "#6b727c"
LINE = "#c9cdd3"
DISK = "#f7f8fa"
UNKNOWN = "#a9a9a4"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""The names of panels."""

_SETTINGS: dict[str, Any] = {
    "axes.edgecolor": SOFT,
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans"],  # it comes with matplotlib, so text is the same everywhere
    "font.size": 9,
    "grid.color": "#eceef1",
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "svg.hashsalt": "hgcn",
    "text.color": INK,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """The settings of matplotlib that figures are made with, given back afterwards."""
    with require("matplotlib.style", "a picture").context(
        ["default", _SETTINGS]
    ):  # settings of the user do not leak in
        yield


def new_figure(width: float, height: float, *, constrained: bool = True) -> Figure:
    """An empty figure in inches, without pyplot and its list of open figures."""
    new: type[Figure] = require("matplotlib.figure", "a picture").Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08) if constrained else None
    return new(figsize=(width, height), layout=engine)


def lettered(ax: Axes, letter: str, title: str, **look: Any) -> None:
    """Give a panel of a figure its letter and heading."""
    ax.set_title(rf"$\mathbf{{{letter}}}$   {title}", **look)


def check_path(path: str | Path) -> Path:
    """The file to write; an ending of an unknown format is refused."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(one_of("the ending of the file", path.suffix or str(path), FORMATS))
    return path


def save(figure: Figure, path: str | Path, *, dpi: int = 200) -> Path:
    """Write a figure; equal figures give equal files, whenever they are made.

    Args:
        figure: the figure.
        path: the file; its ending names the format: .svg, .pdf or .png.
        dpi: pixels an inch, of a PNG and of areas that other formats hold as pixels.

    Example:
        >>> figure = new_figure(2, 2)
        >>> _ = figure.subplots()
        >>> save(figure, "empty.svg").name
        'empty.svg'
    """
    path = check_path(path)
    kind = path.suffix.lower()[1:]
    metadata = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }[kind]
    make_folder(path.parent)
    with style(), replacing(path) as temporary:
        _settle(figure)
        figure.savefig(temporary, format=kind, metadata=metadata, dpi=dpi)
    return path


def _settle(figure: Figure) -> None:
    """Lay out the figure once: each layout anew would differ by a hair from file to file."""
    engine = figure.get_layout_engine()
    if engine is not None:
        for _ in range(2):
            engine.execute(figure)
        figure.set_layout_engine("none")
