"""From a trained network and a graph to a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from hgcn.data import pairs as node_pairs
from hgcn.data.graph import Graph
from hgcn.data.sparse import select_rows
from hgcn.inference.attention import attention_layers
from hgcn.inference.missing_links import top_links
from hgcn.inference.predict import class_probabilities
from hgcn.inference.trained import Trained, embedding_layers
from hgcn.names import PLAIN_SCORES, score_name
from hgcn.scenes.build import scene_from_embeddings
from hgcn.scenes.sample import sample_note, sampled
from hgcn.scenes.scene import Layer, Scene
from hgcn.training.problem import task_of

WIDEST_INPUT = 64
"""Features of more columns are words rather than coordinates: they are not drawn as a layer."""


def network_scene(
    trained: Trained,
    graph: Graph,
    *,
    missing: int = 0,
    scores: Mapping[str, float] | None = None,
    own: bool = True,
    label_column: str | None = None,
    drawn: Tensor | None = None,
    say: Callable[[str], Any] = lambda step: None,
) -> Scene:
    """The scene of a trained network, with everything that a page can show.

    Args:
        trained: the network.
        graph: the graph to draw.
        missing: number of missing links to show; only for networks trained on links.
        scores: test scores, to be shown beside the picture.
        own: whether this is the graph that the network was trained on.
        label_column: the column of the data that names nodes.
        drawn: the nodes to draw, where they are a sample; without attention and missing links,
            which would be those of the sample.
        say: called with what is done next.
    """
    say(f"embedding {graph.num_nodes:,} nodes")
    layers = embedding_layers(trained, graph)
    spaces = trained.predictor.encoder.spaces
    first = 1 if len(layers) > 1 and layers[0].shape[1] > WIDEST_INPUT else 0
    classifies = trained.predictor.classifier is not None
    shown = with_split(trained, graph) if own else graph
    chances = class_probabilities(trained, graph) if classifies else None
    shares: list[Tensor | None] = [None] * len(layers)
    links, note = None, ""
    if drawn is None:
        say("reading the attention")
        shares = [None, *_edge_shares(trained, graph, layers)]
        if missing and task_of(trained.config).structured:
            say("looking for probable links")
            links = top_links(trained, missing, graph)
    else:
        note = sample_note(graph, drawn)
        shown, layers = sampled(shown, drawn), [select_rows(layer, drawn) for layer in layers]
        chances = None if chances is None else chances[drawn]
    scene = scene_from_embeddings(
        shown,
        [dense(layer) for layer in layers[first:]],
        spaces[first:],
        name=title(trained, graph),
        predictions=chances,
        attention=shares[first:],
        missing=links,
        metrics=_facts(trained, scores or {}),
        label_column=label_column,
        hierarchy=shown.edge_index if trained.config.task == "hierarchy" else None,
        say=say,
    )
    return replace(scene, layers=_titled(scene.layers, first), note=note)


def layer_scene(trained: Trained, graph: Graph, layer: int, *, own: bool = True) -> Scene:
    """The scene of one layer alone: 0 is the input, -1 the output."""
    points = embedding_layers(trained, graph)[layer]
    classifies = trained.predictor.classifier is not None
    return scene_from_embeddings(
        with_split(trained, graph) if own else graph,
        [dense(points)],
        [trained.predictor.encoder.spaces[layer]],
        predictions=class_probabilities(trained, graph) if classifies else None,
    )


def with_split(trained: Trained, graph: Graph) -> Graph:
    """The graph with the split of its nodes that the network was trained with."""
    return task_of(trained.config).with_split(graph, trained.config)


def _edge_shares(trained: Trained, graph: Graph, layers: Sequence[Tensor]) -> list[Tensor | None]:
    """The share of each column of ``graph.edge_index``, for each layer; None without attention."""
    asked = node_pairs.keys(graph.edge_index, graph.num_nodes)
    result: list[Tensor | None] = []
    for edges, share in attention_layers(trained, graph, layers):
        known, order = node_pairs.keys(edges, graph.num_nodes).sort()
        position, found = node_pairs.find(known, asked)
        result.append(torch.where(found, share[order][position], torch.nan))
    before: list[Tensor | None] = [None] * (len(layers) - 1 - len(result))
    return before + result  # layers that only propagate come first and have none


def title(trained: Trained, graph: Graph) -> str:
    """The heading of a picture of a network, for example 'hgcn on cora'."""
    return f"{trained.config.model} on {graph.name}"


def curvature_names(trained: Trained) -> list[str]:
    """What each of ``metrics["curvatures"]`` belongs to, by the names of layers in pictures."""
    spaces = trained.predictor.encoder.spaces
    names = []
    for k, space in enumerate(spaces):
        name = "embedding" if len(spaces) == 1 else f"layer {k}" if k else "input"
        factors = len(space.curvatures)
        names += [name] if factors == 1 else [f"{name}, factor {j + 1}" for j in range(factors)]
    return names


def _facts(trained: Trained, scores: Mapping[str, float]) -> dict[str, str]:
    """The rows of the small table beside the picture."""
    config = trained.config
    shown = {
        f"test {score_name(name)}": f"{value if name in PLAIN_SCORES else 100 * value:.1f}"
        for name, value in scores.items()
    }
    return {
        "model": config.model, "task": str(config.task), **shown, "dimensions": str(config.dim)
    }  # fmt: skip


def dense(x: Tensor) -> Tensor:
    """The same matrix, dense."""
    return x if x.layout == torch.strided else x.to_dense()


def _titled(layers: Sequence[Layer], first: int) -> list[Layer]:
    """Layers with their number in the network, also where the input is left out."""
    if len(layers) == 1 and not first:
        return [replace(layers[0], title="Embedding")]  # a shallow model has no other
    return [
        replace(layer, title=f"Layer {k}" if k else "Input")
        for k, layer in enumerate(layers, start=first)
    ]
