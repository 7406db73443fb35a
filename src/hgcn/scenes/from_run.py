"""From a trained run to the scene of its page."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.splits.draw import NodeSplit
from hgcn.errors import ConfigError
from hgcn.scenes.build import scene_from_embeddings
from hgcn.scenes.scene import Layer, Scene
from hgcn.training.problem import Problem
from hgcn.viewer.page import write_page

if TYPE_CHECKING:
    from hgcn.runs.run import Run

WIDEST_INPUT = 64
"""Features of more columns are words rather than places: they are not drawn as a layer."""

MISSING_LINKS = 200
MOST_NODES_FOR_LINKS = 40_000
"""All pairs are looked at for the probable links: beyond this size for more than a minute."""

MOST_NODES_AT_ONCE = 20_000
"""Up to this size a page takes less than ten seconds."""


def scene_from_run(run: Run, graph: Any = None, *, missing: int = MISSING_LINKS) -> Scene:
    """Everything that a page can show of a run.

    Args:
        run: a trained run.
        graph: another graph than the run's own; anything that :func:`hgcn.load` takes.
        missing: how many probable links that the graph lacks; only for networks trained on links.
    """
    own = graph is None
    graph = run.resolve(graph)
    layers = run.embedding_layers(graph)
    curvatures = layer_curvatures(run)
    shares: list[Tensor | None] = [None, *_shares(run, graph, layers)]
    first = 1 if len(layers) > 1 and layers[0].shape[1] > WIDEST_INPUT else 0
    links = None
    if missing and run.config.task == "link" and graph.num_nodes <= MOST_NODES_FOR_LINKS:
        links = run.top_links(missing, graph)
    scene = scene_from_embeddings(
        with_split(run, graph) if own else graph,
        [dense(layer) for layer in layers[first:]],
        curvatures[first:],
        name=title(run, graph),
        predictions=run.predict_nodes(graph) if run.config.task == "node" else None,
        attention=shares[first:],
        missing=links,
        metrics=metric_lines(run, own=own),
    )
    return replace(scene, layers=_named(scene.layers, first))


def write_run_page(path: str | Path, run: Run) -> Path | None:
    """Write the page of a run that was just trained, unless its graph is too large for seconds."""
    if run.num_nodes > MOST_NODES_AT_ONCE:
        return None
    missing = MISSING_LINKS if run.num_nodes <= MOST_NODES_AT_ONCE // 2 else 0
    return write_page(path, scene_from_run(run, missing=missing))


def view(
    run: Run, path: str | Path | None = None, graph: Any = None, *, open_browser: bool = True
) -> Path:
    """Write the page of a run and show it.

    Args:
        run: a trained run.
        path: file to write; by default ``disk.html`` in the run folder.
        graph: another graph than the run's own; it needs a ``path``.
        open_browser: whether to show the page.
    """
    if path is None and (run.path is None or graph is not None):
        raise ConfigError(
            "Expected `path`, a file for the page: the run folder is for the run's own graph."
            if run.path is not None
            else "Expected `path`, a file for the page: this run has no folder."
        )
    page = write_page(path or Path(str(run.path)) / "disk.html", scene_from_run(run, graph))
    if open_browser:
        webbrowser.open(page.resolve().as_uri())
    return page


def layer_curvatures(run: Run) -> list[float | None]:
    """The number c of the space of each layer, from the input to the output; None where flat."""
    with torch.no_grad():
        return [None if c is None else float(c()) for c in run.predictor.encoder.curvatures]


def with_split(run: Run, graph: Graph) -> Graph:
    """The graph with the run's own division of nodes into training, validation and test."""
    if run.config.task != "node":
        return graph
    split = Problem(graph, run.config).split
    if not isinstance(split, NodeSplit):
        return graph
    return graph.replace(split={"train": split.train, "val": split.val, "test": split.test})


@torch.no_grad()
def attention_layers(
    run: Run, graph: Any = None, layers: list[Tensor] | None = None
) -> list[tuple[Tensor, Tensor]]:
    """The attention of each layer: edges ``[2, E]``, self-loops included, and their shares ``[E]``.

    The share of an edge is how much its source counts in the mean that its target takes; heads are
    averaged. Networks without attention have an empty list.

    Args:
        run: a trained run.
        graph: another graph than the run's own.
        layers: the embeddings of all layers, if they are at hand.
    """
    encoder = run.predictor.eval().encoder
    attends = run.config.model == "gat" or (run.config.model == "hgcn" and run.config.attention)
    if not attends:
        return []
    graph = run.resolve(graph)
    layers = run.embedding_layers(graph) if layers is None else layers
    weight = graph.edge_weight
    # GAT has no place for weights of edges, and refuses them.
    options = {} if weight is None else {"edge_weight": weight.to(layers[-1])}
    found = []
    for x, conv in zip(layers[:-1], encoder.convs, strict=True):  # type: ignore[arg-type]
        device = run.config.device
        _, (edges, share) = conv(
            x.to(device), graph.edge_index.to(device), return_attention_weights=True, **options
        )
        found.append((edges.cpu(), share.mean(-1).cpu()))
    return found


def _shares(run: Run, graph: Graph, layers: list[Tensor]) -> list[Tensor | None]:
    """The share of each column of ``graph.edge_index``, for each layer; None without attention."""
    n = graph.num_nodes
    asked = graph.edge_index[0] * n + graph.edge_index[1]
    result: list[Tensor | None] = []
    for edges, share in attention_layers(run, graph, layers):
        known, order = (edges[0] * n + edges[1]).sort()
        place = torch.searchsorted(known, asked).clamp(max=len(known) - 1)
        result.append(torch.where(known[place] == asked, share[order][place], torch.nan))
    return result or [None] * (len(layers) - 1)


def title(run: Run, graph: Graph) -> str:
    """What a picture of a run is called, for example 'hgcn on cora'."""
    return f"{run.config.model} on {graph.name}"


def metric_lines(run: Run, *, own: bool = True) -> dict[str, str]:
    """The small table of the page; scores are those of the run's own graph."""
    from hgcn.commands._display import score_name

    lines = {"model": run.config.model, "task": str(run.config.task)}
    if own:
        lines |= {
            f"test {score_name(name)}": f"{100 * value:.1f}"
            for name, value in run.metrics.get("test", {}).items()
        }
    return lines | {"dimensions": str(run.config.dim)}


def dense(x: Tensor) -> Tensor:
    """The same matrix, dense."""
    return x if x.layout == torch.strided else x.to_dense()


def _named(layers: Sequence[Layer], first: int) -> list[Layer]:
    """Layers with their number in the network, also where the input is left out."""
    if len(layers) == 1 and not first:
        return [replace(layers[0], title="Embedding")]  # a shallow model has no other
    return [
        replace(layer, title=f"Layer {k}" if k else "Input")
        for k, layer in enumerate(layers, start=first)
    ]
