"""Figure 3 of the paper: embeddings after the first and the last layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hgcn.errors import ConfigError
from hgcn.figures.disk import centred, draw_layer
from hgcn.figures.style import new_figure, style
from hgcn.viewer.from_run import scene_from_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hgcn.run import Run

SUBJECTS = (("disease_lp", "link"), ("cora", "node"))
MODELS = ("gcn", "hgcn")
NAMES = {"gcn": "GCN", "hgcn": "HGCN", "gat": "GAT", "disease_lp": "Disease", "cora": "Cora"}
DIM = 3
PANEL, LEGEND, TITLE, GAP = 2.4, 1.85, 0.25, 0.08  # inches


def train_for_embeddings(
    *, dim: int = DIM, seed: int = 0, on_run: Callable[[str], Any] | None = None, **settings: Any
) -> list[Run]:
    """The runs of the figure: GCN and HGCN on Disease (links) and on Cora (classes).

    Args:
        dim: size of embeddings; the paper's figure has 3.
        seed: of every run.
        on_run: called with the name of each run before it is trained; what it returns is called
            after each epoch.
        settings: other settings of all runs.
    """
    from hgcn.fit import fit

    runs = []
    for model in MODELS:
        for source, task in SUBJECTS:
            watch = on_run(f"{model} on {source}") if on_run else None
            wanted = {"model": model, "dim": dim, "seed": seed, **settings}
            runs.append(fit(source, task=task, on_epoch=watch, **wanted))
    return runs


def embeddings_figure(runs: Sequence[Run], *, color: str | None = None) -> Figure:
    """First and last layer of each run, two runs a row.

    Hyperbolic layers are drawn on the Poincaré disk, moved such that the mean of all nodes is in
    the middle, which changes no distance. Layers of more than two dimensions are projected.

    Args:
        runs: one or more.
        color: name of a column; by default the depth for links and the class for nodes.
    """
    if not runs:
        raise ConfigError("Expected at least one run to draw, got none.")
    columns = min(2, len(runs))
    rows = math.ceil(len(runs) / columns)
    width, height = 2 * PANEL + LEGEND, PANEL + TITLE
    with style():
        figure = new_figure(width * columns, height * rows, constrained=False)
        for k, run in enumerate(runs):
            row, column = divmod(k, columns)
            corner = column * width + GAP, (rows - 1 - row) * height + GAP
            _draw(figure, corner, run, color)
        return figure


def _draw(figure: Figure, corner: tuple[float, float], run: Run, color: str | None) -> None:
    """First layer, last layer and legend of a run, from a corner in inches."""
    scene = scene_from_run(run, missing=0)
    layers = [layer for layer in scene.layers if layer.title != "Input"]
    chosen = color or ("depth" if run.config.task == "link" else "label")
    name = NAMES.get(run.config.model, run.config.model)
    data = NAMES.get(run.graph.name, run.graph.name)
    wide, high = figure.get_size_inches()
    left, below = corner

    def axes(place: int) -> Axes:
        x = left + place * PANEL
        side = PANEL - GAP
        return figure.add_axes((x / wide, below / high, side / wide, side / high))

    legend = axes(2)
    legend.set_axis_off()
    for place, layer in enumerate((layers[0], layers[-1])):
        ax = axes(place)
        draw_layer(ax, scene, centred(layer), color=chosen, legend=legend if place else False)
        ax.set_title(f"{name}, {data}: {'last' if place else 'first'} layer", loc="center", size=9)
