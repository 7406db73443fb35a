"""From graphs of PyTorch Geometric to the fields of a :class:`~hgcn.data.graph.Graph`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from hgcn.data.clean import clean_edges, is_symmetric
from hgcn.data.pairs import distinct, find, keys, pairs_at
from hgcn.data.sparse import as_features
from hgcn.errors import GraphError
from hgcn.names import PARTS

if TYPE_CHECKING:
    from torch_geometric.data import Data  # type: ignore[import-untyped]


NAMED = ("ids", "feature_names", "class_names", "ratios")
"""Fields that are attributes of the same name in a ``Data``."""


def is_from(package: str, kind: str, value: Any) -> bool:
    """Whether a value is an instance of a class of a package that need not be imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, getattr(module, kind))


def is_pyg(value: Any) -> bool:
    """Whether a value is a graph of PyTorch Geometric."""
    return is_from("torch_geometric.data", "Data", value) or is_from(
        "torch_geometric.data", "HeteroData", value
    )


def is_link_split(value: Any) -> bool:
    """Whether a value is what ``RandomLinkSplit`` returns: three graphs with pairs to predict."""
    return (
        isinstance(value, tuple | list)
        and len(value) == len(PARTS)
        and all(is_pyg(data) and asked_pairs(data) is not None for data in value)
    )


def asked_pairs(data: Data) -> tuple[Tensor, Tensor | None] | None:
    """The pairs to predict of a part: with an edge and, where they are given, without."""
    positives = getattr(data, "pos_edge_label_index", None)
    if positives is not None:
        return positives, getattr(data, "neg_edge_label_index", None)
    pairs, label = getattr(data, "edge_label_index", None), getattr(data, "edge_label", None)
    if pairs is None:
        return None
    if label is None:
        return pairs, None
    return pairs[:, label > 0], pairs[:, label == 0]


def pairs_of_pyg(parts: Sequence[Data]) -> dict[str, Tensor]:
    """The pairs and messages of the three parts of ``RandomLinkSplit``, as they are.

    Its negatives of training are left out: training draws new ones in each step.
    """
    found = {}
    for part, data in zip(PARTS, parts, strict=True):
        positives, negatives = cast(tuple[Tensor, Tensor | None], asked_pairs(data))
        found[part] = positives.detach().cpu().long()
        if negatives is not None and negatives.numel() and part != "train":
            found[f"{part}_negatives"] = negatives.detach().cpu().long()
        found[f"{part}_messages"] = data.edge_index.detach().cpu().long()
    return found


def joined_pyg(parts: Sequence[Data]) -> Data:
    """The graph of all edges that the three parts of ``RandomLinkSplit`` name."""
    train, _, test = parts
    pairs = pairs_of_pyg(parts)
    messages = pairs["train_messages"]
    symmetric = bool(
        torch.equal(*(distinct(keys(m, 1 + int(m.max()))) for m in (messages, messages.flip(0))))
        if messages.numel()
        else True
    )
    asked = torch.cat([pairs[part] for part in PARTS], dim=1)
    lists = [pairs[f"{part}_messages"] for part in PARTS] + [asked]
    joined = copy.copy(train)
    for name in ("edge_label", "edge_label_index", "pos_edge_label", "pos_edge_label_index",
                 "neg_edge_label", "neg_edge_label_index", "edge_weight"):  # fmt: skip
        if name in joined:
            del joined[name]
    if symmetric:
        lists.append(asked.flip(0))
    joined.directed = not symmetric
    n = train.num_nodes
    every = torch.cat(lists, dim=1)
    joined.edge_index = pairs_at(distinct(keys(every, n)), n)
    weight = getattr(test, "edge_weight", None)
    if weight is not None:  # the last part shows most edges; what it does not show weighs 1
        order = keys(pairs["test_messages"], n).argsort()
        known = keys(pairs["test_messages"], n)[order]
        position, is_known = find(known, keys(joined.edge_index, n))
        joined.edge_weight = torch.where(is_known, weight.detach().cpu()[order][position], 1.0)
    return joined


def fields_of_pyg(data: Data, **given: Any) -> dict[str, Any]:
    """The fields of the graph that a :class:`torch_geometric.data.Data` holds.

    It is directed if an edge lacks its reverse. Self-loops and repeated edges are cleaned as
    everywhere; ``train_mask`` and the like become the split, ``batch`` the graph ids.

    Args:
        data: a homogeneous graph.
        given: further fields of the graph, which win over those of ``data``.
    """
    if is_from("torch_geometric.data", "HeteroData", data):
        raise GraphError(
            "Expected a homogeneous graph, got HeteroData. Use its `to_homogeneous()`."
        )
    edge_index = getattr(data, "edge_index", None)
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or len(edge_index) != 2:
        raise GraphError(
            "Expected `data.edge_index` to be a tensor of shape [2, number of edges], got "
            f"{_shape(edge_index)}."
        )
    n = given.pop("num_nodes", None) or _number_of_nodes(data)
    edges = edge_index.detach().cpu().long()
    low, high = (int(b) for b in edges.aminmax()) if edges.numel() else (0, 0)
    if low < 0 or high >= n:
        raise GraphError(f"Expected `edge_index` to hold ids in 0..{n - 1}, got {low}..{high}.")
    weight = getattr(data, "edge_weight", None)
    if weight is not None:
        weight = weight.detach().cpu().double().flatten().numpy()
        if len(weight) != edges.shape[1] or not (np.isfinite(weight) & (weight > 0)).all():
            raise GraphError(
                f"Expected `edge_weight` to hold {edges.shape[1]} positive numbers, got others."
            )
    source, target = edges.numpy()
    directed = given.pop("directed", getattr(data, "directed", None))
    edge_index, edge_weight, notes = clean_edges(
        source, target, weight, num_nodes=n, directed=directed is not False
    )
    if directed is None:
        key = keys(edge_index.numpy(), n)
        merged = None if edge_weight is None else edge_weight.double().numpy()
        directed = not is_symmetric(key, merged, n)
    return {
        "edge_index": edge_index,
        "num_nodes": n,
        "edge_weight": edge_weight,
        "directed": bool(directed),
        "x": None if data.x is None else as_features(data.x, "data.x"),
        "y": _labels(data),
        "graph_ids": _graph_ids(data),
        "split": _split(data, n),
        "notes": notes,
        **{name: getattr(data, name, None) for name in NAMED},
        **given,
    }


def _shape(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else repr(value)


def _number_of_nodes(data: Data) -> int:
    for name in ("x", "y", "graph_ids", "batch", "train_mask"):
        value = getattr(data, name, None)
        if isinstance(value, Tensor) and value.dim():
            return len(value)
    return int(data.num_nodes or 0)


def _labels(data: Data) -> Tensor | None:
    if data.y is None:
        return None
    y = data.y.detach().cpu()
    y = y[:, 0] if y.dim() == 2 and y.shape[1] == 1 else y
    if y.dim() != 1 or y.is_floating_point():
        raise GraphError(
            f"Expected `data.y` to hold one class for each node as integers, got {_shape(y)}."
        )
    return y.long()


def _graph_ids(data: Data) -> Tensor | None:
    value = getattr(data, "graph_ids", None)
    value = getattr(data, "batch", None) if value is None else value
    return None if value is None else value.detach().cpu().long()


def _split(data: Data, num_nodes: int) -> dict[str, Tensor] | None:
    split = {}
    for part in PARTS:
        mask = getattr(data, f"{part}_mask", None)
        if mask is None:
            continue
        if mask.dtype != torch.bool or list(mask.shape) != [num_nodes]:
            raise GraphError(
                f"Expected `data.{part}_mask` to be {num_nodes} booleans, got {_shape(mask)}. "
                "If it has several splits, choose one: data.train_mask = data.train_mask[:, 0]."
            )
        split[part] = mask.detach().cpu().nonzero()[:, 0]
    return split or None
