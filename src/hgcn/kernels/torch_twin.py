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


def _sum_to_targets(messages: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    zero = messages.new_zeros(graph.num_targets, messages.shape[-1])
    return zero.index_add(0, graph.target, weight.unsqueeze(-1) * messages)
