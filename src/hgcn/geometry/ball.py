"""The Poincaré ball: points ``[..., d]`` with ``|x| < 1/sqrt(c)``, sectional curvature ``-c``.

The formulas of the paper's appendix and of gyrovector spaces for any curvature, arranged such that
nothing cancels: they are written with ``1 - c|x|²`` and ``|x ± y|²``, never with ``1 + 2c<x, y>``.

They are evaluated in float64, also for float32 tensors, so that the only digits lost are those that
the coordinates themselves lack: near the boundary a ball coordinate that is off by one unit in the
last place moves the point by ``eps / (1 - c|x|²)``. A device without float64 uses what it has.
Results that rounding would put on the boundary are drawn inside, which caps the distance from the
origin at about 16/sqrt(c) in float32 and 35/sqrt(c) in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry.coordinates import (
    check_coordinates,
    first_bad,
    inside,
    radius_inside,
    room_of,
    times,
    widen,
)
from hgcn.geometry.scalars import asinh, asinhc, atanhc, dot, norm, tanhc


def inner(u: Tensor, v: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Riemannian inner product ``λ_x² <u, v>`` of tangent vectors at the point ``at``.

    Args:
        u, v: tangent vectors, shapes that broadcast to ``[..., d]``.
        at: the point x where they are attached, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``; a positive number, or a tensor that
            broadcasts with the leading dimensions.

    Returns:
        Inner products, shape ``[...]``.
    """
    root, u_, v_, x = widen(c, u, v, at)
    return (4 * dot(u_, v_) / room_of(x, root, at.dtype).square()).to(u.dtype)


def conformal_factor(x: Tensor, *, c: float | Tensor) -> Tensor:
    """``λ_x = 2 / (1 - c|x|²)``, shape ``[...]``: how much longer lengths are than they look."""
    root, x_ = widen(c, x)
    return (2 / room_of(x_, root, x.dtype)).to(x.dtype)


def distance(x: Tensor, y: Tensor, *, c: float | Tensor) -> Tensor:
    """Length of the geodesic between two points: ``sinh²(D/2) = c|x-y|² / ((1-c|x|²)(1-c|y|²))``.

    This is the paper's arcosh formula by the half-angle identity. ``D = sqrt(c) d``. The gradient
    where the points coincide is taken as zero.

    Args:
        x, y: points, shapes that broadcast to ``[..., d]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Distances, shape ``[...]``.

    Example:
        >>> distance(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 0.0]), c=1.0)
        tensor(1.0986)
    """
    root, x_, y_ = widen(c, x, y)
    rooms = room_of(x_, root, x.dtype) * room_of(y_, root, x.dtype)
    return (2 * asinh(root * norm(x_ - y_) / rooms.sqrt()) / root).to(x.dtype)


def add(x: Tensor, y: Tensor, *, c: float | Tensor) -> Tensor:
    """Möbius addition ``x + y``: ``y`` carried by the translation that takes the origin to ``x``.

    With ``w = x + y`` it is ``((1-c|x|²) w + c|w|² x) / ((1-c|x|²)(1-c|y|²) + c|w|²)``. It is
    undone from the left, ``add(-x, add(x, y)) == y``, and is neither commutative nor associative.

    Args:
        x, y: points, shapes that broadcast to ``[..., d]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.
    """
    root, x_, y_ = widen(c, x, y)
    x_room, y_room = room_of(x_, root, x.dtype), room_of(y_, root, x.dtype)
    return inside(_add(x_, y_, x_room, y_room, root), root, x.dtype)


def matvec(matrix: Tensor, x: Tensor, *, c: float | Tensor) -> Tensor:
    """Möbius product ``exp_0(M log_0(x))`` of a matrix with points (paper, Eq. 6).

    Args:
        matrix: shape ``[m, d]``.
        x: points, shape ``[..., d]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., m]``.
    """
    if matrix.ndim != 2 or matrix.shape[1:] != x.shape[-1:] or matrix.dtype != x.dtype:
        raise GeometryError(
            "Expected a matrix [m, d] and points [..., d] of the same dtype, got "
            f"{matrix.dtype} {list(matrix.shape)} and {x.dtype} {list(x.shape)}."
        )
    return exp0(log0(x, c=c) @ matrix.mT, c=c)


def exp(v: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Exponential map: ``x + tanh(sqrt(c) λ_x |v| / 2) v / (sqrt(c)|v|)``, with Möbius addition.

    Args:
        v: tangent vectors in ball coordinates, shape ``[..., d]``; their length is ``λ_x |v|``.
        at: the point x where they are attached, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.
    """
    root, v_, x = widen(c, v, at)
    room = room_of(x, root, at.dtype)
    half = root * norm(v_) / room
    end = (tanhc(half) / room).unsqueeze(-1) * v_
    decay = (-2 * half).exp()
    # 1 - tanh², not zero: a step that rounding ends at the opposite of x then leads to the origin.
    end_room = (4 * decay / (1 + decay).square()).clamp_min(torch.finfo(decay.dtype).eps ** 2)
    return inside(_add(x, end, room, end_room, root), root, v.dtype)


def log(y: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Logarithm, the inverse of :func:`exp`: ``2/(sqrt(c) λ_x) artanh(sqrt(c)|z|) z/|z|``.

    Here z is ``add(-x, y)``. The artanh is half the distance, which is known without it.

    Args:
        y: points looked at, shape ``[..., d]``.
        at: the point x where the tangent space is, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Tangent vectors in ball coordinates, shape ``[..., d]``.
    """
    root, y_, x = widen(c, y, at)
    x_room, y_room = room_of(x, root, y.dtype), room_of(y_, root, y.dtype)
    w = y_ - x
    sinh_half = root * norm(w) / (x_room * y_room).sqrt()
    # With h = sinh_half: z = (w - h² (1-c|y|²) x) / ((1-c|y|²) (1+h²)), of length tanh(D/2).
    square = sinh_half.square()
    stretch = x_room / y_room * asinhc(sinh_half) / (1 + square).sqrt()
    return (stretch.unsqueeze(-1) * (w - (square * y_room).unsqueeze(-1) * x)).to(y.dtype)


def exp0(v: Tensor, *, c: float | Tensor) -> Tensor:
    """Normal coordinates to ball coordinates: ``tanh(ρ/2)/ρ v`` with ``ρ = sqrt(c)|v|``.

    The vector is written in an orthonormal frame at the origin, as everywhere outside this module:
    ``|v|`` is the distance from the origin. In ball coordinates the same tangent vector is half as
    long, since λ_0 = 2: ``exp0(v) == exp(v / 2, at=0)``.

    Args:
        v: points in normal coordinates, shape ``[..., d]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``, strictly inside the ball however long v is.

    Example:
        >>> exp0(torch.tensor([40.0, 0.0]), c=1.0).norm() < 1  # far out is near the rim
        tensor(True)
    """
    root, v_ = widen(c, v)
    return inside(tanhc(root * norm(v_) / 2).unsqueeze(-1) * v_ / 2, root, v.dtype)


def log0(x: Tensor, *, c: float | Tensor) -> Tensor:
    """Ball coordinates to normal coordinates, the inverse of :func:`exp0`: ``2 artanh(r)/r x``.

    Here r is ``sqrt(c)|x|``, held below 1. The result has the length of the distance from the
    origin: ``log0(x) == 2 log(x, at=0)``.

    Example:
        >>> v = torch.tensor([0.5, 0.0])
        >>> torch.allclose(log0(exp0(v, c=1.0), c=1.0), v)
        True
    """
    root, x_ = widen(c, x)
    return (2 * atanhc(radius_inside(x_, root, x.dtype)).unsqueeze(-1) * x_).to(x.dtype)


def geodesic(t: float | Tensor, *, at: Tensor, direction: Tensor, c: float | Tensor) -> Tensor:
    """The point at distance ``t`` from ``at`` along a geodesic, ``exp_x(t u)``.

    Args:
        t: distance; a number, or a tensor that broadcasts with the leading dimensions.
        at: the point x where the geodesic is at ``t = 0``, shape ``[..., d]``.
        direction: its velocity u there, same shape or one that broadcasts. Unit speed is
            ``inner(u, u, at=x) == 1``; otherwise t counts in units of that length.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.
    """
    return exp(times(t, direction), at=at, c=c)


def transport(v: Tensor, *, start: Tensor, end: Tensor, c: float | Tensor) -> Tensor:
    """Parallel transport along the geodesic: ``λ_x/λ_y gyr[y, -x] v``.

    The gyration is a rotation in the plane of x and y. With ``Ω v = <x, v> δ - <δ, v> x`` for
    ``δ = y - x``, ``R = 1 - c<x, y>`` and ``D = (1-c|x|²)(1-c|y|²) + c|δ|²``, it is
    ``v - 2c/D (R Ω v - c Ω² v)``, where nothing cancels when the points are near.

    Args:
        v: tangent vectors at ``start``, in ball coordinates, shape ``[..., d]``.
        start, end: the points x and y, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Tangent vectors at ``end``, shape ``[..., d]``.
    """
    root, v_, x, y = widen(c, v, start, end)
    curvature = root.square()
    x_room, y_room = room_of(x, root, v.dtype), room_of(y, root, v.dtype)
    delta = y - x
    step = curvature * dot(delta, delta)
    real = (x_room + y_room + step) / 2

    def turn(a: Tensor) -> Tensor:
        return dot(x, a).unsqueeze(-1) * delta - dot(delta, a).unsqueeze(-1) * x

    once = turn(v_)
    change = real.unsqueeze(-1) * once - curvature.unsqueeze(-1) * turn(once)
    factor = 2 * curvature / (x_room * y_room + step)
    shrink = y_room / x_room
    return (shrink.unsqueeze(-1) * (v_ - factor.unsqueeze(-1) * change)).to(v.dtype)


def project(x: Tensor, *, c: float | Tensor) -> Tensor:
    """Points on or outside the boundary, drawn back to the last radius the dtype can hold inside.

    Args:
        x: vectors, shape ``[..., d]``; those inside the ball are returned as they are.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.
    """
    root, x_ = widen(c, x)
    return inside(x_, root, x.dtype)


def to_hyperboloid(x: Tensor, *, c: float | Tensor) -> Tensor:
    """Points as hyperboloid coordinates ``(1 + c|x|², 2 sqrt(c) x) / (1 - c|x|²) / sqrt(c)``.

    Args:
        x: points of the ball, shape ``[..., d]``.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points of the hyperboloid, shape ``[..., d + 1]``, time coordinate first.
    """
    root, x_ = widen(c, x)
    room = room_of(x_, root, x.dtype)
    time = ((2 - room) / (room * root)).unsqueeze(-1)
    return torch.cat((time, 2 * x_ / room.unsqueeze(-1)), dim=-1).to(x.dtype)


def check(x: Tensor, *, c: float | Tensor) -> None:
    """Raise :class:`~hgcn.errors.GeometryError` unless every row is a point inside the ball."""
    root, x_ = widen(c, x)
    check_coordinates(x, at_least=1)
    radius = root * norm(x_)
    found = first_bad(~(radius < 1), x_, root)
    if found is None:
        return
    times = torch.hypot(norm(x_[..., 1:]), 1 / root)
    where, row, root = found
    radius = root * norm(row)
    if x.shape[-1] > 1 and ((x_[..., 0] - times).abs() < 1e-4 * times).all():
        hint = "The rows are points of the hyperboloid: convert with hyperboloid.to_ball(x, c=c)."
    elif radius < 1 + 1e-6:
        hint = "The boundary is infinitely far away. To draw the point inside, use ball.project."
    else:
        hint = "Are these normal coordinates? Convert them with ball.exp0(x, c=c)."
    raise GeometryError(
        f"Expected points with |x| < 1/sqrt(c) = {float(1 / root):.6g}, got |x| = "
        f"{float(radius / root):.6g}{where}. {hint}"
    )


def _add(x: Tensor, y: Tensor, x_room: Tensor, y_room: Tensor, root: Tensor) -> Tensor:
    """Möbius addition, given ``1 - c|x|²`` and ``1 - c|y|²``."""
    w = x + y
    step = root.square() * dot(w, w)
    numerator = x_room.unsqueeze(-1) * w + step.unsqueeze(-1) * x
    return numerator / (x_room * y_room + step).unsqueeze(-1)
