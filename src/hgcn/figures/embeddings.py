"""Figure 3 of the paper: embeddings after the first and the last layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hgcn.errors import ConfigError
from hgcn.experiments.paper import TITLES
from hgcn.names import score_name
from hgcn.plots.disk import centred, draw_layer, magnify
from hgcn.plots.style import LETTERS, SOFT, new_figure, style
from hgcn.runs.fit import fit
from hgcn.runs.pictures import scene_from_run
from hgcn.scenes.scene import Categories
from hgcn.training.problem import task_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hgcn.runs.run import Run

SUBJECTS = (("disease_lp", "link"), ("cora", "node"))
MODELS = ("gcn", "hgcn")
NAMES = {**TITLES, "disease_lp": "Disease"}
DIM = 3
PANEL, TITLE, GAP = 2.4, 0.42, 0.08  # inches
NAMED, SCALE = 1.85, 0.65  # inches for the legend


def train_for_embeddings(
    *, dim: int = DIM, seed: int = 0, on_run: Callable[[str], Any] | None = None, **settings: Any
) -> list[Run]:
    """The runs of the figure: GCN and HGCN on Disease (links) and on Cora (classes).

    See :func:`hgcn.figures.attention_figure`, which is drawn of such runs.

    Args:
        dim: size of embeddings; the paper's figure has 3.
        seed: seed of every run.
        on_run: called with the name of each run before it is trained; what it returns is called
            after each epoch.
        settings: other settings of all runs.
    """
    runs = []
    for model in MODELS:
        for source, task in SUBJECTS:
            watch = on_run(f"{model} on {source}") if on_run else None
            wanted = {"model": model, "dim": dim, "seed": seed, **settings}
            runs.append(fit(source, task=task, on_epoch=watch, **wanted))
    return runs


def embeddings_figure(runs: Sequence[Run], *, color: str | None = None) -> Figure:
    """First and last layer of each run, two runs a row.

    See :func:`hgcn.figures.attention_figure`: runs are given in the same way.

    Hyperbolic layers are drawn on the Poincaré disk, moved such that the mean of all nodes is in
    the middle, which changes no distance. Layers of more than two dimensions are projected. Where
    all nodes are near the middle, only this part of the disk is drawn, in a dashed circle.

    Args:
        runs: one run or more.
        color: name of a column; by default the depth for links and the class for nodes.
    """
    if not runs:
        raise ConfigError("Expected at least one run to draw, got none.")
    columns = min(2, len(runs))
    rows = math.ceil(len(runs) / columns)
    views = [_View(run, color) for run in runs]
    # Names of classes need more room than a scale of colours.
    widths = [
        2 * PANEL + (NAMED if any(view.named for view in views[k::columns]) else SCALE)
        for k in range(columns)
    ]
    height = PANEL + TITLE
    with style():
        figure = new_figure(sum(widths), height * rows, constrained=False)
        for k, view in enumerate(views):
            row, column = divmod(k, columns)
            corner = sum(widths[:column]) + GAP, (rows - 1 - row) * height + GAP
            view.draw(figure, corner, LETTERS[k % len(LETTERS)])
        return figure


class _View:
    """First and last layer of a run, and the column that colours the nodes."""

    def __init__(self, run: Run, color: str | None) -> None:
        self.scene = scene_from_run(run, missing=0)
        self.color = color or task_of(run.config).colour
        self.named = isinstance(self.scene.columns.get(self.color), Categories)
        model, data = run.config.model, run.graph.name
        self.title = f"{NAMES.get(model, model)}, {NAMES.get(data, data)}"
        select = run.metrics["select"]
        value = run.metrics["test"].get(select)
        self.score = "" if value is None else f"Test {score_name(select)} {100 * value:.1f}"
        layers = [layer for layer in self.scene.layers if layer.title != "Input"]
        self.layers = {"first layer": layers[0], "last layer": layers[-1]}
        if len(layers) == 1:
            self.layers = {"embedding": layers[0]}

    def draw(self, figure: Figure, corner: tuple[float, float], letter: str) -> None:
        """Draw all panels and the legend, from a corner in inches, with the letter of the run."""
        wide, high = figure.get_size_inches()
        left, below = corner
        side = PANEL - GAP
        panels = [
            figure.add_axes(((left + k * PANEL) / wide, below / high, side / wide, side / high))
            for k in range(len(self.layers) + 1)
        ]
        legend = panels.pop()
        legend.set_axis_off()
        for ax, (name, layer) in zip(panels, self.layers.items(), strict=True):
            where = legend if ax is panels[-1] else False
            seen = layer if self.scene.rooted else centred(layer)
            draw_layer(ax, self.scene, seen, color=self.color, legend=where)
            times = magnify(ax, seen)
            title = name if times == 1 else f"{name}, {times:.0f} times as large"
            ax.set_title(title, loc="center", size=9, color=SOFT)
        name = " ".join(filter(None, (f"{self.title}.", self.score)))
        panels[0].text(
            0, 1.11, letter, transform=panels[0].transAxes, fontsize=11, fontweight="bold"
        )
        panels[0].text(0.07, 1.11, name, transform=panels[0].transAxes, fontsize=10)
