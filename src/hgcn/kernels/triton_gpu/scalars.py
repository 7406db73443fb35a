"""Functions of one number, for float32 and float64 alike.

They are those of ``hgcn.kernels.numba_cpu.scalars`` (``docs/kernels.md``, section 2). GPUs have
exponentials and logarithms of float32 in hardware, but with an absolute error near zero; so these
have their own series. Both sides of a choice are computed, hence no side may divide by zero.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import triton
import triton.language as tl

from hgcn.geometry import normal

MAX_RADIUS = tl.constexpr(normal.MAX_RADIUS)

INVERSE_LOG_2 = tl.constexpr(1.4426950408889634)
# The logarithm of 2 in two parts: a small integer times the first is exact in float32 too.
LOG_2_HIGH = tl.constexpr(0.693359375)
LOG_2_LOW = tl.constexpr(-2.121944400546905827679e-4)


@triton.jit
def expm1(x):
    """exp(x) - 1 for x from 0 on, as 2^k exp(r) - 1 with |r| < 0.35."""
    k = tl.floor(x * INVERSE_LOG_2 + 0.5)
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r * r + r
    if x.dtype == tl.float64:
        two = ((k.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)
    else:
        two = ((k.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)
    return two * p + (two - 1.0)


@triton.jit
def log1p(x):
    """Logarithm of 1 + x for x from 0 on, as k log 2 plus that of m, sqrt(1/2) < m < sqrt(2)."""
    w = 1.0 + x
    if x.dtype == tl.float64:
        bits = w.to(tl.int64, bitcast=True)
        k = (bits - 0x3FE6A09E667F3BCD) >> 52
        m = (bits - (k << 52)).to(tl.float64, bitcast=True)
    else:
        bits = w.to(tl.int32, bitcast=True)
        k = (bits - 0x3F3504F3) >> 23
        m = (bits - (k << 23)).to(tl.float32, bitcast=True)
    # Where k is 0, m is 1 + x, and x itself has not been rounded.
    y = tl.where(k == 0, x, m - 1.0)
    z = y / (y + 2.0)
    q = z * z
    p = q * (2.0 / 19.0) + 2.0 / 17.0
    p = p * q + 2.0 / 15.0
    p = p * q + 2.0 / 13.0
    p = p * q + 2.0 / 11.0
    p = p * q + 2.0 / 9.0
    p = p * q + 2.0 / 7.0
    p = p * q + 2.0 / 5.0
    p = p * q + 2.0 / 3.0
    k = k.to(x.dtype)
    value = k * LOG_2_HIGH + (k * LOG_2_LOW + (z * q * p + 2.0 * z))
    return tl.where(x < float("inf"), value, x)  # the bits of no number would make some number


@triton.jit
def asinh(x):
    """Inverse hyperbolic sine of x from 0 on."""
    q = x * x
    return log1p(x + q / (1.0 + tl.sqrt(1.0 + q)))


@triton.jit
def saturate(radius):
    """The radius after smooth saturation beyond 40, and its derivative by the radius before."""
    beyond = tl.minimum(tl.maximum(radius - MAX_RADIUS, 0.0), 1e12)
    root = tl.sqrt(1.0 + 0.25 * beyond * beyond)
    return tl.minimum(radius, MAX_RADIUS) + beyond / root, 1.0 / (root * root * root)


@triton.jit
def asinhc(x):
    """asinh(x)/x, and its derivative over x; float64."""
    small = x < 2e-2
    q = x * x
    near = 1.0 - q * (1.0 / 6.0 - q * (3.0 / 40.0 - q * (15.0 / 336.0)))
    near_slope = -1.0 / 3.0 + q * (0.3 - q * (15.0 / 56.0 - q * (35.0 / 144.0)))
    y = tl.where(small, 1.0, x)
    value = asinh(y) / y
    slope = (1.0 / tl.sqrt(1.0 + y * y) - value) / (y * y)
    return tl.where(small, near, value), tl.where(small, near_slope, slope)


@triton.jit
def kappa_of(h):
    """Kappa = D/sinh(D) as a function of H = sinh²(D/2)."""
    h = tl.maximum(h, 1e-30)
    low = tl.sqrt(h)
    high = tl.sqrt(1.0 + h)
    return log1p(low + h / (1.0 + high)) / (low * high)


@triton.jit
def kappa_slope(h, kappa, product):
    """The derivative of kappa by H over kappa, times a product with kappa.

    Far out the derivative alone is below the least float32, and the result is not. Near zero the
    formula cancels, and a series with eight terms is taken; float32 needs it farther out.
    """
    b = tl.minimum(h, 1.0)
    near = 2048.0 / 6435.0 * 7.0 - b * (32768.0 / 109395.0 * 8.0)
    near = 1024.0 / 3003.0 * 6.0 - b * near
    near = 256.0 / 693.0 * 5.0 - b * near
    near = 128.0 / 315.0 * 4.0 - b * near
    near = 16.0 / 35.0 * 3.0 - b * near
    near = 8.0 / 15.0 * 2.0 - b * near
    near = b * near - 2.0 / 3.0
    small = h < (4e-3 if h.dtype == tl.float64 else 6e-2)
    g = tl.where(small, 1.0, h)
    far = (1.0 / kappa - (1.0 + 2.0 * g)) / (2.0 * (1.0 + g)) * (product / g)
    return tl.where(small, near / tl.where(small, kappa, 1.0) * product, far)
