"""Functions of one number that the compiler turns into vector instructions.

They have no calls and no branches: a loop over a block of numbers that calls the mathematics
library, or jumps, is computed one number at a time. Where a formula loses digits near zero, a
series is computed beside it and one of the two is chosen at the end.

The formulas and their error bounds are in ``docs/kernels.md``, section 2.
"""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.geometry.normal import MAX_RADIUS
from hgcn.kernels.numba_cpu.instructions import multiply_add

LOG_2 = math.log(2.0)


@compiled(inside=True, error_model="numpy", forceinline=True)
def expm1(x: float) -> float:
    """exp(x) - 1, as 2^k exp(r) - 1 with |r| < 0.35."""
    k = math.floor(x * (1.0 / LOG_2) + 0.5)
    r = x - k * LOG_2
    p = 1.0 / 6227020800.0
    p = multiply_add(p, r, 1.0 / 479001600.0)
    p = multiply_add(p, r, 1.0 / 39916800.0)
    p = multiply_add(p, r, 1.0 / 3628800.0)
    p = multiply_add(p, r, 1.0 / 362880.0)
    p = multiply_add(p, r, 1.0 / 40320.0)
    p = multiply_add(p, r, 1.0 / 5040.0)
    p = multiply_add(p, r, 1.0 / 720.0)
    p = multiply_add(p, r, 1.0 / 120.0)
    p = multiply_add(p, r, 1.0 / 24.0)
    p = multiply_add(p, r, 1.0 / 6.0)
    p = multiply_add(p, r, 0.5)
    p = multiply_add(p * r, r, r)
    two = np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
    return multiply_add(two, p, two - 1.0)


@compiled(inside=True, error_model="numpy", forceinline=True)
def exp(x: float) -> float:
    """The exponential of a number that is not positive; below -700 that of -700."""
    return 1.0 + expm1(-700.0 if x < -700.0 else x)


@compiled(inside=True, error_model="numpy", forceinline=True)
def log(x: float) -> float:
    """Logarithm of x from 1 on, as k log 2 plus that of m between sqrt(1/2) and sqrt(2)."""
    bits = np.float64(x).view(np.int64)
    k = (bits - np.int64(0x3FE6A09E667F3BCD)) >> np.int64(52)
    m = np.int64(bits - (k << np.int64(52))).view(np.float64)
    z = (m - 1.0) / (m + 1.0)
    q = z * z
    p = 2.0 / 19.0
    p = multiply_add(p, q, 2.0 / 17.0)
    p = multiply_add(p, q, 2.0 / 15.0)
    p = multiply_add(p, q, 2.0 / 13.0)
    p = multiply_add(p, q, 2.0 / 11.0)
    p = multiply_add(p, q, 2.0 / 9.0)
    p = multiply_add(p, q, 2.0 / 7.0)
    p = multiply_add(p, q, 2.0 / 5.0)
    p = multiply_add(p, q, 2.0 / 3.0)
    return multiply_add(np.float64(np.int32(k)), LOG_2, multiply_add(z * q, p, 2.0 * z))


@compiled(inside=True, error_model="numpy", forceinline=True)
def saturate(radius: float) -> tuple[float, float]:
    """The radius after smooth saturation beyond 40, and its derivative by the radius before."""
    beyond = min(max(radius - MAX_RADIUS, 0.0), 1e15)
    root = math.sqrt(1.0 + 0.25 * beyond * beyond)
    return min(radius, MAX_RADIUS) + beyond / root, 1.0 / (root * root * root)


@compiled(inside=True, error_model="numpy", forceinline=True)
def asinhc(x: float) -> tuple[float, float]:
    """asinh(x)/x, and its derivative over x."""
    q = x * x
    high = math.sqrt(1.0 + q)
    value = log(x + high) / x
    slope = (1.0 / high - value) / q
    near = 1.0 - q * (1.0 / 6.0 - q * (3.0 / 40.0 - q * (15.0 / 336.0)))
    near_slope = -1.0 / 3.0 + q * (0.3 - q * (15.0 / 56.0 - q * (35.0 / 144.0)))
    small = x < 2e-2
    return near if small else value, near_slope if small else slope


@compiled(inside=True, error_model="numpy", forceinline=True)
def kappa_of(h: float) -> tuple[float, float]:
    """Kappa = D/sinh(D) as a function of H = sinh²(D/2), and its derivative by H."""
    half_sinh = math.sqrt(h * (1.0 + h))
    cosh = 1.0 + 2.0 * h
    value = 0.5 * log(cosh + 2.0 * half_sinh) / half_sinh
    slope = (1.0 - cosh * value) / (2.0 * h * (1.0 + h))
    near = 1.0 - h * (2.0 / 3.0 - h * (8.0 / 15.0 - h * (16.0 / 35.0)))
    near_slope = -2.0 / 3.0 + h * (16.0 / 15.0 - h * (48.0 / 35.0))
    small = h < 1e-4
    return near if small else value, near_slope if small else slope


@compiled(inside=True, error_model="numpy", forceinline=True)
def arc(y: float, x: float) -> float:
    """The angle of (x, y) from the first axis, between 0 and pi; y is not negative."""
    wide = abs(x)
    m = min(y, wide) / (max(y, wide) + 1e-300)
    far = m > math.sqrt(2.0) - 1.0
    r = (m - 1.0) / (m + 1.0) if far else m
    q = r * r
    p = 1.0 / 25.0
    p = multiply_add(-p, q, 1.0 / 23.0)
    p = multiply_add(-p, q, 1.0 / 21.0)
    p = multiply_add(-p, q, 1.0 / 19.0)
    p = multiply_add(-p, q, 1.0 / 17.0)
    p = multiply_add(-p, q, 1.0 / 15.0)
    p = multiply_add(-p, q, 1.0 / 13.0)
    p = multiply_add(-p, q, 1.0 / 11.0)
    p = multiply_add(-p, q, 1.0 / 9.0)
    p = multiply_add(-p, q, 1.0 / 7.0)
    p = multiply_add(-p, q, 1.0 / 5.0)
    p = multiply_add(-p, q, 1.0 / 3.0)
    p = multiply_add(-p, q, 1.0)
    angle = r * p + (0.25 * math.pi if far else 0.0)
    angle = 0.5 * math.pi - angle if y > wide else angle
    return math.pi - angle if x < 0.0 else angle
