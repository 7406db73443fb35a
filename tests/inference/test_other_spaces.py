"""A space of somebody else's works wherever embeddings are used."""

from dataclasses import dataclass

import pytest
import torch

from hgcn.inference import missing_links
from hgcn.inference.missing_links import closest_pairs
from hgcn.nn.spaces import Euclidean, Hyperbolic, Space
from hgcn.scenes.build import scene_from_embeddings
from small_graphs import forest, tree


@dataclass(frozen=True)
class Product:
    """A flat and a hyperbolic plane side by side."""

    c: float

    @property
    def curvatures(self):
        return (self.c,)

    def squared_distance(self, v, w):
        flat = Euclidean().squared_distance(v[..., :2], w[..., :2])
        return flat + Hyperbolic(self.c).squared_distance(v[..., 2:], w[..., 2:])

    def translate(self, v, t):
        curved = Hyperbolic(self.c).translate(v[..., 2:], t[..., 2:])
        return torch.cat((v[..., :2] + t[..., :2], curved), dim=-1)

    def coordinates(self, v, name):
        return v

    def plane(self, v):
        return v[:, 2:].clone(), self.c


@pytest.mark.parametrize("graph", [tree(40), tree(40, directed=True), forest((20, 15))])
@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("space", [Euclidean(), Hyperbolic(0.7)])
def test_the_search_in_blocks_finds_what_the_compiled_one_does(graph, per_node, space, monkeypatch):
    z = torch.randn(graph.num_nodes, 4)
    z[3] = z[7]  # equal distances are ordered by node
    compiled = closest_pairs(z, graph, 9, space=space, per_node=per_node)
    monkeypatch.setattr(missing_links, "search_form", lambda space, z: None)
    for block in (10**6, 90):
        monkeypatch.setattr(missing_links, "PLAIN_BLOCK", block)
        plain = closest_pairs(z, graph, 9, space=space, per_node=per_node)
        assert plain[0].equal(compiled[0])
        torch.testing.assert_close(plain[1], compiled[1])


def test_a_product_of_spaces_is_searched_and_drawn():
    space, graph, z = Product(0.5), tree(30), torch.randn(30, 4)
    assert isinstance(space, Space)
    pairs, square = closest_pairs(z, graph, 500, space=space)
    torch.testing.assert_close(square, space.squared_distance(*z.double()[pairs]))
    assert bool((square.diff() >= 0).all())
    (layer,) = scene_from_embeddings(graph, [z], [space]).layers
    assert layer.curvature == 0.5
    assert layer.lost is not None
