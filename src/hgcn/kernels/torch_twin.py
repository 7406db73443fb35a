"""The backend of every device: the same operations in plain torch, with its own gradients.

The other backends are tested against this one in float64. Each function has the name and the
arguments of the one in :mod:`hgcn.kernels.operations`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hgcn import geometry

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


def translate(v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
    """Translation of points; all shapes that broadcast."""
    return geometry.translate(v, bias, c=c)


def squared_distance(v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    """Squared distances; all shapes that broadcast."""
    return geometry.squared_distance(v, w, c=c)


def local_sum(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Local aggregation, with a local logarithm in memory for each edge."""
    logs = geometry.local_log(target[graph.target], source[graph.source], c=c)
    return geometry.translate(target, _sum_to_targets(logs, weight, graph), c=c)


def ends(z: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of both ends of pairs."""
    return z[pairs[0]], z[pairs[1]]


def weighted_sum(x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    """Weighted sums over neighbourhoods, with a row in memory for each edge."""
    return _sum_to_targets(x[graph.source], weight, graph)


def attention(
    left: Tensor,
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    prior: Tensor,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Tensor:
    """Attention shares of edges, with the hidden units of each edge in memory."""
    if right is None:
        left, right = left.chunk(2, dim=-1)
    hidden = (left[graph.target] + right[graph.source] + bias).reshape(-1, *vector.shape)
    score = (torch.nn.functional.leaky_relu(hidden, negative_slope) * vector).sum(-1)
    index = graph.target.unsqueeze(-1).expand_as(score)
    low = score.new_full((graph.num_targets, score.shape[-1]), -math.inf)
    top = low.scatter_reduce(0, index, score.detach(), "amax", include_self=True)
    share = prior.unsqueeze(-1) * (score - top[graph.target]).exp()
    total = torch.zeros_like(low).index_add(0, graph.target, share)
    return share / torch.where(total > 0, total, 1.0)[graph.target]


def dropout(values: Tensor, p: float) -> Tensor:
    """Dropout of constants."""
    return torch.nn.functional.dropout(values, p)


PAIR_BLOCK = 1 << 22
"""Number of entries of the rows of pairs that are made dense at a time."""
FARTHEST = 8


def pair_counts(pairs: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    """Counts of what pairs have in common, with a row in memory for each end of a pair."""
    n = graph.num_targets
    edges = torch.stack((graph.target, graph.source))
    one = torch.sparse_coo_tensor(edges, torch.ones_like(weight), (n, n)).coalesce()
    weighted = torch.sparse_coo_tensor(edges, weight, (n, n)).coalesce()
    size = max(1, PAIR_BLOCK // max(n, 1))
    rows = [_count_block(block, one, weighted) for block in pairs.split(size, dim=1)]
    return torch.cat(rows) if rows else weight.new_zeros(0, 6)


def _count_block(pairs: Tensor, one: Tensor, weighted: Tensor) -> Tensor:
    i, j = pairs
    at = torch.arange(len(i), device=i.device)
    degree = torch.sparse.sum(one, 1).to_dense()
    strength = torch.sparse.sum(weighted, 1).to_dense().clamp_min(torch.finfo(one.dtype).tiny)

    def row(matrix: Tensor, end: Tensor, other: Tensor) -> Tensor:
        dense = matrix.index_select(0, end).to_dense()
        dense[at, other] = 0  # the edge between the two themselves
        return dense

    from_i, from_j = row(one, i, j), row(one, j, i)
    both = from_i * from_j
    share = 0.5 * (row(weighted, i, j) + row(weighted, j, i)) / strength
    inner = from_i.clone()
    inner[at, j] = 0
    root = degree.clamp_min(1).rsqrt()
    counts = [both.sum(1), (both / degree.clamp_min(2).log()).sum(1), (both * share).sum(1)]
    for scale in (torch.ones_like(root), root):
        # Paths i-u-v-j; v is neither i nor j, nor is u.
        ends = from_j * scale
        ends[at, i] = 0
        counts.append((torch.sparse.mm(one, (inner * scale).t()).t() * ends).sum(1))
    return torch.stack([*counts, _distances(i, j, from_i, from_j, one)], dim=1)


def _distances(i: Tensor, j: Tensor, from_i: Tensor, from_j: Tensor, one: Tensor) -> Tensor:
    """Lengths of shortest paths up to ``FARTHEST`` that do not take the edge of the pair."""
    at = torch.arange(len(i), device=i.device)
    reached = from_i.clone()
    found = torch.zeros(len(i), dtype=one.dtype, device=i.device)
    last = from_j > 0
    for length in range(2, FARTHEST + 1):
        arrived = (reached * last).sum(1) > 0
        found = torch.where((found == 0) & arrived, float(length), found)
        blocked = reached.clone()
        blocked[at, i] = 0  # a walk through i or j would be no shortest path
        blocked[at, j] = 0
        reached = ((reached + torch.sparse.mm(one, blocked.t()).t()) > 0).to(one.dtype)
    return found


def _sum_to_targets(messages: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    zero = messages.new_zeros(graph.num_targets, messages.shape[-1])
    return zero.index_add(0, graph.target, weight.unsqueeze(-1) * messages)
