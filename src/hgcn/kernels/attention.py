"""Attention weights and weighted sums over neighbourhoods on the CPU, in Numba."""

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
        for i in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                top = -np.inf
                for e in range(start[i], start[i + 1]):
                    j = other[e]
                    score = 0.0
                    for k in range(hidden):
                        value = left[i, base + k] + right[j, base + k]
                        score += vector[h, k] * max(value, slope * value)
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
        for h in range(heads):
            for k in range(hidden):
                grad_vector[part, h, k] = 0.0
        for i in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                mean = 0.0
                for e in range(start[i], start[i + 1]):
                    mean += share[e, h] * grad_share[e, h]
                for k in range(hidden):
                    grad_left[i, base + k] = 0.0
                for e in range(start[i], start[i + 1]):
                    j = other[e]
                    grad = share[e, h] * (grad_share[e, h] - mean)
                    grad_score[e, h] = grad
                    for k in range(hidden):
                        value = left[i, base + k] + right[j, base + k]
                        steep = 1.0 if value > 0.0 else slope
                        grad_left[i, base + k] += grad * vector[h, k] * steep
                        grad_vector[part, h, k] += grad * value * steep


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
        for j in range(bounds[part], bounds[part + 1]):
            for h in range(heads):
                base = h * hidden
                for k in range(hidden):
                    grad_right[j, base + k] = 0.0
                for position in range(start[j], start[j + 1]):
                    i = other[position]
                    grad = grad_score[edge[position], h]
                    for k in range(hidden):
                        value = left[i, base + k] + right[j, base + k]
                        steep = 1.0 if value > 0.0 else slope
                        grad_right[j, base + k] += grad * vector[h, k] * steep


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def sum_forward(
    x: Floats, weight: Floats, start: Ints, other: Ints, edge: Ints, bounds: Ints, out: Floats
) -> None:
    """out_i = sum of weight[edge] x_other over the row."""
    d = x.shape[1]
    for part in prange(bounds.shape[0] - 1):
        for i in range(bounds[part], bounds[part + 1]):
            for k in range(d):
                out[i, k] = 0.0
            for position in range(start[i], start[i + 1]):
                w = weight[edge[position]]
                j = other[position]
                for k in range(d):
                    out[i, k] += w * x[j, k]


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def edge_dots(x: Floats, y: Floats, start: Ints, other: Ints, bounds: Ints, out: Floats) -> None:
    """out_e = x_i . y_j for the edges in the order of the rows."""
    d = x.shape[1]
    for part in prange(bounds.shape[0] - 1):
        for i in range(bounds[part], bounds[part + 1]):
            for e in range(start[i], start[i + 1]):
                j = other[e]
                total = 0.0
                for k in range(d):
                    total += x[i, k] * y[j, k]
                out[e] = total
