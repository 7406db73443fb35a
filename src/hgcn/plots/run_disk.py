"""One picture of one run, for notebooks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hgcn.errors import ConfigError
from hgcn.plots.disk import MOST_EDGES, centred, draw_layer
from hgcn.plots.style import style
from hgcn.scenes.from_run import dense, layer_curvatures, title, with_split
from hgcn.viewer import scene_from_embeddings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hgcn.runs.run import Run


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
        ax: where to draw; by default a new figure of pyplot.
        color: "label", "prediction", "right or wrong", "confidence", "split", "degree", "depth" or
            a column of the graph; an array with an entry for each node; or a colour.
        layer: 0 is the input, 1 the first layer, -1 the last.
        edges: whether to draw them.
        size: area of a node in square points.
        legend: whether to say what the colours mean.
        centre: whether to move the mean of all nodes to the middle, which changes no distance.
        max_edges: of more edges than these, an even sample is drawn.
    """
    own = graph is None
    graph = run.resolve(graph)
    layers, curvatures = run.embedding_layers(graph), layer_curvatures(run)
    count = len(layers)
    if not -count <= layer < count:
        raise ConfigError(f"Expected `layer` to be in {-count}..{count - 1}, got {layer}.")
    scene = scene_from_embeddings(
        with_split(run, graph) if own else graph,
        [dense(layers[layer])],
        [curvatures[layer]],
        predictions=run.predict_nodes(graph) if run.config.task == "node" else None,
    )
    drawn = replace(scene.layers[0], title=title(run, graph))
    if ax is None:
        from matplotlib import pyplot

        with style():
            ax = pyplot.figure(figsize=(6, 5), layout="constrained").add_subplot()
    with style():
        draw_layer(
            ax, scene, centred(drawn) if centre else drawn, color=color, edges=edges, size=size,
            legend=legend, max_edges=max_edges,
        )  # fmt: skip
        ax.set_title(drawn.title, loc="center")
    return ax
