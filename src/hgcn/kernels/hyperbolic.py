"""Fused CPU kernels for translation and local aggregation, and their hand-derived backward passes.

Inside, a point is (rho, u): its radius in units of the curvature radius, and its unit direction,
which is zero at the origin. The formulas are those of :mod:`hgcn.geometry.normal`, everything is
computed in float64 whatever the dtype of the tensors, and no step loses digits at small angles,
small radii or large ones.

Work goes in blocks of rows or edges, in three passes: vectors to numbers (lengths, products), the
formulas on numbers, and numbers to vectors. The middle pass has no branches and no calls, so that
the compiler turns it into vector instructions; this is what :func:`expm1` and :func:`log` are for.
Blocks do not depend on the number of threads, and so neither do results.

Functions of a radius x come from p = exp(x/2) - 1 and f = exp(-x/2) without losing digits:
2 sinh(x/2) = p (1 + f), and 2 sinh((x - y)/2) = (p_x - p_y) (f_x + f_y).

All functions that call one another are in this file: Numba's cache notices changes per file.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from hgcn.geometry.normal import MAX_RADIUS
from hgcn.kernels.csr import Ints
from hgcn.kernels.instructions import dot, prefetch

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

# No kernel lets the compiler reorder sums or fuse them with products: results would depend on where
# else it saw the same code, and the difference of two equal directions must be exactly zero.
BLOCK = 128
AHEAD = 16  # edges between asking for a row and its use
LOG_2 = math.log(2.0)

# ---------------------------------------------------------------------------------------- numbers


@njit(cache=True, error_model="numpy", inline="always")
def expm1(x: float) -> float:
    """exp(x) - 1, as 2^k exp(r) - 1 with |r| < 0.35."""
    k = math.floor(x * (1.0 / LOG_2) + 0.5)
    r = x - k * LOG_2
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
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
    two = np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
    return two * p + (two - 1.0)


@njit(cache=True, error_model="numpy", inline="always")
def log(x: float) -> float:
    """Logarithm of x from 1 on, as k log 2 plus that of m between sqrt(1/2) and sqrt(2)."""
    bits = np.float64(x).view(np.int64)
    k = (bits - np.int64(0x3FE6A09E667F3BCD)) >> np.int64(52)
    m = np.int64(bits - (k << np.int64(52))).view(np.float64)
    z = (m - 1.0) / (m + 1.0)
    q = z * z
    p = 2.0 / 19.0
    p = p * q + 2.0 / 17.0
    p = p * q + 2.0 / 15.0
    p = p * q + 2.0 / 13.0
    p = p * q + 2.0 / 11.0
    p = p * q + 2.0 / 9.0
    p = p * q + 2.0 / 7.0
    p = p * q + 2.0 / 5.0
    p = p * q + 2.0 / 3.0
    return np.float64(np.int32(k)) * LOG_2 + (z * q * p + 2.0 * z)


@njit(cache=True, error_model="numpy", inline="always")
def saturate(radius: float) -> tuple[float, float]:
    """The radius after smooth saturation beyond 40, and the derivative."""
    beyond = min(max(radius - MAX_RADIUS, 0.0), 1e15)
    root = math.sqrt(1.0 + 0.25 * beyond * beyond)
    return min(radius, MAX_RADIUS) + beyond / root, 1.0 / (root * root * root)


@njit(cache=True, error_model="numpy", inline="always")
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


@njit(cache=True, error_model="numpy", inline="always")
def stretch(h: float) -> tuple[float, float]:
    """D/sinh(D) as a function of H = sinh²(D/2), and its derivative."""
    low, high = math.sqrt(h), math.sqrt(1.0 + h)
    value = log(low + high) / (low * high)
    slope = (1.0 - (1.0 + 2.0 * h) * value) / (2.0 * h * (1.0 + h))
    near = 1.0 - h * (2.0 / 3.0 - h * (8.0 / 15.0 - h * (16.0 / 35.0)))
    near_slope = -2.0 / 3.0 + h * (16.0 / 15.0 - h * (48.0 / 35.0))
    small = h < 1e-4
    return near if small else value, near_slope if small else slope


# --------------------------------------------------------------------------------- rows of points


@njit(cache=True, error_model="numpy")
def place(v: Floats, root: float, node: Doubles, radial: Doubles) -> None:
    """For points v: 1/|v|, p, f, sinh(rho) in ``node``, which is what edges need of both ends.

    In ``radial`` rho, its derivative by sqrt(c)|v|, the ratio of the two, and sinh(rho)/rho.
    """
    rows = len(v)
    length = np.empty(BLOCK)
    for i in range(rows):
        length[i] = dot(v, i, v, i)
    # Flat, as the compiler must know how far apart the rows are.
    flat, flat_radial = node.reshape(-1), radial.reshape(-1)
    for i in range(rows):
        size = math.sqrt(length[i])
        radius = root * size
        rho, slope = saturate(radius)
        p = expm1(0.5 * rho)
        f = 1.0 / (1.0 + p)
        sinh = 0.5 * p * (1.0 + f) * (1.0 + p + f)
        flat[4 * i] = 1.0 / size if size > 0.0 else 0.0
        flat[4 * i + 1] = p
        flat[4 * i + 2] = f
        flat[4 * i + 3] = sinh
        flat_radial[4 * i] = rho
        flat_radial[4 * i + 1] = slope
        flat_radial[4 * i + 2] = rho / radius if radius > 0.0 else 1.0
        flat_radial[4 * i + 3] = sinh / rho if rho > 0.0 else 1.0


@njit(cache=True, error_model="numpy", inline="always")
def split(
    v: Floats, i: int, inverse: float, t: Doubles, x: Doubles, d: int
) -> tuple[float, float, float, float]:
    """Set x_i to the part of t_i across u = v_i/|v_i|; returns t², t u, x² and x u.

    The last is a rounding error, which matters far out and is taken away from x where x is used.
    """
    row = min(i, len(t) - 1)
    par = dot(t, row, v, i) * inverse
    scaled = par * inverse
    for k in range(d):
        x[i, k] = t[row, k] - scaled * v[i, k]
    return dot(t, row, t, row), par, dot(x, i, x, i), dot(x, i, v, i) * inverse


@njit(cache=True, error_model="numpy")
def walk(v: Floats, node: Doubles, t: Doubles, root: float, out: Floats) -> None:
    """out_i = translate(v_i, t_i / root); a ``t`` of one row is the same for all.

    With t = par u + x the result is asinh(|z|)/|z| z with z = along u + sinh(tau)/tau x.
    """
    rows, d = v.shape
    x, square = np.empty((BLOCK, d)), np.empty(BLOCK)
    dot_u, dot_x, leak = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    by_v, by_x = np.empty(BLOCK), np.empty(BLOCK)
    for i in range(rows):
        square[i], dot_u[i], dot_x[i], leak[i] = split(v, i, node[i, 0], t, x, d)
    flat = node.reshape(-1)
    for i in range(rows):
        p, f, sinh_rho = flat[4 * i + 1], flat[4 * i + 2], flat[4 * i + 3]
        half = p * (1.0 + f)
        cosh_rho = 1.0 + 0.5 * half * half
        length = math.sqrt(square[i])
        tau, _ = saturate(length)
        shrink = tau / length if length > 0.0 else 1.0
        par, across = shrink * dot_u[i], shrink * shrink * dot_x[i]
        p_t = expm1(0.5 * tau)
        f_t = 1.0 / (1.0 + p_t)
        half = p_t * (1.0 + f_t)
        cosh_tau = 1.0 + 0.5 * half * half
        sigma = 0.5 * half * (1.0 + p_t + f_t) / tau if tau > 0.0 else 1.0
        # Inwards, where the two terms of the other form cancel.
        sinh_gap = 0.5 * (p - p_t) * (f + f_t) * ((1.0 + p) * f_t + (1.0 + p_t) * f)
        inward = sinh_gap + cosh_rho * sigma * across / (tau - par)
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
        along = inward if par < 0.0 else along
        factor, _ = asinhc(math.sqrt(along * along + sigma * sigma * across))
        factor /= root
        by_x[i] = sigma * shrink * factor
        by_v[i] = (along * factor - by_x[i] * leak[i]) * flat[4 * i]
    for i in range(rows):
        scale_v, scale_x = by_v[i], by_x[i]
        for k in range(d):
            out[i, k] = scale_v * v[i, k] + scale_x * x[i, k]


@njit(cache=True, error_model="numpy")
def walk_backward(
    v: Floats,
    node: Doubles,
    radial: Doubles,
    t: Doubles,
    root: float,
    grad: Floats,
    pull: Doubles,
    grad_v: Doubles,
) -> float:
    """Gradients of :func:`walk`: by t in ``pull``, and by v.

    Returns the sum of v times its gradient, minus that of the outputs times theirs.
    """
    rows, d = v.shape
    x = np.empty((BLOCK, d))
    square, dot_u, dot_x = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    leak, dot_grad_u, dot_grad_x = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    by, product = np.empty((BLOCK, 6)), np.empty(BLOCK)
    for i in range(rows):
        square[i], dot_u[i], dot_x[i], leak[i] = split(v, i, node[i, 0], t, x, d)
        dot_grad_u[i] = dot(grad, i, v, i) * node[i, 0]
        dot_grad_x[i] = dot(grad, i, x, i) - leak[i] * dot_grad_u[i]
    flat, flat_radial = node.reshape(-1), radial.reshape(-1)
    for i in range(rows):
        inverse, p, f = flat[4 * i], flat[4 * i + 1], flat[4 * i + 2]
        rho, sinh_rho, sigma_rho = flat_radial[4 * i], flat[4 * i + 3], flat_radial[4 * i + 3]
        half = p * (1.0 + f)
        cosh_rho = 1.0 + 0.5 * half * half
        tilt = half / (1.0 + p + f) * sigma_rho  # (cosh(rho) - 1)/rho
        length = math.sqrt(square[i])
        tau, slope = saturate(length)
        shrink = tau / length if length > 0.0 else 1.0
        par, across = shrink * dot_u[i], shrink * shrink * dot_x[i]
        p_t = expm1(0.5 * tau)
        f_t = 1.0 / (1.0 + p_t)
        half = p_t * (1.0 + f_t)
        cosh_tau = 1.0 + 0.5 * half * half
        sigma = 0.5 * half * (1.0 + p_t + f_t) / tau if tau > 0.0 else 1.0
        q = tau * tau
        near = (1.0 + q / 10.0 * (1.0 + q / 28.0 * (1.0 + q / 54.0))) / 3.0
        bend = (cosh_tau - sigma) / q if tau > 0.05 else near

        # along(rho, tau, par) = cosh(tau) sinh(rho) + cosh(rho) sigma par, its derivatives by rho,
        # by tau over tau, and by par with tau moving along. Where they cancel, with par = k - tau.
        gap = 0.5 * (p - p_t) * (f + f_t)
        sinh_gap = gap * ((1.0 + p) * f_t + (1.0 + p_t) * f)
        cosh_gap = 1.0 + 2.0 * gap * gap
        k_in = across / (tau - par)
        inward = par < 0.0 and tau > 0.5
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
        along = sinh_gap + cosh_rho * sigma * k_in if inward else along
        along_rho = cosh_tau * cosh_rho + sinh_rho * sigma * par
        along_rho = cosh_gap + sinh_rho * sigma * k_in if inward else along_rho
        along_tau = sigma * sinh_rho + cosh_rho * par * bend
        along_par = cosh_rho * sigma + along_tau * par
        tau_in = (cosh_rho * sigma - cosh_gap) / tau + cosh_rho * k_in * bend
        par_in = cosh_gap + sigma * sinh_rho * k_in + cosh_rho * bend * k_in * (k_in - 2.0 * tau)
        along_tau = tau_in if inward else along_tau
        along_par = par_in if inward else along_par
        turn = cosh_tau * sigma_rho + sigma * par * tilt
        turn = (along - sigma * par) / rho if inward and rho > 0.5 else turn

        # z = along u + sigma x; the result is asinh(|z|)/|z| z.
        value, decay = asinhc(math.sqrt(along * along + sigma * sigma * across))
        grad_u, grad_x = dot_grad_u[i] / root, shrink * dot_grad_x[i] / root
        towards = decay * (along * grad_u + sigma * grad_x)
        z_along = value * grad_u + (towards * along if rho > 0.0 else 0.0)
        z_x = value * grad_x + towards * sigma * across
        slope_rho, ratio = flat_radial[4 * i + 1], flat_radial[4 * i + 2]
        by_rho = slope_rho * z_along * along_rho
        product[i] = by_rho * rho / ratio - value * (along * grad_u + sigma * grad_x)
        by[i, 0] = ratio * turn * value
        by[i, 2] = root * ratio * shrink * sigma * (turn * towards + tilt * z_along)
        straight = root * (by_rho - ratio * turn * value * grad_u)
        by[i, 1] = (straight - by[i, 2] * leak[i]) * inverse

        # By the saturated t, and from there to t: shrink of it, and what is along t by the slope.
        by_u = z_along * along_par + z_x * bend * par + sigma * (towards * along - z_along)
        by_x = z_along * along_tau + z_x * bend + sigma * towards * sigma
        by_grad = sigma * value
        by_t = by_grad * (par * grad_u + grad_x) + by_u * par + by_x * across
        by_t *= (slope - shrink) / q if length > MAX_RADIUS else 0.0
        by[i, 3] = shrink * by_grad / root
        by[i, 5] = shrink * (shrink * by_x + by_t)
        by[i, 4] = (shrink * by_u + by_t * par - by[i, 5] * leak[i]) * inverse
    moment = 0.0
    for i in range(rows):
        moment += product[i]
        by_grad, by_v, by_x = by[i, 0], by[i, 1], by[i, 2]
        for k in range(d):
            grad_v[i, k] = by_grad * grad[i, k] + by_v * v[i, k] + by_x * x[i, k]
        by_grad, by_v, by_x = by[i, 3], by[i, 4], by[i, 5]
        for k in range(d):
            pull[i, k] = by_grad * grad[i, k] + by_v * v[i, k] + by_x * x[i, k]
    return moment


@njit(cache=True, error_model="numpy", inline="always")
def finish(
    at: Doubles, radial: Doubles, i: int, root: float, by_rho: float, over: float
) -> tuple[float, float, float]:
    """From gradients by rho and by u, where that by u is ``rho`` times a vector called side.

    The gradient by v is the first number returned times v, plus the second times side, which is
    finite at the origin; ``over`` is its product with u. The third is v times the gradient.
    """
    slope, ratio = radial[i, 1], radial[i, 2]
    by_v = root * (slope * by_rho - ratio * over) * at[i, 0]
    return by_v, root * ratio, slope * by_rho * radial[i, 0] / ratio


# ------------------------------------------------------------------------------ local aggregation


@njit(cache=True, error_model="numpy", parallel=True)
def polar(v: Floats, root: float) -> tuple[Doubles, Doubles]:
    """:func:`place` for all nodes."""
    n = len(v)
    node, radial = np.empty((n, 4)), np.empty((n, 4))
    for block in prange((n + BLOCK - 1) // BLOCK):
        lo, hi = block * BLOCK, min((block + 1) * BLOCK, n)
        place(v[lo:hi], root, node[lo:hi], radial[lo:hi])
    return node, radial


@njit(cache=True, error_model="numpy", inline="always")
def choose(
    lo: int, hi: int, target: Ints, source: Ints, same: bool, y: Floats, to: Doubles, edge: Ints
) -> int:
    """Put the edges lo to hi into ``edge``, all but self-loops if the nodes are the same set.

    A node's logarithm of itself is zero wherever it is. Rows needed soon are asked for.
    """
    count = 0
    for e in range(lo, hi):
        j = source[e]
        if not (same and target[e] == j):
            edge[count] = e
            count += 1
            prefetch(y, j)
            prefetch(to, j)
    return count


@njit(cache=True, error_model="numpy", parallel=True)
def local_forward(
    x: Floats,
    y: Floats,
    at: Doubles,
    to: Doubles,
    start: Ints,
    target: Ints,
    source: Ints,
    weight: Floats,
    root: float,
    same: bool,
    bounds: Ints,
    step: Doubles,
    out: Floats,
) -> None:
    """The aggregation at points x of their neighbours among points y.

    ``at`` and ``to`` are the rows of :func:`polar` of x and y; ``same`` says that x and y are one
    set of nodes. ``step`` gets the sum of local logarithms of each row, for the backward pass.
    """
    d = x.shape[1]
    for part in prange(len(bounds) - 1):
        edge, difference, s = np.empty(BLOCK, np.int64), np.empty((BLOCK, d)), np.empty(BLOCK)
        mine, other, along = np.empty((BLOCK, 4)), np.empty((BLOCK, 4)), np.empty(BLOCK)
        by_u, by_difference = np.empty(BLOCK), np.empty(BLOCK)
        for first in range(bounds[part], bounds[part + 1], BLOCK):
            last = min(first + BLOCK, bounds[part + 1])
            along[:] = 0.0
            step[first:last] = 0.0
            for lo in range(start[first], start[last], BLOCK):
                hi = min(lo + BLOCK, start[last])
                count = choose(lo, hi, target, source, same, y, to, edge)
                for b in range(count):
                    i, j = target[edge[b]], source[edge[b]]
                    s[b] = gap(x, y, at, to, i, j, mine, other, difference, b, d)
                for b in range(count):
                    p_i, f_i, sinh_i = mine[b, 1], mine[b, 2], mine[b, 3]
                    p_j, f_j, sinh_j = other[b, 1], other[b, 2], other[b, 3]
                    sh = 0.5 * (p_j - p_i) * (f_i + f_j)
                    ch = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
                    half = p_i * (1.0 + f_i)
                    kappa, _ = stretch(sh * sh + sinh_i * sinh_j * s[b])
                    by_u[b] = kappa * (2.0 * sh * ch - s[b] * sinh_j * half * half)
                    by_difference[b] = kappa * sinh_j
                for b in range(count):
                    i, w = target[edge[b]], weight[edge[b]]
                    along[i - first] += w * by_u[b]
                    scaled = w * by_difference[b]
                    for k in range(d):
                        step[i, k] += scaled * difference[b, k]
            for i in range(first, last):
                scaled = along[i - first] * at[i, 0]
                for k in range(d):
                    step[i, k] += scaled * x[i, k]
            walk(x[first:last], at[first:last], step[first:last], root, out[first:last])


@njit(cache=True, error_model="numpy", inline="always")
def gap(
    x: Floats,
    y: Floats,
    at: Doubles,
    to: Doubles,
    i: int,
    j: int,
    mine: Doubles,
    other: Doubles,
    difference: Doubles,
    b: int,
    d: int,
) -> float:
    """Row b of the block: numbers of both ends, difference u_j - u_i; its square over 4."""
    scale_i, scale_j = at[i, 0], to[j, 0]
    for k in range(4):
        mine[b, k], other[b, k] = at[i, k], to[j, k]
    for k in range(d):
        difference[b, k] = y[j, k] * scale_j - x[i, k] * scale_i
    return 0.25 * dot(difference, b, difference, b)


@njit(cache=True, error_model="numpy", parallel=True)
def local_backward_rows(
    x: Floats,
    y: Floats,
    at: Doubles,
    to: Doubles,
    radial: Doubles,
    start: Ints,
    target: Ints,
    source: Ints,
    weight: Floats,
    root: float,
    same: bool,
    bounds: Ints,
    step: Doubles,
    grad_out: Floats,
    grad_x: Floats,
    pull: Floats,
    grad_weight: Floats,
    parts: Floats,
    moment: Doubles,
) -> None:
    """Gradients by x and the weights; for y three numbers an edge.

    ``pull`` gets the gradient by the step of each row. ``moment`` gets for each part the sum of
    inputs times their gradients minus that of outputs.
    """
    d = x.shape[1]
    for part in prange(len(bounds) - 1):
        edge, difference, s = np.empty(BLOCK, np.int64), np.empty((BLOCK, d)), np.empty(BLOCK)
        mine, other = np.empty((BLOCK, 4)), np.empty((BLOCK, 4))
        a, across, w = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        by_weight, by_i, by_j = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        lean_i, turn = np.empty(BLOCK), np.empty(BLOCK)
        by_pull, by_x = np.empty(BLOCK), np.empty(BLOCK)
        along, by_rho, lean = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        flow, straight, side = np.empty((BLOCK, d)), np.empty((BLOCK, d)), np.empty((BLOCK, d))
        products = 0.0
        for first in range(bounds[part], bounds[part + 1], BLOCK):
            last = min(first + BLOCK, bounds[part + 1])
            products += walk_backward(
                x[first:last], at[first:last], radial[first:last], step[first:last], root,
                grad_out[first:last], flow, straight,
            )  # fmt: skip
            by_rho[:] = 0.0
            lean[:] = 0.0
            side[:] = 0.0
            for i in range(first, last):
                along[i - first] = dot(flow, i - first, x, i) * at[i, 0]
                for k in range(d):
                    pull[i, k] = flow[i - first, k]
            for lo in range(start[first], start[last], BLOCK):
                hi = min(lo + BLOCK, start[last])
                count = choose(lo, hi, target, source, same, y, to, edge)
                if count < hi - lo:
                    grad_weight[lo:hi] = 0.0
                for b in range(count):
                    i, j = target[edge[b]], source[edge[b]]
                    s[b] = gap(x, y, at, to, i, j, mine, other, difference, b, d)
                    across[b] = dot(difference, b, flow, i - first)
                    a[b], w[b] = along[i - first], weight[edge[b]]
                for b in range(count):
                    p_i, f_i, sinh_i = mine[b, 1], mine[b, 2], mine[b, 3]
                    p_j, f_j, sinh_j = other[b, 1], other[b, 2], other[b, 3]
                    sh = 0.5 * (p_j - p_i) * (f_i + f_j)
                    ch = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
                    sinh_gap, cosh_gap = 2.0 * sh * ch, 1.0 + 2.0 * sh * sh
                    half_i, half_j = p_i * (1.0 + f_i), p_j * (1.0 + f_j)
                    rise_i = 0.5 * half_i * half_i  # cosh(rho_i) - 1
                    cosh_j = 1.0 + 0.5 * half_j * half_j
                    tanh_i = half_i / (1.0 + p_i + f_i)  # of half of rho_i
                    bow = sinh_j * s[b]
                    kappa, slope = stretch(sh * sh + sinh_i * bow)
                    change = (sinh_gap - 2.0 * bow * rise_i) * a[b] + sinh_j * across[b]
                    bent, scaled = w[b] * slope * change, w[b] * kappa
                    pulled = scaled * a[b]
                    by_weight[b] = kappa * change
                    by_i[b] = bent * ((1.0 + rise_i) * bow - 0.5 * sinh_gap)
                    by_i[b] -= pulled * (cosh_gap + 2.0 * sinh_i * bow)
                    by_j[b] = bent * (0.5 * sinh_gap + sinh_i * cosh_j * s[b])
                    by_j[b] += pulled * (cosh_gap - 2.0 * s[b] * cosh_j * rise_i)
                    by_j[b] += scaled * cosh_j * across[b]
                    # cosh(rho_j - rho_i/2) + 2 s sinh(rho_j) sinh(rho_i/2)
                    up, down = (1.0 + p_j) * (1.0 + p_j) * f_i, f_j * f_j * (1.0 + p_i)
                    lean_i[b] = scaled * (0.5 * (up + down) + bow * half_i)
                    turn[b] = sinh_j * (pulled * tanh_i - 0.5 * bent)
                    by_pull[b] = scaled
                    by_x[b] = (pulled * rise_i - 0.5 * bent * sinh_i) * mine[b, 0]
                for b in range(count):
                    e = edge[b]
                    i = target[e]
                    row = i - first
                    grad_weight[e] = by_weight[b]
                    parts[e, 0], parts[e, 1], parts[e, 2] = by_pull[b], by_x[b], by_j[b]
                    by_rho[row] += by_i[b]
                    lean[row] += lean_i[b]
                    turned = turn[b] * radial[i, 3]
                    for k in range(d):
                        side[row, k] += turned * difference[b, k]
            for i in range(first, last):
                row, rho = i - first, radial[i, 0]
                half = at[i, 1] * (1.0 + at[i, 2])
                leaning = -lean[row] * (half / rho if rho > 0.0 else 1.0)
                over = dot(side, row, x, i) * at[i, 0] + leaning * along[row]
                by_v, by_side, product = finish(at, radial, i, root, by_rho[row], over)
                products += product
                by_flow = by_side * leaning
                for k in range(d):
                    value = straight[row, k] + by_flow * flow[row, k]
                    grad_x[i, k] = value + by_v * x[i, k] + by_side * side[row, k]
        moment[part] = products


@njit(cache=True, error_model="numpy", parallel=True)
def local_backward_columns(
    x: Floats,
    y: Floats,
    to: Doubles,
    radial: Doubles,
    start: Ints,
    other: Ints,
    edge: Ints,
    root: float,
    same: bool,
    bounds: Ints,
    pull: Floats,
    parts: Floats,
    grad_y: Floats,
    moment: Doubles,
) -> None:
    """Gradient by y, from what :func:`local_backward_rows` left; added for the same nodes."""
    d = x.shape[1]
    for part in prange(len(bounds) - 1):
        side = np.empty((1, d))
        products = 0.0
        end = start[bounds[part + 1]] - 1
        for j in range(bounds[part], bounds[part + 1]):
            side[:] = 0.0
            by_rho = 0.0
            for position in range(start[j], start[j + 1]):
                soon = min(position + AHEAD, end)
                prefetch(parts, edge[soon])
                prefetch(pull, other[soon])
                prefetch(x, other[soon])
                i = other[position]
                if same and i == j:
                    continue
                e = edge[position]
                by_pull, by_x = np.float64(parts[e, 0]), np.float64(parts[e, 1])
                by_rho += parts[e, 2]
                for k in range(d):
                    side[0, k] += by_pull * pull[i, k] + by_x * x[i, k]
            over = dot(side, 0, y, j) * radial[j, 3] * to[j, 0]
            by_v, by_side, product = finish(to, radial, j, root, by_rho, over)
            products += product
            by_side *= radial[j, 3]
            for k in range(d):
                before = grad_y[j, k] if same else 0.0
                grad_y[j, k] = before + by_v * y[j, k] + by_side * side[0, k]
        moment[part] = products


# -------------------------------------------------------------------------- translation, distance


@njit(cache=True, error_model="numpy", parallel=True)
def translate_forward(v: Floats, bias: Floats, root: float, bounds: Ints, out: Floats) -> None:
    """out_i = translate(v_i, bias_i); a ``bias`` of one row is the same for all."""
    shared = len(bias) == 1
    for part in prange(len(bounds) - 1):
        node, radial = np.empty((BLOCK, 4)), np.empty((BLOCK, 4))
        for lo in range(bounds[part], bounds[part + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[part + 1])
            t = root * (bias if shared else bias[lo:hi]).astype(np.float64)
            place(v[lo:hi], root, node, radial)
            walk(v[lo:hi], node, t, root, out[lo:hi])


@njit(cache=True, error_model="numpy", parallel=True)
def translate_backward(
    v: Floats,
    bias: Floats,
    root: float,
    bounds: Ints,
    grad_out: Floats,
    grad_v: Floats,
    grad_bias: Doubles,
    moment: Doubles,
) -> None:
    """Gradients of :func:`translate_forward`; ``moment`` has a row a part.

    So has ``grad_bias``, which starts at zero, if the bias is the same for all rows.
    """
    d, shared = v.shape[1], len(bias) == 1
    for part in prange(len(bounds) - 1):
        node, radial = np.empty((BLOCK, 4)), np.empty((BLOCK, 4))
        pull, grad = np.empty((BLOCK, d)), np.empty((BLOCK, d))
        products = 0.0
        for lo in range(bounds[part], bounds[part + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[part + 1])
            t = root * (bias if shared else bias[lo:hi]).astype(np.float64)
            place(v[lo:hi], root, node, radial)
            products += walk_backward(v[lo:hi], node, radial, t, root, grad_out[lo:hi], pull, grad)
            for b in range(hi - lo):
                row, own = np.int64(part) if shared else lo + b, 0 if shared else b
                for k in range(d):
                    grad_v[lo + b, k] = grad[b, k]
                    grad_bias[row, k] += root * pull[b, k]
                products += dot(pull, b, t, own)
        moment[part] = products


@njit(cache=True, error_model="numpy", parallel=True)
def distance_forward(v: Floats, w: Floats, root: float, bounds: Ints, out: Floats) -> None:
    """out_i = squared distance of v_i and w_i."""
    d = v.shape[1]
    for part in prange(len(bounds) - 1):
        at, to, radial = np.empty((BLOCK, 4)), np.empty((BLOCK, 4)), np.empty((BLOCK, 4))
        s, difference = np.empty(BLOCK), np.empty((1, d))
        for lo in range(bounds[part], bounds[part + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[part + 1])
            place(v[lo:hi], root, at, radial)
            place(w[lo:hi], root, to, radial)
            for b in range(hi - lo):
                scale, other_scale = at[b, 0], to[b, 0]
                for k in range(d):
                    difference[0, k] = w[lo + b, k] * other_scale - v[lo + b, k] * scale
                s[b] = 0.25 * dot(difference, 0, difference, 0)
            for b in range(hi - lo):
                sh = 0.5 * (to[b, 1] - at[b, 1]) * (at[b, 2] + to[b, 2])
                root_h = math.sqrt(sh * sh + at[b, 3] * to[b, 3] * s[b])
                length = 2.0 * asinhc(root_h)[0] * root_h / root
                out[lo + b] = length * length


@njit(cache=True, error_model="numpy", parallel=True)
def distance_backward(
    v: Floats,
    w: Floats,
    root: float,
    bounds: Ints,
    out: Floats,
    grad_out: Floats,
    grad_v: Floats,
    grad_w: Floats,
    moment: Doubles,
) -> None:
    """Gradients of :func:`distance_forward`: by H = sinh²(D/2) it is 4 D/sinh(D)."""
    d = v.shape[1]
    for part in prange(len(bounds) - 1):
        at, to = np.empty((BLOCK, 4)), np.empty((BLOCK, 4))
        near, far = np.empty((BLOCK, 4)), np.empty((BLOCK, 4))
        s, difference = np.empty(BLOCK), np.empty((BLOCK, d))
        factor, by_v, by_w = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        products = 0.0
        for lo in range(bounds[part], bounds[part + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[part + 1])
            place(v[lo:hi], root, at, near)
            place(w[lo:hi], root, to, far)
            for b in range(hi - lo):
                scale, other_scale = at[b, 0], to[b, 0]
                for k in range(d):
                    difference[b, k] = w[lo + b, k] * other_scale - v[lo + b, k] * scale
                s[b] = 0.25 * dot(difference, b, difference, b)
            for b in range(hi - lo):
                p, f, sinh_v = at[b, 1], at[b, 2], at[b, 3]
                p_w, f_w, sinh_w = to[b, 1], to[b, 2], to[b, 3]
                half, half_w = p * (1.0 + f), p_w * (1.0 + f_w)
                sh = 0.5 * (p_w - p) * (f + f_w)
                ch = 0.5 * ((1.0 + p_w) * f + (1.0 + p) * f_w)
                kappa, _ = stretch(sh * sh + sinh_v * sinh_w * s[b])
                slope = 4.0 * kappa * grad_out[lo + b] / (root * root)
                factor[b] = slope
                by_v[b] = slope * ((1.0 + 0.5 * half * half) * sinh_w * s[b] - sh * ch)
                by_w[b] = slope * ((1.0 + 0.5 * half_w * half_w) * sinh_v * s[b] + sh * ch)
            for b in range(hi - lo):
                products -= 2.0 * out[lo + b] * grad_out[lo + b]
                turn = -0.5 * factor[b] * near[b, 3] * to[b, 3]
                back = 0.5 * factor[b] * far[b, 3] * at[b, 3]
                # The difference of directions w - v, times v and times w.
                over = -2.0 * s[b] * turn if near[b, 0] > 0.0 else 0.0
                over_w = 2.0 * s[b] * back if far[b, 0] > 0.0 else 0.0
                by_own, by_side, product = finish(at, near, b, root, by_v[b], over)
                by_other, by_back, product_w = finish(to, far, b, root, by_w[b], over_w)
                products += product + product_w
                by_side *= turn
                by_back *= back
                for k in range(d):
                    grad_v[lo + b, k] = by_own * v[lo + b, k] + by_side * difference[b, k]
                    grad_w[lo + b, k] = by_other * w[lo + b, k] + by_back * difference[b, k]
        moment[part] = products
