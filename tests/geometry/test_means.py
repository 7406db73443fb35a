"""Lorentz centroid and Fréchet mean."""

import math

import pytest
import torch
from torch import Tensor

from hgcn import geometry

MEANS = [geometry.centroid, geometry.frechet_mean]


def cloud(count: int, m: int, d: int, radius: float) -> tuple[Tensor, Tensor]:
    u = torch.randn(count, m, d, dtype=torch.float64)
    r = radius * torch.rand(count, m, 1, dtype=torch.float64)
    return u / u.norm(dim=-1, keepdim=True) * r, torch.rand(count, m, dtype=torch.float64)


@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
def test_centroid_is_the_scaled_sum_on_the_hyperboloid(c: float) -> None:
    p, weights = cloud(100, 5, 3, 4.0)
    p = p / math.sqrt(c)
    total = (weights[..., None] * geometry.to_hyperboloid(p, c=c)).sum(-2)
    inner = total[:, 0] ** 2 - total[:, 1:].square().sum(-1)
    expected = geometry.from_hyperboloid(total / (c * inner).sqrt()[:, None], c=c)
    torch.testing.assert_close(geometry.centroid(p, weights, c=c), expected, rtol=1e-8, atol=1e-9)


def test_centroid_is_the_einstein_midpoint() -> None:
    p, weights = cloud(100, 5, 3, 4.0)
    radius = p.norm(dim=-1, keepdim=True)
    klein = p / radius * radius.tanh()
    gamma = weights[..., None] / (1 - klein.square().sum(-1, keepdim=True)).sqrt()
    midpoint = (gamma * klein).sum(-2) / gamma.sum(-2)
    size = midpoint.norm(dim=-1, keepdim=True)
    expected = midpoint / size * size.atanh()
    torch.testing.assert_close(geometry.centroid(p, weights, c=1.0), expected)


@pytest.mark.parametrize("radius", [0.01, 1.0, 10.0, 35.0])
def test_frechet_mean_is_where_the_pulls_balance(radius: float) -> None:
    for m, d in ((3, 2), (10, 3), (8, 16)):
        p, weights = cloud(100, m, d, radius)
        mean = geometry.frechet_mean(p, weights, c=1.0)
        logs = geometry.local_log(mean[:, None], p, c=1.0)
        pull = (weights[..., None] * logs).sum(-2)
        torch.testing.assert_close(pull / radius, torch.zeros_like(pull), rtol=0, atol=1e-3)
        assert pull.norm(dim=-1).median() < 1e-9 * radius


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mean_of_two_is_the_geodesic_midpoint(mean: object, dtype: torch.dtype) -> None:
    v, w = torch.randn(2, 200, 3, dtype=dtype) * 3
    middle = mean(torch.stack((v, w), dim=-2), c=0.5)  # type: ignore[operator]
    expected = geometry.geodesic(v, w, 0.5, c=0.5)
    torch.testing.assert_close(middle, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mean", MEANS)
def test_means_move_with_the_points(mean: object) -> None:
    p, weights = cloud(50, 6, 3, 3.0)
    shift = torch.randn(50, 3, dtype=torch.float64)
    moved = mean(geometry.translate(shift[:, None], p, c=1.0), weights, c=1.0)  # type: ignore[operator]
    expected = geometry.translate(shift, mean(p, weights, c=1.0), c=1.0)  # type: ignore[operator]
    torch.testing.assert_close(moved, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("mean", MEANS)
def test_far_clusters_keep_their_digits(mean: object) -> None:
    """At radius 30 the plain sum on the hyperboloid is off by more than the cluster's size."""
    p, weights = cloud(50, 6, 3, 1.0)
    shift = torch.tensor([25.0, 0.0, 0.0], dtype=torch.float64)
    moved = mean(geometry.translate(shift, p, c=1.0), weights, c=1.0)  # type: ignore[operator]
    back = geometry.translate(-shift, moved, c=1.0)
    torch.testing.assert_close(back, mean(p, weights, c=1.0), rtol=0, atol=1e-4)  # type: ignore[operator]


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("radius", [0.05, 2.0])
def test_gradcheck(mean: object, radius: float) -> None:
    p, weights = cloud(3, 4, 2, radius)
    p[0, 0] = 0
    c = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (p, weights, c)]
    assert torch.autograd.gradcheck(lambda p, w, c: mean(p, w, c=c), inputs)  # type: ignore[operator]


def test_implicit_gradient_equals_the_unrolled_one() -> None:
    p, weights = cloud(20, 5, 3, 2.0)
    c = torch.tensor(0.7, dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (p, weights, c)]

    def unrolled(p: Tensor, weights: Tensor, c: Tensor) -> Tensor:
        share = weights / weights.sum(-1, keepdim=True)
        mean = torch.zeros_like(p[:, 0])
        for _ in range(150):
            pull = (share[..., None] * geometry.local_log(mean[:, None], p, c=c)).sum(-2)
            mean = geometry.translate(mean, 0.5 * pull, c=c)
        return mean

    probe = torch.randn(20, 3, dtype=torch.float64)
    ours = torch.autograd.grad((probe * geometry.frechet_mean(p, weights, c=c)).sum(), inputs)
    theirs = torch.autograd.grad((probe * unrolled(*inputs)).sum(), inputs)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_degenerate_clouds(mean: object, dtype: torch.dtype) -> None:
    p = torch.randn(2, 3, 4, dtype=dtype)
    cases = [
        (torch.zeros_like(p), None, torch.zeros(2, 4, dtype=dtype)),
        (p, torch.zeros(2, 3, dtype=dtype), torch.zeros(2, 4, dtype=dtype)),
        (p, torch.tensor([[0.0, 1.0, 0.0]] * 2, dtype=dtype), p[:, 1]),
        (p[:, :1], None, p[:, 0]),
        (p[:, :1].expand(2, 3, 4), None, p[:, 0]),
        (1e30 * p, None, None),
        (torch.cat((40 * p, -40 * p), dim=1), None, torch.zeros(2, 4, dtype=dtype)),
    ]
    for given, weights, expected in cases:
        given = given.clone().requires_grad_()  # noqa: PLW2901
        result = mean(given, weights, c=1.0)  # type: ignore[operator]
        (gradient,) = torch.autograd.grad(result.sum(), given)
        assert result.isfinite().all()
        assert gradient.isfinite().all()
        if expected is not None:
            torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)
