"""What every model of hyperbolic space promises: ball and hyperboloid inherit these tests."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import mpmath as mp
import oracle
import pytest
import torch
from model_case import (
    DOUBLE,
    PLACES,
    SINGLE,
    Function,
    ModelCase,
    Sample,
    directions,
    each_curvature,
    each_dtype,
    each_radius,
    eps,
    inner,
)
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry import normal


class ModelContract(ModelCase):
    """The tests; a subclass says what the model is, and adds what is particular to it."""

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
