"""From sums over a row to its Lorentz centroid (``docs/kernels.md``, section 4)."""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.instructions import dot
from hgcn.kernels.rows import Doubles

BELOW_ONE = 1.0 - float(np.finfo(np.float64).eps)
"""The largest length of a sum over its time; beyond it the rest has been lost to rounding."""
LONGEST = math.atanh(BELOW_ONE)


@compiled(inside=True, error_model="numpy")
def centroid_step(step: Doubles, i: int, time: float) -> None:
    """Scale the sum of row i to length ``artanh(|sum|/time)``; one without a time is left."""
    if time > 0.0:
        length = math.sqrt(dot(step, i, step, i))
        tau = math.atanh(min(length / time, BELOW_ONE))
        factor = tau / length if length > 0.0 else 1.0 / time
        for k in range(step.shape[1]):
            step[i, k] *= factor


@compiled(inside=True, error_model="numpy")
def centroid_step_backward(step: Doubles, i: int, time: float, by_step: Doubles, row: int) -> float:
    """Turn the gradient by the step of row i into that by its sum, and return that by its time."""
    if not time > 0.0:
        return 0.0
    q = dot(step, i, step, i)
    tau, product = math.sqrt(q), dot(step, i, by_step, row)
    stretch = tau / math.tanh(tau) if tau > 0.0 else 1.0
    # The derivative of artanh(q)/q by q, over q, at q = tanh(tau), times (q/tau)².
    bend = 2.0 / 3.0 + q * (16.0 / 45.0 + q * (8.0 / 189.0))
    if tau > 0.02:
        bend = (math.cosh(tau) ** 2 - stretch) / q
    if tau >= LONGEST:
        bend = -stretch / q
    for k in range(step.shape[1]):
        by_step[row, k] = (stretch * by_step[row, k] + bend * product * step[i, k]) / time
    return -product * (1.0 + bend * q / stretch) / time
