"""The Poincaré ball: the contract of every model, and what is particular to it."""

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import oracle
import pytest
import torch
from model_case import (
    DOUBLE,
    EPS,
    SINGLE,
    Errors,
    Function,
    Sample,
    directions,
    each_curvature,
    each_dtype,
    each_radius,
    eps,
)
from model_contract import ModelContract
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry import ball, hyperboloid, normal


def negative(x: oracle.Vector) -> oracle.Vector:
    return [-a for a in x]


def factor(x: oracle.Vector, c: mp.mpf) -> mp.mpf:
    return 2 / (1 - c * mp.fdot(x, x))


def exact_add(x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> oracle.Vector:
    xx, yy, xy = mp.fdot(x, x), mp.fdot(y, y), mp.fdot(x, y)
    down = 1 + 2 * c * xy + c * c * xx * yy
    on_x, on_y = (1 + 2 * c * xy + c * yy) / down, (1 - c * xx) / down
    return [on_x * a + on_y * b for a, b in zip(x, y, strict=True)]


def room(x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf:
    return min(2 / factor(x, c), 2 / factor(y, c))


class TestBall(ModelContract):
    model, other = ball, hyperboloid
    to_other, from_other = staticmethod(ball.to_hyperboloid), staticmethod(hyperboloid.to_ball)
    extra = 0
    radius = 3
    precision = 300
    longest_step = 30
    makes_points = ModelContract.makes_points | {
        "add",
        "matvec",
        "project from outside",
        "project of a vector",
    }
    may_overflow = frozenset({"transport", "inner"})

    def at_origin(self, v: Tensor) -> Tensor:
        """The metric at the origin is 4|v|², so a tangent vector looks half as long as it is."""
        return v / 2

    def gradient(self, derivative: Tensor, *, at: Tensor) -> tuple[Tensor, Tensor]:
        scale = ball.conformal_factor(at, c=1.0).unsqueeze(-1)
        return derivative / scale.square(), scale

    def more_functions(self) -> dict[str, Function]:
        return {
            "add": lambda x, y, v, c: ball.add(x, y, c=c),
            "matvec": lambda x, y, v, c: ball.matvec(torch.eye(x.shape[-1]).to(x), x, c=c),
            "conformal factor": lambda x, y, v, c: ball.conformal_factor(x, c=c),
            "project from outside": lambda x, y, v, c: ball.project(5 * x, c=c),
            "project of a vector": lambda x, y, v, c: ball.project(v, c=c),
            "transport of a point": lambda x, y, v, c: ball.transport(y, start=x, end=y, c=c),
            "inner product of a point": lambda x, y, v, c: ball.inner(y, y, at=x, c=c),
        }

    def extreme_tangents(self, t: Tensor, x: Tensor, c: Tensor) -> Tensor:
        """As long in ball coordinates, so far longer than they look near the boundary."""
        return t

    def exact_point(self, x: Tensor, c: mp.mpf) -> oracle.Vector:
        return oracle.exact(x)

    def exact_tangent(self, v: Tensor, x: oracle.Vector) -> oracle.Vector:
        return oracle.exact(v)

    def exact_distance(self, x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf:
        """The paper's arcosh."""
        apart = oracle.length([a - b for a, b in zip(x, y, strict=True)])
        return mp.acosh(1 + c * apart**2 * factor(x, c) * factor(y, c) / 2) / mp.sqrt(c)

    def exact_exp(self, v: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
        n = mp.sqrt(c) * oracle.length(v)
        return exact_add(x, [mp.tanh(factor(x, c) * n / 2) / n * a for a in v], c)

    def exact_log(self, y: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector:
        z = exact_add(negative(x), y, c)
        n = mp.sqrt(c) * oracle.length(z)
        return [2 / factor(x, c) * mp.atanh(n) / n * a for a in z]

    def exact_transport(
        self, v: oracle.Vector, x: oracle.Vector, y: oracle.Vector, c: mp.mpf
    ) -> oracle.Vector:
        """λ_x/λ_y gyr[y, -x] v, from the definition of the gyration by Möbius addition."""
        small = mp.mpf(10) ** -4 / (oracle.length(v) * mp.sqrt(c))
        short, minus = [small * a for a in v], negative(x)
        inner = exact_add(y, exact_add(minus, short, c), c)
        turned = exact_add(negative(exact_add(y, minus, c)), inner, c)
        return [factor(x, c) / factor(y, c) / small * a for a in turned]

    def errors(self, at: Sample) -> Errors:
        """A float32 result is off by its own rounding only.

        In float64, what depends on ``room = 1 - c|x|²`` has a relative error of eps/room, since
        that is how much room the coordinates leave undecided. An end point that comes near the
        origin is as exact as the longer of its terms, and the exponential map loses one factor of
        the step. Points may have been drawn inside the ball by 2 eps.
        """
        undecided = 16 * EPS / room(at.x, at.y, at.c)
        bound = at.rounding + undecided
        return {
            "distance": (bound, None),
            "log": (bound, None),
            "transport": (bound, None),
            "exp": (
                3 * at.rounding + undecided * (1 + at.radius),
                max(oracle.length(at.x), oracle.length(at.y)),
            ),
        }

    @each_dtype
    @each_curvature
    @each_radius
    def test_sums_against_mpmath(self, dtype: torch.dtype, c: float, radius: float) -> None:
        x, y = self.pairs(radius, dtype=dtype, c=c)
        k = mp.mpf(c)
        for first in (x, -x):
            sums = ball.add(first, y, c=c)
            for i in range(len(x)):
                a, b = oracle.exact(first[i]), oracle.exact(y[i])
                expected = exact_add(a, b, k)
                error = oracle.relative_error(
                    sums[i], expected, oracle.length(expected) or mp.mpf(1)
                )
                assert error <= 3 * eps(dtype) + 16 * EPS / room(a, b, k), (first[i], y[i])

    @each_dtype
    @each_curvature
    def test_log0_after_exp0(self, dtype: torch.dtype, c: float) -> None:
        """Radius r comes back to eps cosh²(r/2), up to where the ball ends."""
        radius = torch.linspace(0, 14 if dtype == SINGLE else 32, 300, dtype=DOUBLE)
        v = (radius.unsqueeze(-1) * directions(300) / math.sqrt(c)).to(dtype)
        error = (ball.log0(ball.exp0(v, c=c), c=c) - v).norm(dim=-1).double() * math.sqrt(c)
        bound = 8 * eps(dtype) * (radius + (radius / 2).cosh().square())
        assert (error <= bound).all()

    @each_dtype
    @each_curvature
    @pytest.mark.parametrize("d", [1, 3, 200])
    def test_no_point_reaches_the_boundary(self, dtype: torch.dtype, c: float, d: int) -> None:
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
    def test_the_boundary_itself_gives_no_nan(self, dtype: torch.dtype, c: float) -> None:
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
    def test_project(self, dtype: torch.dtype, c: float) -> None:
        inside = self.points(100, dtype=dtype, c=c, radius=5)
        assert torch.equal(ball.project(inside, c=c), inside)
        for length in (1 - 1e-20, 1.0, 1.5, 1e20):
            unit = directions(100, 8) / math.sqrt(c)
            drawn = ball.project((length * unit).to(dtype), c=c)
            ball.check(drawn, c=c)
            assert torch.equal(ball.project(drawn, c=c), drawn)
            rtol = 100 * eps(dtype)
            torch.testing.assert_close(drawn, unit.to(dtype), rtol=rtol, atol=0)

    @each_dtype
    @each_curvature
    def test_addition_is_a_gyrogroup(self, dtype: torch.dtype, c: float) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=2) for _ in range(2))
        tolerance: dict[str, Any] = {"rtol": 0, "atol": 300 * eps(dtype) / math.sqrt(c)}
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
    def test_matvec(self, dtype: torch.dtype, c: float) -> None:
        x = self.points(100, dtype=dtype, c=c, radius=3)
        first, second = torch.randn(2, 3, dtype=dtype), torch.randn(4, 2, dtype=dtype)
        rtol = 3000 * eps(dtype)
        got = ball.matvec(first, x, c=c)
        v = ball.log0(x, c=c)
        torch.testing.assert_close(got, ball.exp0(v @ first.T, c=c), rtol=rtol, atol=0)
        short = self.points(100, dtype=dtype, c=c, radius=0.5)
        torch.testing.assert_close(
            ball.matvec(second, ball.matvec(first, short, c=c), c=c),
            ball.matvec(second @ first, short, c=c),
            rtol=rtol,
            atol=rtol / math.sqrt(c),
        )
        torch.testing.assert_close(
            ball.matvec(torch.eye(3, dtype=dtype), x, c=c), x, rtol=rtol, atol=0
        )
        rotation = torch.linalg.qr(torch.randn(3, 3, dtype=dtype)).Q
        torch.testing.assert_close(
            ball.matvec(rotation, x, c=c), x @ rotation.T, rtol=rtol, atol=rtol / math.sqrt(c)
        )

    @each_dtype
    @each_curvature
    def test_addition_is_translation(self, dtype: torch.dtype, c: float) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
        v, w = ball.log0(x, c=c), ball.log0(y, c=c)
        rtol = 3000 * eps(dtype)
        tolerance: dict[str, Any] = {"rtol": rtol, "atol": rtol / math.sqrt(c)}
        torch.testing.assert_close(
            ball.log0(ball.add(x, y, c=c), c=c), normal.translate(v, w, c=c), **tolerance
        )
        torch.testing.assert_close(
            ball.log0(ball.add(-x, y, c=c), c=c), normal.local_log(v, w, c=c), **tolerance
        )

    @pytest.mark.parametrize("c", [1e-3, 1.0, 1e2])
    def test_geoopt_agrees(self, c: float) -> None:
        """At moderate radii and c < 700; geoopt clamps near the boundary and takes exp(c)."""
        geoopt = pytest.importorskip("geoopt")
        other = geoopt.PoincareBall(c=torch.tensor(c, dtype=DOUBLE))
        x, y = (self.points(50, dtype=DOUBLE, c=c, radius=2) for _ in range(2))
        v, w = self.tangents(x, c=c), self.tangents(x, c=c)
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

    def test_gradients_in_the_matrix(self) -> None:
        x, _ = self.special("unrelated", c=0.7)
        matrix, c = torch.randn(2, 3, dtype=DOUBLE), torch.tensor([0.7, 0.5], dtype=DOUBLE)
        inputs = tuple(a.requires_grad_() for a in (matrix, x, c))
        assert torch.autograd.gradcheck(lambda m, x, c: ball.matvec(m, x, c=c), inputs)


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
        (lambda x: ball.add(x, x[:, :2], c=1.0), r"\[4, 3\] and .* \[4, 2\]"),
        (lambda x: ball.matvec(torch.eye(2), x, c=1.0), r"\[m, d\] .* \[2, 2\] and .* \[4, 3\]"),
        (lambda x: ball.matvec(torch.eye(3).double(), x, c=1.0), "same dtype"),
        (lambda x: ball.matvec(x[0], x, c=1.0), r"got torch.float32 \[3\]"),
    ],
)
def test_bad_input_is_explained(call: Callable[[Tensor], Tensor], message: str) -> None:
    x = torch.rand(4, 3) / 2
    with pytest.raises(GeometryError, match=message):
        call(x)
