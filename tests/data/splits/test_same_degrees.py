"""Negatives with the degrees of the positives: degrees match, never an edge, always the same."""

import torch

from hgcn.data import Graph, split_links
from hgcn.data.splits.same_degrees import same_degree_negatives


def random_graph(nodes: int, edges: int, seed: int = 0) -> torch.Tensor:
    """Edges of a graph whose degrees differ much: the first nodes are hubs."""
    generator = torch.Generator().manual_seed(seed)
    ends = (nodes * torch.rand(2, 2 * edges, generator=generator) ** 2).long()
    low, high = ends.min(0).values, ends.max(0).values
    key = torch.unique((low * nodes + high)[low != high])
    key = key[torch.randperm(len(key), generator=generator)][:edges]
    return torch.stack((key // nodes, key % nodes))


def as_set(pairs: torch.Tensor) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in pairs.T.tolist()}


def test_degrees_are_those_of_the_positives_and_no_edge_is_drawn() -> None:
    n, edges = 2000, random_graph(2000, 6000)
    positives, visible = edges[:, :600], edges[:, 600:]
    drawn = same_degree_negatives(positives, visible, edges, n, seed=3)
    assert drawn.shape == positives.shape
    assert not as_set(drawn) & as_set(edges)
    assert bool((drawn[0] != drawn[1]).all())
    degree = torch.bincount(visible.flatten(), minlength=n)
    asked, got = degree[positives], degree[drawn]
    same = (asked == got).all(0)
    assert same.double().mean() > 0.9
    # Hubs have a degree of their own, and few pairs without an edge: these are near.
    assert (got - asked)[:, ~same].abs().double().mean() < 0.2 * asked[:, ~same].double().mean()
    # By chance degrees would be far lower, so the tests above can fail.
    assert degree.double().mean() < 0.7 * asked.double().mean()
    chance = degree[torch.randint(n, positives.shape, generator=torch.Generator().manual_seed(0))]
    assert (chance == asked).all(0).double().mean() < 0.1


def test_equal_seeds_draw_equal_pairs_and_others_do_not() -> None:
    edges = random_graph(300, 900)
    first, again, other = (
        same_degree_negatives(edges[:, :90], edges[:, 90:], edges, 300, seed=seed)
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_direction_and_doubled_edges_do_not_count() -> None:
    edges = random_graph(300, 900)
    doubled = torch.cat((edges[:, 90:], edges[:, 90:].flip(0), torch.arange(300).repeat(2, 1)), 1)
    plain = same_degree_negatives(edges[:, :90], edges[:, 90:], edges, 300, seed=0)
    both = same_degree_negatives(edges[:, :90], doubled, edges.flip(0), 300, seed=0)
    assert torch.equal(plain, both)


def test_pairs_stay_within_their_graph() -> None:
    edges = torch.cat((random_graph(100, 300), random_graph(150, 400, seed=1) + 100), dim=1)
    ids = torch.tensor([0] * 100 + [1] * 150)
    graph = Graph(torch.cat((edges, edges.flip(0)), dim=1), 250, graph_ids=ids)
    positives = split_links(
        graph.replace(split={"test": torch.arange(250)}), val=0.0, test=0.2
    ).test.positives
    drawn = same_degree_negatives(positives, edges, edges, 250, seed=0, graph_ids=ids)
    assert torch.equal(ids[drawn[0]], ids[positives[0]])
    assert torch.equal(ids[drawn[1]], ids[positives[1]])


def test_a_star_has_other_degrees_and_a_complete_graph_no_pair() -> None:
    star = torch.stack((torch.zeros(50, dtype=torch.long), torch.arange(1, 51)))
    drawn = same_degree_negatives(star[:, :5], star[:, 5:], star, 51, seed=0)
    assert drawn.shape == (2, 5)
    assert bool((drawn > 0).all())
    whole = torch.combinations(torch.arange(6)).T
    assert same_degree_negatives(whole[:, :3], whole[:, 3:], whole, 6, seed=0).shape == (2, 0)
