"""Facts about the nodes of a graph, as columns of a picture, and the names that people read."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, GraphError
from hgcn.names import PARTS
from hgcn.scenes.scene import Categories, Column, Numbers, Texts
from hgcn.text import one_of

_MOST_CATEGORIES = 60
_MOST_READ = 30
"""Columns of the feature table that are told, the first ones; there may be thousands."""
_NAMING = ("name", "title", "label", "iata")
"""Columns that name a node more likely than others, the likeliest first."""
_FEW = 3
"""Names that an error suggests."""
_DISTINCT = 0.9
"""The share of different values from which on a column of text is taken for names."""


def column(values: np.ndarray) -> Column:
    """An array as numbers, categories, or text of many values, such as names."""
    values = np.asarray(values)
    if values.dtype == np.bool_:
        return Categories(values.astype(np.int32), ("no", "yes"))
    if values.dtype.kind in "fiu":
        return Numbers(values)
    texts = ["" if value is None else str(value) for value in values.tolist()]
    names, codes = np.unique(np.asarray(texts, dtype=object), return_inverse=True)
    return Categories(codes, tuple(names)) if len(names) <= _MOST_CATEGORIES else Texts(texts)


def columns_of(graph: Graph, predictions: Tensor | None, pairs: Tensor) -> dict[str, Column]:
    """What is known of each node: of the graph, of a prediction, and of the data's own columns."""
    found: dict[str, Column] = {}
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
    for key, values in itertools.islice(
        _read_columns(graph).items(), len(graph.columns) + _MOST_READ
    ):
        found[key] = column(values)
    return found


def depth(pairs: np.ndarray, n: int) -> np.ndarray:
    """Hops of each node from the centre of its component.

    A column "depth" of the data wins over this one.
    """
    from hgcn.kernels.rows import sorted_rows
    from hgcn.scenes.hops import hops_from_centres

    ends = np.ascontiguousarray(pairs)
    rows = sorted_rows(ends.reshape(-1), ends[::-1].reshape(-1), n)
    return hops_from_centres(rows.start, rows.other)


def labels_of(graph: Graph, column: str | None = None) -> Sequence[str] | None:
    """The name of each node that people read; None where its id is the best there is.

    Args:
        graph: the graph.
        column: a column of the data; by default one of text that names nearly every node. Where
            ids are more than mere numbers, it has to be called "name" or the like.
    """
    texts = _read_columns(graph)
    if column is not None:
        if column not in texts:
            raise ConfigError(one_of("the column of labels", column, texts))
        return _filled(texts[column], graph)
    if not all(str(one).lstrip("-").isdigit() for one in graph.ids.tolist()):
        texts = {name: values for name, values in texts.items() if name.lower() in _NAMING}
    order = {name: at for at, name in enumerate(_NAMING)}
    for name in sorted(texts, key=lambda name: order.get(name.lower(), len(order))):
        values = texts[name]
        if values.dtype.kind in "UO" and len(set(values.tolist())) >= _DISTINCT * len(values):
            return _filled(values, graph)
    return None


def ids_of(graph: Graph, nodes: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """The id of each node that is given by id or by name; a name that two nodes have is none."""
    ids = [str(one) for one in graph.ids.tolist()]
    often = Counter(names)
    known = {name: node for name, node in zip(names, ids, strict=True) if often[name] == 1}
    known |= dict(zip(ids, ids, strict=True))
    for node in nodes:
        if str(node) in known:
            continue
        near = [name for name in names if str(node).lower() in name.lower()]
        if near:
            raise GraphError(
                "Expected the id of a node, or its whole name if no other has it, got "
                f"{str(node)!r}. Did you mean {' or '.join(map(repr, near[:_FEW]))}?"
            )
    return [known.get(str(node), node) for node in nodes]


def _read_columns(graph: Graph) -> dict[str, np.ndarray]:
    """All columns of the data: those that are carried along, and those of the feature table."""
    found = dict(graph.columns)
    if graph.table is not None:
        table = graph.table.data
        found |= {name: table[name].to_numpy() for name in table.columns}
    return found


def _filled(values: np.ndarray, graph: Graph) -> list[str]:
    """The values as text, and the id where there is none."""
    pairs = zip(values.tolist(), graph.ids.tolist(), strict=True)
    return [str(node) if value is None or value == "" else str(value) for value, node in pairs]
