"""Attention weights and weighted sums over neighbourhoods on the CPU, in Numba.

Inner loops run over small local arrays: the compiler knows that these do not overlap, and can use
vector instructions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from hgcn.kernels.csr import Ints
from hgcn.kernels.hyperbolic import AHEAD, Doubles, Floats
from hgcn.kernels.instructions import dot_narrow, prefetch


@njit(cache=True, error_model="numpy", parallel=True)
def attention_forward(
    left: Floats,
    right: Floats,
    shift: int,
    bias: Floats,
    vector: Floats,
    prior: Floats,
    slope: float,
    start: Ints,
    other: Ints,
    bounds: Ints,
    share: Floats,
) -> None:
    """share[e, h] = softmax over the row of vector_h . leaky_relu(left_i + right_j), times prior.

    ``vector`` is [heads, hidden]. The first heads * hidden columns of ``left`` count, to which
    ``bias`` is added, and as many columns of ``right`` from ``shift`` on: both may be one array.
    """
    heads, hidden = vector.shape
    for part in prange(len(bounds) - 1):
        mine, unit = np.empty(hidden, left.dtype), np.empty((1, hidden), left.dtype)
        steep, lowest = left.dtype.type(slope), left.dtype.type(-np.inf)
        end = start[bounds[part + 1]] - 1
        for i in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                for k in range(hidden):
                    mine[k] = left[i, base + k] + bias[base + k]
                top = lowest
                for e in range(start[i], start[i + 1]):
                    prefetch(right, other[min(e + AHEAD, end)])
                    j = other[e]
                    for k in range(hidden):
                        value = mine[k] + right[j, shift + base + k]
                        unit[0, k] = max(value, steep * value)
                    score = dot_narrow(unit, 0, vector, h)
                    share[e, h] = score
                    top = max(top, score)
                total = 0.0
                for e in range(start[i], start[i + 1]):
                    value = prior[e] * math.exp(share[e, h] - top)
                    share[e, h] = value
                    total += value
                if total > 0.0:
                    for e in range(start[i], start[i + 1]):
                        share[e, h] /= total


@njit(cache=True, error_model="numpy", parallel=True)
def attention_backward_rows(
    left: Floats,
    right: Floats,
    shift: int,
    bias: Floats,
    vector: Floats,
    slope: float,
    start: Ints,
    other: Ints,
    bounds: Ints,
    share: Floats,
    grad_share: Floats,
    grad_score: Floats,
    grad_left: Floats,
    grad_bias: Doubles,
    grad_vector: Doubles,
) -> None:
    """Gradients by the scores and by ``left``, and those by bias and vector with a slice a part.

    The gradient by the vector sums, over edges, the gradient by the score times the hidden units;
    these are left + right where positive, so it splits into a sum over rows, which is taken here,
    and one over columns.
    """
    heads, hidden = vector.shape
    for part in prange(len(bounds) - 1):
        mine, flow = np.empty(hidden, left.dtype), np.empty(hidden, left.dtype)
        zero, rest = left.dtype.type(0), left.dtype.type(1.0 - slope)
        grad_bias[part] = 0.0
        grad_vector[part] = 0.0
        end = start[bounds[part + 1]] - 1
        for i in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                mean = zero
                for e in range(start[i], start[i + 1]):
                    mean += share[e, h] * grad_share[e, h]
                for k in range(hidden):
                    mine[k], flow[k] = left[i, base + k] + bias[base + k], zero
                for e in range(start[i], start[i + 1]):
                    prefetch(right, other[min(e + AHEAD, end)])
                    j = other[e]
                    grad = share[e, h] * (grad_share[e, h] - mean)
                    grad_score[e, h] = grad
                    for k in range(hidden):
                        flow[k] += grad if mine[k] + right[j, shift + base + k] > 0 else zero
                # The gradients of a row add up to zero, and so do their parts of slope.
                for k in range(hidden):
                    value = rest * flow[k]
                    grad_left[i, base + k] = value * vector[h, k]
                    grad_bias[part, base + k] += value * vector[h, k]
                    grad_vector[part, h, k] += value * mine[k]


@njit(cache=True, error_model="numpy", parallel=True)
def attention_backward_columns(
    left: Floats,
    right: Floats,
    shift: int,
    bias: Floats,
    vector: Floats,
    slope: float,
    start: Ints,
    other: Ints,
    edge: Ints,
    bounds: Ints,
    grad_score: Floats,
    grad_right: Floats,
    grad_vector: Doubles,
) -> None:
    """Gradient by ``right``, and the rest of that by the vector."""
    heads, hidden = vector.shape
    for part in prange(len(bounds) - 1):
        mine, flow = np.empty(hidden, left.dtype), np.empty(hidden, left.dtype)
        zero, low = left.dtype.type(0), left.dtype.type(slope)
        rest = left.dtype.type(1.0 - slope)
        grad_vector[part] = 0.0
        end = start[bounds[part + 1]] - 1
        for j in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                total = zero
                for k in range(hidden):
                    mine[k], flow[k] = right[j, shift + base + k] + bias[base + k], zero
                for position in range(start[j], start[j + 1]):
                    soon = min(position + AHEAD, end)
                    prefetch(left, other[soon])
                    prefetch(grad_score, edge[soon])
                    i = other[position]
                    grad = grad_score[edge[position], h]
                    total += grad
                    for k in range(hidden):
                        flow[k] += grad if left[i, base + k] + mine[k] > 0 else zero
                for k in range(hidden):
                    value = rest * flow[k] + low * total
                    grad_right[j, shift + base + k] = value * vector[h, k]
                    grad_vector[part, h, k] += value * right[j, shift + base + k]


@njit(cache=True, error_model="numpy", parallel=True)
def sum_forward(
    x: Floats, weight: Floats, start: Ints, other: Ints, edge: Ints, bounds: Ints, out: Floats
) -> None:
    """out_i = sum of weight[edge] x_other over the row."""
    d = x.shape[1]
    for part in prange(len(bounds) - 1):
        total = np.empty(d, x.dtype)
        for i in range(bounds[part], bounds[part + 1]):
            total[:] = 0
            for position in range(start[i], start[i + 1]):
                w = weight[edge[position]]
                j = other[position]
                for k in range(d):
                    total[k] += w * x[j, k]
            for k in range(d):
                out[i, k] = total[k]


@njit(cache=True, error_model="numpy", parallel=True)
def sum_into_few(
    x: Floats, weight: Floats, start: Ints, other: Ints, bounds: Ints, out: Floats
) -> None:
    """out[part, j] = sum of weight[e] x_i over the edges of the part's rows i that end in j.

    All is read in order; ``out[part]`` should be small enough to stay near the processor.
    """
    d = x.shape[1]
    for part in prange(len(bounds) - 1):
        out[part] = 0
        mine = np.empty(d, x.dtype)
        for i in range(bounds[part], bounds[part + 1]):
            for k in range(d):
                mine[k] = x[i, k]
            for e in range(start[i], start[i + 1]):
                w = weight[e]
                j = other[e]
                for k in range(d):
                    out[part, j, k] += w * mine[k]


@njit(cache=True, error_model="numpy", parallel=True)
def edge_dots(x: Floats, y: Floats, start: Ints, other: Ints, bounds: Ints, out: Floats) -> None:
    """out_e = x_i . y_j for the edges in the order of the rows."""
    for part in prange(len(bounds) - 1):
        for i in range(bounds[part], bounds[part + 1]):
            for e in range(start[i], start[i + 1]):
                out[e] = dot_narrow(x, i, y, other[e])
