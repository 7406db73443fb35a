"""Spaces agree with the geometry they stand for, and other spaces can take their place."""

import pytest
import torch

from hgcn import geometry
from hgcn.errors import ConfigError
from hgcn.geometry import Curvature
from hgcn.nn.spaces import Euclidean, Hyperbolic, Space, space_of


@pytest.fixture(params=[torch.float32, torch.float64])
def points(request: pytest.FixtureRequest) -> tuple[torch.Tensor, torch.Tensor]:
    v, w = torch.randn(2, 7, 3, dtype=request.param)
    return v.requires_grad_(), w


@pytest.mark.parametrize("c", [0.3, 1.0, 4.0])
def test_hyperbolic_space_is_the_geometry(points, c):
    v, w = points
    for space in (Hyperbolic(c), Hyperbolic(Curvature(c).to(v.dtype))):
        assert isinstance(space, Space)
        torch.testing.assert_close(
            space.squared_distance(v, w), geometry.squared_distance(v, w, c=c)
        )
        torch.testing.assert_close(space.translate(v, w), geometry.translate(v, w, c=c))
        assert space.curvatures == (pytest.approx(c),)
        torch.testing.assert_close(
            space.coordinates(v, "ball"), geometry.to_ball(v.double(), c=c), rtol=1e-6, atol=1e-7
        )
        torch.testing.assert_close(
            space.coordinates(v, "hyperboloid"), geometry.to_hyperboloid(v.double(), c=c),
            rtol=1e-6, atol=1e-7,
        )  # fmt: skip
        assert space.coordinates(v, "normal") is v


def test_gradients_reach_the_points_and_the_curvature(points):
    v, w = points
    curvature = Curvature(0.7).to(v.dtype)
    Hyperbolic(curvature).squared_distance(v, w).sum().backward()
    c = torch.tensor(0.7, dtype=v.dtype, requires_grad=True)
    at = v.detach().requires_grad_()
    geometry.squared_distance(at, w, c=c).sum().backward()
    torch.testing.assert_close(v.grad, at.grad, rtol=1e-5, atol=1e-6)
    # The parameter is the logarithm of c over its start.
    torch.testing.assert_close(curvature.raw.grad, 0.7 * c.grad, rtol=1e-4, atol=1e-5)


def test_flat_space_is_plain(points):
    v, w = points
    space = Euclidean()
    assert isinstance(space, Space)
    torch.testing.assert_close(space.squared_distance(v, w), (v - w).norm(dim=-1).square())
    torch.testing.assert_close(space.translate(v, w), v + w)
    assert space.curvatures == ()
    with pytest.raises(ConfigError, match="'normal' for embeddings that are Euclidean, got 'ball'"):
        space.coordinates(v, "ball")


@pytest.mark.parametrize("space", [Euclidean(), Hyperbolic(1.0)])
def test_unknown_coordinates_are_refused(space):
    with pytest.raises(
        ConfigError, match="one of 'normal', 'hyperboloid', 'ball', 'mips', got 'bowl'"
    ):
        space.coordinates(torch.zeros(1, 2), "bowl")


def test_a_plane_keeps_radii_and_the_widest_directions():
    points = torch.randn(50, 5, dtype=torch.float64) * torch.tensor([9.0, 5.0, 0.1, 0.1, 0.1])
    for space, c in ((Euclidean(), None), (Hyperbolic(0.5), 0.5)):
        flat, curvature = space.plane(points)
        assert curvature == c
        torch.testing.assert_close(flat.norm(dim=1), points.norm(dim=1))
        cosine = torch.nn.functional.cosine_similarity(flat.abs(), points[:, :2].abs())
        assert cosine.min() > 0.9


def test_none_stands_for_flat():
    assert space_of(None) == Euclidean()
    assert space_of(2.0).curvatures == (2.0,)
