"""The nearest of many points, against all distances, at every radius."""

import numpy as np
import pytest
import torch

import hgcn
from hgcn import geometry
from hgcn.errors import ConfigError, DataError, HGCNError
from hgcn.nearest.points import Points, told_apart
from hgcn.nearest.search import Nearest
from hgcn.nn.spaces import Euclidean, Hyperbolic

N = 700


def cloud(radius: float, d: int = 4, seed: int = 0) -> torch.Tensor:
    """Points up to a radius, more of them far out; some twice, and one at the origin."""
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(N, d, generator=generator, dtype=torch.float64)
    length = radius * torch.rand(N, 1, generator=generator, dtype=torch.float64).sqrt()
    v = v / v.norm(dim=1, keepdim=True) * length
    v[10:20] = v[20:30]
    v[5] = 0
    return v


def all_distances(z: torch.Tensor, c: float | None) -> torch.Tensor:
    if c is None:
        return (z[:, None] - z[None]).norm(dim=-1)
    return geometry.distance(z[:, None], z[None], c=c)


@pytest.mark.parametrize("c", [None, 0.3, 2.0])
@pytest.mark.parametrize("radius", [0.01, 1.0, 6.0, 12.0, 40.0])
def test_the_nearest_are_those_of_all_distances(radius, c):
    z = cloud(radius)
    numbers, distance = Nearest(z, Euclidean() if c is None else Hyperbolic(c)).of(np.arange(N), 9)
    square = all_distances(z, c).fill_diagonal_(torch.inf)
    expected = square.sort(dim=1)[0][:, :9]
    torch.testing.assert_close(torch.from_numpy(distance), expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(
        square.gather(1, torch.from_numpy(numbers)), expected, rtol=1e-9, atol=1e-12
    )
    assert all(len(set(row)) == 9 for row in numbers.tolist())


def test_equally_near_points_come_in_their_order():
    z = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    numbers, distance = Nearest(z, Hyperbolic(1.0)).of(np.array([0]), 4)
    assert numbers.tolist() == [[1, 2, 3, 4]]
    assert distance.tolist() == [pytest.approx([1.0] * 4)]


@pytest.mark.parametrize("coordinates", ["normal", "ball", "hyperboloid"])
def test_any_coordinates_give_the_same_neighbours(coordinates):
    z, queries = cloud(3.0), cloud(3.0, seed=1)[:50]
    space = Hyperbolic(0.5)
    own = [space.coordinates(v, coordinates) for v in (z, queries)]
    numbers, distance = hgcn.neighbours(*own, k=5, coordinates=coordinates, c=0.5)
    expected = geometry.distance(queries[:, None], z[None], c=0.5).sort(dim=1)[0][:, :5]
    torch.testing.assert_close(torch.from_numpy(distance), expected, rtol=1e-6, atol=1e-7)
    assert numbers.shape == (50, 5)


def test_results_do_not_depend_on_threads(monkeypatch):
    z = cloud(8.0)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(Nearest(z, Hyperbolic(1.0)).of(np.arange(N), 6))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("radius", [0.5, 4.0, 10.0])
def test_products_of_mips_vectors_order_points_as_distances_do(radius):
    z, space = cloud(radius), Hyperbolic(1.5)
    stored, queries = (space.coordinates(z, name) for name in ("mips", "hyperboloid"))
    products = queries @ stored.T
    distance = all_distances(z, 1.5)
    order = products.argsort(dim=1, descending=True, stable=True)[:, :10]
    least = distance.sort(dim=1)[0][:, :10]
    apart = told_apart(radius * 1.5**0.5) * 2.0**-14  # double precision has 29 more bits
    torch.testing.assert_close(distance.gather(1, order), least, rtol=0, atol=apart)


def test_single_precision_tells_apart_what_is_said():
    z = torch.zeros(2000, 3, dtype=torch.float64)
    z[:, 0] = 7.0
    z[:, 1] = torch.linspace(0, 2e-2, 2000, dtype=torch.float64)
    space = Hyperbolic(1.0)
    stored, queries = (space.coordinates(z, name).float() for name in ("mips", "hyperboloid"))
    far = geometry.distance(z[:1], z, c=1.0)
    product = queries[:1] @ stored.T
    apart = told_apart(7.0)
    assert far.max() > 2 * apart  # what follows says something
    assert product[0, 0] > product[0, far > 2 * apart].max()
    assert 0.05 < apart < 1


@pytest.mark.parametrize(
    ("points", "settings", "message"),
    [
        (np.zeros((3, 0)), {}, "matrix"),
        (np.zeros(3), {}, "matrix"),
        (np.zeros((0, 2)), {}, "at least one point"),
        ([[0.0, float("nan")], [0, 0]], {}, "finite coordinates, got nan in row 0, column 1"),
        ([[2.0, 0.0], [0, 0]], {"coordinates": "ball"}, "ball"),
        ([[2.0, 0.0], [1, 0]], {"coordinates": "hyperboloid"}, "hyperboloid"),
        ([["a", "b"]], {}, "matrix of numbers"),
        (np.zeros((3, 2)), {"k": 3}, "`k` to be at most 2"),
        (np.zeros((3, 2)), {"k": 0}, "`k` to be a whole number"),
        (np.zeros((3, 2)), {"k": 1, "c": -1.0}, "`c` to be a number of at least 0"),
        (np.zeros((3, 2)), {"k": 1, "coordinates": "bal"}, "Did you mean 'ball'"),
        (np.zeros((3, 2)), {"k": 1, "coordinates": "ball", "c": 0}, "in flat space"),
        (np.zeros((3, 2)), {"k": 1, "queries": np.zeros((1, 3))}, r"matrix \[n, 2\]"),
    ],
)
def test_what_makes_no_sense_is_refused(points, settings, message):
    with pytest.raises(HGCNError, match=message):
        hgcn.neighbours(points, **{"k": 1, **settings})


def test_unknown_ids_are_refused_with_the_near_miss():
    ids = np.array(["dog", "cat", "cow"])
    points = Points(torch.eye(3), Hyperbolic(1.0), ids)
    assert points.find(["cow", "dog"]).tolist() == [2, 0]
    with pytest.raises(DataError, match=r"got 'dgo'\. Did you mean 'dog'"):
        points.find(["cat", "dgo"])
    with pytest.raises(ConfigError, match="at most 2"):
        points.neighbour_blocks(None, 3)
