"""Accuracy at every radius, against mpmath at the rounded inputs."""

import mpmath as mp
import oracle
import pytest
import torch
from torch import Tensor

from hgcn import geometry

SINGLE, DOUBLE = torch.float32, torch.float64


@pytest.mark.parametrize("d", [2, 16])
@pytest.mark.parametrize(
    ("dtype", "min_angle", "distance_bound", "vector_bound"),
    [
        (SINGLE, 1e-2, 2e-5, 1e-4),
        (DOUBLE, 1e-2, 1e-11, 1e-9),
        (SINGLE, 1e-6, 1e-2, 1e-2),
        (DOUBLE, 1e-6, 1e-7, 1e-7),
    ],
)
def test_values(
    dtype: torch.dtype, min_angle: float, distance_bound: float, vector_bound: float, d: int
) -> None:
    sample = oracle.pairs(1500, dtype=dtype, d=d, min_angle=min_angle)
    v, w, c = sample.v, sample.w, sample.c
    distances = geometry.distance(v, w, c=c)
    logs = geometry.local_log(v, w, c=c)
    # The angle is measured from the direction in which the step undoes the point.
    steps = geometry.translate(-v, w, c=c)
    for i, (x, y, k) in enumerate(sample):
        expected = oracle.local_log(x, y, k)
        where = f"pair {i}: v={v[i].tolist()}, w={w[i].tolist()}, c={c[i].item()}"
        expected_distance = [oracle.distance(x, y, k)]
        assert oracle.relative_error(distances[i], expected_distance) <= distance_bound, where
        assert oracle.relative_error(logs[i], expected) <= vector_bound, where
        assert oracle.relative_error(steps[i], expected) <= vector_bound, where


@pytest.mark.parametrize(("dtype", "bound"), [(SINGLE, 1e-3), (DOUBLE, 1e-8)])
@pytest.mark.parametrize("name", ["distance", "translate", "local_log"])
def test_gradients(name: str, dtype: torch.dtype, bound: float) -> None:
    """In the points relative to the gradient; in c relative to it or to value/c, if that is more.

    The second scale matters where the value hardly depends on c, as on one line through the
    origin, where it does not depend on c at all.
    """
    count, d = 300, 3
    sample = oracle.pairs(count, dtype=dtype, d=d, min_angle=1e-2, seed=1)
    sign = -1 if name == "translate" else 1
    inputs = [(sign * sample.v).requires_grad_(), sample.w.requires_grad_(), sample.c]
    inputs[2].requires_grad_()
    generator = torch.Generator().manual_seed(2)
    probe = torch.randn(count, d, generator=generator, dtype=dtype)

    def value(v: Tensor, w: Tensor, c: Tensor) -> Tensor:
        result = getattr(geometry, name)(v, w, c=c)
        return result if name == "distance" else (result * probe).sum(-1)

    gradients = torch.autograd.grad(value(*inputs).sum(), inputs)
    for i in range(count):
        weights = oracle.exact(probe[i])

        def exact_value(at: list[mp.mpf], weights: list[mp.mpf] = weights) -> mp.mpf:
            result = getattr(oracle, name)(at[:d], at[d : 2 * d], at[-1])
            if name == "distance":
                return result
            return sum(a * b for a, b in zip(weights, result, strict=True))

        at = [a for part in inputs for a in oracle.exact(part[i].detach().reshape(-1))]
        expected = oracle.gradient(exact_value, at)
        size = oracle.length(oracle.local_log([sign * a for a in at[:d]], at[d : 2 * d], at[-1]))
        if name != "distance":
            size *= oracle.length(weights)
        scale_c = max(abs(expected[-1]), size / at[-1])
        where = f"pair {i}: v={at[:d]}, w={at[d : 2 * d]}, c={at[-1]}"
        assert oracle.relative_error(gradients[0][i], expected[:d]) <= bound, where
        assert oracle.relative_error(gradients[1][i], expected[d:-1]) <= bound, where
        assert oracle.relative_error(gradients[2][i], expected[-1:], scale_c) <= bound, where


@pytest.mark.parametrize("radius", [1e-6, 0.09, 0.11, 1.0, 5.0, 20.0, 40.0])
def test_points_on_one_axis_stay_on_it(radius: float) -> None:
    """A single rounding error across the axis would be multiplied by sinh(radius)."""
    v = torch.tensor([radius, 0.0, 0.0])
    w = torch.tensor([0.83 * radius, 0.0, 0.0])
    torch.testing.assert_close(geometry.distance(v, w, c=1.0), v[0] - w[0], rtol=2e-5, atol=0)
    torch.testing.assert_close(geometry.local_log(v, w, c=1.0), w - v, rtol=2e-5, atol=0)
    torch.testing.assert_close(geometry.translate(w, v - w, c=1.0), v, rtol=2e-5, atol=0)


@pytest.mark.parametrize(("dtype", "radius", "bound"), [(SINGLE, 12, 2e-6), (DOUBLE, 28, 1e-11)])
def test_neighbours_far_from_the_origin(dtype: torch.dtype, radius: float, bound: float) -> None:
    """Where a difference of one unit in the last place is already a hyperbolic step."""
    u = torch.randn(200, 16, dtype=dtype)
    v = radius * u / u.norm(dim=-1, keepdim=True)
    w = v + torch.finfo(dtype).eps * torch.randint(-9, 10, v.shape) * v
    distances = geometry.distance(v, w, c=1.0)
    for i in range(len(v)):
        expected = oracle.distance(oracle.exact(v[i]), oracle.exact(w[i]), mp.mpf(1))
        assert oracle.relative_error(distances[i], [expected]) <= bound


@pytest.mark.parametrize("size", [1e-30, 1e-18, 1e-9, 1e-3])
def test_tiny_points_are_euclidean(size: float) -> None:
    v, w = size * torch.randn(2, 50, 3)
    v.requires_grad_()
    d = geometry.distance(v, w, c=1.0)
    torch.testing.assert_close(
        d / size,
        (v - w).norm(dim=-1) / size if size > 1e-15 else ((v - w) / size).norm(dim=-1),
        rtol=1e-5,
        atol=0,
    )
    (gradient,) = torch.autograd.grad(d.sum(), v)
    unit = (v - w).detach() / size
    torch.testing.assert_close(gradient, unit / unit.norm(dim=-1, keepdim=True), rtol=0, atol=1e-5)


def extreme_pairs(count: int, d: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros, repeats, antipodes, near repeats, multiples, and norms 0..1e30 with every c."""
    generator = torch.Generator().manual_seed(7)

    def uniform(low: float, high: float) -> Tensor:
        drawn = torch.rand(count, 1, generator=generator, dtype=torch.float64)
        return low + (high - low) * drawn

    u = torch.randn(count, d, generator=generator, dtype=torch.float64)
    norm = 10 ** uniform(-30, 30)
    for kind, choice in enumerate((uniform(0, 60), uniform(0, 2), uniform(0, 0), uniform(39, 45))):
        norm = torch.where(torch.arange(count)[:, None] % 8 == kind, choice, norm)
    v = u / u.norm(dim=-1, keepdim=True) * norm
    w = v[torch.randperm(count, generator=generator)]
    shuffled = torch.randperm(count, generator=generator)[:, None]
    related = (v, -v, v * (1 + 1e-7), -v * (1 + 1e-7), v * uniform(-1, 1), torch.zeros_like(v))
    for kind, other in enumerate(related):
        w = torch.where(shuffled % 9 == kind, other, w)
    return v.to(dtype), w.to(dtype), (10 ** uniform(-4, 4)).squeeze(-1).to(dtype)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("name", ["distance", "squared_distance", "translate", "local_log"])
def test_a_million_extreme_inputs_give_no_nan(name: str, dtype: torch.dtype) -> None:
    for d in (1, 3):
        v, w, c = (x.requires_grad_() for x in extreme_pairs(500_000, d, dtype))
        result = getattr(geometry, name)(v, w, c=c)
        for tensor in (result, *torch.autograd.grad(result.sum(), (v, w, c))):
            bad = (~tensor.isfinite()).nonzero()[:, 0][:1]
            assert not len(bad), f"v={v[bad]}, w={w[bad]}, c={c[bad]}, got {tensor[bad]}"
