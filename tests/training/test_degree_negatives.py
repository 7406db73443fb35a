"""Negatives by degree: as often as their degrees say, and never an edge."""

import math

import pytest
import torch

from hgcn.config import Config
from hgcn.data import Graph, split_links
from hgcn.data.pairs import keys
from hgcn.training.degree_negatives import DegreeNegatives
from hgcn.training.problem import Problem, choose

N = 12
EDGES = torch.tensor([[0, 0, 0, 0, 0, 1, 2, 6, 8, 9, 10], [1, 2, 3, 4, 5, 2, 3, 7, 9, 10, 11]])


def drawn(*, directed=False, graph_ids=None, share=1.0, count=40_000):
    edges = EDGES if directed else torch.cat((EDGES, EDGES.flip(0)), dim=1)
    graph = Graph(edges, num_nodes=N, directed=directed)
    split = split_links(graph, val=0.1, test=0.1, seed=3)
    draws = DegreeNegatives(split, N, graph_ids, share)
    return split.train.positives, draws.draw(count, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("directed", [False, True])
def test_a_pair_is_drawn_as_often_as_the_degrees_of_its_nodes_say(directed):
    edges, pairs = drawn(directed=directed)
    counts = torch.zeros(2, N, N, dtype=torch.float64)
    for matrix, some in zip(counts, (edges, pairs), strict=True):
        matrix.index_put_(tuple(some), torch.ones(some.shape[1], dtype=torch.float64), True)
    linked, found = counts if directed else counts + counts.mT
    assert not (found * linked).any()
    assert not found.diagonal().any()
    # A draw has the chance that the degrees of its ends give; one that is refused is uniform.
    out, into = linked.sum(1), linked.sum(0)
    chance = torch.outer(out, into) / linked.sum() ** 2
    free = (linked == 0) & ~torch.eye(N, dtype=torch.bool)
    expected = torch.where(free, chance, 0.0)
    expected += (1 - expected.sum()) * free / free.sum()
    expected *= found.sum()
    assert ((found - expected).abs() <= 5 * expected.sqrt() * math.sqrt(2)).all()


def test_a_share_of_the_pairs_is_drawn_so_and_none_without():
    generator = torch.Generator().manual_seed(0)
    graph = Graph(torch.cat((EDGES, EDGES.flip(0)), dim=1), num_nodes=N)
    usual = split_links(graph, val=0.1, test=0.1, seed=3).sample_negatives(1000, generator)
    assert drawn(share=0.0, count=1000)[1].equal(usual)
    some = drawn(share=0.3, count=1000)[1]
    assert some[:, 300:].equal(usual[:, 300:])
    assert not some[:, :300].equal(usual[:, :300])


def test_pairs_stay_within_their_graph():
    graph_ids = torch.tensor([0] * 6 + [1] * 6)
    edges = torch.cat((EDGES, EDGES.flip(0)), dim=1)
    graph = Graph(edges, num_nodes=N, graph_ids=graph_ids, split={"train": torch.arange(N)})
    split = split_links(graph, val=0.0, test=0.0, seed=3)
    draws = DegreeNegatives(split, N, graph_ids, 1.0)
    pairs = draws.draw(1000, torch.Generator().manual_seed(0))
    assert graph_ids[pairs[0]].equal(graph_ids[pairs[1]])
    assert not torch.isin(keys(pairs, N, unordered=True), keys(EDGES, N, unordered=True)).any()


def test_a_step_of_training_takes_them():
    graph = Graph(torch.cat((EDGES, EDGES.flip(0)), dim=1), num_nodes=N)
    found = []
    for share in (0.0, 1.0):
        config = choose(graph, Config(task="link", degree_negatives=share, negatives=50.0))
        problem = Problem(graph, config)
        task = problem.task(problem.predictor())
        batch = next(task.batches(1, torch.Generator().manual_seed(0)))
        found.append(torch.bincount(batch.negatives.reshape(-1), minlength=N)[0])
    assert found[1] != found[0]
