"""Means of the neighbours of each node, by the names of ``hgcn.names.AGGREGATIONS``.

Each is a function of the points of the targets, those of the sources, a weight for each edge
(which add up to one over each neighbourhood), the curvature and the edges.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hgcn import kernels
from hgcn.errors import ModelError
from hgcn.kernels import Neighbourhoods

Aggregation = Callable[[Tensor, Tensor, Tensor, Tensor, Neighbourhoods], Tensor]


def local(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """The paper's aggregation: a mean in the tangent space of each target (Eq. 9)."""
    return kernels.local_sum(target, source, weight, c, graph)


def origin(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """A mean in the tangent space of the origin, where a point is its own logarithm."""
    return kernels.weighted_sum(source, weight, graph)


def centroid(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """The Lorentz centroid of the neighbours, seen first from the target, then from itself."""
    return kernels.centroid(target, source, weight, c, graph)


def frechet(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """The Fréchet mean of the neighbours."""
    if torch.compiler.is_compiling():  # all steps of the search in one graph take many minutes
        raise ModelError("Expected an aggregation other than 'frechet' in a compiled graph.")
    return kernels.frechet_mean(target, source, weight, c, graph)
