"""The Poincaré ball against mpmath, its own laws, the other coordinates and geoopt."""

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import oracle
import pytest
import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry import ball, hyperboloid, normal

SINGLE, DOUBLE = torch.float32, torch.float64
EPS = torch.finfo(DOUBLE).eps

each_dtype = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
each_curvature = pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])


def directions(count: int, d: int = 3) -> Tensor:
    u = torch.randn(count, d, dtype=DOUBLE)
    return u / u.norm(dim=-1, keepdim=True)


def points(count: int, *, dtype: torch.dtype, c: float, radius: float, d: int = 3) -> Tensor:
    """Points at distances up to ``radius`` from the origin, in units of 1/sqrt(c)."""
    r = radius * torch.rand(count, 1, dtype=DOUBLE) / math.sqrt(c)
    return ball.exp0((r * directions(count, d)).to(dtype), c=c)


def tangents(x: Tensor, *, c: float) -> Tensor:
    """Tangent vectors of length about 1/sqrt(c), one at each point."""
    return torch.randn_like(x) / ball.conformal_factor(x, c=c).unsqueeze(-1) / math.sqrt(c)


def pairs(radius: float, *, dtype: torch.dtype, c: float) -> tuple[Tensor, Tensor]:
    """Pairs of every kind, the first point at ``radius`` in units of 1/sqrt(c)."""
    u, other = directions(4), directions(4)
    v = radius * u
    kinds = [
        radius * other,
        0.7 * v,
        -v * (1 + 1e-6),
        1e-3 * other,
        v + 1e-2 * min(radius, 1) * math.exp(-radius) * other,
    ]
    v, w = torch.cat([v] * len(kinds)), torch.cat(kinds)
    x, y = (ball.exp0((a / math.sqrt(c)).to(dtype), c=c) for a in (v, w))
    apart = (x != y).any(-1)
    return x[apart], y[apart]


def negative(x: oracle.Vector) -> oracle.Vector:
    return [-a for a in x]


def factor(x: oracle.Vector, c: mp.mpf) -> mp.mpf:
    return 2 / (1 - c * mp.fdot(x, x))


def exact_add(x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> oracle.Vector:
    xx, yy, xy = mp.fdot(x, x), mp.fdot(y, y), mp.fdot(x, y)
    down = 1 + 2 * c * xy + c * c * xx * yy
    on_x, on_y = (1 + 2 * c * xy + c * yy) / down, (1 - c * xx) / down
    return [on_x * a + on_y * b for a, b in zip(x, y, strict=True)]


def exact_distance(x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf:
    """The paper's arcosh."""
    apart = oracle.length([a - b for a, b in zip(x, y, strict=True)])
    return mp.acosh(1 + c * apart**2 * factor(x, c) * factor(y, c) / 2) / mp.sqrt(c)


def exact_exp(v: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
    n = mp.sqrt(c) * oracle.length(v)
    return exact_add(x, [mp.tanh(factor(x, c) * n / 2) / n * a for a in v], c)


def exact_log(y: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
    z = exact_add(negative(x), y, c)
    n = mp.sqrt(c) * oracle.length(z)
    return [2 / factor(x, c) * mp.atanh(n) / n * a for a in z]


def exact_transport(
    v: oracle.Vector, x: oracle.Vector, y: oracle.Vector, c: mp.mpf
) -> oracle.Vector:
    """λ_x/λ_y gyr[y, -x] v, from the definition of the gyration by Möbius addition."""
    small = mp.mpf(10) ** -4 / (oracle.length(v) * mp.sqrt(c))
    short, minus = [small * a for a in v], negative(x)
    inner = exact_add(y, exact_add(minus, short, c), c)
    turned = exact_add(negative(exact_add(y, minus, c)), inner, c)
    return [factor(x, c) / factor(y, c) / small * a for a in turned]


@each_dtype
@each_curvature
@pytest.mark.parametrize("radius", [1e-6, 1e-2, 1.0, 4.0, 8.0, 12.0])
def test_values_against_mpmath(dtype: torch.dtype, c: float, radius: float) -> None:
    """At the rounded inputs. A float32 result is off by its own rounding only.

    In float64, what depends on ``room = 1 - c|x|²`` has a relative error of eps/room, since that is
    how much room the coordinates leave undecided. A sum or an end point that comes near the origin
    is as exact as the longer of its terms, and the exponential map loses one factor of the step.
    Points may have been drawn inside the ball by 2 eps.
    """
    rounding = torch.finfo(dtype).eps
    x, y = pairs(radius, dtype=dtype, c=c)
    v = tangents(x, c=c)
    distances = ball.distance(x, y, c=c)
    sums, differences = ball.add(x, y, c=c), ball.add(-x, y, c=c)
    logs = ball.log(y, at=x, c=c)
    ends = ball.exp(logs, at=x, c=c)
    carried = ball.transport(v, start=x, end=y, c=c)
    k = mp.mpf(c)
    for i in range(len(x)):
        where = f"x={x[i].tolist()}, y={y[i].tolist()}"
        a, b, step = (oracle.exact(z[i]) for z in (x, y, logs))
        room = min(2 / factor(a, k), 2 / factor(b, k))
        bound = rounding + 16 * EPS / room
        assert oracle.relative_error(distances[i], [exact_distance(a, b, k)]) <= bound, where
        assert oracle.relative_error(logs[i], exact_log(b, a, k)) <= bound, where
        tangent = oracle.exact(v[i])
        assert oracle.relative_error(carried[i], exact_transport(tangent, a, b, k)) <= bound, where

        size = max(oracle.length(a), oracle.length(b))
        for got, first in ((sums[i], a), (differences[i], negative(a))):
            expected = exact_add(first, b, k)
            scale = oracle.length(expected) or mp.mpf(1)
            assert oracle.relative_error(got, expected, scale) <= 2 * rounding + bound, where
        error = oracle.relative_error(ends[i], exact_exp(step, a, k), size)
        assert error <= 3 * rounding + 16 * EPS / room * (1 + radius), where


@each_dtype
@each_curvature
def test_exp_and_log_undo_each_other(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
    v = tangents(x, c=c)
    tolerance: dict[str, Any] = {"rtol": 0, "atol": 300 * torch.finfo(dtype).eps / math.sqrt(c)}
    end = ball.exp(v, at=x, c=c)
    ball.check(end, c=c)
    torch.testing.assert_close(ball.log(end, at=x, c=c), v, **tolerance)
    log = ball.log(y, at=x, c=c)
    torch.testing.assert_close(ball.exp(log, at=x, c=c), y, **tolerance)
    length = ball.inner(log, log, at=x, c=c).sqrt()
    torch.testing.assert_close(length, ball.distance(x, y, c=c), **tolerance)


@each_dtype
@each_curvature
def test_exp0_and_log0_use_normal_coordinates(dtype: torch.dtype, c: float) -> None:
    """The metric at the origin is 4|v|², so a tangent vector looks half as long as it is."""
    x = points(100, dtype=dtype, c=c, radius=5)
    v = ball.log0(x, c=c)
    zero = torch.zeros_like(x)
    rtol = 300 * torch.finfo(dtype).eps
    torch.testing.assert_close(ball.exp0(v, c=c), x, rtol=rtol, atol=0)
    torch.testing.assert_close(v.norm(dim=-1), ball.distance(zero, x, c=c), rtol=rtol, atol=0)
    torch.testing.assert_close(v, 2 * ball.log(x, at=zero, c=c), rtol=rtol, atol=0)
    torch.testing.assert_close(x, ball.exp(v / 2, at=zero, c=c), rtol=rtol, atol=0)
    u = torch.randn_like(x)
    torch.testing.assert_close(ball.inner(u, u, at=zero, c=c), 4 * u.square().sum(-1))


@each_dtype
@each_curvature
def test_log0_after_exp0(dtype: torch.dtype, c: float) -> None:
    """Radius r comes back to eps cosh²(r/2), up to where the ball ends."""
    radius = torch.linspace(0, 14 if dtype == SINGLE else 32, 300, dtype=DOUBLE)
    v = (radius.unsqueeze(-1) * directions(300) / math.sqrt(c)).to(dtype)
    error = (ball.log0(ball.exp0(v, c=c), c=c) - v).norm(dim=-1).double() * math.sqrt(c)
    bound = 8 * torch.finfo(dtype).eps * (radius + (radius / 2).cosh().square())
    assert (error <= bound).all()


@each_dtype
@each_curvature
@pytest.mark.parametrize("d", [1, 3, 200])
def test_no_point_reaches_the_boundary(dtype: torch.dtype, c: float, d: int) -> None:
    radius = 10 ** torch.linspace(0, 30, 500, dtype=DOUBLE).unsqueeze(-1)
    v = (radius * directions(500, d) / math.sqrt(c)).to(dtype).requires_grad_()
    x = ball.exp0(v, c=c)
    ball.check(x.detach(), c=c)
    farthest = 15.5 if dtype == SINGLE else 34
    back = ball.log0(x, c=c)
    assert (back[-1].norm().item() * math.sqrt(c)) > farthest
    for result in (x, back):
        (gradient,) = torch.autograd.grad(result.sum(), v, retain_graph=True)
        assert gradient.isfinite().all()


@each_dtype
@each_curvature
def test_the_boundary_itself_gives_no_nan(dtype: torch.dtype, c: float) -> None:
    edge = torch.tensor([[1.0], [-1.0], [1.5]], dtype=dtype) / math.sqrt(c)
    for tensor in (
        ball.log0(edge, c=c),
        ball.distance(edge, -edge, c=c),
        ball.log(edge, at=-edge, c=c),
        ball.conformal_factor(edge, c=c),
        ball.add(edge, -edge, c=c),
        ball.exp(-1e30 * edge, at=ball.project(edge, c=c), c=c),
        ball.exp(-1e30 * edge, at=edge, c=c),
    ):
        assert tensor.isfinite().all()


@each_dtype
@each_curvature
def test_project(dtype: torch.dtype, c: float) -> None:
    inside = points(100, dtype=dtype, c=c, radius=5)
    assert torch.equal(ball.project(inside, c=c), inside)
    for length in (1 - 1e-20, 1.0, 1.5, 1e20):
        unit = directions(100, 8) / math.sqrt(c)
        drawn = ball.project((length * unit).to(dtype), c=c)
        ball.check(drawn, c=c)
        assert torch.equal(ball.project(drawn, c=c), drawn)
        rtol = 100 * torch.finfo(dtype).eps
        torch.testing.assert_close(drawn, unit.to(dtype), rtol=rtol, atol=0)


@each_dtype
@each_curvature
def test_addition_is_a_gyrogroup(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=2) for _ in range(2))
    tolerance: dict[str, Any] = {"rtol": 0, "atol": 300 * torch.finfo(dtype).eps / math.sqrt(c)}
    zero = torch.zeros_like(x)
    assert torch.equal(ball.add(x, -x, c=c), zero)
    torch.testing.assert_close(ball.add(zero, x, c=c), x, **tolerance)
    torch.testing.assert_close(ball.add(x, zero, c=c), x, **tolerance)
    torch.testing.assert_close(ball.add(-x, ball.add(x, y, c=c), c=c), y, **tolerance)
    far = ball.distance(zero, ball.add(-x, y, c=c), c=c)
    torch.testing.assert_close(far, ball.distance(x, y, c=c), **tolerance)
    # Gyrocommutative law, x + y = gyr[x, y](y + x), with the gyration as transport does it.
    gyration = ball.transport(ball.add(y, x, c=c), start=-y, end=x, c=c)
    gyration = gyration * ball.conformal_factor(x, c=c)[:, None]
    gyration = gyration / ball.conformal_factor(y, c=c)[:, None]
    torch.testing.assert_close(gyration, ball.add(x, y, c=c), **tolerance)


@each_dtype
@each_curvature
def test_transport_is_an_isometry_that_its_reverse_undoes(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
    v, w = tangents(x, c=c), tangents(x, c=c)
    moved, moved_too = (ball.transport(a, start=x, end=y, c=c) for a in (v, w))
    atol = 300 * torch.finfo(dtype).eps
    for a, b, before in ((moved, moved_too, (v, w)), (moved, moved, (v, v))):
        torch.testing.assert_close(
            c * ball.inner(a, b, at=y, c=c), c * ball.inner(*before, at=x, c=c), rtol=0, atol=atol
        )
    back = ball.transport(moved, start=y, end=x, c=c)
    torch.testing.assert_close(back, v, rtol=0, atol=atol / math.sqrt(c))
    torch.testing.assert_close(ball.transport(v, start=x, end=x, c=c), v)
    there, here = ball.log(y, at=x, c=c), ball.log(x, at=y, c=c)
    arrived = ball.transport(there, start=x, end=y, c=c)
    torch.testing.assert_close(arrived, -here, rtol=0, atol=atol / math.sqrt(c))


@each_dtype
@each_curvature
def test_geodesic_has_unit_speed(dtype: torch.dtype, c: float) -> None:
    x = points(50, dtype=dtype, c=c, radius=2)
    u = tangents(x, c=c)
    u = u / ball.inner(u, u, at=x, c=c).sqrt().unsqueeze(-1)
    t = 3 * torch.rand(50, dtype=dtype) / math.sqrt(c)
    rtol = 1000 * torch.finfo(dtype).eps
    y = ball.geodesic(t, at=x, direction=u, c=c)
    torch.testing.assert_close(ball.distance(x, y, c=c), t, rtol=rtol, atol=rtol / math.sqrt(c))
    middle = ball.geodesic(t / 2, at=x, direction=u, c=c)
    torch.testing.assert_close(
        ball.distance(middle, y, c=c), t / 2, rtol=rtol, atol=rtol / math.sqrt(c)
    )
    torch.testing.assert_close(ball.geodesic(0.0, at=x, direction=u, c=c), x)
    assert ball.geodesic(t[:, None], at=x[0], direction=u[:5], c=c).shape == (50, 5, 3)


@each_dtype
@each_curvature
def test_matvec(dtype: torch.dtype, c: float) -> None:
    x = points(100, dtype=dtype, c=c, radius=3)
    first, second = torch.randn(2, 3, dtype=dtype), torch.randn(4, 2, dtype=dtype)
    rtol = 3000 * torch.finfo(dtype).eps
    got = ball.matvec(first, x, c=c)
    v = ball.log0(x, c=c)
    torch.testing.assert_close(got, ball.exp0(v @ first.T, c=c), rtol=rtol, atol=0)
    short = points(100, dtype=dtype, c=c, radius=0.5)
    torch.testing.assert_close(
        ball.matvec(second, ball.matvec(first, short, c=c), c=c),
        ball.matvec(second @ first, short, c=c),
        rtol=rtol,
        atol=rtol / math.sqrt(c),
    )
    torch.testing.assert_close(ball.matvec(torch.eye(3, dtype=dtype), x, c=c), x, rtol=rtol, atol=0)
    rotation = torch.linalg.qr(torch.randn(3, 3, dtype=dtype)).Q
    torch.testing.assert_close(
        ball.matvec(rotation, x, c=c), x @ rotation.T, rtol=rtol, atol=rtol / math.sqrt(c)
    )


@each_dtype
@each_curvature
def test_normal_coordinates_agree(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
    v, w = ball.log0(x, c=c), ball.log0(y, c=c)
    rtol = 3000 * torch.finfo(dtype).eps
    tolerance: dict[str, Any] = {"rtol": rtol, "atol": rtol / math.sqrt(c)}
    torch.testing.assert_close(ball.distance(x, y, c=c), normal.distance(v, w, c=c), **tolerance)
    torch.testing.assert_close(
        ball.log0(ball.add(x, y, c=c), c=c), normal.translate(v, w, c=c), **tolerance
    )
    torch.testing.assert_close(
        ball.log0(ball.add(-x, y, c=c), c=c), normal.local_log(v, w, c=c), **tolerance
    )


@each_dtype
@each_curvature
def test_hyperboloid_agrees(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
    rtol = 3000 * torch.finfo(dtype).eps
    tolerance: dict[str, Any] = {"rtol": rtol, "atol": rtol / math.sqrt(c)}
    on_x, on_y = (ball.to_hyperboloid(a, c=c) for a in (x, y))
    hyperboloid.check(on_x, c=c)
    torch.testing.assert_close(hyperboloid.to_ball(on_x, c=c), x, **tolerance)
    torch.testing.assert_close(
        ball.distance(x, y, c=c), hyperboloid.distance(on_x, on_y, c=c), **tolerance
    )

    def push(v: Tensor, at: Tensor) -> Tensor:
        """The tangent vector that a tangent vector of the ball becomes on the hyperboloid."""
        return torch.func.jvp(lambda a: ball.to_hyperboloid(a, c=c), (at,), (v,))[1]

    v = tangents(x, c=c)
    torch.testing.assert_close(
        hyperboloid.exp(push(v, x), at=on_x, c=c),
        ball.to_hyperboloid(ball.exp(v, at=x, c=c), c=c),
        **tolerance,
    )
    torch.testing.assert_close(
        push(ball.log(y, at=x, c=c), x), hyperboloid.log(on_y, at=on_x, c=c), **tolerance
    )
    torch.testing.assert_close(
        push(ball.transport(v, start=x, end=y, c=c), y),
        hyperboloid.transport(push(v, x), start=on_x, end=on_y, c=c),
        **tolerance,
    )
    torch.testing.assert_close(
        c * ball.inner(v, v, at=x, c=c),
        c * hyperboloid.inner(push(v, x), push(v, x)),
        rtol=10 * rtol,
        atol=10 * rtol,
    )


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e2])
def test_geoopt_agrees(c: float) -> None:
    """At moderate radii and c < 700; geoopt clamps near the boundary and takes exp(c)."""
    geoopt = pytest.importorskip("geoopt")
    other = geoopt.PoincareBall(c=torch.tensor(c, dtype=DOUBLE))
    x, y = (points(50, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
    v, w = tangents(x, c=c), tangents(x, c=c)
    matrix = torch.randn(2, 3, dtype=DOUBLE)
    expected_and_got = [
        (other.dist(x, y), ball.distance(x, y, c=c)),
        (other.mobius_add(x, y), ball.add(x, y, c=c)),
        (other.mobius_matvec(matrix, x), ball.matvec(matrix, x, c=c)),
        (other.expmap(x, v), ball.exp(v, at=x, c=c)),
        (other.logmap(x, y), ball.log(y, at=x, c=c)),
        (2 * other.logmap0(x), ball.log0(x, c=c)),
        (other.transp(x, y, v), ball.transport(v, start=x, end=y, c=c)),
        (other.lambda_x(x), ball.conformal_factor(x, c=c)),
        (other.inner(x, v, w, keepdim=True).squeeze(-1), ball.inner(v, w, at=x, c=c)),
    ]
    for expected, got in expected_and_got:
        torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-8 / math.sqrt(c))


PLACES = [
    "unrelated",
    "same",
    "nearly the same",
    "opposite",
    "one line",
    "from the origin",
    "to the origin",
    "origin twice",
    "tiny",
]


def special(place: str, *, c: float) -> tuple[Tensor, Tensor]:
    """Two points in a special position to each other."""
    v, other = directions(2) / math.sqrt(c), directions(2) / math.sqrt(c)
    return {
        "unrelated": (0.8 * v, 0.7 * other),
        "same": (0.8 * v, 0.8 * v),
        "nearly the same": (0.8 * v, 0.8 * v + 1e-7 * other),
        "opposite": (0.8 * v, -0.8 * v),
        "one line": (0.8 * v, 0.3 * v),
        "from the origin": (0 * v, 0.8 * other),
        "to the origin": (0.8 * v, 0 * v),
        "origin twice": (0 * v, 0 * v),
        "tiny": (1e-9 * v, 1e-9 * other),
    }[place]


@pytest.mark.parametrize("place", PLACES)
def test_gradients_at_special_places(place: str) -> None:
    c = 0.7
    x, y = (a.clone() for a in special(place, c=c))
    inputs = tuple(
        a.requires_grad_() for a in (x, y, tangents(x, c=c), torch.tensor(c, dtype=DOUBLE))
    )
    functions: list[Callable[..., Tensor]] = [
        lambda x, y, v, c: ball.distance(x, y, c=c).square(),
        lambda x, y, v, c: ball.add(x, y, c=c),
        lambda x, y, v, c: ball.log(y, at=x, c=c),
        lambda x, y, v, c: ball.exp(v, at=x, c=c),
        lambda x, y, v, c: ball.exp(0 * v, at=x, c=c),
        lambda x, y, v, c: ball.transport(v, start=x, end=y, c=c),
        lambda x, y, v, c: ball.log0(x, c=c),
        lambda x, y, v, c: ball.exp0(x, c=c),
        lambda x, y, v, c: ball.to_hyperboloid(x, c=c),
    ]
    for function in functions:
        assert torch.autograd.gradcheck(function, inputs, atol=1e-6)


def test_gradients_elsewhere() -> None:
    x, y = special("unrelated", c=0.7)
    matrix = torch.randn(2, 3, dtype=DOUBLE)
    t, c = torch.rand(2, dtype=DOUBLE), torch.tensor([0.7, 0.5], dtype=DOUBLE)
    inputs = tuple(a.requires_grad_() for a in (x, y, matrix, t, c))
    functions: list[Callable[..., Tensor]] = [
        lambda x, y, m, t, c: ball.inner(x, y, at=x, c=c),
        lambda x, y, m, t, c: ball.conformal_factor(x, c=c),
        lambda x, y, m, t, c: ball.distance(x, y, c=c),
        lambda x, y, m, t, c: ball.geodesic(t, at=x, direction=y, c=c),
        lambda x, y, m, t, c: ball.matvec(m, x, c=c),
        lambda x, y, m, t, c: ball.project(x, c=c),
        lambda x, y, m, t, c: ball.project(5 * x, c=c),
    ]
    for function in functions:
        assert torch.autograd.gradcheck(function, inputs)


def test_distance_has_a_zero_gradient_where_points_coincide() -> None:
    x = points(20, dtype=SINGLE, c=1.0, radius=5)
    x[0] = 0
    x.requires_grad_()
    distances = ball.distance(x, x.detach(), c=1.0)
    assert torch.equal(distances, torch.zeros(20))
    assert torch.equal(torch.autograd.grad(distances.sum(), x)[0], torch.zeros(20, 3))


@pytest.mark.parametrize(("dtype", "tolerance"), [(SINGLE, 1e-4), (DOUBLE, 1e-9)])
@pytest.mark.parametrize("apart", [1e-4, 1e-2, 1.0])
def test_gradient_of_the_distance_points_away(
    dtype: torch.dtype, tolerance: float, apart: float
) -> None:
    """Its Riemannian form, grad/λ², is the unit vector against the logarithm."""
    x = points(50, dtype=dtype, c=1.0, radius=4)
    v = apart * tangents(x, c=1.0)
    y = ball.exp(v, at=x, c=1.0)
    x.requires_grad_()
    distances = ball.distance(x, y, c=1.0)
    (gradient,) = torch.autograd.grad(distances.sum(), x)
    x, distances = x.detach(), distances.detach()
    scale = ball.conformal_factor(x, c=1.0).unsqueeze(-1)
    expected = -ball.log(y, at=x, c=1.0) / distances.unsqueeze(-1)
    torch.testing.assert_close(gradient / scale, scale * expected, rtol=0, atol=tolerance)


@each_dtype
@pytest.mark.parametrize("d", [1, 3])
def test_extreme_points_give_no_nan(dtype: torch.dtype, d: int) -> None:
    """Repeats, antipodes, zeros and radii up to saturation, with every curvature."""
    count = 20_000
    c = 10 ** (8 * torch.rand(count, dtype=DOUBLE) - 4)
    radius = torch.where(
        torch.rand(count, 1) < 0.5,
        40 * torch.rand(count, 1, dtype=DOUBLE),
        10 ** (70 * torch.rand(count, 1, dtype=DOUBLE) - 40),
    )
    v = radius * directions(count, d)
    kinds = (v[torch.randperm(count)], v, -v, v * (1 + 1e-7), -v * (1 + 1e-7), v / 2, 0 * v)
    w = torch.stack(kinds)[torch.randint(len(kinds), (count,)), torch.arange(count)]
    t = 10 ** (60 * torch.rand(count, 1, dtype=DOUBLE) - 30) * torch.randn(count, d, dtype=DOUBLE)
    v, w, t = ((a / c.sqrt().unsqueeze(-1)).to(dtype) for a in (v, w, t))
    c = c.to(dtype)
    v, t, c = (a.requires_grad_() for a in (v, t, c))
    x, y = (ball.exp0(a, c=c.detach()).detach().requires_grad_() for a in (v, w))
    inputs = [v, x, y, t, c]
    results = {
        "exp0": ball.exp0(v, c=c),
        "log0": ball.log0(x, c=c),
        "distance": ball.distance(x, y, c=c),
        "add": ball.add(x, y, c=c),
        "exp": ball.exp(t, at=x, c=c),
        "log": ball.log(y, at=x, c=c),
        "transport": ball.transport(y, start=x, end=y, c=c),
        "inner": ball.inner(y, y, at=x, c=c),
        "conformal_factor": ball.conformal_factor(x, c=c),
        "project": ball.project(v, c=c),
        "to_hyperboloid": ball.to_hyperboloid(x, c=c),
    }
    for name in ("exp0", "add", "exp", "project"):
        ball.check(results[name].detach(), c=c.detach())
    hyperboloid.check(results["to_hyperboloid"].detach(), c=c.detach())
    for name, result in results.items():
        for tensor in (result, *torch.autograd.grad(result.sum(), inputs, allow_unused=True)):
            if tensor is not None:
                bad = ~tensor.isfinite()
                assert not bad.any(), (name, [a[bad.nonzero()[0, 0]] for a in inputs])


def everything(x: Tensor, y: Tensor, v: Tensor, c: Tensor) -> Tensor:
    return torch.stack(
        (
            ball.exp(v, at=x, c=c),
            ball.log(y, at=x, c=c),
            ball.exp0(v, c=c),
            ball.log0(x, c=c),
            ball.add(x, y, c=c),
            ball.transport(v, start=x, end=y, c=c),
            ball.geodesic(0.3, at=x, direction=v, c=c),
            ball.matvec(torch.eye(x.shape[-1], dtype=x.dtype), x, c=c),
            ball.project(v, c=c),
            ball.distance(x, y, c=c).unsqueeze(-1) * x,
            ball.inner(v, y, at=x, c=c).unsqueeze(-1) * x,
            hyperboloid.to_ball(ball.to_hyperboloid(x, c=c), c=c),
        )
    )


def test_vmap() -> None:
    x, y = (points(6, dtype=DOUBLE, c=1.0, radius=3) for _ in range(2))
    v, c = tangents(x, c=1.0), torch.rand(6, dtype=DOUBLE) / 2 + 0.5
    mapped = torch.func.vmap(everything, out_dims=1)(x, y, v, c)
    torch.testing.assert_close(mapped, everything(x, y, v, c))
    gradient = torch.func.vmap(torch.func.grad(lambda x, y: ball.distance(x, y, c=1.0)))(x, y)
    start = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(ball.distance(start, y, c=1.0).sum(), start)
    torch.testing.assert_close(gradient, expected)


def test_compile() -> None:
    x, y = (points(6, dtype=SINGLE, c=1.0, radius=3) for _ in range(2))
    v, c = tangents(x, c=1.0), torch.tensor(0.7)
    inputs = [a.requires_grad_() for a in (x, y, v, c)]
    expected = everything(*inputs)
    got = torch.compile(everything, fullgraph=True, backend="eager")(*inputs)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(
        torch.autograd.grad(got.sum(), inputs), torch.autograd.grad(expected.sum(), inputs)
    )


def test_broadcasting() -> None:
    x = points(4, dtype=DOUBLE, c=1.0, radius=2).unsqueeze(1)
    y = points(5, dtype=DOUBLE, c=1.0, radius=2)
    v = torch.randn(5, 3, dtype=DOUBLE)
    c = torch.rand(3, 1, 1, dtype=DOUBLE) / 2 + 0.5
    functions: list[Callable[..., Tensor]] = [
        lambda x, y, v, c: ball.exp(v, at=x, c=c),
        lambda x, y, v, c: ball.log(y, at=x, c=c),
        lambda x, y, v, c: ball.add(x, y, c=c),
        lambda x, y, v, c: ball.transport(v, start=x, end=y, c=c),
        lambda x, y, v, c: ball.exp0(v, c=c),
        lambda x, y, v, c: ball.log0(x, c=c),
        lambda x, y, v, c: ball.to_hyperboloid(x, c=c),
        lambda x, y, v, c: ball.project(v, c=c),
        lambda x, y, v, c: ball.distance(x, y, c=c).unsqueeze(-1),
        lambda x, y, v, c: ball.inner(v, y, at=x, c=c).unsqueeze(-1),
    ]
    full = [a.expand(3, 4, 5, 3).reshape(60, 3) for a in (x, y, v)]
    for function in functions:
        expected = function(*full, c.expand(3, 4, 5).reshape(60))
        got = function(x, y, v, c).expand(3, 4, 5, -1).reshape(expected.shape)
        torch.testing.assert_close(got, expected)


@each_dtype
@each_curvature
def test_check_accepts_points_at_every_radius(dtype: torch.dtype, c: float) -> None:
    ball.check(points(1000, dtype=dtype, c=c, radius=42), c=c)
    ball.check(points(10, dtype=dtype, c=c, radius=3), c=torch.full((10,), c, dtype=dtype))
    ball.check(torch.zeros(0, 3, dtype=dtype), c=c)
    ball.check(torch.zeros(3, dtype=dtype), c=c)


@pytest.mark.parametrize(
    ("x", "c", "message"),
    [
        (torch.zeros(3, 3).long(), 1.0, "float32 or float64, got torch.int64"),
        (torch.zeros(3, 3).bfloat16(), 1.0, "float32 or float64, got torch.bfloat16"),
        (torch.zeros(3, 0), 1.0, r"at least 1 coordinate in .* shape \[3, 0\]"),
        (torch.tensor(0.5), 1.0, r"at least 1 coordinate in .* shape \[\]"),
        (torch.tensor([[0.0], [math.nan]]), 1.0, r"finite.* got nan at index \[1, 0\]"),
        (torch.tensor([[0.0, -math.inf]]), 1.0, r"finite.* got -inf at index \[0, 1\]"),
        (torch.tensor([[0.1, 0.1], [0.6, 0.8]]), 1.0, r"got \|x\| = 1 at index \[1\].*project"),
        (torch.tensor([[0.1, 0.1], [1.0, 0.0]]), 1.0, r"got \|x\| = 1 at index \[1\].*project"),
        (torch.tensor([-1.0]), 1.0, r"got \|x\| = 1\. .*boundary is infinitely far away"),
        (torch.tensor([[[0.3, 3.0]]]), 1.0, r"= 1, got .* = 3.01\d* at index \[0, 0\].*exp0"),
        (torch.tensor([[0.0, 0.6]]), 4.0, r"1/sqrt\(c\) = 0.5, got \|x\| = 0.6 at index \[0\]"),
        (torch.tensor([0.6, 0.0]), torch.tensor([1.0, 4.0]), r"= 0.5, .* at index \[1\]"),
        (torch.tensor([[1.25, 0.75]]), 1.0, r"points of the hyperboloid.*hyperboloid.to_ball"),
        (torch.tensor([[0.0]]), 0.0, "curvature c > 0, got 0.0"),
    ],
)
def test_check_explains(x: Tensor, c: float | Tensor, message: str) -> None:
    with pytest.raises(GeometryError, match=message):
        ball.check(x, c=c)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ball.distance(x, x, c=-1.0), "curvature c > 0, got -1.0"),
        (lambda x: ball.add(x, x[:, :2], c=1.0), r"\[4, 3\] and .* \[4, 2\]"),
        (lambda x: ball.log(x, at=x.double(), c=1.0), "same dtype"),
        (lambda x: ball.exp0(x.long(), c=1.0), "got torch.int64"),
        (lambda x: ball.matvec(torch.eye(2), x, c=1.0), r"\[m, d\] .* \[2, 2\] and .* \[4, 3\]"),
        (lambda x: ball.matvec(torch.eye(3).double(), x, c=1.0), "same dtype"),
        (lambda x: ball.matvec(x[0], x, c=1.0), r"got torch.float32 \[3\]"),
    ],
)
def test_bad_input_is_explained(call: Callable[[Tensor], Tensor], message: str) -> None:
    with pytest.raises(GeometryError, match=message):
        call(torch.rand(4, 3) / 2)


@pytest.mark.parametrize("name", ["exp", "log", "geodesic", "transport"])
def test_points_can_only_be_passed_by_name(name: str) -> None:
    x = torch.zeros(3)
    with pytest.raises(TypeError, match="positional argument"):
        getattr(ball, name)(x, x, c=1.0)
