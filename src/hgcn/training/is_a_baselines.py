"""Orders of possible ancestors that need no training: what a network has to beat."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hgcn.data.splits.hierarchy import HierarchySplit

VOTERS = 10
"""Nodes with the likest features, whose ancestors are voted for."""
MOST = 2000
"""Nodes of a part that the vote is measured on, at most."""


def popularity(split: HierarchySplit, part: str, n: int) -> dict[str, float]:
    """All nodes in one order: by the number of their descendants in the training part."""
    pairs: Tensor = getattr(split, part)
    below = np.bincount(split.train[1].numpy(), minlength=n)
    place = np.empty(n, np.int64)
    place[np.argsort(-below, kind="stable")] = np.arange(n)
    return _ranked(pairs, split.closure, lambda nodes: np.broadcast_to(place, (len(nodes), n)))


def text_votes(split: HierarchySplit, part: str, x: Tensor) -> dict[str, float]:
    """Nodes in the order of how many of the ten nodes with the likest features are below them.

    Likeness is the cosine of features. Voters have ancestors in training and count with their
    likeness; each also votes for itself. Nodes without a vote come in the order of popularity.
    """
    n = len(x)
    pairs: Tensor = getattr(split, part)
    rows = x.cpu().float()
    rows = rows.to_dense() if rows.layout != torch.strided else rows
    rows = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
    below = np.bincount(split.train[1].numpy(), minlength=n)
    base = below / (below.max() + 1.0) * 1e-3
    start = np.searchsorted(split.train[0].numpy(), np.arange(n + 1))
    above = split.train[1].numpy()
    voter = torch.from_numpy(np.diff(start) > 0)

    def places(nodes: np.ndarray) -> np.ndarray:
        like = rows[nodes] @ rows.T
        like[:, ~voter] = -1.0
        like[torch.arange(len(nodes)), torch.from_numpy(nodes)] = -1.0
        weight, who = like.topk(min(VOTERS, n), dim=1)
        votes = np.tile(base, (len(nodes), 1))
        for row in range(len(nodes)):
            for w, v in zip(weight[row].tolist(), who[row].tolist(), strict=True):
                votes[row, above[start[v] : start[v + 1]]] += max(w, 0.0)
                votes[row, v] += max(w, 0.0)
        return np.argsort(np.argsort(-votes, axis=1, kind="stable"), axis=1)

    return _ranked(pairs, split.closure, places)


def _ranked(pairs: Tensor, closure: Tensor, places: object) -> dict[str, float]:
    """MAP and mean rank, filtered, of orders of all nodes."""
    nodes = np.unique(pairs[0].numpy())
    if not len(nodes):
        return {"map": 0.0, "mean_rank": 0.0}
    if len(nodes) > MOST:
        nodes = np.sort(np.random.default_rng(0).choice(nodes, MOST, replace=False))
    precision, rank = [], []
    for low in range(0, len(nodes), 64):
        some = nodes[low : low + 64]
        order = places(some)  # type: ignore[operator]
        for row, node in enumerate(some):
            ends = [
                torch.searchsorted(every[0].contiguous(), torch.tensor([node, node + 1]))
                for every in (pairs, closure)
            ]
            asked, known = (
                np.sort(order[row][every[1, slice(*end.tolist())].numpy()])
                for every, end in zip((pairs, closure), ends, strict=True)
            )
            # Nodes before it that are no ancestors, nor the node itself.
            wrong = asked - np.searchsorted(known, asked) - (order[row][node] < asked)
            right = np.arange(1, len(asked) + 1)
            precision.append(float((right / (right + wrong)).mean()))
            rank.append(float((wrong + 1).mean()))
    return {"map": float(np.mean(precision)), "mean_rank": float(np.mean(rank))}
