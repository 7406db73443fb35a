"""Embeddings on the Poincaré disk: nodes as dots, edges as the geodesics between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn import geometry
from hgcn.errors import ConfigError
from hgcn.plots.style import DISK, INK, LINE, PALETTE, SOFT, UNKNOWN
from hgcn.scenes.columns import column as column_of
from hgcn.scenes.home import from_home
from hgcn.scenes.scene import Categories, Layer, Numbers, Scene, Texts
from hgcn.text import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Curve

MOST_EDGES = 20_000
"""At most so many edges are drawn, an even sample: more would only be a grey area."""

COVERED = 0.35
"""The ink of all edges together, as a share of the place that the nodes lie on."""

MANY = 1_500
"""From this number on, marks are drawn as pixels, so that vector files stay small."""

_LENGTHS, _PATHS = 8, 12  # groups of edges of like length, and paths of each
_INK = 0.04, 0.75  # the least and the most opacity of an edge
_SHORT = 2e-3  # edges shorter than this share of the picture cannot be seen
_BENT = 0.9  # cosine of half the turn, below which an arc is halved: Bézier's error is then 1e-5
_SMALL = 0.5  # points within this radius of the drawn disk are magnified
_MOST_HALVINGS = 8  # the turn of an arc is in a short piece of it, and radii are 42 at most


def disk_points(v: Tensor, *, c: float) -> Tensor:
    """Normal coordinates ``[..., 2]`` as points of the unit disk, whatever the curvature."""
    return geometry.to_ball(v.double(), c=c) * c**0.5


def arcs(v: Tensor, w: Tensor, *, c: float) -> Tensor:
    """Geodesics of the unit disk as Bézier curves.

    A geodesic is an arc of a circle at right angles to the rim. Its direction at a point is that of
    the local logarithm, because the disk is conformal; chord and direction give the curve, with no
    need for the centre of the circle, which for flat arcs is far away.

    Args:
        v, w: ends in normal coordinates, ``[n, 2]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Control points ``[m, 4, 2]``; strongly bent arcs are several curves.
    """
    v, w = v.double(), w.double()
    for _ in range(_MOST_HALVINGS):
        bent = _half_turn(v, w, c=c)[2] < _BENT
        if not bent.any():
            break
        middle = geometry.geodesic(v[bent], w[bent], 0.5, c=c)
        v, w = torch.cat((v[~bent], v[bent], middle)), torch.cat((w[~bent], middle, w[bent]))
    x, start, cosine = _half_turn(v, w, c=c)
    y, end, _ = _half_turn(w, v, c=c)
    chord = (y - x).norm(dim=-1)
    handle = (2 * chord / (3 * (1 + cosine))).unsqueeze(-1)
    return torch.stack((x, x + handle * start, y + handle * end, y), dim=1)


def _half_turn(v: Tensor, w: Tensor, *, c: float) -> tuple[Tensor, Tensor, Tensor]:
    """The start of the arc from v to w, its direction there, and the cosine to the chord."""
    x, y = disk_points(v, c=c), disk_points(w, c=c)
    start = torch.nn.functional.normalize(geometry.local_log(v, w, c=c), dim=-1)
    chord = torch.nn.functional.normalize(y - x, dim=-1)
    return x, start, (start * chord).sum(-1).clamp(0, 1)


@dataclass(frozen=True)
class Disk:
    """The Poincaré disk of a space of curvature ``-c`` as a surface to draw on."""

    c: float
    extent = 2.0

    def frame(self, ax: Axes, points: np.ndarray) -> None:
        """Draw the disk itself."""
        draw_rim(ax)

    def drawn(self, points: Tensor) -> Tensor:
        """The position of each point on the paper."""
        return disk_points(points, c=self.c)

    def curves(self, v: Tensor, w: Tensor) -> Tensor:
        """Control points of the geodesics between points."""
        return arcs(v, w, c=self.c)


@dataclass(frozen=True)
class Sheet:
    """A flat surface to draw on; its extent is that of the points."""

    extent: float

    def frame(self, ax: Axes, points: np.ndarray) -> None:
        """Draw a square that holds all points."""
        draw_frame(ax, points)

    def drawn(self, points: Tensor) -> Tensor:
        """The position of each point on the paper."""
        return points

    def curves(self, v: Tensor, w: Tensor) -> Tensor:
        """Ends of the straight lines between points."""
        return torch.stack((v, w), dim=1).double()


def surface_of(c: float | None, points: Tensor) -> Disk | Sheet:
    """The surface to draw points of a plane on: a disk for curvature ``-c``, flat for None."""
    if c is not None:
        return Disk(c)
    return Sheet(float((points.amax(0) - points.amin(0)).max()))


def edge_path(points: Tensor, edges: Tensor, *, c: float | None) -> Curve:
    """All edges as one path: geodesics of the disk, or straight lines of the plane."""
    from matplotlib.path import Path as Curve

    surface = surface_of(c, points)
    curves = surface.curves(points[edges[0]], points[edges[1]])
    seen = (curves[:, -1] - curves[:, 0]).norm(dim=-1) > _SHORT * surface.extent
    curves = curves[seen]
    step = {2: Curve.LINETO, 4: Curve.CURVE4}[curves.shape[1]]
    codes = np.tile([Curve.MOVETO, *[step] * (curves.shape[1] - 1)], len(curves))
    return Curve(curves.reshape(-1, 2).numpy(), codes)


def draw_layer(
    ax: Axes,
    scene: Scene,
    layer: Layer,
    *,
    color: Any = "label",
    edges: bool = True,
    size: float | None = None,
    legend: bool | Axes = True,
    max_edges: int = MOST_EDGES,
) -> None:
    """Draw one layer of a scene: on the Poincaré disk, or on a plane where the layer is flat.

    Args:
        ax: the axes to draw in.
        scene: the scene: nodes, edges, and facts about nodes.
        layer: a layer of the scene.
        color: name of a column of the scene, an array with an entry for each node, or a colour.
        edges: whether to draw edges.
        size: area of a node in square points; by default by their number.
        legend: whether to say what the colours mean, beside the picture or in axes of their own.
        max_edges: largest number of edges to draw; of more, an even sample is drawn.
    """
    points = torch.from_numpy(layer.points)
    surface = surface_of(layer.curvature, points)
    surface.frame(ax, layer.points)
    pairs = torch.from_numpy(scene.edges).long()
    if edges and pairs.shape[1]:
        if pairs.shape[1] > max_edges:
            random = torch.Generator().manual_seed(0)
            pairs = pairs[:, torch.randperm(pairs.shape[1], generator=random)[:max_edges]]
        draw_edges(ax, points, pairs, c=layer.curvature)
    area = node_size(ax, points, layer.curvature) if size is None else size
    beside = (ax, 1.03) if legend is True else (legend, 0.0) if legend else None
    draw_nodes(ax, surface.drawn(points).numpy(), _column(scene, color), color, area, beside)


def centred(layer: Layer) -> Layer:
    """The layer moved by an isometry that takes the Fréchet mean of its nodes to the origin."""
    points = from_home(torch.from_numpy(layer.points), layer.curvature)
    return replace(layer, points=points.numpy())


def draw_rim(ax: Axes) -> None:
    """Draw the disk itself."""
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1, facecolor=DISK, edgecolor=LINE, linewidth=1, zorder=0))
    ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
    ax.set_aspect("equal")
    ax.set_axis_off()


def magnify(ax: Axes, layer: Layer) -> float:
    """Show only the part of a disk that holds all nodes, if that is small; returns how much larger.

    The dashed circle that is drawn around it is not the rim, which is outside.
    """
    from matplotlib.patches import Circle

    if layer.curvature is None:
        return 1.0
    drawn = disk_points(torch.from_numpy(layer.points), c=layer.curvature)
    half = 1.1 * float(drawn.norm(dim=1).max())
    if not 0 < half <= _SMALL:
        return 1.0
    window = Circle((0, 0), half, facecolor="none", edgecolor=LINE, linewidth=1, linestyle="--")
    ax.add_patch(window)
    for artist in (*ax.collections, *ax.patches, *ax.images):
        if artist is not window:
            artist.set_clip_path(window)
    ax.set(xlim=(-1.02 * half, 1.02 * half), ylim=(-1.02 * half, 1.02 * half))
    return 1 / half


def draw_frame(ax: Axes, points: np.ndarray) -> None:
    """Draw a square piece of the plane that holds all points."""
    from matplotlib.patches import Rectangle

    low, high = points.min(0), points.max(0)
    half = 0.54 * float((high - low).max()) or 1.0
    corner = (low + high) / 2 - half
    square = Rectangle((corner[0], corner[1]), 2 * half, 2 * half)
    square.set(facecolor=DISK, edgecolor=LINE, linewidth=1, zorder=0)
    ax.add_patch(square)
    rim = 0.02 * half
    ax.set_xlim(corner[0] - rim, corner[0] + 2 * half + rim)
    ax.set_ylim(corner[1] - rim, corner[1] + 2 * half + rim)
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw_edges(ax: Axes, points: Tensor, pairs: Tensor, *, c: float | None) -> None:
    """Draw edges in one grey. Each has the same amount of ink, so long ones are fainter.

    What overlaps in one path is drawn once, so edges are spread over several paths: then the grey
    is darker where there are more of them.
    """
    from matplotlib.patches import PathPatch

    count = pairs.shape[1]
    width = float(np.clip(15 / count**0.5, 0.3, 0.9))
    length, each = _ink(points, pairs, c, width * 72**-1 / _side(ax))
    for alike in np.array_split(length.argsort().numpy(), min(_LENGTHS, count)):
        ink = float(np.clip(each / max(float(length[alike].mean()), 1e-12), *_INK))
        paths = int(np.clip(len(alike) // 20, 1, _PATHS))
        for first in range(paths):
            patch = PathPatch(
                edge_path(points, pairs[:, alike[first::paths]], c=c),
                facecolor="none",
                edgecolor=SOFT,
                linewidth=width,
                alpha=ink,
                capstyle="round",
                rasterized=count > MANY,
                zorder=1,
            )
            ax.add_patch(patch)


def _ink(points: Tensor, pairs: Tensor, c: float | None, width: float) -> tuple[Tensor, float]:
    """The length of each edge, and length times opacity of one; the picture has the side 1.

    All together then cover a share of the place that nodes lie on.
    """
    drawn, area = _place(points, c)
    length = (drawn[pairs[0]] - drawn[pairs[1]]).norm(dim=1)
    return length, COVERED * area / (width * pairs.shape[1])


def _place(points: Tensor, c: float | None) -> tuple[Tensor, float]:
    """Where nodes are in a picture of side 1, and the area that they lie on.

    For an even disk, the square of its radius is twice the variance.
    """
    surface = surface_of(c, points)
    drawn = surface.drawn(points).double() / (surface.extent or 1.0)
    return drawn, math.pi * 2 * float((drawn - drawn.mean(0)).square().sum(1).mean())


def _side(ax: Axes) -> float:
    """The side of the picture in inches."""
    box = ax.get_window_extent()
    return float(min(box.width, box.height) / ax.get_figure(root=True).dpi)  # type: ignore[union-attr]


def node_size(ax: Axes, points: Tensor, c: float | None) -> float:
    """Area of a node in square points, such that all of them cover a like share of their place."""
    area = 1500 * _place(points, c)[1] * _side(ax) ** 2
    return float(np.clip(area / max(len(points), 1), 1.2, 40))


def _column(scene: Scene, color: Any) -> Categories | Numbers | None:
    from matplotlib.colors import is_color_like

    if isinstance(color, str):
        if color in scene.columns:
            return _coloured(scene.columns[color])
        if is_color_like(color) or color == "label":
            return None  # a graph without labels is drawn in one colour
        raise ConfigError(one_of("color", color, scene.columns, "a colour, or an array"))
    values = np.asarray(color)
    if values.shape != (scene.num_nodes,):
        raise ConfigError(
            f"Expected `color` to have an entry for each of the {scene.num_nodes} nodes, got shape "
            f"{list(values.shape)}."
        )
    return _coloured(column_of(values))


def _coloured(column: Categories | Numbers | Texts) -> Categories | Numbers:
    if isinstance(column, Texts):
        raise ConfigError(
            f"Expected `color` to hold numbers or few names, got {len(set(column.values))} names."
        )
    return column


def draw_nodes(
    ax: Axes,
    points: np.ndarray,
    column: Categories | Numbers | None,
    color: Any,
    area: float,
    legend: tuple[Axes, float] | None,
) -> None:
    """Draw nodes as dots, in an order that hides no class behind another."""
    order = np.random.default_rng(0).permutation(len(points))
    look: dict[str, Any] = {
        "s": area, "linewidths": 0.3 if area > 6 else 0, "edgecolors": "white", "zorder": 2,
        "rasterized": len(points) > MANY,
    }  # fmt: skip
    x, y = points[order].T
    if column is None:
        ax.scatter(x, y, color=color if color != "label" else PALETTE[0], **look)
    elif isinstance(column, Categories):
        colours = np.array(
            [*(PALETTE[k % len(PALETTE)] for k in range(len(column.names))), UNKNOWN]
        )
        ax.scatter(x, y, c=colours[column.codes][order].tolist(), **look)
        if legend:
            _legend(*legend, column, colours)
    else:
        dots = ax.scatter(x, y, c=column.values[order], cmap=ramp(), plotnonfinite=True, **look)
        if legend:
            add_scale(*legend, dots, color if isinstance(color, str) else "")


def ramp() -> Any:
    """Viridis without its bright end, which would drown in the background."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    colours = colormaps["viridis"](np.linspace(0, 0.9, 64))
    return LinearSegmentedColormap.from_list("hgcn", colours).with_extremes(bad=UNKNOWN)


def add_scale(ax: Axes, x: float, dots: Any, label: str) -> None:
    """Add a slim scale of colours that starts at ``x``, in shares of the axes."""
    figure = ax.get_figure()
    if figure is None:
        return
    bar = figure.colorbar(dots, cax=ax.inset_axes((x, 0.2, 0.04, 0.55)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8)
    values = dots.get_array()
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if np.all(np.mod(values[np.isfinite(values)], 1) == 0):
        from matplotlib.ticker import MaxNLocator

        bar.locator = MaxNLocator(min(6, max(1, int(high - low))), integer=True)
        bar.update_ticks()
    bar.ax.set_title(label, fontsize=8.5, color=INK, loc="left")


def _legend(ax: Axes, x: float, column: Categories, colours: np.ndarray) -> None:
    from matplotlib.lines import Line2D

    used = np.unique(column.codes)
    shown = [int(k) for k in used if k >= 0][:12]
    handles = [
        Line2D([], [], marker="o", linestyle="", markersize=5, color=colours[k], label=name)
        for k, name in [(k, column.names[k]) for k in shown] + [(-1, "unknown")] * int(used[0] < 0)
    ]
    # Dots of further categories are coloured too, but a list of them would hide the picture.
    rest = int((used >= 0).sum()) - len(shown)
    title = f"{rest} more" if rest else None
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(x, 0.97), handletextpad=0.1,
        borderaxespad=0, title=title, labelcolor=INK, frameon=False, fontsize=8.5,
        title_fontproperties={"size": 8}, alignment="left",
    ).get_title().set_color(SOFT)  # fmt: skip
