"""Scores of links that need no training: what a network has to beat."""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn import kernels
from hgcn.data.pairs import distinct, find, keys
from hgcn.geometry.scalars import wide
from hgcn.nn.structure import both_ways

PATH_SHARE = 0.01
"""What a path of three edges counts beside a common neighbour."""


def untrained_scores(
    pairs: Tensor, edge_index: Tensor, edge_weight: Tensor | None, n: int, *, directed: bool
) -> dict[str, Tensor]:
    """Scores of pairs of nodes, made of the visible edges without the pair's own.

    - ``common_neighbours``, ``adamic_adar``, ``resource_allocation``: as
      :func:`hgcn.kernels.pair_counts` counts them, within its bounds;
    - ``preferential_attachment``: the product of the two degrees; in a directed graph, of the
      out-degree of the first node and the in-degree of the second;
    - ``short_paths``: common neighbours plus a hundredth of the paths of three edges. Pairs with
      neither come after all others: minus their distance, or minus nine where none is found.

    Args:
        pairs: nodes, shape ``[2, M]``.
        edge_index: the edges that are visible, shape ``[2, E]``.
        edge_weight: their weights, which resource allocation reads.
        n: number of nodes.
        directed: whether ``(i, j)`` and ``(j, i)`` are two edges.
    """
    shown = both_ways(edge_index, edge_weight, n)
    edges = torch.stack((shown.graph.source, shown.graph.target)).long()
    counts = kernels.pair_counts(pairs, shown.weight, shown.direction, shown.graph)
    common, adamic_adar, resources, paths, _, distance = counts[:, :6].unbind(1)
    far = -torch.where(distance > 0, distance, kernels.FARTHEST + 1.0)
    return {
        "common_neighbours": common,
        "adamic_adar": adamic_adar,
        "resource_allocation": resources,
        "preferential_attachment": _degree_product(pairs, edge_index if directed else edges, n),
        "short_paths": torch.where(common + paths > 0, common + PATH_SHARE * paths, far),
    }


def _degree_product(pairs: Tensor, edge_index: Tensor, n: int) -> Tensor:
    """Out-degree times in-degree, counted without the edge between the two."""
    known = distinct(keys(edge_index[:, edge_index[0] != edge_index[1]], n))
    own = wide(find(known, keys(pairs, n))[1])
    out, into = (wide(torch.bincount(end, minlength=n)) for end in (known // n, known % n))
    return (out[pairs[0]] - own) * (into[pairs[1]] - own)
