"""From sums over a row to its Lorentz centroid (``docs/kernels.md``, section 4)."""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.instructions import combine, dot, scale_row
from hgcn.kernels.rows import Doubles

BELOW_ONE = 1.0 - float(np.finfo(np.float64).eps)
"""The largest length of a sum over its time; beyond it the rest has been lost to rounding."""
LONGEST = math.atanh(BELOW_ONE)


@compiled(error_model="numpy", nogil=True)
def centroid_steps(first: int, last: int, step: Doubles, time: Doubles) -> None:
    """Scale the sum of each row to length ``artanh(|sum|/time)``; one without a time is left."""
    for i in range(first, last):
        if time[i] > 0.0:
            length = math.sqrt(dot(step, i, step, i))
            tau = math.atanh(min(length / time[i], BELOW_ONE))
            scale_row(step, i, step, i, tau / length if length > 0.0 else 1.0 / time[i])


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
        cosh = math.cosh(tau)
        bend = (cosh * cosh - stretch) / q
    if tau >= LONGEST:
        bend = -stretch / q
    terms = (stretch / time, by_step, row), (bend * product / time, step, i)
    combine(by_step, row, terms)
    return -product * (1.0 + bend * q / stretch) / time
