"""The backend of the CPU: loops compiled by Numba, with backward passes derived by hand.

Each function has the name and the arguments of the one in :mod:`hgcn.kernels.operations`. It
returns ``NotImplemented`` for shapes that its loops do not cover. The loops of an operation and its
autograd function are in one file, the formulas in ``docs/kernels.md``. Everything hyperbolic is
computed in float64 whatever the dtype of the tensors.

No function lets the compiler reorder sums or fuse them with products: results would depend on the
process that compiled, and the difference of two equal directions must be exactly zero.

A loop over chunks of rows is given the first chunk and the one after the last, and
:func:`hgcn.compiled.in_chunks` has the threads share the chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from hgcn.kernels.derivatives import one_set
from hgcn.kernels.numba_cpu.counts_of_pairs import counts
from hgcn.kernels.numba_cpu.distance import SquaredDistance
from hgcn.kernels.numba_cpu.dropping import drop_at_random
from hgcn.kernels.numba_cpu.frechet import FrechetMean
from hgcn.kernels.numba_cpu.gathering import GatherRows
from hgcn.kernels.numba_cpu.local_aggregation import Centroid, LocalSum
from hgcn.kernels.numba_cpu.softmax import Attention
from hgcn.kernels.numba_cpu.sums import WeightedSum
from hgcn.kernels.numba_cpu.translation import Translate
from hgcn.kernels.numba_cpu.whole_layer import Convolution

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods
    from hgcn.kernels.operations import Scores

__all__ = [
    "attention",
    "centroid",
    "convolution",
    "dropout",
    "ends",
    "frechet_mean",
    "local_sum",
    "pair_counts",
    "squared_distance",
    "translate",
    "weighted_sum",
]


def translate(v: Tensor, bias: Tensor, c: Tensor) -> Any:
    """Points ``[n, d]``, translated by a bias ``[d]`` or ``[n, d]``."""
    if v.dim() == 2 and bias.shape in (v.shape, v.shape[1:]):
        return Translate.apply(v, bias, c)  # type: ignore[no-untyped-call]
    return NotImplemented


def squared_distance(v: Tensor, w: Tensor, c: Tensor) -> Any:
    """Squared distances of two lists of points ``[n, d]``, with one curvature for all."""
    if v.dim() == 2 and v.shape == w.shape and c.dim() == 0:
        return SquaredDistance.apply(v, w, c)  # type: ignore[no-untyped-call]
    return NotImplemented


def local_sum(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Any:
    """Local aggregation, without self-loops where targets and sources are one set of nodes."""
    return LocalSum.apply(target, source, weight, c, graph, one_set(target, source))  # type: ignore[no-untyped-call]


def centroid(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Any:
    """Lorentz centroids of neighbourhoods."""
    return Centroid.apply(target, source, weight, c, graph)  # type: ignore[no-untyped-call]


def frechet_mean(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Any:
    """Fréchet means of neighbourhoods."""
    return FrechetMean.apply(target, source, weight, c, graph)  # type: ignore[no-untyped-call]


def ends(z: Tensor, pairs: Tensor) -> Any:
    """The rows of both ends of pairs, gathered at once."""
    return GatherRows.apply(z, pairs.flatten()).chunk(2)  # type: ignore[no-untyped-call]


def weighted_sum(x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Any:
    """Weighted sums over neighbourhoods."""
    return WeightedSum.apply(x, weight, graph)  # type: ignore[no-untyped-call]


def attention(
    left: Tensor,
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    prior: Tensor | None,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Any:
    """Attention shares of edges."""
    return Attention.apply(left, right, bias, vector, prior, graph, negative_slope)  # type: ignore[no-untyped-call]


def convolution(
    x: Tensor,
    entries: Neighbourhoods | None,
    weight: Tensor,
    bias: Tensor,
    c: Tensor,
    scores: Scores | None,
    prior: Tensor | None,
    graph: Neighbourhoods,
) -> Any:
    """A whole layer; with ``entries``, x has the values of a sparse matrix."""
    given = (None, None, None, 0.0) if scores is None else scores
    *parts, slope = given
    return Convolution.apply(x, entries, weight, bias, c, *parts, prior, graph, slope)  # type: ignore[no-untyped-call]


def dropout(values: Tensor, p: float) -> Any:
    """Dropout of constants."""
    return drop_at_random(values, p)


def pair_counts(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Any:
    """Counts of what pairs have in common, with bounded work for each."""
    return counts(pairs, weight, direction, graph)
