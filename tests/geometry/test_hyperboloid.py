"""The hyperboloid against mpmath, its own laws, normal coordinates and geoopt."""

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
    """Points at radii up to ``radius``, in units of 1/sqrt(c)."""
    r = radius * torch.rand(count, 1, dtype=DOUBLE) / math.sqrt(c)
    return hyperboloid.exp0((r * directions(count, d)).to(dtype), c=c)


def tangents(x: Tensor, *, c: float) -> Tensor:
    """Tangent vectors of length about 1/sqrt(c), one at each point."""
    v = torch.cat((torch.zeros_like(x[:, :1]), torch.randn_like(x[:, 1:])), -1) / math.sqrt(c)
    origin = hyperboloid.exp0(torch.zeros_like(x[:, 1:]), c=c)
    return hyperboloid.transport(v, start=origin, end=x, c=c)


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
    x, y = (hyperboloid.exp0((a / math.sqrt(c)).to(dtype), c=c) for a in (v, w))
    apart = (x[:, 1:] != y[:, 1:]).any(-1)
    return x[apart], y[apart]


def exact_point(x: Tensor, c: mp.mpf) -> oracle.Vector:
    spatial = oracle.exact(x[1:])
    return [mp.sqrt(1 / c + oracle.length(spatial) ** 2), *spatial]


def exact_tangent(v: Tensor, x: oracle.Vector) -> oracle.Vector:
    spatial = oracle.exact(v[1:])
    return [mp.fdot(x[1:], spatial) / x[0], *spatial]


def lorentz(a: oracle.Vector, b: oracle.Vector) -> mp.mpf:
    return mp.fdot(a[1:], b[1:]) - a[0] * b[0]


def combine(*terms: tuple[mp.mpf, oracle.Vector]) -> oracle.Vector:
    columns = zip(*(vector for _, vector in terms), strict=True)
    return [mp.fdot((factor for factor, _ in terms), column) for column in columns]


def exact_distance(x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf:
    return mp.acosh(-c * lorentz(x, y)) / mp.sqrt(c)


def exact_exp(v: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
    n = mp.sqrt(c * lorentz(v, v))
    return combine((mp.cosh(n), x), (mp.sinh(n) / n, v))


def exact_log(y: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
    w = combine((mp.mpf(1), y), (c * lorentz(x, y), x))
    return combine((exact_distance(x, y, c) / mp.sqrt(lorentz(w, w)), w))


def exact_transport(
    v: oracle.Vector, x: oracle.Vector, y: oracle.Vector, c: mp.mpf
) -> oracle.Vector:
    there, back = exact_log(y, x, c), exact_log(x, y, c)
    factor = -lorentz(there, v) / exact_distance(x, y, c) ** 2
    return combine((mp.mpf(1), v), (factor, there), (factor, back))


@each_dtype
@each_curvature
@pytest.mark.parametrize("radius", [1e-6, 1e-2, 1.0, 4.0, 8.0, 12.0])
def test_values_against_mpmath(dtype: torch.dtype, c: float, radius: float) -> None:
    """At the rounded inputs. A float32 result is off by its own rounding only.

    In float64, distance and logarithm lose something of the order of e^radius/100 between near
    points on almost one ray, and nothing otherwise. The exponential map loses one factor of the
    step, and of e^radius when the step leads inwards. Transport multiplies the rounding of the
    tangent vector by up to e^radius, relative to how long a vector of its length can look at either
    point.
    """
    rounding = torch.finfo(dtype).eps
    x, y = pairs(radius, dtype=dtype, c=c)
    v = tangents(x, c=c)
    distances = hyperboloid.distance(x, y, c=c)
    logs = hyperboloid.log(y, at=x, c=c)
    ends = hyperboloid.exp(logs, at=x, c=c)
    carried = hyperboloid.transport(v, start=x, end=y, c=c)
    k = mp.mpf(c)
    for i in range(len(x)):
        where = f"x={x[i].tolist()}, y={y[i].tolist()}"
        a, b = exact_point(x[i], k), exact_point(y[i], k)
        error = oracle.relative_error(distances[i], [exact_distance(a, b, k)])
        bound = rounding + EPS * (16 + math.exp(radius) / 100)
        assert error <= bound, where
        assert oracle.relative_error(logs[i], exact_log(b, a, k)) <= bound, where

        step = exact_tangent(logs[i], a)
        n = mp.sqrt(k * lorentz(step, step))
        expected = exact_exp(step, a, k)
        inwards = mp.cosh(n) * a[0] / oracle.length(expected)
        error = oracle.relative_error(ends[i], expected)
        assert error <= rounding + 8 * EPS * (1 + n) * (1 + inwards), where

        tangent = exact_tangent(v[i], a)
        expected = exact_transport(tangent, a, b, k)
        longest = mp.sqrt(lorentz(tangent, tangent) * k) * b[0]
        size = max(oracle.length(tangent), longest)
        error = oracle.relative_error(carried[i], expected, size)
        assert error <= rounding + EPS * (16 + math.exp(radius)), where


@each_dtype
@pytest.mark.parametrize("radius", [20.0, 40.0])
def test_far_distances_against_mpmath(dtype: torch.dtype, radius: float) -> None:
    """Far points that are not on one line keep their digits too."""
    u, other = directions(20), directions(20)
    x = hyperboloid.exp0((radius * u).to(dtype), c=1.0)
    for share in (1.0, 0.5, 1e-3):
        y = hyperboloid.exp0((share * radius * other).to(dtype), c=1.0)
        got = hyperboloid.distance(x, y, c=1.0)
        for i in range(len(x)):
            a, b = (exact_point(z[i], mp.mpf(1)) for z in (x, y))
            error = oracle.relative_error(got[i], [exact_distance(a, b, mp.mpf(1))])
            assert error <= torch.finfo(dtype).eps + 16 * EPS


@each_dtype
@each_curvature
def test_exp_and_log_undo_each_other(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=2) for _ in range(2))
    v = tangents(x, c=c)
    tolerance: dict[str, Any] = {"rtol": 0, "atol": 2000 * torch.finfo(dtype).eps / math.sqrt(c)}
    end = hyperboloid.exp(v, at=x, c=c)
    hyperboloid.check(end, c=c)
    torch.testing.assert_close(hyperboloid.log(end, at=x, c=c), v, **tolerance)
    log = hyperboloid.log(y, at=x, c=c)
    torch.testing.assert_close(hyperboloid.exp(log, at=x, c=c), y, **tolerance)
    length = hyperboloid.inner(log, log).sqrt()
    torch.testing.assert_close(length, hyperboloid.distance(x, y, c=c), **tolerance)
    torch.testing.assert_close(
        hyperboloid.inner(x, log) * math.sqrt(c), torch.zeros_like(length), **tolerance
    )


@each_dtype
@each_curvature
def test_transport_is_an_isometry_that_its_reverse_undoes(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=2) for _ in range(2))
    v, w = tangents(x, c=c), tangents(x, c=c)
    moved, moved_too = (hyperboloid.transport(a, start=x, end=y, c=c) for a in (v, w))
    atol = 2000 * torch.finfo(dtype).eps
    for a, b, before in ((moved, moved_too, (v, w)), (moved, moved, (v, v))):
        torch.testing.assert_close(
            c * hyperboloid.inner(a, b), c * hyperboloid.inner(*before), rtol=0, atol=atol
        )
    torch.testing.assert_close(
        c * hyperboloid.inner(moved, y), torch.zeros(100, dtype=dtype), rtol=0, atol=atol
    )
    back = hyperboloid.transport(moved, start=y, end=x, c=c)
    torch.testing.assert_close(back, v, rtol=0, atol=atol / math.sqrt(c))
    same = hyperboloid.transport(v, start=x, end=x, c=c)
    torch.testing.assert_close(same, v, rtol=0, atol=atol / math.sqrt(c))


@each_curvature
def test_transport_is_the_formula_of_the_paper(c: float) -> None:
    x, y = (points(100, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
    v = tangents(x, c=c)
    there, back = hyperboloid.log(y, at=x, c=c), hyperboloid.log(x, at=y, c=c)
    factor = hyperboloid.inner(there, v) / hyperboloid.distance(x, y, c=c).square()
    torch.testing.assert_close(
        hyperboloid.transport(v, start=x, end=y, c=c),
        v - factor.unsqueeze(-1) * (there + back),
        rtol=1e-10,
        atol=1e-10 / math.sqrt(c),
    )


@each_curvature
def test_transport_carries_the_velocity_of_a_geodesic_along_it(c: float) -> None:
    x, y = (points(100, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
    there, back = hyperboloid.log(y, at=x, c=c), hyperboloid.log(x, at=y, c=c)
    moved = hyperboloid.transport(there, start=x, end=y, c=c)
    torch.testing.assert_close(moved, -back, rtol=1e-11, atol=1e-11 / math.sqrt(c))


@each_dtype
@each_curvature
def test_geodesic_has_unit_speed(dtype: torch.dtype, c: float) -> None:
    x = points(50, dtype=dtype, c=c, radius=2)
    u = tangents(x, c=c)
    u = u / hyperboloid.inner(u, u).sqrt().unsqueeze(-1)
    t = 3 * torch.rand(50, dtype=dtype) / math.sqrt(c)
    y = hyperboloid.geodesic(t, at=x, direction=u, c=c)
    rtol = 1000 * torch.finfo(dtype).eps
    got = hyperboloid.distance(x, y, c=c)
    torch.testing.assert_close(got, t, rtol=rtol, atol=rtol / math.sqrt(c))
    naive = (math.sqrt(c) * t).cosh()[:, None] * x
    naive = naive + (math.sqrt(c) * t).sinh()[:, None] / math.sqrt(c) * u
    torch.testing.assert_close(y, naive, rtol=rtol, atol=rtol / math.sqrt(c))
    torch.testing.assert_close(hyperboloid.geodesic(0.0, at=x, direction=u, c=c), x)
    many = hyperboloid.geodesic(t[:, None], at=x[0], direction=u[:5], c=c)
    assert many.shape == (50, 5, 4)


@each_dtype
@each_curvature
def test_projections(dtype: torch.dtype, c: float) -> None:
    x = points(100, dtype=dtype, c=c, radius=2)
    broken = torch.cat((torch.randn_like(x[:, :1]), x[:, 1:]), -1)
    fixed = hyperboloid.project(broken, c=c)
    hyperboloid.check(fixed, c=c)
    torch.testing.assert_close(fixed, x)
    assert torch.equal(hyperboloid.project(fixed, c=c), fixed)

    v = torch.randn_like(x)
    tangent = hyperboloid.project_tangent(v, at=x, c=c)
    naive = v + c * hyperboloid.inner(x, v).unsqueeze(-1) * x
    tolerance: dict[str, Any] = {"rtol": 0, "atol": 1000 * torch.finfo(dtype).eps}
    torch.testing.assert_close(tangent, naive, **tolerance)
    torch.testing.assert_close(
        math.sqrt(c) * hyperboloid.inner(x, tangent), torch.zeros(100, dtype=dtype), **tolerance
    )
    again = hyperboloid.project_tangent(tangent, at=x, c=c)
    torch.testing.assert_close(again, tangent, **tolerance)


@each_dtype
@each_curvature
def test_models_are_isometric(dtype: torch.dtype, c: float) -> None:
    x, y = (points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
    rtol = 1000 * torch.finfo(dtype).eps
    expected = hyperboloid.distance(x, y, c=c)
    flat = [hyperboloid.log0(a, c=c) for a in (x, y)]
    torch.testing.assert_close(normal.distance(*flat, c=c), expected, rtol=rtol, atol=0)
    disk = [hyperboloid.to_ball(a, c=c) for a in (x, y)]
    torch.testing.assert_close(ball.distance(*disk, c=c), expected, rtol=rtol, atol=0)
    torch.testing.assert_close(ball.to_hyperboloid(disk[0], c=c), x, rtol=rtol, atol=0)
    torch.testing.assert_close(ball.exp0(flat[0], c=c), disk[0], rtol=rtol, atol=0)


@each_dtype
@each_curvature
def test_normal_coordinates_are_the_tangent_space_at_the_origin(
    dtype: torch.dtype, c: float
) -> None:
    v, w = (hyperboloid.log0(points(100, dtype=dtype, c=c, radius=2), c=c) for _ in range(2))
    zero = torch.zeros(100, 1, dtype=dtype)
    tolerance: dict[str, Any] = {"rtol": 0, "atol": 1000 * torch.finfo(dtype).eps / math.sqrt(c)}
    origin = hyperboloid.exp0(torch.zeros_like(v), c=c)
    x = hyperboloid.exp(torch.cat((zero, v), -1), at=origin, c=c)
    torch.testing.assert_close(x, hyperboloid.exp0(v, c=c), **tolerance)
    torch.testing.assert_close(
        hyperboloid.log(x, at=origin, c=c), torch.cat((zero, v), -1), **tolerance
    )
    # The bias addition of the paper, Eq. 7.
    moved = hyperboloid.transport(torch.cat((zero, w), -1), start=origin, end=x, c=c)
    end = hyperboloid.log0(hyperboloid.exp(moved, at=x, c=c), c=c)
    torch.testing.assert_close(end, normal.translate(v, w, c=c), **tolerance)


@each_curvature
def test_geoopt_agrees(c: float) -> None:
    """At moderate radii and distances; geoopt clamps and cancels elsewhere."""
    geoopt = pytest.importorskip("geoopt")
    lorentz = geoopt.Lorentz(k=torch.tensor(1 / c, dtype=DOUBLE))
    x, y = (points(50, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
    v = tangents(x, c=c)
    tolerance: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5 / math.sqrt(c)}
    torch.testing.assert_close(
        hyperboloid.distance(x, y, c=c), lorentz.dist(x, y), rtol=1e-4, atol=1e-4 / math.sqrt(c)
    )
    torch.testing.assert_close(hyperboloid.log(y, at=x, c=c), lorentz.logmap(x, y), **tolerance)
    torch.testing.assert_close(hyperboloid.exp(v, at=x, c=c), lorentz.expmap(x, v), **tolerance)
    torch.testing.assert_close(
        hyperboloid.transport(v, start=x, end=y, c=c), lorentz.transp(x, y, v), **tolerance
    )


def special(place: str, *, c: float) -> tuple[Tensor, Tensor]:
    """Two points in a special position to each other."""
    v, other = directions(2) / math.sqrt(c), directions(2) / math.sqrt(c)
    first, second = {
        "unrelated": (2 * v, 1.5 * other),
        "same": (2 * v, 2 * v),
        "nearly the same": (2 * v, 2 * v + 1e-7 * other),
        "same, near the origin": (0.3 * v, 0.3 * v),
        "opposite": (1.5 * v, -1.5 * v),
        "nearly opposite": (1.5 * v, -1.5 * v + 1e-7 * other),
        "one line": (2 * v, 0.5 * v),
        "from the origin": (0 * v, other),
        "to the origin": (v, 0 * v),
        "origin twice": (0 * v, 0 * v),
        "tiny": (1e-9 * v, 1e-9 * other),
        "change of formula": (math.asinh(1.0) * v, 2 * other),
    }[place]
    return hyperboloid.exp0(first, c=c), hyperboloid.exp0(second, c=c)


PLACES = [
    "unrelated",
    "same",
    "nearly the same",
    "same, near the origin",
    "opposite",
    "nearly opposite",
    "one line",
    "from the origin",
    "to the origin",
    "origin twice",
    "tiny",
    "change of formula",
]


@pytest.mark.parametrize("place", PLACES)
def test_gradients_at_special_places(place: str) -> None:
    c = 0.7
    x, y = special(place, c=c)
    v = tangents(x, c=c)
    curvature = torch.tensor(c, dtype=DOUBLE)
    x, y, v, curvature = (a.requires_grad_() for a in (x, y, v, curvature))
    functions: list[Callable[..., Tensor]] = [
        lambda x, y, v, c: hyperboloid.distance(x, y, c=c).square(),
        lambda x, y, v, c: hyperboloid.log(y, at=x, c=c),
        lambda x, y, v, c: hyperboloid.exp(v, at=x, c=c),
        lambda x, y, v, c: hyperboloid.exp(0 * v, at=x, c=c),
        lambda x, y, v, c: hyperboloid.transport(v, start=x, end=y, c=c),
    ]
    for function in functions:
        assert torch.autograd.gradcheck(function, (x, y, v, curvature), atol=1e-6)


@pytest.mark.parametrize("c", [0.3, 2.0])
def test_gradients_elsewhere(c: float) -> None:
    x, y = special("unrelated", c=c)
    v = tangents(x, c=c)
    t = torch.rand(2, dtype=DOUBLE)
    curvature = torch.tensor([c, 2 * c], dtype=DOUBLE)
    inputs = tuple(a.requires_grad_() for a in (x, y, v, t, curvature))
    functions: list[Callable[..., Tensor]] = [
        lambda x, y, v, t, c: hyperboloid.inner(x, y),
        lambda x, y, v, t, c: hyperboloid.distance(x, y, c=c),
        lambda x, y, v, t, c: hyperboloid.geodesic(t, at=x, direction=v, c=c),
        lambda x, y, v, t, c: hyperboloid.project(x, c=c),
        lambda x, y, v, t, c: hyperboloid.project_tangent(y, at=x, c=c),
        lambda x, y, v, t, c: hyperboloid.to_ball(x, c=c),
        lambda x, y, v, t, c: hyperboloid.log0(hyperboloid.exp0(v[..., 1:], c=c), c=c),
    ]
    for function in functions:
        assert torch.autograd.gradcheck(function, inputs)


def test_distance_has_a_zero_gradient_where_points_coincide() -> None:
    x = points(20, dtype=SINGLE, c=1.0, radius=5)
    x[0] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    x.requires_grad_()
    distances = hyperboloid.distance(x, x.detach(), c=1.0)
    assert torch.equal(distances, torch.zeros(20))
    assert torch.equal(torch.autograd.grad(distances.sum(), x)[0], torch.zeros(20, 4))


def test_gradient_of_the_distance_is_a_unit_vector_also_in_float32() -> None:
    for radius, apart in ((0.0, 1e-3), (1.0, 1e-3), (5.0, 1e-2), (2.0, 3.0)):
        v = radius * directions(20)
        w = v + apart * directions(20)
        for dtype, tolerance in ((SINGLE, 1e-4), (DOUBLE, 1e-9)):
            x, y = (hyperboloid.exp0(a, c=1.0).to(dtype) for a in (v, w))
            x.requires_grad_()
            distances = hyperboloid.distance(x, y, c=1.0)
            (gradient,) = torch.autograd.grad(distances.sum(), x)
            flipped = torch.cat((-gradient[:, :1], gradient[:, 1:]), -1).double()
            at = x.detach().double()
            tangent = hyperboloid.project_tangent(flipped, at=at, c=1.0)
            expected = -hyperboloid.log(y.double(), at=at, c=1.0)
            expected = expected / distances.detach().double().unsqueeze(-1)
            size = tolerance * math.exp(2 * radius)
            torch.testing.assert_close(tangent, expected, rtol=0, atol=size)


def extreme(count: int, *, dtype: torch.dtype, d: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Repeats, antipodes, zeros and radii up to saturation, with every curvature."""
    c = 10 ** (8 * torch.rand(count, dtype=DOUBLE) - 4)
    radius = torch.where(
        torch.rand(count, 1) < 0.5,
        60 * torch.rand(count, 1, dtype=DOUBLE),
        10 ** (70 * torch.rand(count, 1, dtype=DOUBLE) - 40),
    )
    v = radius * directions(count, d)
    kinds = (v[torch.randperm(count)], v, -v, v * (1 + 1e-7), -v * (1 + 1e-7), v / 2, 0 * v)
    w = torch.stack(kinds)[torch.randint(len(kinds), (count,)), torch.arange(count)]
    t = 10 ** (16 * torch.rand(count, 1, dtype=DOUBLE) - 8) * directions(count, d)
    v, w, t = (a / c.sqrt().unsqueeze(-1) for a in (v, w, t))
    return v.to(dtype), w.to(dtype), t.to(dtype), c.to(dtype)


@each_dtype
@pytest.mark.parametrize("d", [1, 3])
def test_extreme_points_give_no_nan(dtype: torch.dtype, d: int) -> None:
    """Where a float32 tangent vector is too long to be held, infinity is allowed."""
    v, w, t, c = extreme(20_000, dtype=dtype, d=d)
    x, y = hyperboloid.exp0(v, c=c), hyperboloid.exp0(w, c=c)
    origin = hyperboloid.exp0(0 * v, c=c)
    t = hyperboloid.transport(torch.cat((0 * t[:, :1], t), -1), start=origin, end=x, c=c)
    inputs = [a.detach().requires_grad_() for a in (x, y, t, c)]
    x, y, t, c = inputs
    end = hyperboloid.exp(t, at=x, c=c)
    for point in (x, y, end):
        hyperboloid.check(point.detach(), c=c.detach())
    far = end.detach()
    results = {
        "distance": hyperboloid.distance(x, y, c=c),
        "far distance": hyperboloid.distance(far, y, c=c),
        "log": hyperboloid.log(y, at=x, c=c),
        "far log": hyperboloid.log(far, at=y, c=c),
        "exp": end,
        "far exp": hyperboloid.exp(t, at=far, c=c),
        "transport": hyperboloid.transport(t, start=x, end=y, c=c),
        "to_ball": hyperboloid.to_ball(x, c=c),
        "project": hyperboloid.project(x, c=c),
    }
    for name, result in results.items():
        for tensor in (result, *torch.autograd.grad(result.sum(), inputs, allow_unused=True)):
            if tensor is not None:
                bad = tensor.isnan() if dtype == SINGLE else ~tensor.isfinite()
                assert not bad.any(), (name, [a[bad.nonzero()[0, 0]] for a in inputs])


def test_exp_saturates_as_normal_coordinates_do() -> None:
    v = torch.tensor([[39.0, 0], [41, 0], [50, 0], [1e30, 0]])
    origin = torch.tensor([1.0, 0, 0])
    x = hyperboloid.exp(torch.cat((torch.zeros(4, 1), v), -1), at=origin, c=1.0)
    torch.testing.assert_close(x, hyperboloid.exp0(v, c=1.0), rtol=1e-5, atol=0)


@each_dtype
@each_curvature
def test_exp_stops_at_radius_84(dtype: torch.dtype, c: float) -> None:
    """Beyond it float32 cannot hold the point."""
    outwards = torch.tensor([1.0, 1.0, 0.0], dtype=dtype)
    x = hyperboloid.exp0(40 / math.sqrt(c) * outwards[1:], c=c)
    for step, expected in ((40, 80.0), (6, 84.0), (2, 84.0)):
        x = hyperboloid.exp(step * x[0] * outwards, at=x, c=c)
        hyperboloid.check(x, c=c)
        radius = hyperboloid.log0(x, c=c)[0] * math.sqrt(c)
        torch.testing.assert_close(radius.item(), expected, rtol=1e-5, atol=0)


def everything(x: Tensor, y: Tensor, v: Tensor, c: Tensor) -> Tensor:
    return torch.stack(
        (
            hyperboloid.exp(v, at=x, c=c),
            hyperboloid.log(y, at=x, c=c),
            hyperboloid.transport(v, start=x, end=y, c=c),
            hyperboloid.geodesic(0.3, at=x, direction=v, c=c),
            hyperboloid.project(x, c=c),
            hyperboloid.project_tangent(y, at=x, c=c),
            hyperboloid.distance(x, y, c=c).unsqueeze(-1) * x,
            hyperboloid.inner(x, y).unsqueeze(-1) * x,
            ball.to_hyperboloid(hyperboloid.to_ball(x, c=c), c=c),
        )
    )


def test_vmap() -> None:
    x, y = (points(6, dtype=DOUBLE, c=1.0, radius=3) for _ in range(2))
    v, c = tangents(x, c=1.0), torch.rand(6, dtype=DOUBLE) + 0.5
    mapped = torch.func.vmap(everything, out_dims=1)(x, y, v, c)
    torch.testing.assert_close(mapped, everything(x, y, v, c))
    gradient = torch.func.vmap(torch.func.grad(lambda x, y: hyperboloid.distance(x, y, c=1.0)))
    start = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(hyperboloid.distance(start, y, c=1.0).sum(), start)
    torch.testing.assert_close(gradient(x, y), expected)


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
    v = torch.randn(5, 4, dtype=DOUBLE)
    c = torch.rand(3, 1, 1, dtype=DOUBLE) + 0.5
    functions: list[Callable[..., Tensor]] = [
        lambda x, y, v, c: hyperboloid.exp(v, at=x, c=c),
        lambda x, y, v, c: hyperboloid.log(y, at=x, c=c),
        lambda x, y, v, c: hyperboloid.transport(v, start=x, end=y, c=c),
        lambda x, y, v, c: hyperboloid.project(x, c=c),
        lambda x, y, v, c: hyperboloid.project_tangent(v, at=x, c=c),
        lambda x, y, v, c: hyperboloid.to_ball(y, c=c),
        lambda x, y, v, c: hyperboloid.distance(x, y, c=c).unsqueeze(-1),
        lambda x, y, v, c: hyperboloid.inner(x, y).unsqueeze(-1),
    ]
    full = [a.expand(3, 4, 5, 4).reshape(60, 4) for a in (x, y, v)]
    for function in functions:
        expected = function(*full, c.expand(3, 4, 5).reshape(60))
        got = function(x, y, v, c).expand(3, 4, 5, -1).reshape(expected.shape)
        torch.testing.assert_close(got, expected)


@each_dtype
@each_curvature
def test_check_accepts_points_at_every_radius(dtype: torch.dtype, c: float) -> None:
    hyperboloid.check(points(1000, dtype=dtype, c=c, radius=42), c=c)
    hyperboloid.check(
        points(10, dtype=dtype, c=c, radius=1e-3), c=torch.full((10,), c, dtype=dtype)
    )
    hyperboloid.check(torch.zeros(0, 3, dtype=dtype), c=c)


ORIGIN = [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("x", "c", "message"),
    [
        (torch.ones(3, 3).long(), 1.0, "float32 or float64, got torch.int64"),
        (torch.ones(3, 3).half(), 1.0, "float32 or float64, got torch.float16"),
        (torch.ones(3, 1), 1.0, r"at least 2 coordinates .* shape \[3, 1\]"),
        (torch.tensor(1.0), 1.0, r"at least 2 coordinates .* shape \[\]"),
        (torch.tensor([ORIGIN, [1, math.nan, 0]]), 1.0, r"finite.* got nan at index \[1, 1\]"),
        (torch.tensor([ORIGIN, [math.inf, 0, 0]]), 1.0, r"finite.* got inf at index \[1, 0\]"),
        (torch.tensor([ORIGIN, [-1.25, 0.75, 0]]), 1.0, r"x_0 = .* = 1.25 .* got x_0 = -1.25 at"),
        (torch.tensor([ORIGIN, [-1.25, 0.75, 0]]), 1.0, r"index \[1\]. .* other sheet.*use -x"),
        (torch.tensor([[0.0, 0.0], [0.1, 0.2]]), 1.0, r"index \[0\]. .*ball coordinates\?"),
        (torch.tensor([ORIGIN, [-0.1, 0.2, 0]]), 1.0, r"index \[1\]. .*ball coordinates\?"),
        (torch.tensor([[0.5, 3.0], [-0.1, 0.2]]), 1.0, r"index \[0\]. .*spatial or normal"),
        (torch.tensor([[[-7.0, 3.0]]]), 1.0, r"index \[0, 0\]. .*spatial or normal"),
        (
            torch.tensor([2.0, 0.0]),
            1.0,
            r"= 1 for c = 1, got x_0 = 2\. .*hyperboloid with c = 0.25\?",
        ),
        (torch.tensor([100.5, 100.0]), 1.0, r"got x_0 = 100.5.*hyperboloid.project"),
        (torch.tensor([1.0 + 1e-4, 0.0]), 1.0, "got x_0 = 1.0001"),
        (torch.tensor([1.0 + 1e-9, 0.0], dtype=DOUBLE), 1.0, "= 1 .* got x_0 = 1.000000001. hyp"),
        (torch.tensor([ORIGIN, ORIGIN]), torch.tensor([1.0, 4.0]), r"= 0.5 for c = 4.*index \[1\]"),
        (torch.tensor(ORIGIN), -1.0, "curvature c > 0, got -1.0"),
    ],
)
def test_check_explains(x: Tensor, c: float | Tensor, message: str) -> None:
    with pytest.raises(GeometryError, match=message):
        hyperboloid.check(x, c=c)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: hyperboloid.distance(x, x, c=0.0), "curvature c > 0, got 0.0"),
        (lambda x: hyperboloid.distance(x, x[:, :2], c=1.0), r"\[4, 3\] and .* \[4, 2\]"),
        (lambda x: hyperboloid.log(x, at=x.double(), c=1.0), "same dtype"),
        (lambda x: hyperboloid.exp(x.long(), at=x.long(), c=1.0), "got torch.int64"),
        (lambda x: hyperboloid.transport(x, start=x, end=x[0, :2], c=1.0), r"and .* \[2\]"),
    ],
)
def test_bad_input_is_explained(call: Callable[[Tensor], Tensor], message: str) -> None:
    with pytest.raises(GeometryError, match=message):
        call(torch.randn(4, 3))


@pytest.mark.parametrize("name", ["exp", "log", "geodesic", "transport", "project_tangent"])
def test_points_can_only_be_passed_by_name(name: str) -> None:
    x = torch.tensor(ORIGIN)
    with pytest.raises(TypeError, match="positional argument"):
        getattr(hyperboloid, name)(x, x, c=1.0)
