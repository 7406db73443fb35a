import math

import numpy as np
import pytest
import torch

from hgcn import geometry
from hgcn.data.graph import Graph
from hgcn.errors import GeometryError
from hgcn.nn.spaces import principal_plane, space_of
from hgcn.scenes.build import scene_from_embeddings
from hgcn.scenes.projection import align, project, projection_loss


def hidden_plane(n: int, d: int, *, c: float | None) -> torch.Tensor:
    """Points of a plane, turned into d dimensions: a picture without any loss exists."""
    generator = torch.Generator().manual_seed(0)
    plane = torch.randn(n, 2, generator=generator, dtype=torch.float64)
    if c is not None:
        plane = plane / math.sqrt(c)
    axes, _ = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64))
    return plane @ axes[:2]


def lost_in(points, flat, c):
    return projection_loss(points, space_of(c), flat, space_of(c))


@pytest.mark.parametrize("c", [1.0, 0.3, None])
def test_what_fits_a_plane_loses_nothing(c):
    points = hidden_plane(200, 8, c=c)
    flat, lost = project(points, c=c)
    assert flat.shape == (200, 2)
    assert lost.relative_error < 1e-9
    assert lost.correlation > 1 - 1e-9


def test_two_dimensions_are_shown_as_they_are():
    points = torch.randn(20, 2)
    flat, lost = project(points, c=2.0)
    assert lost is None
    torch.testing.assert_close(flat, points.double(), rtol=0, atol=0)
    assert project(points[:, :1], c=2.0)[0].shape == (20, 2)


@pytest.mark.parametrize("c", [1.0, None])
def test_stress_loses_less_than_principal_components(c):
    # Nodes of a positive orthant, as ReLU makes them.
    points = torch.randn(400, 10, generator=torch.Generator().manual_seed(1)).double().relu() * 1.5
    flat, lost = project(points, c=c)
    start = lost_in(points, principal_plane(points), c)
    cut = lost_in(points, points @ torch.linalg.eigh(points.T @ points)[1][:, -2:], c)
    assert lost.relative_error < 0.8 * start.relative_error
    assert lost.relative_error < 0.6 * cut.relative_error
    assert lost.correlation > start.correlation
    assert bool(flat.isfinite().all())


def test_the_loss_agrees_with_all_pairs():
    points = torch.randn(60, 5).double()
    flat = principal_plane(points)
    i, j = torch.triu_indices(60, 60, 1)
    true = geometry.distance(points[i], points[j], c=1.0)
    drawn = geometry.distance(flat[i], flat[j], c=1.0)
    lost = lost_in(points, flat, 1.0)
    expected = float(((drawn - true).abs() / true).median())
    assert lost.relative_error == pytest.approx(expected, rel=0.05)
    # The ten nearest of each node, by sorting all distances.
    near = [geometry.distance(p.unsqueeze(0), p.unsqueeze(1), c=1.0) for p in (points, flat)]
    both = [set_of.argsort(1)[:, 1:11] for set_of in near]
    kept = [len({*a.tolist()} & {*b.tolist()}) / 10 for a, b in zip(*both, strict=True)]
    assert lost.kept == pytest.approx(sum(kept) / 60)


def test_a_pair_that_nearly_coincides_does_not_spoil_the_loss():
    points = torch.randn(60, 2).double()
    lifted = torch.nn.functional.pad(points, (0, 1))
    lifted[1] = lifted[0] + 1e-9
    lost = lost_in(lifted, lifted[:, :2] + 1e-3 * torch.randn(60, 2), 1.0)
    assert lost.relative_error < 0.01


def test_the_same_seed_gives_the_same_picture():
    points = torch.randn(100, 6)
    first, second = project(points, c=1.0, seed=3)[0], project(points, c=1.0, seed=3)[0]
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert not torch.equal(first, project(points, c=1.0, seed=4)[0])


def test_far_points_stay_finite():
    points = 15 * torch.nn.functional.normalize(torch.randn(80, 6)).double()
    flat, lost = project(points, c=1.0)
    assert bool(flat.isfinite().all())
    assert lost.relative_error < 0.2


def test_layers_are_turned_and_mirrored_alike():
    first = torch.randn(50, 2).double()
    angle = 2.1
    turn = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    mirror = torch.diag(torch.tensor([1.0, -1.0])) @ turn
    _, second = align([first, first @ mirror.double()])
    torch.testing.assert_close(second, first)


@pytest.mark.parametrize(
    "points", [torch.zeros(0, 3), torch.zeros(3), torch.full((4, 3), float("nan"))]
)
def test_no_points_no_picture(points):
    with pytest.raises(GeometryError, match="Expected points"):
        project(points, c=1.0)


def test_a_hierarchy_is_drawn_from_its_tree():
    """Points that say nothing but the depth: then the picture has the order of the tree."""
    parents = [(i - 1) // 3 for i in range(1, 121)]
    edges = torch.tensor([[*range(1, 121)], parents])
    depth = torch.zeros(121)
    for child, parent in edges.T.tolist():
        depth[child] = depth[parent] + 1
    graph = Graph(edges, 121, directed=True)
    points = 3 * depth[:, None] * torch.nn.functional.normalize(torch.randn(121, 30))
    scene = scene_from_embeddings(graph, [points], [1.0], hierarchy=edges)
    assert scene.rooted
    plane = scene.layers[-1].points
    # A third of the angle belongs to each child of the root.
    angle = np.arctan2(plane[1:, 1], plane[1:, 0])
    top = np.arange(1, 121)
    while (top > 3).any():
        top = np.where(top > 3, (top - 1) // 3, top)
    centres = np.array([np.angle(np.exp(1j * angle[top == k]).mean()) for k in (1, 2, 3)])
    away = np.abs(np.angle(np.exp(1j * (angle - centres[top - 1]))))
    assert (away < np.pi / 3 + 0.3).mean() > 0.95
