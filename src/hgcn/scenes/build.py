"""From a graph and embeddings to a scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from hgcn.data import pairs as node_pairs
from hgcn.data.graph import Graph
from hgcn.errors import DataError
from hgcn.names import PARTS
from hgcn.nn.spaces import Space, space_of
from hgcn.scenes.projection import align, project_to_plane
from hgcn.scenes.scene import Categories, Column, Layer, MissingLinks, Numbers, Scene

_MOST_CATEGORIES = 60


def scene_from_embeddings(
    graph: Graph,
    embeddings: Sequence[Tensor],
    curvatures: Sequence[float | Space | None],
    *,
    name: str | None = None,
    predictions: Tensor | None = None,
    attention: Sequence[Tensor | None] | None = None,
    missing: tuple[Tensor, Tensor] | None = None,
    metrics: Mapping[str, object] | None = None,
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
    planes = [
        project_to_plane(points, space, edges=pairs)
        for points, space in zip(embeddings, spaces, strict=True)
    ]
    # The last layer is what the model was trained for: it is drawn upright, the others follow.
    aligned = align([plane.points for plane in planes][::-1])[::-1]
    shares = attention or [None] * len(embeddings)
    layers = [
        Layer(
            title,
            flat.numpy(),
            plane.curvature,
            plane.lost,
            None if share is None else _by_pair(graph, pairs, share),
        )
        for title, flat, plane, share in zip(titles, aligned, planes, shares, strict=True)
    ]
    links = None
    if missing is not None:
        links = MissingLinks(missing[0].numpy(), missing[1].detach().numpy())
    return Scene(
        name=graph.name if name is None else name,
        layers=layers,
        ids=graph.ids,
        edges=pairs.numpy(),
        columns=_columns(graph, predictions, pairs),
        missing=links,
        metrics=[(key, str(value)) for key, value in (metrics or {}).items()],
        directed=graph.directed,
    )


def column(values: np.ndarray) -> Column | None:
    """An array as numbers or categories; None for text of many values, such as ids."""
    values = np.asarray(values)
    if values.dtype == np.bool_:
        return Categories(values.astype(np.int32), ("no", "yes"))
    if values.dtype.kind in "fiu":
        return Numbers(values)
    text = np.asarray([str(value) for value in values.tolist()], dtype=object)
    names, codes = np.unique(text, return_inverse=True)
    return Categories(codes, tuple(names)) if len(names) <= _MOST_CATEGORIES else None


def _columns(graph: Graph, predictions: Tensor | None, pairs: Tensor) -> dict[str, Column]:
    found: dict[str, Column | None] = {}
    classes = graph.num_classes
    if predictions is not None:
        predicted = predictions.argmax(1) if predictions.dim() == 2 else predictions
        classes = max(classes, int(predicted.max()) + 1)
    names = graph.class_names or tuple(str(k) for k in range(classes))
    if graph.y is not None:
        found["label"] = Categories(graph.y.numpy(), names)
    if predictions is not None:
        found["prediction"] = Categories(predicted.numpy(), names)
        if graph.y is not None:
            result = torch.where(graph.y < 0, -1, (predicted != graph.y).long())
            found["right or wrong"] = Categories(result.numpy(), ("right", "wrong"))
        if predictions.dim() == 2:
            found["confidence"] = Numbers(predictions.detach().amax(1).numpy())
    if graph.split is not None:
        part = np.full(graph.num_nodes, -1)
        for code, key in enumerate(PARTS):
            if key in graph.split:
                part[graph.split[key].numpy()] = code
        found["split"] = Categories(part, PARTS)
    if graph.graph_ids is not None:
        graphs = [f"graph {k}" for k in range(graph.num_graphs)]
        found["graph"] = Categories(graph.graph_ids.numpy(), tuple(graphs))
    degree = torch.bincount(pairs.flatten(), minlength=graph.num_nodes)
    found["degree"] = Numbers(degree.numpy())
    found["depth"] = Numbers(depth(pairs.numpy(), graph.num_nodes))
    for key, values in graph.columns.items():
        found[key] = column(values)
    return {key: value for key, value in found.items() if value is not None}


def depth(pairs: np.ndarray, n: int) -> np.ndarray:
    """Hops of each node from the centre of its component.

    A column "depth" of the data wins over this one.
    """
    from hgcn.kernels.rows import sorted_rows
    from hgcn.scenes.hops import hops_from_centres

    ends = np.ascontiguousarray(pairs)
    rows = sorted_rows(ends.reshape(-1), ends[::-1].reshape(-1), n)
    return hops_from_centres(rows.start, rows.other)


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
