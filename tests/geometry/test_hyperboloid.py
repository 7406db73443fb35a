"""The hyperboloid: the contract of every model, and what is particular to it."""

import math
from typing import Any

import mpmath as mp
import oracle
import pytest
import torch
from model_case import (
    DOUBLE,
    EPS,
    Errors,
    Function,
    Sample,
    directions,
    each_curvature,
    each_dtype,
    eps,
)
from model_contract import ModelContract
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry import ball, hyperboloid


def lorentz(a: oracle.Vector, b: oracle.Vector) -> mp.mpf:
    return mp.fdot(a[1:], b[1:]) - a[0] * b[0]


def combine(*terms: tuple[mp.mpf, oracle.Vector]) -> oracle.Vector:
    columns = zip(*(vector for _, vector in terms), strict=True)
    return [mp.fdot((factor for factor, _ in terms), column) for column in columns]


class TestHyperboloid(ModelContract):
    model, other = hyperboloid, ball
    to_other, from_other = staticmethod(hyperboloid.to_ball), staticmethod(ball.to_hyperboloid)
    extra = 1
    radius = 2
    precision = 2000
    longest_step = 8
    may_overflow = frozenset(
        {"exp", "far exp", "geodesic", "inner", "product of points", "project_tangent"}
    )

    def at_origin(self, v: Tensor) -> Tensor:
        return torch.cat((torch.zeros_like(v[..., :1]), v), -1)

    def gradient(self, derivative: Tensor, *, at: Tensor) -> tuple[Tensor, Tensor]:
        """Coordinates of a tangent vector, and the derivatives in them, are off by e^radius."""
        flipped = torch.cat((-derivative[:, :1], derivative[:, 1:]), -1)
        radius = hyperboloid.log0(at, c=1.0).norm(dim=-1, keepdim=True)
        return hyperboloid.project_tangent(flipped, at=at, c=1.0), (-2 * radius).exp()

    def more_functions(self) -> dict[str, Function]:
        return {
            "project_tangent": lambda x, y, v, c: hyperboloid.project_tangent(y, at=x, c=c),
            "product of points": lambda x, y, v, c: hyperboloid.inner(x, y),
        }

    def exact_point(self, x: Tensor, c: mp.mpf) -> oracle.Vector:
        spatial = oracle.exact(x[1:])
        return [mp.sqrt(1 / c + oracle.length(spatial) ** 2), *spatial]

    def exact_tangent(self, v: Tensor, x: oracle.Vector) -> oracle.Vector:
        spatial = oracle.exact(v[1:])
        return [mp.fdot(x[1:], spatial) / x[0], *spatial]

    def exact_distance(self, x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf:
        return mp.acosh(-c * lorentz(x, y)) / mp.sqrt(c)

    def exact_exp(self, v: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
        n = mp.sqrt(c * lorentz(v, v))
        return combine((mp.cosh(n), x), (mp.sinh(n) / n, v))

    def exact_log(self, y: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
        w = combine((mp.mpf(1), y), (c * lorentz(x, y), x))
        return combine((self.exact_distance(x, y, c) / mp.sqrt(lorentz(w, w)), w))

    def exact_transport(
        self, v: oracle.Vector, x: oracle.Vector, y: oracle.Vector, c: mp.mpf
    ) -> oracle.Vector:
        there, back = self.exact_log(y, x, c), self.exact_log(x, y, c)
        factor = -lorentz(there, v) / self.exact_distance(x, y, c) ** 2
        return combine((mp.mpf(1), v), (factor, there), (factor, back))

    def errors(self, at: Sample) -> Errors:
        """A float32 result is off by its own rounding only.

        In float64, distance and logarithm lose something of the order of e^radius/100 between near
        points on almost one ray, and nothing otherwise. The exponential map loses one factor of the
        step, and of e^radius when the step leads inwards. Transport multiplies the rounding of the
        tangent vector by up to e^radius, relative to how long a vector of its length can look at
        either point.
        """
        bound = at.rounding + EPS * (16 + math.exp(at.radius) / 100)
        n = mp.sqrt(at.c * lorentz(at.step, at.step))
        inwards = mp.cosh(n) * at.x[0] / oracle.length(at.end)
        longest = mp.sqrt(lorentz(at.tangent, at.tangent) * at.c) * at.y[0]
        return {
            "distance": (bound, None),
            "log": (bound, None),
            "exp": (at.rounding + 8 * EPS * (1 + n) * (1 + inwards), None),
            "transport": (
                at.rounding + EPS * (16 + math.exp(at.radius)),
                max(oracle.length(at.tangent), longest),
            ),
        }

    @each_dtype
    @each_curvature
    def test_logarithms_and_transported_vectors_are_tangent(
        self, dtype: torch.dtype, c: float
    ) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
        moved = hyperboloid.transport(self.tangents(x, c=c), start=x, end=y, c=c)
        for v, at in ((hyperboloid.log(y, at=x, c=c), x), (moved, y)):
            product = c * hyperboloid.inner(v, at)
            atol = self.precision * eps(dtype)
            torch.testing.assert_close(product, torch.zeros_like(product), rtol=0, atol=atol)

    @each_dtype
    @pytest.mark.parametrize("radius", [20.0, 40.0])
    def test_far_distances_against_mpmath(self, dtype: torch.dtype, radius: float) -> None:
        """Far points that are not on one line keep their digits too."""
        u, other = directions(20), directions(20)
        x = hyperboloid.exp0((radius * u).to(dtype), c=1.0)
        for share in (1.0, 0.5, 1e-3):
            y = hyperboloid.exp0((share * radius * other).to(dtype), c=1.0)
            got = hyperboloid.distance(x, y, c=1.0)
            for i in range(len(x)):
                a, b = (self.exact_point(z[i], mp.mpf(1)) for z in (x, y))
                error = oracle.relative_error(got[i], [self.exact_distance(a, b, mp.mpf(1))])
                assert error <= eps(dtype) + 16 * EPS

    @each_curvature
    def test_transport_is_the_formula_of_the_paper(self, c: float) -> None:
        x, y = (self.points(100, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
        v = self.tangents(x, c=c)
        there, back = hyperboloid.log(y, at=x, c=c), hyperboloid.log(x, at=y, c=c)
        factor = hyperboloid.inner(there, v) / hyperboloid.distance(x, y, c=c).square()
        torch.testing.assert_close(
            hyperboloid.transport(v, start=x, end=y, c=c),
            v - factor.unsqueeze(-1) * (there + back),
            rtol=1e-10,
            atol=1e-10 / math.sqrt(c),
        )

    @each_dtype
    @each_curvature
    def test_geodesic_is_the_formula_of_the_paper(self, dtype: torch.dtype, c: float) -> None:
        x = self.points(50, dtype=dtype, c=c, radius=2)
        u = self.tangents(x, c=c)
        u = u / hyperboloid.inner(u, u).sqrt().unsqueeze(-1)
        t = 3 * torch.rand(50, dtype=dtype) / math.sqrt(c)
        naive = (math.sqrt(c) * t).cosh()[:, None] * x
        naive = naive + (math.sqrt(c) * t).sinh()[:, None] / math.sqrt(c) * u
        got = hyperboloid.geodesic(t, at=x, direction=u, c=c)
        rtol = 1000 * eps(dtype)
        torch.testing.assert_close(got, naive, rtol=rtol, atol=rtol / math.sqrt(c))

    @each_dtype
    @each_curvature
    def test_projections(self, dtype: torch.dtype, c: float) -> None:
        x = self.points(100, dtype=dtype, c=c, radius=2)
        broken = torch.cat((torch.randn_like(x[:, :1]), x[:, 1:]), -1)
        fixed = hyperboloid.project(broken, c=c)
        hyperboloid.check(fixed, c=c)
        torch.testing.assert_close(fixed, x)
        assert torch.equal(hyperboloid.project(fixed, c=c), fixed)

        v = torch.randn_like(x)
        tangent = hyperboloid.project_tangent(v, at=x, c=c)
        naive = v + c * hyperboloid.inner(x, v).unsqueeze(-1) * x
        tolerance: dict[str, Any] = {"rtol": 0, "atol": 1000 * eps(dtype)}
        torch.testing.assert_close(tangent, naive, **tolerance)
        torch.testing.assert_close(
            math.sqrt(c) * hyperboloid.inner(x, tangent), torch.zeros(100, dtype=dtype), **tolerance
        )
        again = hyperboloid.project_tangent(tangent, at=x, c=c)
        torch.testing.assert_close(again, tangent, **tolerance)

    @each_curvature
    def test_geoopt_agrees(self, c: float) -> None:
        """At moderate radii and distances; geoopt clamps and cancels elsewhere."""
        geoopt = pytest.importorskip("geoopt")
        lorentz = geoopt.Lorentz(k=torch.tensor(1 / c, dtype=DOUBLE))
        x, y = (self.points(50, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
        v = self.tangents(x, c=c)
        tolerance: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5 / math.sqrt(c)}
        torch.testing.assert_close(
            hyperboloid.distance(x, y, c=c), lorentz.dist(x, y), rtol=1e-4, atol=1e-4 / math.sqrt(c)
        )
        torch.testing.assert_close(hyperboloid.log(y, at=x, c=c), lorentz.logmap(x, y), **tolerance)
        torch.testing.assert_close(hyperboloid.exp(v, at=x, c=c), lorentz.expmap(x, v), **tolerance)
        torch.testing.assert_close(
            hyperboloid.transport(v, start=x, end=y, c=c), lorentz.transp(x, y, v), **tolerance
        )

    def test_exp_saturates_as_normal_coordinates_do(self) -> None:
        v = torch.tensor([[39.0, 0], [41, 0], [50, 0], [1e30, 0]])
        origin = torch.tensor([1.0, 0, 0])
        x = hyperboloid.exp(torch.cat((torch.zeros(4, 1), v), -1), at=origin, c=1.0)
        torch.testing.assert_close(x, hyperboloid.exp0(v, c=1.0), rtol=1e-5, atol=0)

    @each_dtype
    @each_curvature
    def test_exp_stops_at_radius_84(self, dtype: torch.dtype, c: float) -> None:
        """Beyond it float32 cannot hold the point."""
        outwards = torch.tensor([1.0, 1.0, 0.0], dtype=dtype)
        x = hyperboloid.exp0(40 / math.sqrt(c) * outwards[1:], c=c)
        for step, expected in ((40, 80.0), (6, 84.0), (2, 84.0)):
            x = hyperboloid.exp(step * x[0] * outwards, at=x, c=c)
            hyperboloid.check(x, c=c)
            radius = hyperboloid.log0(x, c=c)[0] * math.sqrt(c)
            torch.testing.assert_close(radius.item(), expected, rtol=1e-5, atol=0)


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


def test_the_point_of_a_projection_can_only_be_passed_by_name() -> None:
    x = torch.tensor(ORIGIN)
    with pytest.raises(TypeError, match="positional argument"):
        hyperboloid.project_tangent(x, x, c=1.0)
