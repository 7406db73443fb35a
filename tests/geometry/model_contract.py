"""What every model of hyperbolic space promises: the ball and the hyperboloid inherit these tests.

A model supplies its points, its formulas in mpmath and the errors it allows. Lengths and radii are
in units of 1/sqrt(c) throughout.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import mpmath as mp
import oracle
import pytest
import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry import hyperboloid, normal

SINGLE, DOUBLE = torch.float32, torch.float64
EPS = torch.finfo(DOUBLE).eps

each_dtype = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
each_curvature = pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])
each_radius = pytest.mark.parametrize("radius", [1e-6, 1e-2, 1.0, 4.0, 8.0, 12.0])

Function = Callable[..., Tensor]
Errors = dict[str, tuple[mp.mpf, mp.mpf | None]]

PLACES = {
    "unrelated": lambda v, w: (2 * v, 1.5 * w),
    "same": lambda v, w: (2 * v, 2 * v),
    "nearly the same": lambda v, w: (2 * v, 2 * v + 1e-7 * w),
    "same, near the origin": lambda v, w: (0.3 * v, 0.3 * v),
    "opposite": lambda v, w: (1.5 * v, -1.5 * v),
    "nearly opposite": lambda v, w: (1.5 * v, -1.5 * v + 1e-7 * w),
    "one line": lambda v, w: (2 * v, 0.5 * v),
    "from the origin": lambda v, w: (0 * v, w),
    "to the origin": lambda v, w: (v, 0 * v),
    "origin twice": lambda v, w: (0 * v, 0 * v),
    "tiny": lambda v, w: (1e-9 * v, 1e-9 * w),
    "change of formula": lambda v, w: (math.asinh(1.0) * v, 2 * w),
}
"""Two points in a special position to each other, in normal coordinates, from two unit vectors."""


def directions(count: int, d: int = 3) -> Tensor:
    u = torch.randn(count, d, dtype=DOUBLE)
    return u / u.norm(dim=-1, keepdim=True)


def eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


def inner(model: ModuleType, u: Tensor, v: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Riemannian inner product of tangent vectors at a point."""
    return model.inner(u, v) if model is hyperboloid else model.inner(u, v, at=at, c=c)


@dataclass(frozen=True)
class Sample:
    """What a bound on the errors may depend on: two points, a step from one to the other, ..."""

    x: oracle.Vector
    y: oracle.Vector
    step: oracle.Vector
    end: oracle.Vector
    tangent: oracle.Vector
    c: mp.mpf
    radius: float
    rounding: float


class ModelContract(ABC):
    """Tests of one model; a subclass says what the model is, and adds what is particular to it."""

    model: ClassVar[ModuleType]
    other: ClassVar[ModuleType]
    to_other: ClassVar[Function]
    from_other: ClassVar[Function]
    extra: ClassVar[int]
    """How many coordinates a point has beyond the dimension of the space."""
    radius: ClassVar[float]
    precision: ClassVar[float]
    """Up to that radius, exp, log and transport are undone to so many units in the last place."""
    makes_points: ClassVar[frozenset[str]] = frozenset(
        {"exp0", "exp", "far exp", "geodesic", "project"}
    )
    may_overflow: ClassVar[frozenset[str]]
    """Functions whose result, or its gradient, float32 cannot always hold."""
    longest_step: ClassVar[float]
    """Power of ten of the longest tangent vector that float32 can hold at the farthest point."""

    @abstractmethod
    def at_origin(self, v: Tensor) -> Tensor:
        """The tangent vector at the origin that normal coordinates ``v`` stand for."""

    @abstractmethod
    def gradient(self, derivative: Tensor, *, at: Tensor) -> tuple[Tensor, Tensor]:
        """Riemannian gradient for c = 1, and how much an error in its coordinates weighs."""

    @abstractmethod
    def more_functions(self) -> dict[str, Function]:
        """Functions that only this model has; see :meth:`functions`."""

    @abstractmethod
    def exact_point(self, x: Tensor, c: mp.mpf) -> oracle.Vector: ...

    @abstractmethod
    def exact_tangent(self, v: Tensor, x: oracle.Vector) -> oracle.Vector: ...

    @abstractmethod
    def exact_distance(self, x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf: ...

    @abstractmethod
    def exact_exp(self, v: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector: ...

    @abstractmethod
    def exact_log(self, y: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector: ...

    @abstractmethod
    def exact_transport(
        self, v: oracle.Vector, x: oracle.Vector, y: oracle.Vector, c: mp.mpf
    ) -> oracle.Vector: ...

    @abstractmethod
    def errors(self, at: Sample) -> Errors:
        """Bounds for distance, log, exp and transport, and what they are relative to."""

    def functions(self) -> dict[str, Function]:
        """Every function of the model, of two points, a tangent vector at the first, and c."""
        model, extra, to_other = self.model, self.extra, self.to_other
        return {
            "exp0": lambda x, y, v, c: model.exp0(x[..., extra:], c=c),
            "log0": lambda x, y, v, c: model.log0(x, c=c),
            "distance": lambda x, y, v, c: model.distance(x, y, c=c),
            "exp": lambda x, y, v, c: model.exp(v, at=x, c=c),
            "log": lambda x, y, v, c: model.log(y, at=x, c=c),
            "transport": lambda x, y, v, c: model.transport(v, start=x, end=y, c=c),
            "geodesic": lambda x, y, v, c: model.geodesic(0.3, at=x, direction=v, c=c),
            "project": lambda x, y, v, c: model.project(x, c=c),
            "to_other": lambda x, y, v, c: to_other(x, c=c),
            "inner": lambda x, y, v, c: inner(self.model, v, y, at=x, c=c),
            **self.more_functions(),
        }

    def points(self, count: int, *, dtype: torch.dtype, c: float, radius: float) -> Tensor:
        """Points of a three-dimensional space at radii up to ``radius``."""
        r = radius * torch.rand(count, 1, dtype=DOUBLE) / math.sqrt(c)
        return self.model.exp0((r * directions(count)).to(dtype), c=c)

    def origin(self, like: Tensor, c: float | Tensor) -> Tensor:
        return self.model.exp0(torch.zeros_like(like[..., self.extra :]), c=c)

    def carry(self, v: Tensor, *, to: Tensor, c: float | Tensor) -> Tensor:
        """Tangent vectors at points, of the lengths of ``v``."""
        return self.model.transport(self.at_origin(v), start=self.origin(to, c), end=to, c=c)

    def tangents(self, x: Tensor, *, c: float) -> Tensor:
        """Tangent vectors of length about 1, one at each point."""
        return self.carry(torch.randn_like(x[..., self.extra :]) / math.sqrt(c), to=x, c=c)

    def pairs(self, radius: float, *, dtype: torch.dtype, c: float) -> tuple[Tensor, Tensor]:
        """Pairs of every kind, the first point at ``radius``."""
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
        x, y = (self.model.exp0((a / math.sqrt(c)).to(dtype), c=c) for a in (v, w))
        apart = (x != y)[:, self.extra :].any(-1)
        assert apart.sum() >= 16
        return x[apart], y[apart]

    def special(self, place: str, *, c: float | Tensor) -> tuple[Tensor, Tensor]:
        root = torch.as_tensor(c, dtype=DOUBLE).sqrt().reshape(-1, 1)
        v, w = PLACES[place](directions(2) / root, directions(2) / root)
        return self.model.exp0(v, c=c), self.model.exp0(w, c=c)

    @each_dtype
    @each_curvature
    @each_radius
    def test_values_against_mpmath(self, dtype: torch.dtype, c: float, radius: float) -> None:
        """At the rounded inputs, within the errors that the model allows."""
        x, y = self.pairs(radius, dtype=dtype, c=c)
        v, logs = self.tangents(x, c=c), self.model.log(y, at=x, c=c)
        got = {
            "distance": self.model.distance(x, y, c=c),
            "log": logs,
            "exp": self.model.exp(logs, at=x, c=c),
            "transport": self.model.transport(v, start=x, end=y, c=c),
        }
        k = mp.mpf(c)
        for i in range(len(x)):
            a, b = self.exact_point(x[i], k), self.exact_point(y[i], k)
            step, tangent = self.exact_tangent(logs[i], a), self.exact_tangent(v[i], a)
            expected = {
                "distance": [self.exact_distance(a, b, k)],
                "log": self.exact_log(b, a, k),
                "exp": self.exact_exp(step, a, k),
                "transport": self.exact_transport(tangent, a, b, k),
            }
            at = Sample(a, b, step, expected["exp"], tangent, k, radius, eps(dtype))
            for name, (bound, scale) in self.errors(at).items():
                error = oracle.relative_error(got[name][i], expected[name], scale)
                assert error <= bound, f"{name}: x={x[i].tolist()}, y={y[i].tolist()}"

    @each_dtype
    @each_curvature
    def test_exp_and_log_undo_each_other(self, dtype: torch.dtype, c: float) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=self.radius) for _ in range(2))
        v = self.tangents(x, c=c)
        tolerance: dict[str, Any] = {"rtol": 0, "atol": self.precision * eps(dtype) / math.sqrt(c)}
        end = self.model.exp(v, at=x, c=c)
        self.model.check(end, c=c)
        torch.testing.assert_close(self.model.log(end, at=x, c=c), v, **tolerance)
        log = self.model.log(y, at=x, c=c)
        torch.testing.assert_close(self.model.exp(log, at=x, c=c), y, **tolerance)
        length = inner(self.model, log, log, at=x, c=c).sqrt()
        torch.testing.assert_close(length, self.model.distance(x, y, c=c), **tolerance)

    @each_dtype
    @each_curvature
    def test_normal_coordinates_are_the_tangent_space_at_the_origin(
        self, dtype: torch.dtype, c: float
    ) -> None:
        x = self.points(100, dtype=dtype, c=c, radius=5)
        v, origin = self.model.log0(x, c=c), self.origin(x, c)
        tolerance: dict[str, Any] = {"rtol": 250 * eps(dtype), "atol": 0}
        torch.testing.assert_close(self.model.exp0(v, c=c), x, **tolerance)
        torch.testing.assert_close(
            self.model.exp(self.at_origin(v), at=origin, c=c), x, **tolerance
        )
        torch.testing.assert_close(
            self.model.log(x, at=origin, c=c), self.at_origin(v), **tolerance
        )
        distances = self.model.distance(origin, x, c=c)
        torch.testing.assert_close(v.norm(dim=-1), distances, **tolerance)
        u = torch.randn_like(v)
        length = inner(self.model, self.at_origin(u), self.at_origin(u), at=origin, c=c)
        torch.testing.assert_close(length, u.square().sum(-1))

    @each_dtype
    @each_curvature
    def test_normal_coordinates_agree(self, dtype: torch.dtype, c: float) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
        v, w = self.model.log0(x, c=c), self.model.log0(y, c=c)
        rtol = 1000 * eps(dtype)
        torch.testing.assert_close(
            self.model.distance(x, y, c=c), normal.distance(v, w, c=c), rtol=rtol, atol=0
        )
        # The bias addition of the paper, Eq. 7.
        end = self.model.exp(self.carry(w, to=x, c=c), at=x, c=c)
        torch.testing.assert_close(
            self.model.log0(end, c=c), normal.translate(v, w, c=c), rtol=0, atol=rtol / math.sqrt(c)
        )

    @each_dtype
    @each_curvature
    def test_other_model_agrees(self, dtype: torch.dtype, c: float) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=3) for _ in range(2))
        there_x, there_y = (self.to_other(a, c=c) for a in (x, y))
        self.other.check(there_x, c=c)

        def push(v: Tensor, at: Tensor) -> Tensor:
            """The tangent vector that a tangent vector becomes in the other model."""
            return torch.func.jvp(lambda a: self.to_other(a, c=c), (at,), (v,))[1]

        exact: dict[str, Any] = {"rtol": 1000 * eps(dtype), "atol": 0}
        distances = self.other.distance(there_x, there_y, c=c)
        torch.testing.assert_close(self.model.distance(x, y, c=c), distances, **exact)
        torch.testing.assert_close(self.from_other(there_x, c=c), x, **exact)
        v = self.model.log0(x, c=c)
        torch.testing.assert_close(self.other.exp0(v, c=c), there_x, **exact)

        v, rtol = self.tangents(x, c=c), 3000 * eps(dtype)
        tolerance: dict[str, Any] = {"rtol": rtol, "atol": rtol / math.sqrt(c)}
        torch.testing.assert_close(
            self.other.exp(push(v, x), at=there_x, c=c),
            self.to_other(self.model.exp(v, at=x, c=c), c=c),
            **tolerance,
        )
        torch.testing.assert_close(
            push(self.model.log(y, at=x, c=c), x),
            self.other.log(there_y, at=there_x, c=c),
            **tolerance,
        )
        torch.testing.assert_close(
            push(self.model.transport(v, start=x, end=y, c=c), y),
            self.other.transport(push(v, x), start=there_x, end=there_y, c=c),
            **tolerance,
        )
        torch.testing.assert_close(
            c * inner(self.model, v, v, at=x, c=c),
            c * inner(self.other, push(v, x), push(v, x), at=there_x, c=c),
            rtol=10 * rtol,
            atol=10 * rtol,
        )

    @each_dtype
    @each_curvature
    def test_transport_is_an_isometry_that_its_reverse_undoes(
        self, dtype: torch.dtype, c: float
    ) -> None:
        x, y = (self.points(100, dtype=dtype, c=c, radius=self.radius) for _ in range(2))
        v, w = self.tangents(x, c=c), self.tangents(x, c=c)
        transport = self.model.transport
        moved, moved_too = (transport(a, start=x, end=y, c=c) for a in (v, w))
        tolerance: dict[str, Any] = {"rtol": 0, "atol": self.precision * eps(dtype)}
        for a, b, before in ((moved, moved_too, (v, w)), (moved, moved, (v, v))):
            torch.testing.assert_close(
                c * inner(self.model, a, b, at=y, c=c),
                c * inner(self.model, *before, at=x, c=c),
                **tolerance,
            )
        tolerance["atol"] /= math.sqrt(c)
        torch.testing.assert_close(transport(moved, start=y, end=x, c=c), v, **tolerance)
        there, here = self.model.log(y, at=x, c=c), self.model.log(x, at=y, c=c)
        torch.testing.assert_close(transport(there, start=x, end=y, c=c), -here, **tolerance)
        torch.testing.assert_close(
            transport(v, start=x, end=x, c=c),
            v,
            rtol=4 * eps(dtype),
            atol=4 * eps(dtype) / math.sqrt(c),
        )

    @each_dtype
    @each_curvature
    def test_geodesic_has_unit_speed(self, dtype: torch.dtype, c: float) -> None:
        x = self.points(50, dtype=dtype, c=c, radius=2)
        u = self.tangents(x, c=c)
        u = u / inner(self.model, u, u, at=x, c=c).sqrt().unsqueeze(-1)
        t = 3 * torch.rand(50, dtype=dtype) / math.sqrt(c)
        rtol = 1000 * eps(dtype)
        tolerance: dict[str, Any] = {"rtol": rtol, "atol": rtol / math.sqrt(c)}
        y = self.model.geodesic(t, at=x, direction=u, c=c)
        torch.testing.assert_close(self.model.distance(x, y, c=c), t, **tolerance)
        middle = self.model.geodesic(t / 2, at=x, direction=u, c=c)
        torch.testing.assert_close(self.model.distance(middle, y, c=c), t / 2, **tolerance)
        torch.testing.assert_close(self.model.geodesic(0.0, at=x, direction=u, c=c), x)
        many = self.model.geodesic(t[:, None], at=x[0], direction=u[:5], c=c)
        assert many.shape == (50, 5, 3 + self.extra)

    @pytest.mark.parametrize("place", PLACES)
    def test_gradients_at_special_places(self, place: str) -> None:
        c = 0.7
        x, y = self.special(place, c=c)
        inputs = (x, y, self.tangents(x, c=c), torch.tensor(c, dtype=DOUBLE))
        inputs = tuple(a.requires_grad_() for a in inputs)
        functions = self.functions()
        distance, exp = functions.pop("distance"), functions["exp"]
        functions["squared distance"] = lambda *inputs: distance(*inputs).square()
        functions["exp of zero"] = lambda x, y, v, c: exp(x, y, 0 * v, c)
        for function in functions.values():
            assert torch.autograd.gradcheck(function, inputs, atol=1e-6)

    @pytest.mark.parametrize("c", [0.3, 2.0])
    def test_gradients_elsewhere(self, c: float) -> None:
        """With a curvature for each point, and a length for each step."""
        curvature = torch.tensor([c, 2 * c], dtype=DOUBLE)
        x, y = self.special("unrelated", c=curvature)
        v, t = self.carry(directions(2), to=x, c=curvature), torch.rand(2, dtype=DOUBLE)
        inputs = tuple(a.requires_grad_() for a in (x, y, v, curvature, t))
        functions: list[Function] = [
            lambda x, y, v, c, t: self.model.geodesic(t, at=x, direction=v, c=c),
            *(lambda x, y, v, c, t, f=f: f(x, y, v, c) for f in self.functions().values()),
        ]
        for function in functions:
            assert torch.autograd.gradcheck(function, inputs)

    def test_distance_has_a_zero_gradient_where_points_coincide(self) -> None:
        x = self.points(20, dtype=SINGLE, c=1.0, radius=5)
        x[0] = self.origin(x[0], 1.0)
        x.requires_grad_()
        distances = self.model.distance(x, x.detach(), c=1.0)
        assert torch.equal(distances, torch.zeros(20))
        assert torch.equal(torch.autograd.grad(distances.sum(), x)[0], torch.zeros_like(x))

    @pytest.mark.parametrize(("dtype", "tolerance"), [(SINGLE, 1e-4), (DOUBLE, 1e-9)])
    @pytest.mark.parametrize("apart", [1e-4, 1e-3, 1e-2, 1.0, 3.0])
    def test_gradient_of_the_distance_points_away(
        self, dtype: torch.dtype, tolerance: float, apart: float
    ) -> None:
        """It is the unit vector against the logarithm, also in float32."""
        x = self.points(50, dtype=dtype, c=1.0, radius=5)
        x[0] = self.origin(x[0], 1.0)
        y = self.model.exp(apart * self.tangents(x, c=1.0), at=x, c=1.0)
        x.requires_grad_()
        (derivative,) = torch.autograd.grad(self.model.distance(x, y, c=1.0).sum(), x)
        x, y = x.detach().double(), y.double()
        gradient, weight = self.gradient(derivative.double(), at=x)
        distances = self.model.distance(x, y, c=1.0).unsqueeze(-1)
        expected = -self.model.log(y, at=x, c=1.0) / distances
        torch.testing.assert_close(weight * gradient, weight * expected, rtol=0, atol=tolerance)

    @each_dtype
    @pytest.mark.parametrize("d", [1, 3])
    def test_extreme_points_give_no_nan(self, dtype: torch.dtype, d: int) -> None:
        """Repeats, antipodes, zeros and radii up to saturation, with every curvature."""
        count = 20_000
        c = 10 ** (8 * torch.rand(count, dtype=DOUBLE) - 4)
        radius = torch.where(
            torch.rand(count, 1) < 0.5,
            60 * torch.rand(count, 1, dtype=DOUBLE),
            10 ** (70 * torch.rand(count, 1, dtype=DOUBLE) - 40),
        )
        v = radius * directions(count, d)
        kinds = (v[torch.randperm(count)], v, -v, v * (1 + 1e-7), -v * (1 + 1e-7), v / 2, 0 * v)
        w = torch.stack(kinds)[torch.randint(len(kinds), (count,)), torch.arange(count)]
        exponent = self.longest_step * (2 * torch.rand(count, 1, dtype=DOUBLE) - 1)
        t = 10**exponent * directions(count, d)
        v, w, t = ((a / c.sqrt().unsqueeze(-1)).to(dtype) for a in (v, w, t))
        c = c.to(dtype)
        x, y = (self.model.exp0(a, c=c) for a in (v, w))
        inputs = [a.requires_grad_() for a in (x, y, self.extreme_tangents(t, x, c), c, v)]
        x, y, t, c, v = inputs
        results = {name: function(x, y, t, c) for name, function in self.functions().items()}
        far = results["exp"].detach()
        results |= {
            "exp0": self.model.exp0(v, c=c),
            "far distance": self.model.distance(far, y, c=c),
            "far log": self.model.log(far, at=y, c=c),
            "far exp": self.model.exp(t, at=far, c=c),
        }
        for name in self.makes_points:
            self.model.check(results[name].detach(), c=c.detach())
        self.other.check(results["to_other"].detach(), c=c.detach())
        for name, result in results.items():
            overflow = dtype == SINGLE and name in self.may_overflow
            for tensor in (result, *torch.autograd.grad(result.sum(), inputs, allow_unused=True)):
                if tensor is not None:
                    bad = tensor.isnan() if overflow else ~tensor.isfinite()
                    assert not bad.any(), (name, [a[bad.nonzero()[0, 0]] for a in inputs])

    def extreme_tangents(self, t: Tensor, x: Tensor, c: Tensor) -> Tensor:
        return self.carry(t, to=x, c=c)

    def everything(self) -> Callable[..., tuple[Tensor, ...]]:
        functions = list(self.functions().values())
        return lambda x, y, v, c: tuple(function(x, y, v, c) for function in functions)

    def test_vmap(self) -> None:
        x, y = (self.points(6, dtype=DOUBLE, c=1.0, radius=3) for _ in range(2))
        v, c = self.tangents(x, c=1.0), torch.rand(6, dtype=DOUBLE) / 2 + 0.5
        everything = self.everything()
        mapped = torch.func.vmap(everything)(x, y, v, c)
        torch.testing.assert_close(mapped, everything(x, y, v, c))
        gradient = torch.func.grad(lambda x, y: self.model.distance(x, y, c=1.0))
        start = x.clone().requires_grad_()
        (expected,) = torch.autograd.grad(self.model.distance(start, y, c=1.0).sum(), start)
        torch.testing.assert_close(torch.func.vmap(gradient)(x, y), expected)

    def test_compile(self) -> None:
        x, y = (self.points(6, dtype=SINGLE, c=1.0, radius=3) for _ in range(2))
        inputs = [a.requires_grad_() for a in (x, y, self.tangents(x, c=1.0), torch.tensor(0.7))]
        everything = self.everything()
        expected = everything(*inputs)
        got = torch.compile(everything, fullgraph=True, backend="eager")(*inputs)
        torch.testing.assert_close(got, expected)
        for one, other in zip(got, expected, strict=True):
            ours, theirs = (
                torch.autograd.grad(a.sum(), inputs, retain_graph=True, materialize_grads=True)
                for a in (one, other)
            )
            torch.testing.assert_close(ours, theirs)

    def test_broadcasting(self) -> None:
        n = 3 + self.extra
        x = self.points(4, dtype=DOUBLE, c=1.0, radius=2).unsqueeze(1)
        y = self.points(5, dtype=DOUBLE, c=1.0, radius=2)
        v = torch.randn(5, n, dtype=DOUBLE)
        c = torch.rand(3, 1, 1, dtype=DOUBLE) / 2 + 0.5
        full = [a.expand(3, 4, 5, n).reshape(60, n) for a in (x, y, v)]
        for name, function in self.functions().items():
            expected = function(*full, c.expand(3, 4, 5).reshape(60))
            got = function(x, y, v, c)
            shape = (3, 4, 5, *expected.shape[1:])
            got = got.expand(shape).reshape(expected.shape)
            torch.testing.assert_close(got, expected, msg=lambda text, name=name: f"{name}: {text}")

    @each_dtype
    @each_curvature
    def test_check_accepts_points_at_every_radius(self, dtype: torch.dtype, c: float) -> None:
        for count, radius in ((1000, 42), (1000, 3), (1000, 1e-3), (0, 1)):
            x = self.points(count, dtype=dtype, c=c, radius=radius)
            self.model.check(x, c=c)
            self.model.check(x, c=torch.full((count,), c, dtype=dtype))
        self.model.check(self.origin(torch.zeros(3, dtype=dtype), c), c=c)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda model, x: model.distance(x, x, c=-1.0), "curvature c > 0, got -1.0"),
            (lambda model, x: model.distance(x, x, c=0.0), "curvature c > 0, got 0.0"),
            (lambda model, x: model.distance(x, x[:, :2], c=1.0), r"\[4, 3\] and .* \[4, 2\]"),
            (lambda model, x: model.log(x, at=x.double(), c=1.0), "same dtype"),
            (lambda model, x: model.exp0(x.long(), c=1.0), "got torch.int64"),
            (lambda model, x: model.exp(x.long(), at=x.long(), c=1.0), "got torch.int64"),
            (lambda model, x: model.transport(x, start=x, end=x[0, :2], c=1.0), r"and .* \[2\]"),
        ],
    )
    def test_bad_input_is_explained(
        self, call: Callable[[ModuleType, Tensor], Tensor], message: str
    ) -> None:
        x = torch.rand(4, 3) / 2
        with pytest.raises(GeometryError, match=message):
            call(self.model, x)

    @pytest.mark.parametrize("name", ["exp", "log", "geodesic", "transport"])
    def test_points_can_only_be_passed_by_name(self, name: str) -> None:
        x = self.origin(torch.zeros(3), 1.0)
        with pytest.raises(TypeError, match="positional argument"):
            getattr(self.model, name)(x, x, c=1.0)
