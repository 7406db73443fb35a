"""Ways to average the neighbours of a node. Each takes weights that add up to one."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from hgcn import kernels
from hgcn.geometry.means import centroid_from, frechet_mean_from
from hgcn.geometry.normal import local_log
from hgcn.kernels import Neighbourhoods

Aggregation = Callable[[Tensor, Tensor, Tensor, Tensor, Neighbourhoods], Tensor]


def origin(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """In the tangent space of the origin, where a point is its own logarithm."""
    return kernels.weighted_sum(source, weight, graph)


def centroid(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Lorentz centroid, evaluated as seen from each target and then from itself."""
    logs, total = _views(source, weight, c, graph)
    return centroid_from(target, logs, total, c.sqrt(), steps=2)


def frechet(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Fréchet mean."""
    logs, total = _views(source, weight, c, graph)
    return frechet_mean_from(target, logs, total, c.sqrt())


def _views(
    source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    def logs(at: Tensor) -> Tensor:
        return local_log(at[graph.target], source[graph.source], c=c)

    def total(vectors: Tensor) -> Tensor:
        zero = vectors.new_zeros(graph.num_targets, vectors.shape[-1])
        return zero.index_add(0, graph.target, weight.unsqueeze(-1) * vectors)

    return logs, total


AGGREGATIONS: dict[str, Aggregation] = {
    "local": kernels.local_sum,
    "origin": origin,
    "centroid": centroid,
    "frechet": frechet,
}
"""By the name that :class:`~hgcn.nn.HGCNConv` takes."""
