"""Paths between two points."""

import numpy as np
import pytest
import torch

from hgcn import geometry
from hgcn.errors import ConfigError, DataError
from hgcn.nearest.paths import path_between
from hgcn.nearest.points import Points
from hgcn.nn.spaces import Euclidean, Hyperbolic


def tree() -> Points:
    """A root, two children on opposite sides, and two children of each, far out."""
    angle = torch.tensor([0.0, 0.0, np.pi, -0.2, 0.2, np.pi - 0.2, np.pi + 0.2])
    radius = torch.tensor([0.0, 3.0, 3.0, 6.0, 6.0, 6.0, 6.0])
    z = radius[:, None] * torch.stack((angle.cos(), angle.sin()), dim=1)
    ids = np.array(["root", "left", "right", "a", "b", "c", "d"])
    return Points(z, Hyperbolic(1.0), ids)


def test_the_way_between_leaves_leads_over_their_common_ancestor():
    assert path_between(tree(), "a", "c")["id"].to_list() == ["a", "left", "root", "right", "c"]
    assert path_between(tree(), "a", "b")["id"].to_list() == ["a", "left", "b"]


def test_positions_rise_and_distances_are_those_to_the_geodesic():
    points = tree()
    way = path_between(points, "a", "d")
    position = way["position"].to_list()
    assert position == sorted(position)
    assert (position[0], position[-1]) == (0, 1)
    ends = points.z[[3, 6]].double()
    places = geometry.geodesic(ends[0], ends[1], torch.linspace(0, 1, 20_001).double(), c=1.0)
    for node, distance in way.select("id", "distance").iter_rows():
        own = points.z[points.find([node])].double()
        least = float(geometry.distance(own, places, c=1.0).min())
        assert least - 1e-9 <= distance <= least + 0.01


def test_flat_points_lie_along_a_line():
    z = torch.tensor([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [1.0, 5.0]])
    way = path_between(Points(z, Euclidean(), np.arange(4)), 0, 2)
    assert way["id"].to_list() == [0, 1, 2]
    assert way["distance"].to_list() == pytest.approx([0, 0.1, 0])


def test_ends_must_be_two_known_nodes():
    with pytest.raises(ConfigError, match="two different ends"):
        path_between(tree(), "a", "a")
    with pytest.raises(DataError, match="Did you mean 'root'"):
        path_between(tree(), "a", "rot")
