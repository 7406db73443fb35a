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

# Sums may be reordered, which lets them use vector instructions. Products and sums are not fused:
# the difference of two equal directions must be exactly zero.
FAST = {"reassoc", "nsz"}


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


@njit(cache=True, inline="always")
def small_sinh(x: float) -> float:
    """sinh(x) for small x, where the difference of exponentials would lose digits."""
    q = x * x
    series = 1.0 + q / 42.0 * (1.0 + q / 72.0 * (1.0 + q / 110.0))
    return x * (1.0 + q / 6.0 * (1.0 + q / 20.0 * series))


@njit(cache=True)
def hyperbola(x: float) -> tuple[float, float, float, float]:
    """sinh(x), cosh(x), exp(x/2) and exp(-x/2), at the price of one exponential."""
    grow = math.exp(0.5 * x)
    fade = 1.0 / grow
    up, down = grow * grow, fade * fade
    sinh = 0.5 * (up - down) if x > 0.3 else small_sinh(x)
    return sinh, 0.5 * (up + down), grow, fade


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
def stretch(h: float) -> float:
    """D/sinh(D) as a function of H = sinh²(D/2)."""
    if h < 1e-4:
        return 1.0 - h * (2.0 / 3.0 - h * (8.0 / 15.0 - h * (16.0 / 35.0)))
    low, high = math.sqrt(h), math.sqrt(1.0 + h)
    return math.log(low + high) / (low * high)


@njit(cache=True, inline="always")
def stretch_slope(h: float, value: float) -> float:
    """Derivative of :func:`stretch`, given its value."""
    if h < 1e-4:
        return -2.0 / 3.0 + h * (16.0 / 15.0 - h * (48.0 / 35.0))
    return (1.0 - (1.0 + 2.0 * h) * value) / (2.0 * h * (1.0 + h))


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
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


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
def measure(t: Doubles, step: Doubles) -> None:
    """Set step to |t|, saturated |t|, their ratio, its slope, and hyperbola() of the second."""
    step[0] = norm(t)
    step[1], step[3] = saturate(step[0])
    step[2] = step[1] / step[0] if step[0] > MAX_RADIUS else 1.0
    step[4], step[5], step[6], step[7] = hyperbola(step[1])


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
def walk(u: Doubles, at: Doubles, t: Doubles, step: Doubles, z: Doubles) -> None:
    """Set z to translate(rho u, t), all in units of the curvature radius.

    ``at`` is the row of :func:`polar` for the point, ``step`` comes from :func:`measure`.
    """
    d = u.shape[0]
    rho, sinh_rho, cosh_rho = at[1], at[2], at[3]
    tau, shrink, cosh_tau = step[1], step[2], step[5]
    par = 0.0
    for k in range(d):
        par += u[k] * t[k]
    par *= shrink
    across = _perpendicular(u, t, shrink, par, z)
    sigma = step[4] / tau if tau > 0.0 else 1.0
    if par < 0.0:
        gap = rho - tau
        out, in_ = at[4] * step[7], at[5] * step[6]
        sinh_gap = 0.5 * (out * out - in_ * in_) if abs(gap) > 0.3 else small_sinh(gap)
        along = sinh_gap + cosh_rho * sigma * across / (tau - par)
    else:
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
    factor, _ = asinhc(math.sqrt(along * along + sigma * sigma * across))
    along *= factor
    sigma *= factor
    for k in range(d):
        z[k] = along * u[k] + sigma * z[k]


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
def walk_backward(
    u: Doubles,
    at: Doubles,
    t: Doubles,
    step: Doubles,
    grad: Doubles,
    grad_t: Doubles,
    side: Doubles,
    x: Doubles,
) -> float:
    """Gradient of :func:`walk`: by rho, returned; by t; and, in ``side``, by u over rho.

    ``side`` is finite at the origin and not yet projected across u. ``x`` is room to work in.
    """
    d = u.shape[0]
    rho, sinh_rho, cosh_rho = at[1], at[2], at[3]
    tau, shrink, sinh_tau, cosh_tau = step[1], step[2], step[4], step[5]
    par = 0.0
    for k in range(d):
        par += u[k] * t[k]
    par *= shrink
    across = _perpendicular(u, t, shrink, par, x)
    sigma = sinh_tau / tau if tau > 0.0 else 1.0
    sigma_rho = sinh_rho / rho if rho > 0.0 else 1.0
    tilt = sinh_rho / (1.0 + cosh_rho) * sigma_rho  # (cosh(rho) - 1)/rho
    if tau > 0.05:
        bend = (cosh_tau - sigma) / (tau * tau)
    else:
        q = tau * tau
        bend = (1.0 + q / 10.0 * (1.0 + q / 28.0 * (1.0 + q / 54.0))) / 3.0

    # along(rho, tau, par) = cosh(tau) sinh(rho) + cosh(rho) sigma par, its derivatives by rho, by
    # tau over tau, and by par with tau moving along. Where they cancel, with par = k - tau.
    inward = par < 0.0 and tau > 0.5
    if inward:
        k_in = across / (tau - par)
        gap = rho - tau
        out, in_ = at[4] * step[7], at[5] * step[6]
        up, down = out * out, in_ * in_
        cosh_gap = 0.5 * (up + down)
        sinh_gap = 0.5 * (up - down) if abs(gap) > 0.3 else small_sinh(gap)
        along = sinh_gap + cosh_rho * sigma * k_in
        along_rho = cosh_gap + sinh_rho * sigma * k_in
        along_tau = (cosh_rho * sigma - cosh_gap) / tau + cosh_rho * k_in * bend
        along_par = cosh_gap + sigma * sinh_rho * k_in + cosh_rho * bend * k_in * (k_in - 2.0 * tau)
    else:
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
        along_rho = cosh_tau * cosh_rho + sinh_rho * sigma * par
        along_tau = sigma * sinh_rho + cosh_rho * par * bend
        along_par = cosh_rho * sigma + along_tau * par
    if inward and rho > 0.5:
        turn = (along - sigma * par) / rho
    else:
        turn = cosh_tau * sigma_rho + sigma * par * tilt

    # z = along u + sigma x; the result is asinh(|z|)/|z| z.
    value, decay = asinhc(math.sqrt(along * along + sigma * sigma * across))
    grad_along = 0.0
    grad_x = 0.0
    for k in range(d):
        grad_along += grad[k] * u[k]
        grad_x += grad[k] * x[k]
    pull = decay * (along * grad_along + sigma * grad_x)
    z_along = value * grad_along + (pull * along if rho > 0.0 else 0.0)
    z_x = value * grad_x + pull * sigma * across

    by_u = z_along * along_par + z_x * bend * par + sigma * (pull * along - z_along)
    by_x = z_along * along_tau + z_x * bend + sigma * pull * sigma
    side_u, side_x = turn * pull * along, turn * pull * sigma + tilt * sigma * z_along
    turn *= value
    by_grad = sigma * value
    radial = 0.0
    for k in range(d):
        side[k] = turn * grad[k] + side_u * u[k] + side_x * x[k]
        grad_t[k] = by_grad * grad[k] + by_u * u[k] + by_x * x[k]
        radial += grad_t[k] * t[k]
    if step[0] > MAX_RADIUS:
        radial *= (step[3] - shrink) / (step[0] * step[0])
        for k in range(d):
            grad_t[k] = shrink * grad_t[k] + radial * t[k]
    return z_along * along_rho


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
def place(length: float, root: float, at: Doubles) -> None:
    """Set at to 1/|v|, rho, hyperbola(rho), the slope of saturation, and rho/(root |v|)."""
    radius = root * length
    at[0] = 1.0 / length if length > 0.0 else 0.0
    at[1], at[6] = saturate(radius)
    at[2], at[3], at[4], at[5] = hyperbola(at[1])
    at[7] = at[1] / radius if radius > 0.0 else 1.0


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def polar(v: Floats, root: float) -> Doubles:
    """A row of :func:`place` for each node."""
    n = v.shape[0]
    node = np.empty((n, 8))
    for i in prange(n):
        place(norm(v[i]), root, node[i])
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
    same: bool,
    bounds: Ints,
    step: Doubles,
    stretched: Doubles,
    out: Floats,
) -> None:
    """The aggregation.

    ``same`` says that targets and sources are one set of nodes: then a node's logarithm of itself
    is zero wherever it is, and the edge is passed over.

    For the backward pass ``step`` keeps the sum of local logarithms of each row and ``stretched``
    keeps D/sinh(D) of each edge.
    """
    d = target.shape[1]
    for part in prange(bounds.shape[0] - 1):
        u, total, difference, z = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
        pace = np.empty(8)
        for i in range(bounds[part], bounds[part + 1]):
            inverse = at[i, 0]
            for k in range(d):
                u[k] = target[i, k] * inverse
                total[k] = 0.0
            rho_i, sinh_i, cosh_i = at[i, 1], at[i, 2], at[i, 3]
            grow_i, fade_i = at[i, 4], at[i, 5]
            along = 0.0
            for e in range(start[i], start[i + 1]):
                j = other[e]
                if same and i == j:
                    continue
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
                if rho_i + to[j, 1] < 0.1:
                    sh = small_sinh(half)
                ch = 0.5 * (out_ + in_)
                kappa = stretch(sh * sh + sinh_i * sinh_j * s)
                stretched[e] = kappa
                w = weight[e] * kappa
                along += w * (2.0 * sh * ch + 2.0 * s * sinh_j * (1.0 - cosh_i))
                w *= sinh_j
                for k in range(d):
                    total[k] += w * difference[k]
            for k in range(d):
                total[k] += along * u[k]
                step[i, k] = total[k]
            measure(total, pace)
            walk(u, at[i], total, pace, z)
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
    same: bool,
    bounds: Ints,
    step: Doubles,
    stretched: Doubles,
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
        grad_t, side, difference, pace = np.empty(d), np.empty(d), np.empty(d), np.empty(8)
        for i in range(bounds[part], bounds[part + 1]):
            inverse = at[i, 0]
            for k in range(d):
                u[k] = target[i, k] * inverse
                t[k] = step[i, k]
                g[k] = grad_out[i, k] / root
            rho_i, sinh_i, cosh_i = at[i, 1], at[i, 2], at[i, 3]
            grow_i, fade_i = at[i, 4], at[i, 5]
            measure(t, pace)
            grad_rho = walk_backward(u, at[i], t, pace, g, grad_t, side, x)
            sigma_i = sinh_i / rho_i if rho_i > 0.0 else 1.0
            tilt_i = sinh_i / (1.0 + cosh_i) * sigma_i
            over_rho = 1.0 / rho_i if rho_i > 0.0 else 0.0
            a = 0.0
            for k in range(d):
                a += grad_t[k] * u[k]
                pull[i, k] = grad_t[k]
            lean = 0.0
            for e in range(start[i], start[i + 1]):
                j = other[e]
                if same and i == j:
                    grad_weight[e] = 0.0
                    continue
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
                if rho_i + to[j, 1] < 0.1:
                    sh = small_sinh(half)
                ch = 0.5 * (out_ + in_)
                sinh_gap, cosh_gap = 2.0 * sh * ch, 1.0 + 2.0 * sh * sh
                kappa = stretched[e]
                slope = stretch_slope(sh * sh + sinh_i * sinh_j * s, kappa)
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
                    tail = (1.0 - 2.0 * s + 2.0 * cosh_i * s) * sinh_j
                    lean += w * (sinh_gap - tail) * over_rho
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


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
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
    same: bool,
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
            inverse = to[j, 0]
            for k in range(d):
                u[k] = source[j, k] * inverse
                side[k] = 0.0
            grad_rho = 0.0
            for position in range(start[j], start[j + 1]):
                i = other[position]
                if same and i == j:
                    continue
                e = edge[position]
                by_pull = np.float64(parts[e, 0])
                by_u = parts[e, 1] * at[i, 0]
                grad_rho += parts[e, 2]
                for k in range(d):
                    side[k] += by_pull * pull[i, k] + by_u * target[i, k]
            sigma = to[j, 2] / to[j, 1] if to[j, 1] > 0.0 else 1.0
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
        at, pace = np.empty(8), np.empty(8)
        for k in range(d):
            t[k] = root * bias[k]
        measure(t, pace)
        for i in range(bounds[part], bounds[part + 1]):
            place(norm(v[i]), root, at)
            inverse = at[0]
            for k in range(d):
                u[k] = v[i, k] * inverse
            walk(u, at, t, pace, z)
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
        grad_t, side, at, pace = np.empty(d), np.empty(d), np.empty(8), np.empty(8)
        for k in range(d):
            t[k] = root * bias[k]
            grad_bias[part, k] = 0.0
        measure(t, pace)
        for i in range(bounds[part], bounds[part + 1]):
            place(norm(v[i]), root, at)
            inverse = at[0]
            for k in range(d):
                u[k] = v[i, k] * inverse
                g[k] = grad_out[i, k] / root
            grad_rho = walk_backward(u, at, t, pace, g, grad_t, side, x)
            over = 0.0
            for k in range(d):
                over += side[k] * u[k]
                grad_bias[part, k] += root * grad_t[k]
            moment[i] = finish(side, over, grad_rho, u, v[i], at[6], at[7], root, grad_v[i])


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def distance_forward(v: Floats, w: Floats, root: float, bounds: Ints, out: Floats) -> None:
    """out_i = squared distance of v_i and w_i."""
    d = v.shape[1]
    for part in prange(bounds.shape[0] - 1):
        one, two = np.empty(8), np.empty(8)
        for i in range(bounds[part], bounds[part + 1]):
            place(norm(v[i]), root, one)
            place(norm(w[i]), root, two)
            scale, other_scale = one[0], two[0]
            square = 0.0
            for k in range(d):
                difference = w[i, k] * other_scale - v[i, k] * scale
                square += difference * difference
            half = 0.5 * (two[1] - one[1])
            sh = 0.5 * (two[4] * one[5] - one[4] * two[5])
            if one[1] + two[1] < 0.1:
                sh = small_sinh(half)
            h = sh * sh + 0.25 * one[2] * two[2] * square
            root_h = math.sqrt(h)
            length = 2.0 * asinhc(root_h)[0] * root_h / root
            out[i] = length * length


@njit(cache=True, fastmath=FAST, error_model="numpy", parallel=True)
def distance_backward(
    v: Floats,
    w: Floats,
    root: float,
    bounds: Ints,
    grad_out: Floats,
    grad_v: Floats,
    grad_w: Floats,
    moment: Doubles,
) -> None:
    """Gradients of :func:`distance_forward`: by H = sinh²(D/2) it is 4 D/sinh(D)."""
    d = v.shape[1]
    for part in prange(bounds.shape[0] - 1):
        one, two, u, difference = np.empty(8), np.empty(8), np.empty(d), np.empty(d)
        other, side = np.empty(d), np.empty(d)
        for i in range(bounds[part], bounds[part + 1]):
            place(norm(v[i]), root, one)
            place(norm(w[i]), root, two)
            scale, other_scale = one[0], two[0]
            square = 0.0
            for k in range(d):
                u[k] = v[i, k] * scale
                other[k] = w[i, k] * other_scale
                difference[k] = other[k] - u[k]
                square += difference[k] * difference[k]
            s = 0.25 * square
            half = 0.5 * (two[1] - one[1])
            out_, in_ = two[4] * one[5], one[4] * two[5]
            sh, ch = 0.5 * (out_ - in_), 0.5 * (out_ + in_)
            if one[1] + two[1] < 0.1:
                sh = small_sinh(half)
            h = sh * sh + one[2] * two[2] * s
            factor = 4.0 * stretch(h) * grad_out[i] / (root * root)
            by_one = factor * (one[3] * two[2] * s - sh * ch)
            by_two = factor * (one[2] * two[3] * s + sh * ch)
            sigma = one[2] / one[1] if one[1] > 0.0 else 1.0
            turn = -0.5 * factor * sigma * two[2]
            over = 0.0
            for k in range(d):
                side[k] = turn * difference[k]
                over += side[k] * u[k]
            total = finish(side, over, by_one, u, v[i], one[6], one[7], root, grad_v[i])
            sigma = two[2] / two[1] if two[1] > 0.0 else 1.0
            turn = 0.5 * factor * sigma * one[2]
            over = 0.0
            for k in range(d):
                side[k] = turn * difference[k]
                over += side[k] * other[k]
            total += finish(side, over, by_two, other, w[i], two[6], two[7], root, grad_w[i])
            moment[i] = total
