"""Fused CPU kernels for translation and local aggregation, and their hand-derived backward passes.

Inside, a point is (rho, u): its radius in units of the curvature radius, and its unit direction,
which is zero at the origin. The formulas are those of :mod:`hgcn.geometry.normal`. Everything is
computed in float64, whatever the dtype of the tensors: that costs nothing here, since the time goes
into fetching rows, and keeps the digits of small angles. A row is one unit of parallel work, so
results do not depend on the number of threads.

All functions that call one another are in this file: Numba's cache notices changes per file.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from hgcn.geometry.normal import MAX_RADIUS
from hgcn.kernels.csr import Ints

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

# Sums may be reordered and fused, which lets them use vector instructions; NaN and inf keep their
# meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, inline="always")
def saturate(radius: float) -> tuple[float, float]:
    """The radius after smooth saturation beyond 40, and the derivative."""
    if radius <= MAX_RADIUS:
        return radius, 1.0
    beyond = min(radius - MAX_RADIUS, 1e15)
    root = math.sqrt(1.0 + 0.25 * beyond * beyond)
    return MAX_RADIUS + beyond / root, 1.0 / (root * root * root)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def norm(v: Floats) -> float:
    """Euclidean norm."""
    total = 0.0
    for k in range(v.shape[0]):
        value = np.float64(v[k])
        total += value * value
    return math.sqrt(total)


@njit(cache=True)
def sinhc(x: float) -> float:
    """sinh(x)/x."""
    if abs(x) < 1e-2:
        square = x * x
        return 1.0 + square / 6.0 * (1.0 + square / 20.0)
    return math.sinh(x) / x


@njit(cache=True)
def sinhc_slope(x: float, cosh: float, ratio: float) -> float:
    """(cosh(x) - sinh(x)/x)/x², the derivative of sinh(x)/x over x."""
    if abs(x) < 5e-2:
        square = x * x
        return (1.0 + square / 10.0 * (1.0 + square / 28.0 * (1.0 + square / 54.0))) / 3.0
    return (cosh - ratio) / (x * x)


@njit(cache=True)
def asinhc(x: float) -> tuple[float, float]:
    """asinh(x)/x, and its derivative over x."""
    square = x * x
    if x < 2e-2:
        value = 1.0 - square * (1.0 / 6.0 - square * (3.0 / 40.0 - square * (15.0 / 336.0)))
        slope = -1.0 / 3.0 + square * (0.3 - square * (15.0 / 56.0 - square * (35.0 / 144.0)))
        return value, slope
    value = math.log(x + math.sqrt(1.0 + square)) / x
    return value, (1.0 / math.sqrt(1.0 + square) - value) / square


@njit(cache=True, inline="always")
def stretch(h: float) -> tuple[float, float]:
    """D/sinh(D) as a function of H = sinh²(D/2), and its derivative by H."""
    if h < 1e-4:
        value = 1.0 - h * (2.0 / 3.0 - h * (8.0 / 15.0 - h * (16.0 / 35.0)))
        slope = -2.0 / 3.0 + h * (16.0 / 15.0 - h * (48.0 / 35.0))
        return value, slope
    low, high = math.sqrt(h), math.sqrt(1.0 + h)
    value = math.log(low + high) / (low * high)
    return value, (1.0 - (1.0 + 2.0 * h) * value) / (2.0 * h * (1.0 + h))


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _perpendicular(u: Doubles, t: Doubles, shrink: float, par: float, x: Doubles) -> float:
    """Set x to shrink t - par u, twice so that nothing along u is left; its squared length."""
    leak = 0.0
    for k in range(u.shape[0]):
        x[k] = shrink * t[k] - par * u[k]
        leak += x[k] * u[k]
    square = 0.0
    for k in range(u.shape[0]):
        x[k] -= leak * u[k]
        square += x[k] * x[k]
    return square


@njit(cache=True, fastmath=FAST, error_model="numpy")
def walk(u: Doubles, rho: float, t: Doubles, z: Doubles) -> None:
    """Set z to translate(rho u, t), all in units of the curvature radius."""
    d = u.shape[0]
    tau_given = norm(t)
    tau, _ = saturate(tau_given)
    shrink = tau / tau_given if tau_given > MAX_RADIUS else 1.0
    par = 0.0
    for k in range(d):
        par += u[k] * t[k]
    par *= shrink
    across = _perpendicular(u, t, shrink, par, z)
    sigma = sinhc(tau)
    cosh_rho = math.cosh(rho)
    if par < 0.0:
        along = math.sinh(rho - tau) + cosh_rho * sigma * across / (tau - par)
    else:
        along = math.cosh(tau) * math.sinh(rho) + cosh_rho * sigma * par
    factor, _ = asinhc(math.sqrt(along * along + sigma * sigma * across))
    for k in range(d):
        z[k] = factor * (along * u[k] + sigma * z[k])


@njit(cache=True, fastmath=FAST, error_model="numpy")
def walk_backward(
    u: Doubles, rho: float, t: Doubles, grad: Doubles, grad_t: Doubles, side: Doubles, x: Doubles
) -> float:
    """Gradient of :func:`walk`: by rho, returned; by t; and, in ``side``, by u over rho.

    ``side`` is finite at the origin and not yet projected across u. ``x`` is room to work in.
    """
    d = u.shape[0]
    tau_given = norm(t)
    tau, slope = saturate(tau_given)
    shrink = tau / tau_given if tau_given > MAX_RADIUS else 1.0
    par = 0.0
    for k in range(d):
        par += u[k] * t[k]
    par *= shrink
    across = _perpendicular(u, t, shrink, par, x)
    cosh_rho, sinh_rho, cosh_tau = math.cosh(rho), math.sinh(rho), math.cosh(tau)
    sigma = sinhc(tau)
    bend = sinhc_slope(tau, cosh_tau, sigma)
    tilt = math.tanh(0.5 * rho) * sinhc(rho)

    # along(rho, tau, par) = cosh(tau) sinh(rho) + cosh(rho) sigma par, its derivatives by rho, by
    # tau over tau, and by par with tau moving along. Where they cancel, with par = k - tau.
    if par < 0.0 and tau > 0.5:
        k_in = across / (tau - par)
        cosh_gap = math.cosh(rho - tau)
        along = math.sinh(rho - tau) + cosh_rho * sigma * k_in
        along_rho = cosh_gap + sinh_rho * sigma * k_in
        along_tau = (cosh_rho * sigma - cosh_gap) / tau + cosh_rho * k_in * bend
        along_par = cosh_gap + sigma * sinh_rho * k_in + cosh_rho * bend * k_in * (k_in - 2.0 * tau)
    else:
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
        along_rho = cosh_tau * cosh_rho + sinh_rho * sigma * par
        along_tau = sigma * sinh_rho + cosh_rho * par * bend
        along_par = cosh_rho * sigma + along_tau * par
    if par < 0.0 and tau > 0.5 and rho > 0.5:
        turn = (along - sigma * par) / rho
    else:
        turn = cosh_tau * sinhc(rho) + sigma * par * tilt

    # z = along u + sigma x; the result is asinh(|z|)/|z| z.
    value, decay = asinhc(math.sqrt(along * along + sigma * sigma * across))
    grad_along = 0.0
    grad_x = 0.0
    for k in range(d):
        grad_along += grad[k] * u[k]
        grad_x += grad[k] * x[k]
    pull = decay * (along * grad_along + sigma * grad_x)
    norm_u = 1.0 if rho > 0.0 else 0.0
    z_along = value * grad_along + pull * along * norm_u
    z_x = value * grad_x + pull * sigma * across

    by_par = z_along * along_par + z_x * bend * par
    by_x = z_along * along_tau + z_x * bend
    lean = tilt * sigma * z_along
    radial = 0.0
    for k in range(d):
        z_grad = value * grad[k] + pull * (along * u[k] + sigma * x[k])
        side[k] = turn * z_grad + lean * x[k]
        grad_t[k] = by_par * u[k] + sigma * (z_grad - z_along * u[k]) + by_x * x[k]
        radial += grad_t[k] * t[k]
    if tau_given > MAX_RADIUS:
        radial /= tau_given * tau_given
        for k in range(d):
            grad_t[k] = shrink * grad_t[k] + (slope - shrink) * radial * t[k]
    return z_along * along_rho


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def polar(v: Floats, root: float) -> Doubles:
    """For each node: 1/|v|, rho, sinh, cosh, exp(rho/2), exp(-rho/2), slope, rho/(root |v|)."""
    n = v.shape[0]
    node = np.empty((n, 8))
    for i in prange(n):
        length = norm(v[i])
        radius = root * length
        rho, slope = saturate(radius)
        node[i, 0] = 1.0 / length if length > 0.0 else 0.0
        node[i, 1] = rho
        node[i, 2] = math.sinh(rho)
        node[i, 3] = math.cosh(rho)
        node[i, 4] = math.exp(0.5 * rho)
        node[i, 5] = math.exp(-0.5 * rho)
        node[i, 6] = slope
        node[i, 7] = rho / radius if radius > 0.0 else 1.0
    return node


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def local_forward(
    target: Floats,
    source: Floats,
    at: Doubles,
    to: Doubles,
    start: Ints,
    other: Ints,
    weight: Floats,
    root: float,
    bounds: Ints,
    step: Doubles,
    out: Floats,
) -> None:
    """The aggregation; ``step`` keeps the sum of local logarithms for the backward pass."""
    d = target.shape[1]
    for part in prange(bounds.shape[0] - 1):
        u, total, difference, z = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
        for i in range(bounds[part], bounds[part + 1]):
            for k in range(d):
                u[k] = target[i, k] * at[i, 0]
                total[k] = 0.0
            rho_i, sinh_i, cosh_i = at[i, 1], at[i, 2], at[i, 3]
            grow_i, fade_i = at[i, 4], at[i, 5]
            along = 0.0
            for e in range(start[i], start[i + 1]):
                j = other[e]
                scale = to[j, 0]
                square = 0.0
                for k in range(d):
                    difference[k] = source[j, k] * scale - u[k]
                    square += difference[k] * difference[k]
                s = 0.25 * square
                sinh_j = to[j, 2]
                half = 0.5 * (to[j, 1] - rho_i)
                out_, in_ = to[j, 4] * fade_i, grow_i * to[j, 5]
                sh = 0.5 * (out_ - in_)
                if abs(half) < 0.1:
                    q = half * half
                    sh = half * (1.0 + q / 6.0 * (1.0 + q / 20.0 * (1.0 + q / 42.0)))
                ch = 0.5 * (out_ + in_)
                kappa, _ = stretch(sh * sh + sinh_i * sinh_j * s)
                w = weight[e] * kappa
                along += w * (2.0 * sh * ch + 2.0 * s * sinh_j * (1.0 - cosh_i))
                w *= sinh_j
                for k in range(d):
                    total[k] += w * difference[k]
            for k in range(d):
                total[k] += along * u[k]
                step[i, k] = total[k]
            walk(u, rho_i, total, z)
            for k in range(d):
                out[i, k] = z[k] / root


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def local_backward_rows(
    target: Floats,
    source: Floats,
    at: Doubles,
    to: Doubles,
    start: Ints,
    other: Ints,
    weight: Floats,
    root: float,
    bounds: Ints,
    step: Doubles,
    grad_out: Floats,
    grad_target: Floats,
    pull: Floats,
    grad_weight: Floats,
    parts: Floats,
    moment: Doubles,
) -> None:
    """Gradients by the targets and the weights; for the sources three numbers an edge.

    ``pull`` gets the gradient by the step of each row, ``moment`` the sum of v times its gradient.
    """
    d = target.shape[1]
    for part in prange(bounds.shape[0] - 1):
        u, t, g, x = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
        grad_t, side, difference = np.empty(d), np.empty(d), np.empty(d)
        for i in range(bounds[part], bounds[part + 1]):
            for k in range(d):
                u[k] = target[i, k] * at[i, 0]
                t[k] = step[i, k]
                g[k] = grad_out[i, k] / root
            rho_i, sinh_i, cosh_i = at[i, 1], at[i, 2], at[i, 3]
            grow_i, fade_i = at[i, 4], at[i, 5]
            grad_rho = walk_backward(u, rho_i, t, g, grad_t, side, x)
            sigma_i = sinhc(rho_i)
            tilt_i = math.tanh(0.5 * rho_i) * sigma_i
            a = 0.0
            for k in range(d):
                a += grad_t[k] * u[k]
                pull[i, k] = grad_t[k]
            lean = 0.0
            for e in range(start[i], start[i + 1]):
                j = other[e]
                scale = to[j, 0]
                square, gd = 0.0, 0.0
                for k in range(d):
                    difference[k] = source[j, k] * scale - u[k]
                    square += difference[k] * difference[k]
                    gd += difference[k] * grad_t[k]
                s = 0.25 * square
                sinh_j, cosh_j = to[j, 2], to[j, 3]
                half = 0.5 * (to[j, 1] - rho_i)
                out_, in_ = to[j, 4] * fade_i, grow_i * to[j, 5]
                sh = 0.5 * (out_ - in_)
                if abs(half) < 0.1:
                    q = half * half
                    sh = half * (1.0 + q / 6.0 * (1.0 + q / 20.0 * (1.0 + q / 42.0)))
                ch = 0.5 * (out_ + in_)
                sinh_gap, cosh_gap = 2.0 * sh * ch, 1.0 + 2.0 * sh * sh
                kappa, slope = stretch(sh * sh + sinh_i * sinh_j * s)
                q_value = (sinh_gap + 2.0 * s * sinh_j * (1.0 - cosh_i)) * a + sinh_j * gd
                grad_weight[e] = kappa * q_value
                w = weight[e]
                bent = w * slope * q_value
                w *= kappa
                grad_rho += bent * (cosh_i * sinh_j * s - 0.5 * sinh_gap)
                grad_rho -= w * a * (cosh_gap + 2.0 * sinh_i * sinh_j * s)
                if rho_i < 0.5:
                    lean += w * ((1.0 - 2.0 * s) * sinh_j * tilt_i - cosh_j * sigma_i)
                else:
                    lean += (
                        w
                        * (sinh_gap - 2.0 * cosh_i * sinh_j * s - (1.0 - 2.0 * s) * sinh_j)
                        / rho_i
                    )
                turn = sinh_j * (w * tilt_i * a - 0.5 * bent * sigma_i)
                for k in range(d):
                    side[k] += turn * difference[k]
                parts[e, 0] = w
                parts[e, 1] = w * (cosh_i - 1.0) * a - 0.5 * bent * sinh_i
                parts[e, 2] = bent * (0.5 * sinh_gap + sinh_i * cosh_j * s) + w * (
                    a * (cosh_gap + 2.0 * s * cosh_j * (1.0 - cosh_i)) + cosh_j * gd
                )
            over = 0.0
            for k in range(d):
                side[k] += lean * grad_t[k]
                over += side[k] * u[k]
            moment[i] = finish(
                side, over, grad_rho, u, target[i], at[i, 6], at[i, 7], root, grad_target[i]
            )


@njit(cache=True, fastmath=FAST, error_model="numpy")
def finish(
    side: Doubles,
    over: float,
    grad_rho: float,
    u: Doubles,
    v: Floats,
    slope: float,
    shrink: float,
    root: float,
    grad: Floats,
) -> float:
    """From gradients by radius and direction to the gradient by v; returns v times it."""
    along = root * (slope * grad_rho - shrink * over)
    across = root * shrink
    moment = 0.0
    for k in range(u.shape[0]):
        value = along * u[k] + across * side[k]
        moment += value * v[k]
        grad[k] = value
    return moment


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def local_backward_columns(
    target: Floats,
    source: Floats,
    at: Doubles,
    to: Doubles,
    start: Ints,
    other: Ints,
    edge: Ints,
    root: float,
    bounds: Ints,
    pull: Floats,
    parts: Floats,
    grad_source: Floats,
    moment: Doubles,
) -> None:
    """Gradient by the sources, from what :func:`local_backward_rows` left for each edge."""
    d = target.shape[1]
    for part in prange(bounds.shape[0] - 1):
        u, side = np.empty(d), np.empty(d)
        for j in range(bounds[part], bounds[part + 1]):
            for k in range(d):
                u[k] = source[j, k] * to[j, 0]
                side[k] = 0.0
            grad_rho = 0.0
            for position in range(start[j], start[j + 1]):
                i = other[position]
                e = edge[position]
                by_pull = np.float64(parts[e, 0])
                by_u = parts[e, 1] * at[i, 0]
                grad_rho += parts[e, 2]
                for k in range(d):
                    side[k] += by_pull * pull[i, k] + by_u * target[i, k]
            sigma = sinhc(to[j, 1])
            over = 0.0
            for k in range(d):
                side[k] *= sigma
                over += side[k] * u[k]
            moment[j] = finish(
                side, over, grad_rho, u, source[j], to[j, 6], to[j, 7], root, grad_source[j]
            )


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def translate_forward(v: Floats, bias: Floats, root: float, bounds: Ints, out: Floats) -> None:
    """out_i = translate(v_i, bias), one bias for all rows."""
    d = v.shape[1]
    for part in prange(bounds.shape[0] - 1):
        u, t, z = np.empty(d), np.empty(d), np.empty(d)
        for k in range(d):
            t[k] = root * bias[k]
        for i in range(bounds[part], bounds[part + 1]):
            length = norm(v[i])
            scale = 1.0 / length if length > 0.0 else 0.0
            for k in range(d):
                u[k] = v[i, k] * scale
            walk(u, saturate(root * length)[0], t, z)
            for k in range(d):
                out[i, k] = z[k] / root


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
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
    """Gradients of :func:`translate_forward`; ``grad_bias`` has a row for each part."""
    d = v.shape[1]
    for part in prange(bounds.shape[0] - 1):
        u, t, g, x = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
        grad_t, side = np.empty(d), np.empty(d)
        for k in range(d):
            t[k] = root * bias[k]
            grad_bias[part, k] = 0.0
        for i in range(bounds[part], bounds[part + 1]):
            length = norm(v[i])
            scale = 1.0 / length if length > 0.0 else 0.0
            radius = root * length
            rho, slope = saturate(radius)
            for k in range(d):
                u[k] = v[i, k] * scale
                g[k] = grad_out[i, k] / root
            grad_rho = walk_backward(u, rho, t, g, grad_t, side, x)
            over = 0.0
            for k in range(d):
                over += side[k] * u[k]
                grad_bias[part, k] += root * grad_t[k]
            shrink = rho / radius if radius > 0.0 else 1.0
            moment[i] = finish(side, over, grad_rho, u, v[i], slope, shrink, root, grad_v[i])
