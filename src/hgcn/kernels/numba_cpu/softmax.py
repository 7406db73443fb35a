"""Attention: shares of the neighbours of each node by a softmax, forward and backward.

The score of an edge is ``vector_h . leaky_relu(left_i + right_j + bias)``. The backward pass goes
over rows and then over columns; ``docs/kernels.md``, section 8, derives how the sums split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.instructions import (
    add_where_positive,
    at,
    leaky_product,
    prefetch,
    put,
)
from hgcn.kernels.numba_cpu.lanes import BLOCK
from hgcn.kernels.numba_cpu.points import AHEAD
from hgcn.kernels.numba_cpu.scalars import exp
from hgcn.kernels.numba_cpu.tensors import array, empty
from hgcn.kernels.rows import Doubles, Floats, Rows

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


class ScoreInputs(NamedTuple):
    """The arrays that the scores of edges are computed from.

    Attributes:
        left: an array whose first heads * hidden columns are those of the targets.
        right: an array in which as many columns, from ``shift`` on, are those of the sources; it
            may be the array ``left``.
        shift: number of the first column of the sources.
        bias: added to ``left``, shape ``[heads * hidden]``.
        vector: shape ``[heads, hidden]``.
        slope: slope of the leaky ReLU for negative numbers.
    """

    left: Floats
    right: Floats
    shift: int
    bias: Floats
    vector: Floats
    slope: float


@compiled(error_model="numpy", nogil=True)
def attention_forward(
    first_chunk: int, last_chunk: int, scores: ScoreInputs, prior: Floats, rows: Rows, share: Floats
) -> None:
    """share[e, h] = softmax of the scores over the row of e, each times the prior of its edge.

    An empty list of priors stands for ones.
    """
    left, right, shift, bias = scores.left, scores.right, scores.shift, scores.bias
    vector, slope = scores.vector, scores.slope
    start, other, bounds = rows.start, rows.other, rows.bounds
    (heads, hidden), flat, final = vector.shape, share.reshape(-1), len(other) - 1
    for chunk in range(first_chunk, last_chunk):
        mine, lowest = np.empty((1, hidden), left.dtype), left.dtype.type(-np.inf)
        for first in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            last = min(first + BLOCK, bounds[chunk + 1])
            for i in range(first, last):
                for h in range(heads):
                    base, top = h * hidden, lowest
                    for k in range(hidden):
                        mine[0, k] = left[i, base + k] + bias[base + k]
                    for e in range(start[i], start[i + 1]):
                        prefetch(right, at(other, min(e + AHEAD, final)))
                        j = at(other, e)
                        score = leaky_product(mine, 0, right, j, shift + base, vector, h, slope)
                        put(flat, e * heads + h, score)
                        top = max(top, score)
                    for e in range(start[i], start[i + 1]):
                        put(flat, e * heads + h, at(flat, e * heads + h) - top)
            for place in range(start[first] * heads, start[last] * heads):
                put(flat, place, exp(np.float64(at(flat, place))))
            for i in range(first, last):
                for h in range(heads):
                    total = 0.0
                    for e in range(start[i], start[i + 1]):
                        value = at(flat, e * heads + h)
                        if len(prior) > 0:
                            value *= at(prior, e)
                        put(flat, e * heads + h, value)
                        total += value
                    factor = 1.0 / total if total > 0.0 else 1.0
                    for e in range(start[i], start[i + 1]):
                        put(flat, e * heads + h, factor * at(flat, e * heads + h))


@compiled(error_model="numpy", nogil=True)
def attention_backward_rows(
    first_chunk: int,
    last_chunk: int,
    scores: ScoreInputs,
    rows: Rows,
    share: Floats,
    grad_share: Floats,
    grad_score: Floats,
    grad_left: Floats,
    grad_bias: Doubles,
    grad_vector: Doubles,
) -> None:
    """Gradients by the scores and by ``left``, and the sums over rows of those by bias and vector.

    The latter two have a slice for each chunk.

    The gradient by the vector sums, over edges, the gradient by the score times the hidden units.
    A unit is left + right where positive, so this splits into a sum over rows, which is taken
    here, and one over columns.
    """
    left, right, shift, bias = scores.left, scores.right, scores.shift, scores.bias
    vector, slope = scores.vector, scores.slope
    start, other, bounds = rows.start, rows.other, rows.bounds
    heads, hidden = vector.shape
    shares, by_share, by_score = share.reshape(-1), grad_share.reshape(-1), grad_score.reshape(-1)
    final = len(other) - 1
    for chunk in range(first_chunk, last_chunk):
        mine, active = np.empty((1, hidden), left.dtype), np.empty((1, hidden), left.dtype)
        factors, zero = np.empty(BLOCK, left.dtype), left.dtype.type(0)
        rest = left.dtype.type(1.0 - slope)
        grad_bias[chunk] = 0.0
        grad_vector[chunk] = 0.0
        for i in range(bounds[chunk], bounds[chunk + 1]):
            for h in range(heads):
                base, mean = h * hidden, zero
                for e in range(start[i], start[i + 1]):
                    mean += at(shares, e * heads + h) * at(by_share, e * heads + h)
                for k in range(hidden):
                    mine[0, k], active[0, k] = left[i, base + k] + bias[base + k], zero
                for lo in range(start[i], start[i + 1], BLOCK):
                    hi = min(lo + BLOCK, start[i + 1])
                    for e in range(lo, hi):
                        prefetch(right, at(other, min(e + AHEAD, final)))
                        place = e * heads + h
                        grad = at(shares, place) * (at(by_share, place) - mean)
                        put(by_score, place, grad)
                        put(factors, e - lo, grad)
                    add_where_positive(
                        active, 0, right, other, lo, hi - lo, factors, 0, 0, shift + base, mine, 0
                    )
                # The gradients of a row add up to zero, and so do their terms with the slope.
                for k in range(hidden):
                    value = rest * active[0, k]
                    grad_left[i, base + k] = value * vector[h, k]
                    grad_bias[chunk, base + k] += value * vector[h, k]
                    grad_vector[chunk, h, k] += value * mine[0, k]


@compiled(error_model="numpy", nogil=True)
def attention_backward_columns(
    first_chunk: int,
    last_chunk: int,
    scores: ScoreInputs,
    columns: Rows,
    grad_score: Floats,
    grad_right: Floats,
    grad_vector: Doubles,
) -> None:
    """Gradient by ``right``, and the sums over columns of that by the vector."""
    left, right, shift, bias = scores.left, scores.right, scores.shift, scores.bias
    vector, slope = scores.vector, scores.slope
    start, other, edge, bounds = columns.start, columns.other, columns.edge, columns.bounds
    (heads, hidden), by_score, final = vector.shape, grad_score.reshape(-1), len(other) - 1
    for chunk in range(first_chunk, last_chunk):
        mine, active = np.empty((1, hidden), left.dtype), np.empty((1, hidden), left.dtype)
        factors, zero = np.empty(BLOCK, left.dtype), left.dtype.type(0)
        low, rest = left.dtype.type(slope), left.dtype.type(1.0 - slope)
        grad_vector[chunk] = 0.0
        for j in range(bounds[chunk], bounds[chunk + 1]):
            for h in range(heads):
                base, total = h * hidden, zero
                for k in range(hidden):
                    mine[0, k] = right[j, shift + base + k] + bias[base + k]
                    active[0, k] = zero
                for lo in range(start[j], start[j + 1], BLOCK):
                    hi = min(lo + BLOCK, start[j + 1])
                    for position in range(lo, hi):
                        soon = min(position + AHEAD, final)
                        prefetch(left, at(other, soon))
                        prefetch(grad_score, at(edge, soon))
                        grad = at(by_score, at(edge, position) * heads + h)
                        put(factors, position - lo, grad)
                        total += grad
                    add_where_positive(
                        active, 0, left, other, lo, hi - lo, factors, 0, 0, base, mine, 0
                    )
                for k in range(hidden):
                    value = rest * active[0, k] + low * total
                    grad_right[j, shift + base + k] = value * vector[h, k]
                    grad_vector[chunk, h, k] += value * right[j, shift + base + k]


class Attention(torch.autograd.Function):
    """Shares of edges ``[E, heads]``; without ``right``, ``left`` has both side by side."""

    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor | None,
        bias: Tensor,
        vector: Tensor,
        prior: Tensor | None,
        graph: Neighbourhoods,
        slope: float,
    ) -> Tensor:
        """Keep the shares; the hidden units of edges are computed again."""
        share = attend(left, right, bias, vector, prior, graph, slope)
        ctx.save_for_backward(left, right, bias, vector, prior, share)
        ctx.graph, ctx.slope = graph, slope
        return share

    @staticmethod
    @once
    def backward(ctx: Any, grad_share: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by left, right, bias and vector, and by the prior if it is asked for."""
        left, right, bias, vector, prior, share = ctx.saved_tensors
        given = left, right, bias, vector, share, grad_share, ctx.graph, ctx.slope
        grad_score, *gradients = attend_back(*given)
        grad_prior = None
        if ctx.needs_input_grad[4]:
            grad_prior = torch.where(prior > 0, grad_score.sum(-1) / prior, 0.0)
        return *gradients, grad_prior, None, None


def attend(
    left: Tensor,
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    prior: Tensor | None,
    graph: Neighbourhoods,
    slope: float,
) -> Tensor:
    """The shares of edges."""
    share, rows = left.new_empty(len(graph.source), len(vector)), graph.by_target
    scores = _scores(left, right, bias, vector, slope)
    priors = array(left.new_empty(0) if prior is None else prior)
    in_chunks(attention_forward, len(rows.bounds) - 1, scores, priors, rows, share.numpy())
    return share


def attend_back(
    left: Tensor,
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    share: Tensor,
    grad_share: Tensor,
    graph: Neighbourhoods,
    slope: float,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor]:
    """Gradients by the scores, by left, right, bias and vector."""
    rows, columns = graph.by_target, graph.by_source
    chunks = len(rows.bounds) - 1
    grad_left, grad_score = empty(left), empty(share)
    grad_right = None if right is None else empty(right)
    grad_bias = np.empty((chunks, len(bias)))
    grad_vector = np.empty((chunks + len(columns.bounds) - 1, *vector.shape))
    scores = _scores(left, right, bias, vector, slope)
    in_chunks(
        attention_backward_rows, chunks, scores, rows, share.numpy(), array(grad_share),
        grad_score.numpy(), grad_left.numpy(), grad_bias, grad_vector[:chunks],
    )  # fmt: skip
    in_chunks(
        attention_backward_columns, len(columns.bounds) - 1, scores, columns, grad_score.numpy(),
        (grad_left if grad_right is None else grad_right).numpy(), grad_vector[chunks:],
    )  # fmt: skip
    by_bias, by_vector = bias.new_tensor(grad_bias.sum(0)), vector.new_tensor(grad_vector.sum(0))
    return grad_score, grad_left, grad_right, by_bias, by_vector


def _scores(
    left: Tensor, right: Tensor | None, bias: Tensor, vector: Tensor, slope: float
) -> ScoreInputs:
    other, shift = (left, vector.numel()) if right is None else (right, 0)
    return ScoreInputs(array(left), array(other), shift, array(bias), array(vector), slope)
