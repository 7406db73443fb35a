"""The backend of every device: the same operations in plain torch, with its own gradients.

The other backends are tested against this one in float64. Each function has the name and the
arguments of the one in :mod:`hgcn.kernels.operations`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hgcn import geometry
from hgcn.geometry.means import Logs, Total, centroid_from, frechet_mean_from
from hgcn.kernels.derivatives import one_set
from hgcn.kernels.rows import FARTHEST

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
    if one_set(target, source):
        weight = weight * (graph.target != graph.source)
    return geometry.translate(target, _sum_to_targets(logs, weight, graph), c=c)


def centroid(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Lorentz centroids, seen first from the target, then from there."""
    logs, total = views(source, weight, c, graph)
    return centroid_from(target, logs, total, c.sqrt(), steps=2)


def frechet_mean(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Fréchet means, with d numbers in memory for each edge and direction."""
    return frechet_mean_from(target, *views(source, weight, c, graph), c.sqrt())


def views(source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods) -> tuple[Logs, Total]:
    """Local logarithms of all edges at given targets, and sums over the neighbours."""

    def logs(at: Tensor) -> Tensor:
        return geometry.local_log(at[graph.target], source[graph.source], c=c)

    def total(vectors: Tensor) -> Tensor:
        return _sum_to_targets(vectors, weight, graph)

    return logs, total


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
    prior: Tensor | None,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Tensor:
    """Attention shares of edges, with the hidden units of each edge in memory."""
    if right is None:
        left, right = left.chunk(2, dim=-1)
    hidden = (left[graph.target] + right[graph.source] + bias).reshape(-1, *vector.shape)
    score = (torch.nn.functional.leaky_relu(hidden, negative_slope) * vector).sum(-1)
    # Older torch scatters by int64 alone.
    index = graph.target.long().unsqueeze(-1).expand_as(score)
    low = score.new_full((graph.num_targets, score.shape[-1]), -math.inf)
    top = low.scatter_reduce(0, index, score.detach(), "amax", include_self=True)
    share = (score - top[graph.target]).exp()
    if prior is not None:
        share = prior.unsqueeze(-1) * share
    total = torch.zeros_like(low).index_add(0, graph.target, share)
    return share / torch.where(total > 0, total, 1.0)[graph.target]


def dropout(values: Tensor, p: float) -> Tensor:
    """Dropout of constants."""
    return torch.nn.functional.dropout(values, p)


PAIR_BLOCK = 1 << 20
"""Number of entries of the rows of pairs that are made dense at a time."""


def pair_counts(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Tensor:
    """Counts of what pairs have in common, with a row in memory for each end of a pair."""
    size = max(1, PAIR_BLOCK // max(graph.num_targets, 1))
    blocks = torch.split(pairs, size, dim=1) if pairs.shape[1] else []
    rows = [_count_block(block, weight, direction, graph) for block in blocks]
    return torch.cat(rows) if rows else weight.new_zeros(0, 10)


def _count_block(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Tensor:
    at = torch.arange(pairs.shape[1], device=pairs.device)
    n = graph.num_targets

    def spread(x: Tensor) -> Tensor:
        """For each pair and node, the sum of the numbers of the neighbours of the node."""
        total = x.new_zeros(n, len(x))
        return total.index_add(0, graph.target, x.t()[graph.source]).t()

    def rows(value: Tensor) -> list[Tensor]:
        """The numbers of the edges of both ends, without the edge between the two themselves."""
        found = []
        for end, other in (pairs, pairs.flip(0)):
            # The place of a node among the ends of this block: each has a row of its own.
            alone, place = torch.unique(end, return_inverse=True)
            number = torch.full((n,), -1, device=end.device).index_put((alone,), at[: len(alone)])
            kept = number[graph.target] >= 0
            dense = value.new_zeros(len(alone), n)
            dense[number[graph.target[kept]], graph.source[kept]] = value[kept]
            dense = dense[place]
            dense[at, other] = 0
            found.append(dense)
        return found

    one = torch.ones_like(weight)
    degree = one.new_zeros(n).index_add(0, graph.target, one)
    strength = one.new_zeros(n).index_add(0, graph.target, weight)
    strength = strength.clamp_min(torch.finfo(one.dtype).tiny)
    from_i, from_j = rows(one)
    both = from_i * from_j
    share = sum(rows(weight)) / (2 * strength)
    counts = [both.sum(1), (both / degree.clamp_min(2).log()).sum(1), (both * share).sum(1)]
    root = degree.clamp_min(1).rsqrt()
    for scale in (torch.ones_like(root), root):
        inner, ends = from_i * scale, from_j * scale  # paths i-u-v-j; u and v are not i or j
        counts.append((spread(inner) * ends).sum(1))
    out, into = rows((direction & 1).to(one)), rows((direction >> 1).to(one))
    ways = (out[0] * into[1], into[0] * out[1], out[0] * out[1], into[0] * into[1])
    distance = _distances(pairs, from_i, from_j > 0, spread)
    return torch.stack([*counts, distance, *(way.sum(1) for way in ways)], dim=1)


def _distances(
    pairs: Tensor, first: Tensor, last: Tensor, spread: Callable[[Tensor], Tensor]
) -> Tensor:
    """Lengths of shortest paths up to ``FARTHEST`` that do not take the edge of the pair."""
    reached, found = first, first.new_zeros(len(first))
    for length in range(2, FARTHEST + 1):
        arrived = (reached * last).sum(1) > 0
        found = torch.where((found == 0) & arrived, float(length), found)
        # A walk that comes back to i or j would be no shortest path.
        reached = ((reached + spread(reached)) > 0).to(first).scatter(1, pairs.t(), 0.0)
    return found


def _sum_to_targets(messages: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    zero = messages.new_zeros(graph.num_targets, messages.shape[-1])
    return zero.index_add(0, graph.target, weight.unsqueeze(-1) * messages)
