"""The exact search against all distances, computed one by one."""

import mpmath
import numpy as np
import pytest
import torch

import hgcn
from hgcn import geometry
from hgcn.errors import ConfigError, GeometryError, HGCNError

N, K = 300, 7


def cloud(radius, n=N, dimensions=5, seed=0):
    """Points up to a radius, half of them close to another one."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n, dimensions))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = radius * rng.uniform(0.5, 1, size=(n, 1)) * u
    near = len(v[n // 2 :])
    v[n // 2 :] = v[:near] * (1 + 1e-3 * rng.normal(size=(near, 1)))
    return v + radius * 1e-6 * rng.normal(size=v.shape)


def exact(v, w, c):
    """A hyperbolic distance with 60 digits, by the law of cosines."""
    with mpmath.workdps(60):
        v, w = ([mpmath.mpf(float(x)) for x in point] for point in (v, w))
        a, b = (mpmath.sqrt(sum(x * x for x in point)) for point in (v, w))
        cosine = sum(x * y for x, y in zip(v, w, strict=True)) / (a * b)
        root = mpmath.sqrt(c)
        cosh = mpmath.cosh(root * a) * mpmath.cosh(root * b)
        return mpmath.acosh(cosh - mpmath.sinh(root * a) * mpmath.sinh(root * b) * cosine) / root


def all_distances(v, w, c):
    v, w = (torch.from_numpy(x) for x in (v, w))
    v, w = torch.broadcast_tensors(v[:, None], w[None])
    if not c:
        return (v - w).norm(dim=2).numpy().copy()
    return geometry.distance(v.contiguous(), w.contiguous(), c=c).numpy().copy()


@pytest.mark.parametrize("c", [None, 1.0, 0.3])
@pytest.mark.parametrize("radius", [0.01, 1.0, 12.0, 40.0])
def test_the_nearest_are_those_of_all_distances(radius, c):
    v = cloud(radius)
    full = all_distances(v, v, c)
    np.fill_diagonal(full, np.inf)
    numbers, distance = hgcn.neighbours(v, k=K, c=c)
    least = np.sort(full, axis=1)[:, :K]
    np.testing.assert_allclose(distance, least, rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(full, numbers, 1), least, rtol=1e-9)
    assert all(len(set(row)) == K and at not in row for at, row in enumerate(numbers.tolist()))


@pytest.mark.parametrize("radius", [0.01, 12.0, 40.0])
def test_the_nearest_are_those_of_sixty_digits(radius):
    v = cloud(radius, n=40)
    numbers, distance = hgcn.neighbours(v, v[:3] * 0.99, k=K, c=0.7)
    for q in range(3):
        full = [exact(v[q] * 0.99, w, 0.7) for w in v]
        assert numbers[q].tolist() == sorted(range(len(v)), key=full.__getitem__)[:K]
        np.testing.assert_allclose(distance[q], sorted(map(float, full))[:K], rtol=1e-9)


@pytest.mark.parametrize("coordinates", ["hyperboloid", "ball"])
def test_other_coordinates_have_the_same_neighbours(coordinates):
    v = torch.from_numpy(cloud(3.0))
    to = geometry.to_ball if coordinates == "ball" else geometry.to_hyperboloid
    wanted = hgcn.neighbours(v, k=K, c=0.5)
    found = hgcn.neighbours(to(v, c=0.5), k=K, coordinates=coordinates, c=0.5)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_points_come_by_number(dtype):
    numbers, distance = hgcn.neighbours(torch.ones(5, 3, dtype=dtype), k=4)
    assert numbers.tolist()[2] == [0, 1, 3, 4]
    assert not distance.any()


@pytest.mark.parametrize(
    ("points", "options", "error", "said"),
    [
        (np.ones(3), {}, HGCNError, "a matrix"),
        (np.ones((0, 3)), {}, HGCNError, "at least one point, got none"),
        ([["a", "b"]], {}, HGCNError, "matrix of numbers"),
        ([[0.0, np.nan], [0.0, 1.0]], {"k": 1}, HGCNError, "got nan in row 0, column 1"),
        (np.ones((3, 2)), {"k": 3}, ConfigError, "`k` to be at most 2"),
        (np.ones((3, 2)), {"k": 0}, ConfigError, "whole number of at least 1, got 0"),
        (np.ones((3, 2)), {"k": 1, "coordinates": "bal"}, ConfigError, "Did you mean 'ball'"),
        (np.ones((3, 2)), {"k": 1, "coordinates": "ball"}, GeometryError, "normal coordinates"),
        (np.ones((3, 2)), {"k": 1, "coordinates": "ball", "c": 0}, ConfigError, "flat space"),
        (np.ones((3, 2)), {"k": 1, "c": -1.0}, ConfigError, "`c` to be a number of at least 0"),
        (np.ones((3, 2)), {"k": 1, "queries": np.ones((1, 3))}, HGCNError, r"\[n, 2\]"),
    ],
)
def test_bad_input_is_told(points, options, error, said):
    with pytest.raises(error, match=said):
        hgcn.neighbours(points, **options)
