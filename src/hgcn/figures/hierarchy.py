"""A hierarchy on the Poincaré disk: the root at the centre, branches in colours, some names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from hgcn import geometry
from hgcn.data.splits.hierarchy import closure
from hgcn.errors import ConfigError
from hgcn.plots.disk import disk_points, draw_edges, draw_rim
from hgcn.plots.style import INK, PALETTE, UNKNOWN, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hgcn.runs.run import Run

SIDE = 5.0
"""Inches."""
BRANCHES = 8
"""Branches with a colour: the largest that are apart from each other."""


def hierarchy_figure(run: Run, *, names: int = 22) -> Figure:
    """Draw a run of the task "hierarchy" in two dimensions, its root at the centre.

    See :func:`hgcn.figures.training_figure`: a run is given in the same way.

    The root is the node with most descendants. Moving it to the centre changes no distance. A
    branch that has a colour is no part of another one.

    Args:
        run: a run with ``dim=2`` of a hyperbolic model.
        names: how many nodes have their name, those with most descendants first.
    """
    z = run.embeddings().double()
    curvatures = run.predictor.encoder.space.curvatures
    if z.shape[1] != 2 or not curvatures:
        raise ConfigError(
            f"Expected a run of a hyperbolic model in two dimensions, got {z.shape[1]}. Train it "
            "with --dim 2."
        )
    graph, c = run.graph, curvatures[0]
    above = closure(graph.pairs(), graph.num_nodes, graph.ids)
    below = torch.bincount(above[1], minlength=graph.num_nodes)
    root = int(below.argmax())
    v = geometry.translate(-z[root], z, c=c)
    at = disk_points(v, c=c).numpy()
    branch = _branches(above.numpy(), below.numpy(), root)
    with style():
        figure = new_figure(SIDE, SIDE)
        ax = figure.add_subplot()
        draw_rim(ax)
        draw_edges(ax, v, graph.pairs(), c=c)
        size = 3 + 4 * np.log1p(below.numpy())
        for k in (-1, *range(branch.max() + 1)):
            own = branch == k
            colour = UNKNOWN if k < 0 else PALETTE[k % len(PALETTE)]
            ax.scatter(at[own, 0], at[own, 1], s=size[own], color=colour, linewidths=0, zorder=3)
        _write(ax, at, below.numpy(), [_short(str(name)) for name in graph.ids], names)
        ax.set_aspect("equal")
        ax.set_axis_off()
    return figure


def _branches(above: np.ndarray, below: np.ndarray, root: int) -> np.ndarray:
    """The branch of each node, -1 for none: subtrees of a tenth of all nodes or less."""
    branch = np.full(len(below), -1)
    found = 0
    for node in np.argsort(-below, kind="stable"):
        if node == root or below[node] > 0.25 * len(below) or branch[node] >= 0:
            continue
        own = np.append(above[0, above[1] == node], node)
        branch[own[branch[own] < 0]] = found
        found += 1
        if found == BRANCHES:
            break
    return branch


def _write(ax: object, at: np.ndarray, below: np.ndarray, texts: list[str], most: int) -> None:
    """Names of the nodes with most descendants, as far as they do not hide each other."""
    boxes: list[tuple[float, float, float, float]] = []
    for node in np.argsort(-below, kind="stable"):
        x, y = at[node]
        wide, high = 0.028 * len(texts[node]), 0.05
        box = x - wide / 2, y + 0.012, x + wide / 2, y + 0.012 + high
        if any(_meet(box, other) for other in boxes):
            continue
        boxes.append(box)
        ax.annotate(  # type: ignore[attr-defined]
            texts[node], (x, y), xytext=(0, 3), textcoords="offset points", ha="center",
            va="bottom", size=7, color=INK, zorder=5,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
        )  # fmt: skip
        if len(boxes) == most:
            return


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _short(name: str) -> str:
    """A synset without its part of speech and number: 'dog.n.01' is 'dog'."""
    word = name.split(".n.", maxsplit=1)[0] if ".n." in name else name
    return word.replace("_", " ")
