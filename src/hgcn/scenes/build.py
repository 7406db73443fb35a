"""From a graph and embeddings to a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data import pairs as node_pairs
from hgcn.data.graph import Graph
from hgcn.data.tree_layout import tree_layout
from hgcn.errors import DataError
from hgcn.nn.spaces import Space, space_of
from hgcn.scenes.columns import columns_of, labels_of
from hgcn.scenes.home import from_home
from hgcn.scenes.projection import (
    MEASURED_NODES,
    Compared,
    Projection,
    align,
    distances,
    project_to_plane,
)
from hgcn.scenes.scene import Column, Layer, Measured, MissingLinks, Scene, Texts
from hgcn.text import count

NEAREST_NODES = 20_000
"""The nearest nodes of so many nodes are found, over all layers: it takes a few seconds."""


def scene_from_embeddings(  # noqa: PLR0913
    graph: Graph,
    embeddings: Sequence[Tensor],
    curvatures: Sequence[float | Space | None],
    *,
    name: str | None = None,
    predictions: Tensor | None = None,
    attention: Sequence[Tensor | None] | None = None,
    missing: tuple[Tensor, Tensor] | None = None,
    metrics: Mapping[str, object] | None = None,
    label_column: str | None = None,
    hierarchy: Tensor | None = None,
    say: Callable[[str], Any] = lambda step: None,
) -> Scene:
    """The scene of embeddings: projects each layer and collects facts about nodes.

    Example:
        >>> graph = Graph(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> scene = scene_from_embeddings(graph, [torch.randn(3, 8)], [1.0])
        >>> scene.layers[0].points.shape
        (3, 2)

    Args:
        graph: the graph, with its labels, split and further columns.
        embeddings: normal coordinates ``[n, d]`` of each layer, the input first.
        curvatures: ``c`` of each layer, None for a Euclidean one; or the space of each layer.
        name: heading of the picture; the name of the graph if not given.
        predictions: class of each node, ``[n]``, or class probabilities, ``[n, classes]``.
        attention: for each layer, a share of every edge of ``graph.edge_index``, or None.
        missing: missing links: pairs ``[2, m]`` and their probabilities ``[m]``.
        metrics: rows of the small table beside the picture.
        label_column: the column of the data that names nodes; by default one is looked for.
        hierarchy: edges from child to parent; the drawing of the last layer starts from their tree,
            where each subtree has a share of the angle by its size.
        say: called with what is done next.
    """
    if len(embeddings) != len(curvatures) or not embeddings:
        raise DataError(
            "Expected one curvature for each layer and at least one layer, got "
            f"{len(embeddings)} layers and {len(curvatures)} curvatures."
        )
    for k, points in enumerate(embeddings):
        if len(points) != graph.num_nodes:
            raise DataError(
                f"Expected layer {k} to have {graph.num_nodes} rows, one a node, got {len(points)}."
            )
    titles = ["Input", *(f"Layer {k}" for k in range(1, len(embeddings)))]
    pairs = graph.pairs()
    spaces = [c if isinstance(c, Space) else space_of(c) for c in curvatures]
    measured = _nodes_to_measure(graph.num_nodes, len(spaces))
    tree = None if hierarchy is None else tree_layout(hierarchy, graph.num_nodes)
    starts = [None] * (len(spaces) - 1) + [tree]

    def draw(points: Tensor, space: Space, nodes: int, towards: Tensor | None) -> Projection:
        return project_to_plane(points, space, edges=pairs, nodes=nodes, towards=towards)

    say(f"drawing {count(len(spaces), 'layer')} in two dimensions")
    with ThreadPoolExecutor(min(len(spaces), torch.get_num_threads())) as pool:
        planes = list(pool.map(draw, embeddings, spaces, measured, starts))
    # The last layer is what the model was trained for: it is drawn upright, the others follow.
    rooted = hierarchy is not None
    views = [from_home(plane.points, plane.curvature, rooted=rooted) for plane in planes]
    aligned = align([plane.points for plane in planes][::-1], views[::-1])[::-1]
    shares = attention or [None] * len(embeddings)
    layers = [
        Layer(
            title,
            flat.numpy(),
            plane.curvature,
            plane.lost,
            None if share is None else _by_pair(graph, pairs, share),
            None if share is None else _own_shares(graph, share),
            _measured(points, space, pairs, plane.compared),
        )
        for title, flat, plane, share, points, space in zip(
            titles, aligned, planes, shares, embeddings, spaces, strict=True
        )
    ]
    links = None
    if missing is not None:
        i, j = missing[0]
        away = distances(spaces[-1], _exact(embeddings[-1]), i, j)
        links = MissingLinks(missing[0].numpy(), missing[1].detach().numpy(), away.numpy())
    labels = labels_of(graph, label_column)
    columns = columns_of(graph, predictions, pairs)
    return Scene(
        name=graph.name if name is None else name,
        layers=layers,
        ids=graph.ids,
        edges=pairs.numpy(),
        columns={key: one for key, one in columns.items() if not _says(one, labels)},
        missing=links,
        metrics=[(key, str(value)) for key, value in (metrics or {}).items()],
        directed=graph.directed,
        labels=labels,
        rooted=rooted,
    )


def _says(column: Column, labels: Sequence[str] | None) -> bool:
    """Whether a column is the names of the nodes once more."""
    return (
        isinstance(column, Texts) and labels is not None and column.values == Texts(labels).values
    )


def _by_pair(graph: Graph, pairs: Tensor, share: Tensor) -> np.ndarray:
    """The attention shares of each pair: row 0 in its direction, row 1 in the other one."""
    if share.shape != (graph.edge_index.shape[1],):
        raise DataError(
            f"Expected attention to have one number for each of the {graph.edge_index.shape[1]} "
            f"columns of `edge_index`, got shape {list(share.shape)}. Average the heads first."
        )
    n = graph.num_nodes
    known = node_pairs.keys(pairs, n)
    result = np.full((2, len(known)), np.nan, np.float32)
    for row, edges in enumerate((graph.edge_index, graph.edge_index.flip(0))):
        if graph.directed and row:
            break
        position, found = node_pairs.find(known, node_pairs.keys(edges, n))
        result[row, position[found].numpy()] = share.detach()[found].float().numpy()
    return result


def _own_shares(graph: Graph, share: Tensor) -> np.ndarray:
    """What is left of each node's attention for itself: the shares of a neighbourhood add to 1."""
    source, target = graph.edge_index
    others = torch.where(source == target, 0.0, share.detach().double().nan_to_num(0.0))
    heard = torch.zeros(graph.num_nodes, dtype=torch.float64).index_add(0, target, others)
    return (1 - heard).clamp(0, 1).numpy()


def _nodes_to_measure(n: int, layers: int) -> list[int]:
    """Of how many nodes of each layer the nearest are found: all, from the last layer backwards."""
    whole = min(layers, NEAREST_NODES // n)
    return [MEASURED_NODES] * (layers - whole) + [n] * whole


def _measured(
    points: Tensor, space: Space, pairs: Tensor, compared: Compared | None
) -> Measured | None:
    """What the model says of a layer; None where the drawing is exact."""
    if compared is None:
        return None
    n, points = len(points), _exact(points)
    kept = np.full(n, np.nan)
    kept[compared.rows] = compared.kept
    whole = len(compared.rows) == n
    return Measured(
        radius=points.norm(dim=1).numpy(),
        distance=distances(space, points, *pairs).numpy(),
        kept=kept,
        nearest=compared.numbers if whole else None,
        nearest_distance=compared.distance if whole else None,
    )


def _exact(points: Tensor) -> Tensor:
    return points.detach().to("cpu", torch.float64)
