"""Figure 1 of the paper: geodesics of the Poincaré disk, and distance against curvature."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.geometry import ball, from_ball, local_log, translate
from hgcn.plots.disk import arcs, draw_rim, ramp
from hgcn.plots.style import BLUE, INK, LINE, ORANGE, SOFT, lettered, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDS = torch.tensor([[-0.48, 0.42], [0.48, 0.42]], dtype=torch.float64)
"""The points x and y, the same coordinates in every ball."""

CURVATURES = (0.1, 1.0, 1.5, 2.0, 2.4)
FAR = 12.0
"""Radius of what is drawn as a point of the rim; it is 1e-5 away from it."""

POINT = torch.tensor([0.0, 0.75], dtype=torch.float64)
LINE_FOOT = torch.tensor([0.0, -0.55], dtype=torch.float64)


def geometry_figure() -> Figure:
    """Geodesics between two points for several curvatures, their length, and lines of the disk.

    Example:
        >>> len(geometry_figure().axes)
        3
    """
    with style():
        figure = new_figure(10.4, 3.4)
        left, middle, right = figure.subplots(1, 3)
        _geodesics(left)
        _distances(middle)
        _lines(right)
        return figure


def end_distance(c: float) -> float:
    """Distance of the two points in the ball of curvature ``-c``."""
    return float(ball.distance(ENDS[0], ENDS[1], c=c))


def _colours() -> list[Any]:
    colours = ramp()
    return [colours(share) for share in np.linspace(0.95, 0, len(CURVATURES))]


def _geodesics(ax: Axes) -> None:
    from matplotlib.patches import Circle

    for c, colour in zip(CURVATURES, _colours(), strict=True):
        ax.add_patch(Circle((0, 0), c**-0.5, fill=False, edgecolor=colour, alpha=0.35, linewidth=1))
        v, w = from_ball(ENDS, c=c).unsqueeze(1)
        draw_curves(ax, arcs(v, w, c=c) / c**0.5, colour, 2)
        if c**-0.5 <= 1:  # else the rim is outside
            angle = math.radians(-90 + 24 * (CURVATURES.index(c) - 2.5))
            place = 0.985 * c**-0.5 * math.cos(angle), 0.985 * c**-0.5 * math.sin(angle)
            look = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            ax.text(
                *place, f"−{c:g}", color=colour, fontsize=8, ha="center", va="center", bbox=look
            )
    ax.plot(*ENDS.T.numpy(), "o", color=INK, markersize=5, zorder=5)
    for (x, y), name in zip(ENDS.tolist(), "xy", strict=True):
        beside = (x + math.copysign(0.07, x), y + 0.05)
        ax.text(*beside, f"$\\mathbf{{{name}}}$", ha="center", fontsize=11)
    ax.plot(0, 0, "+", color=SOFT, markersize=6, markeredgewidth=1)
    ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
    outside = CURVATURES[0]
    ax.text(
        0, -1.09, f"the rim of −{outside:g} is outside", color=SOFT, fontsize=8,
        ha="center", va="top",
    )  # fmt: skip
    lettered(ax, "a", "Geodesics; the curvature at each rim")
    ax.set_aspect("equal")
    ax.set_axis_off()


def _distances(ax: Axes) -> None:
    grid = np.linspace(0.005, 2.44, 300)
    ax.plot(-grid, [end_distance(float(c)) for c in grid], color=SOFT, linewidth=1.5)
    for c, colour in zip(CURVATURES, _colours(), strict=True):
        ax.plot(-c, end_distance(c), "o", color=colour, markersize=7, zorder=3)
    flat = 2 * float((ENDS[0] - ENDS[1]).norm())
    ax.axhline(flat, color=LINE, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    ax.text(-2.42, flat + 0.03, "flat space", color=SOFT, fontsize=8, va="bottom")
    ax.set(xlim=(-2.5, 0), xlabel="curvature −c = −1/K", ylim=(1.5, 7))
    lettered(ax, "b", "Distance of x and y")


def _lines(ax: Axes) -> None:
    """Through a point, many lines never meet a given one."""
    draw_rim(ax)
    ax.set_aspect("equal")
    base = line(LINE_FOOT, 0.0)
    for angle in np.arange(0, 180, 15):
        through = line(POINT, math.radians(float(angle)))
        meets = crosses(base, through)
        colour = LINE if meets else ORANGE
        draw_curves(ax, arcs(*through, c=1.0), colour, 1.2, zorder=1 if meets else 2)
    draw_curves(ax, arcs(*base, c=1.0), BLUE, 2.2, zorder=3)
    ax.plot(*(torch.tanh(POINT / 2)).tolist(), "o", color=INK, markersize=5, zorder=5)
    lettered(ax, "c", "Orange lines miss the blue one")


def line(point: Tensor, angle: float) -> tuple[Tensor, Tensor]:
    """The two ends ``[1, 2]``, near the rim, of the line through a point in a direction."""
    way = FAR * torch.tensor([[math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    return translate(point, way, c=1.0), translate(point, -way, c=1.0)


def crosses(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> bool:
    """Whether two lines meet: the ends of one are then on both sides of the other."""
    first, second = (local_log(one[0], end, c=1.0)[0] for end in other)
    along = local_log(one[0], one[1], c=1.0)[0]
    sides = [along[0] * v[1] - along[1] * v[0] for v in (first, second)]
    return bool(sides[0] * sides[1] < 0)


def draw_curves(ax: Axes, curves: Tensor, color: Any, width: float, **more: Any) -> None:
    """Bézier curves ``[n, 4, 2]`` in one colour."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    codes = np.tile([Curve.MOVETO, *[Curve.CURVE4] * 3], len(curves))
    path = Curve(curves.reshape(-1, 2).numpy(), codes)
    look = {"facecolor": "none", "edgecolor": color, "linewidth": width, "capstyle": "round"}
    ax.add_patch(PathPatch(path, **{**look, **more}))
