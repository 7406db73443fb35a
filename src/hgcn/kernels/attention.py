"""Attention weights and weighted sums over neighbourhoods on the CPU, in Numba.

Inner loops run over small local arrays: the compiler knows that these do not overlap, and can use
vector instructions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from hgcn.kernels.csr import Ints
from hgcn.kernels.hyperbolic import FAST, Doubles, Floats


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def attention_forward(
    left: Floats,
    right: Floats,
    vector: Floats,
    prior: Floats,
    slope: float,
    start: Ints,
    other: Ints,
    bounds: Ints,
    share: Floats,
) -> None:
    """share[e, h] = softmax over the row of vector_h . leaky_relu(left_i + right_j), times prior.

    ``left`` and ``right`` are [n, heads * hidden], ``vector`` is [heads, hidden].
    """
    heads, hidden = vector.shape
    for part in prange(bounds.shape[0] - 1):
        mine, a = np.empty(hidden, left.dtype), np.empty(hidden, left.dtype)
        steep = left.dtype.type(slope)
        for i in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                for k in range(hidden):
                    mine[k], a[k] = left[i, base + k], vector[h, k]
                top = -np.inf
                for e in range(start[i], start[i + 1]):
                    j = other[e]
                    score = left.dtype.type(0)
                    for k in range(hidden):
                        value = mine[k] + right[j, base + k]
                        score += a[k] * max(value, steep * value)
                    share[e, h] = score
                    top = max(top, float(score))
                total = 0.0
                for e in range(start[i], start[i + 1]):
                    value = prior[e] * math.exp(share[e, h] - top)
                    share[e, h] = value
                    total += value
                if total > 0.0:
                    for e in range(start[i], start[i + 1]):
                        share[e, h] /= total


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def attention_backward_rows(
    left: Floats,
    right: Floats,
    vector: Floats,
    slope: float,
    start: Ints,
    other: Ints,
    bounds: Ints,
    share: Floats,
    grad_share: Floats,
    grad_score: Floats,
    grad_left: Floats,
    grad_vector: Doubles,
) -> None:
    """Gradients by the scores, by ``left``, and by ``vector`` with a slice for each part."""
    heads, hidden = vector.shape
    for part in prange(bounds.shape[0] - 1):
        mine, a = np.empty(hidden, left.dtype), np.empty(hidden, left.dtype)
        flow, by_vector = np.empty(hidden, left.dtype), np.empty(hidden, left.dtype)
        one, low = left.dtype.type(1), left.dtype.type(slope)
        for h in range(heads):
            for k in range(hidden):
                grad_vector[part, h, k] = 0.0
        for i in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                mean = left.dtype.type(0)
                for e in range(start[i], start[i + 1]):
                    mean += share[e, h] * grad_share[e, h]
                for k in range(hidden):
                    mine[k], a[k], flow[k], by_vector[k] = left[i, base + k], vector[h, k], 0, 0
                for e in range(start[i], start[i + 1]):
                    j = other[e]
                    grad = share[e, h] * (grad_share[e, h] - mean)
                    grad_score[e, h] = grad
                    for k in range(hidden):
                        value = mine[k] + right[j, base + k]
                        steep = grad * (one if value > 0 else low)
                        flow[k] += steep
                        by_vector[k] += steep * value
                for k in range(hidden):
                    grad_left[i, base + k] = flow[k] * a[k]
                    grad_vector[part, h, k] += by_vector[k]


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def attention_backward_columns(
    left: Floats,
    right: Floats,
    vector: Floats,
    slope: float,
    start: Ints,
    other: Ints,
    edge: Ints,
    bounds: Ints,
    grad_score: Floats,
    grad_right: Floats,
) -> None:
    """Gradient by ``right``."""
    heads, hidden = vector.shape
    for part in prange(bounds.shape[0] - 1):
        mine, flow = np.empty(hidden, left.dtype), np.empty(hidden, left.dtype)
        one, low = left.dtype.type(1), left.dtype.type(slope)
        for j in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                for k in range(hidden):
                    mine[k], flow[k] = right[j, base + k], 0
                for position in range(start[j], start[j + 1]):
                    i = other[position]
                    grad = grad_score[edge[position], h]
                    for k in range(hidden):
                        value = left[i, base + k] + mine[k]
                        flow[k] += grad * (one if value > 0 else low)
                for k in range(hidden):
                    grad_right[j, base + k] = flow[k] * vector[h, k]


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def sum_forward(
    x: Floats, weight: Floats, start: Ints, other: Ints, edge: Ints, bounds: Ints, out: Floats
) -> None:
    """out_i = sum of weight[edge] x_other over the row."""
    d = x.shape[1]
    for part in prange(bounds.shape[0] - 1):
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


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def edge_dots(x: Floats, y: Floats, start: Ints, other: Ints, bounds: Ints, out: Floats) -> None:
    """out_e = x_i . y_j for the edges in the order of the rows."""
    d = x.shape[1]
    for part in prange(bounds.shape[0] - 1):
        for i in range(bounds[part], bounds[part + 1]):
            for e in range(start[i], start[i + 1]):
                j = other[e]
                total = x.dtype.type(0)
                for k in range(d):
                    total += x[i, k] * y[j, k]
                out[e] = total
