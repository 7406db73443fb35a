"""Pictures of a run: its scene, its interactive page, and a plot for notebooks."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.errors import ConfigError
from hgcn.packages import require
from hgcn.plots.disk import MOST_EDGES, centred, draw_layer
from hgcn.plots.style import style
from hgcn.runs.layout import PAGE, REPORT
from hgcn.runs.run import Run
from hgcn.scenes.of_network import layer_scene, network_scene, title
from hgcn.scenes.sample import MOST_NODES_DRAWN, sample_of_nodes
from hgcn.scenes.scene import Scene
from hgcn.viewer import write_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING_LINKS = 200
MOST_NODES_FOR_LINKS = 10_000
"""All pairs are looked at for the probable links: beyond this size for more than some seconds."""

MOST_NODES_AT_ONCE = 20_000
"""Up to this size a page takes less than ten seconds."""


def scene_from_run(
    run: Run,
    graph: Any = None,
    *,
    missing: int = MISSING_LINKS,
    label_column: str | None = None,
    say: Callable[[str], Any] = lambda step: None,
) -> Scene:
    """Everything that a page can show of a run.

    Args:
        run: a trained run.
        graph: another graph than the run's own; anything that :func:`hgcn.load` takes.
        missing: number of missing links to show; only for networks trained on links.
        label_column: the column of the data that names nodes; by default one is looked for.
        say: called with what is done next, which for large graphs takes seconds.
    """
    own = graph is None
    graph = run.resolve(graph)
    drawn = None
    if graph.num_nodes > MOST_NODES_DRAWN:
        drawn = sample_of_nodes(graph, MOST_NODES_DRAWN)
    return network_scene(
        run,
        graph,
        missing=missing if graph.num_nodes <= MOST_NODES_FOR_LINKS else 0,
        scores=run.metrics.get("test", {}) if own else {},
        own=own,
        label_column=label_column,
        drawn=drawn,
        say=say,
    )


def is_drawn(run: Run, folder: Path) -> bool:
    """Whether the folder of a run has its pages, or the run is too large for them."""
    drawn = all((folder / name).exists() for name in (PAGE, REPORT))
    return drawn or run.num_nodes > MOST_NODES_AT_ONCE


def write_run_page(path: str | Path, run: Run) -> Path | None:
    """Write the page of a run that was just trained, unless a large graph would take long."""
    if run.num_nodes > MOST_NODES_AT_ONCE:
        return None
    missing = MISSING_LINKS if run.num_nodes <= MOST_NODES_AT_ONCE // 2 else 0
    return write_page(path, scene_from_run(run, missing=missing))


def view(
    run: Run,
    path: str | Path | None = None,
    graph: Any = None,
    *,
    open_browser: bool = True,
    label_column: str | None = None,
) -> Path:
    """Write the page of a run and show it.

    Args:
        run: a trained run.
        path: file to write; by default ``disk.html`` in the run folder.
        graph: another graph than the run's own; it needs a ``path``.
        open_browser: whether to show the page.
        label_column: the column of the data that names nodes.
    """
    if path is None and (run.path is None or graph is not None):
        raise ConfigError(
            "Expected `path`, a file for the page: the run folder is for the run's own graph."
            if run.path is not None
            else "Expected `path`, a file for the page: this run has no folder."
        )
    page = write_page(
        path or Path(str(run.path)) / PAGE, scene_from_run(run, graph, label_column=label_column)
    )
    if open_browser:
        webbrowser.open(page.resolve().as_uri())
    return page


def plot_disk(  # noqa: PLR0913
    run: Run,
    graph: Any = None,
    *,
    ax: Axes | None = None,
    color: Any = "label",
    layer: int = -1,
    edges: bool = True,
    size: float | None = None,
    legend: bool = True,
    centre: bool = False,
    max_edges: int = MOST_EDGES,
) -> Axes:
    """Draw the embeddings of a run on the Poincaré disk; Euclidean ones on a plane.

    Two dimensions are drawn as they are, more are projected.

    Example:
        >>> import hgcn
        >>> run = hgcn.fit("disease", task="node", epochs=5, dim=2)
        >>> ax = plot_disk(run, color="depth")

    Args:
        run: a trained run.
        graph: another graph than the run's own; anything that :func:`hgcn.load` takes.
        ax: the axes to draw in; by default those of a new figure of pyplot.
        color: "label", "prediction", "right or wrong", "confidence", "split", "degree", "depth" or
            a column of the graph; an array with an entry for each node; or a colour.
        layer: 0 is the input, 1 the first layer, -1 the last.
        edges: whether to draw edges.
        size: area of a node in square points.
        legend: whether to say what the colours mean.
        centre: whether to move the mean of all nodes to the middle, which changes no distance.
        max_edges: largest number of edges to draw; of more, an even sample is drawn.
    """
    own = graph is None
    graph = run.resolve(graph)
    count = len(run.predictor.encoder.spaces)
    if not -count <= layer < count:
        raise ConfigError(f"Expected `layer` to be in {-count}..{count - 1}, got {layer}.")
    scene = layer_scene(run, graph, layer, own=own)
    drawn = replace(scene.layers[0], title=title(run, graph))
    if ax is None:
        pyplot = require("matplotlib.pyplot", "a picture")
        with style():
            ax = pyplot.figure(figsize=(6, 5), layout="constrained").add_subplot()
    with style():
        draw_layer(
            ax, scene, centred(drawn) if centre else drawn, color=color, edges=edges, size=size,
            legend=legend, max_edges=max_edges,
        )  # fmt: skip
        ax.set_title(drawn.title, loc="center")
    return ax
