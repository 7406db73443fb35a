"""The hyperboloid: points ``[..., d + 1]`` with ``<x, x>_L = -1/c`` and ``x_0 > 0``.

The paper's formulas for any curvature; ``x_0`` is the time coordinate and the paper's K is 1/c.
Points and tangent vectors are read by their spatial part ``x_1..x_d``, which determines them:
``x_0 = sqrt(1/c + |x_1..x_d|²)`` and, for a tangent vector, ``v_0 = (x_1..x_d)·(v_1..v_d) / x_0``.
So no formula here takes a difference of large time coordinates. Only :func:`inner` and
:func:`project_tangent`, which are for any vectors, read the time coordinate too.

The formulas are evaluated in float64, also for float32 tensors, so that the only digits lost are
those that the coordinates themselves lack: at radius r (in units of 1/sqrt(c)) a coordinate that is
off by one unit in the last place moves the point by ``eps e^r``. A device without float64 uses what
it has. Points up to radius 84 are safe from overflow, and :func:`exp` does not go beyond.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry import normal
from hgcn.geometry.coordinates import check_coordinates, first_bad, inside, times, widen
from hgcn.geometry.normal import MAX_RADIUS, saturate
from hgcn.geometry.scalars import asinh, asinhc, dot, norm, sinhc


def inner(x: Tensor, y: Tensor) -> Tensor:
    """Minkowski inner product ``-x_0 y_0 + x_1 y_1 + ... + x_d y_d``.

    On tangent vectors at one point it is the Riemannian metric.

    Args:
        x, y: vectors, shapes that broadcast to ``[..., d + 1]``.

    Returns:
        Inner products, shape ``[...]``.
    """
    _, x_, y_ = widen(1.0, x, y)
    return (dot(x_[..., 1:], y_[..., 1:]) - x_[..., 0] * y_[..., 0]).to(x.dtype)


def distance(x: Tensor, y: Tensor, *, c: float | Tensor) -> Tensor:
    """Length of the geodesic between two points, ``sqrt(K) arcosh(-<x, y>_L / K)`` (paper, Eq. 4).

    Evaluated as ``2 sqrt(K) arsinh(|x - y|_L / (2 sqrt(K)))``, which keeps the digits of near
    points. The gradient where the points coincide is taken as zero.

    Args:
        x, y: points, shapes that broadcast to ``[..., d + 1]``.
        c: the space has sectional curvature ``-c``; a positive number, or a tensor that
            broadcasts with the leading dimensions.

    Returns:
        Distances, shape ``[...]``.

    Example:
        >>> distance(exp0(torch.tensor([3.0]), c=1.0), exp0(torch.tensor([-1.0]), c=1.0), c=1.0)
        tensor(4.)
    """
    root, x_, y_ = widen(c, x, y)
    return (2 * asinh(_sinh_half(x_[..., 1:], y_[..., 1:], root)) / root).to(x.dtype)


def exp(v: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Exponential map ``cosh(|v|_L/sqrt(K)) x + sqrt(K) sinh(|v|_L/sqrt(K)) v/|v|_L`` (paper).

    Args:
        v: tangent vectors, shape ``[..., d + 1]``. Beyond ``normal.MAX_RADIUS`` their length
            saturates smoothly, as that of normal coordinates does.
        at: the point x where they are attached, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d + 1]``.
    """
    root, v_, x_ = widen(c, v, at)
    v_, x = v_[..., 1:], x_[..., 1:]
    length = root * _sqrt(_metric(v_, v_, x, root))
    _, held = saturate(length.unsqueeze(-1), torch.ones_like(root))
    reach = torch.minimum(held, (2 * (MAX_RADIUS + 2) - asinh(root * norm(x))).clamp_min(0))
    factor = torch.where(reach < length, reach / torch.where(reach < length, length, 1.0), 1.0)
    spatial = reach.cosh().unsqueeze(-1) * x + (factor * sinhc(reach)).unsqueeze(-1) * v_
    return _point(spatial, root).to(v.dtype)


def log(y: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Logarithm, the inverse of :func:`exp`: ``d(x, y) w/|w|_L`` for ``w = y + <x, y>_L x / K``.

    Args:
        y: points looked at, shape ``[..., d + 1]``.
        at: the point x where the tangent space is, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Tangent vectors, shape ``[..., d + 1]``.
    """
    root, y_, x_ = widen(c, y, at)
    y_, x = y_[..., 1:], x_[..., 1:]
    half = _sinh_half(x, y_, root)
    square = half.square()
    # -<x, y>_L / K = cosh(D) = 1 + 2 sinh²(D/2), and D/sinh(D) by the double-angle formula.
    spatial = (y_ - x) - (2 * square).unsqueeze(-1) * x
    scale = asinhc(half) / (1 + square).sqrt()
    return _tangent(scale.unsqueeze(-1) * spatial, x, root).to(y.dtype)


def exp0(v: Tensor, *, c: float | Tensor) -> Tensor:
    """Exponential map at the origin, of the d spatial components of a tangent vector.

    The paper writes the tangent vector ``(0, v)``; the zero is left out here, so v is the point in
    normal coordinates. Same as :func:`hgcn.geometry.normal.to_hyperboloid`.
    """
    return normal.to_hyperboloid(v, c=c)


def log0(x: Tensor, *, c: float | Tensor) -> Tensor:
    """Inverse of :func:`exp0`: the point in normal coordinates, shape ``[..., d]``."""
    return normal.from_hyperboloid(x, c=c)


def geodesic(t: float | Tensor, *, at: Tensor, direction: Tensor, c: float | Tensor) -> Tensor:
    """The point ``cosh(t/sqrt(K)) x + sqrt(K) sinh(t/sqrt(K)) u``, at distance ``t`` (paper).

    Args:
        t: distance; a number, or a tensor that broadcasts with the leading dimensions.
        at: the point x where the geodesic is at ``t = 0``, shape ``[..., d + 1]``.
        direction: its velocity u there, same shape or one that broadcasts. Unit speed is
            ``inner(u, u) == 1``; otherwise t counts in units of that length.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d + 1]``.
    """
    return exp(times(t, direction), at=at, c=c)


def transport(v: Tensor, *, start: Tensor, end: Tensor, c: float | Tensor) -> Tensor:
    """Parallel transport ``v - <log_x(y), v>_L / d(x, y)² (log_x(y) + log_y(x))`` (appendix).

    The logarithms cancel out: it is ``v + <y, v>_L / (K - <x, y>_L) (x + y)``, also at x = y.

    Args:
        v: tangent vectors at ``start``, shape ``[..., d + 1]``.
        start, end: the points x and y, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Tangent vectors at ``end``, shape ``[..., d + 1]``.
    """
    root, v_, x_, y_ = widen(c, v, start, end)
    v_, x, y = v_[..., 1:], x_[..., 1:], y_[..., 1:]
    square = _sinh_half(x, y, root).square()
    # <y, v>_L = <y - cosh(D) x, v>_L is the product of two tangent vectors at x. The shorter of y
    # and y - x has the smaller rounding error across x; the rest of the first vector is along x.
    near = (dot(y - x, y - x) < dot(y, y)).unsqueeze(-1)
    rest = torch.where(near.squeeze(-1), 2 * square, 1 + 2 * square)
    along = dot(x, v_) / (1 + (root * norm(x)).square())
    product = _metric(torch.where(near, y - x, y), v_, x, root) - rest * along
    factor = root.square() * product / (2 + 2 * square)
    return _tangent(v_ + factor.unsqueeze(-1) * (x + y), y, root).to(v.dtype)


def project(x: Tensor, *, c: float | Tensor) -> Tensor:
    """The point ``(sqrt(K + |x_1..x_d|²), x_1..x_d)``, whatever ``x_0`` was (appendix)."""
    root, x_ = widen(c, x)
    return _point(x_[..., 1:], root).to(x.dtype)


def project_tangent(v: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """The tangential component ``v + <x, v>_L x / K`` of any vector at ``at`` (appendix).

    Args:
        v: vectors, shape ``[..., d + 1]``.
        at: the point x, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Tangent vectors, shape ``[..., d + 1]``.
    """
    root, v_, x_ = widen(c, v, at)
    x = x_[..., 1:]
    # <x, v>_L = x_0 (v_tangent - v_0), where v_tangent is the v_0 that would make v tangent.
    time = _time(x, root)
    gap = root.square() * time * (dot(x, v_[..., 1:]) / time - v_[..., 0])
    return _tangent(v_[..., 1:] + gap.unsqueeze(-1) * x, x, root).to(v.dtype)


def to_ball(x: Tensor, *, c: float | Tensor) -> Tensor:
    """Points as ball coordinates ``x_1..x_d / (1 + sqrt(c) x_0)``, strictly inside the ball.

    Args:
        x: points of the hyperboloid, shape ``[..., d + 1]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points of the Poincaré ball, shape ``[..., d]``.
    """
    root, x_ = widen(c, x)
    spatial = x_[..., 1:]
    return inside(spatial / (1 + root * _time(spatial, root)).unsqueeze(-1), root, x.dtype)


def check(x: Tensor, *, c: float | Tensor) -> None:
    """Raise :class:`~hgcn.errors.GeometryError` unless every row is a point of the hyperboloid.

    The time coordinate may be off by 100 units in the last place. In terms of the constraint, this
    allows ``c<x, x>_L`` to differ from -1 by ``200 eps c x_0²``: rounding alone takes that much.
    """
    root, x_ = widen(c, x)
    check_coordinates(x, at_least=2)
    time = _time(x_[..., 1:], root)
    off = (x_[..., 0] - time).abs()
    found = first_bad(~(off <= 100 * torch.finfo(x.dtype).eps * time), x_, root)
    if found is None:
        return
    where, row, root = found
    time = _time(row[1:], root)
    digits = 8 if x.dtype == torch.float32 else 16
    raise GeometryError(
        f"Expected x_0 = sqrt(1/c + |x_1..x_d|²) = {float(time):.{digits}g} for c = "
        f"{float(root.square()):.6g}, got x_0 = {float(row[0]):.{digits}g}{where}. "
        f"{_hint(row, time, root)}"
    )


def _hint(row: Tensor, time: Tensor, root: Tensor) -> str:
    if (row[0] + time).abs() <= 1e-3 * time:
        return "The point is on the other sheet, x_0 < 0: use -x."
    if root * norm(row) < 1:
        return "Are these ball coordinates? Convert them with ball.to_hyperboloid(x, c=c)."
    if root * row[0] < 1 - 1e-3:
        return "Are these spatial or normal coordinates, without x_0? See hyperboloid.exp0."
    hint = "hyperboloid.project(x, c=c) recomputes x_0."
    square = row[0].square() - dot(row[1:], row[1:])
    if square > 1e-3 * row[0].square() and (root.square() * square - 1).abs() > 1e-3:
        return f"Is it a point of the hyperboloid with c = {float(1 / square):.6g}? If not, {hint}"
    return hint


def _time(x: Tensor, root: Tensor) -> Tensor:
    """Time coordinate of the point with spatial part ``x``."""
    return torch.hypot(norm(x), 1 / root)


def _point(x: Tensor, root: Tensor) -> Tensor:
    time = _time(x, root).unsqueeze(-1)
    return torch.cat((time, x.expand(*time.shape[:-1], -1)), dim=-1)


def _tangent(v: Tensor, x: Tensor, root: Tensor) -> Tensor:
    """The tangent vector with spatial part ``v`` at the point with spatial part ``x``."""
    time = (dot(x, v) / _time(x, root)).unsqueeze(-1)
    return torch.cat((time, v.expand(*time.shape[:-1], -1)), dim=-1)


def _sqrt(square: Tensor) -> Tensor:
    """Square root whose gradient at zero is zero."""
    positive = square > 0
    return torch.where(positive, torch.where(positive, square, 1.0).sqrt(), 0.0)


def _metric(a: Tensor, b: Tensor, x: Tensor, root: Tensor) -> Tensor:
    """Inner product of two tangent vectors at x, all given by their spatial parts.

    It is ``a·b - (x·a)(x·b)/x_0²``. Far from the origin that cancels, and is taken apart along x
    and across: ``a_perp·b_perp + a_par b_par K/x_0²``.
    """
    radius = root * norm(x)
    far = radius > 1
    unit = root.unsqueeze(-1) * x / torch.where(far, radius, 1.0).unsqueeze(-1)
    a_par, b_par = dot(unit, a), dot(unit, b)
    a_perp = a - torch.where(far, a_par, 0.0).unsqueeze(-1) * unit
    b_perp = b - torch.where(far, b_par, 0.0).unsqueeze(-1) * unit
    # Near the origin ``unit`` is sqrt(c) x, not a unit vector: no direction is needed there.
    return dot(a_perp, b_perp) + torch.where(far, 1.0, -1.0) * a_par * b_par / (1 + radius.square())


def _sinh_half(x: Tensor, y: Tensor, root: Tensor) -> Tensor:
    """``sinh(D/2)`` for two points given by their spatial parts, D in units of 1/sqrt(c).

    In those units ``2 sinh²(D/2) = cosh(D) - 1 = P - x·y`` with ``P = x_0 y_0 - 1``. Where these
    are of like size, their difference is taken from

        (P - x·y)(P + x·y) = |x ∧ y|² + (x_0 - y_0)²,

    with the area |x ∧ y| spanned by the longer vector and the shorter one, or y - x if that is
    shorter still, and with (y - x)·(y + x) / (x_0 + y_0) for the difference of the times.
    """
    scale = root.unsqueeze(-1)
    sum_, difference = scale * (x + y), scale * (y - x)
    x, y = scale * x, scale * y
    xx, yy, xy = dot(x, x), dot(y, y), dot(x, y)
    x_time, y_time = (1 + xx).sqrt(), (1 + yy).sqrt()
    p = (xx + yy + xx * yy) / (1 + x_time * y_time)
    alike = 2 * xy > p

    longer = torch.where((xx > yy).unsqueeze(-1), x, y)
    nearer = torch.where((xx > yy).unsqueeze(-1), y, x)
    shorter = dot(difference, difference) < torch.minimum(xx, yy)
    arm = torch.where(shorter.unsqueeze(-1), difference, nearer)
    length = norm(longer).unsqueeze(-1)
    unit = longer / torch.where(length > 0, length, 1.0)
    area = length * (arm - dot(arm, unit).unsqueeze(-1) * unit)
    times = (dot(difference, sum_) / (x_time + y_time)).unsqueeze(-1)
    product = norm(torch.cat((area, times), dim=-1))
    conjugate = torch.where(alike, 2 * (p + xy), 1.0).sqrt()
    return torch.where(alike, product / conjugate, _sqrt((p - xy) / 2))
