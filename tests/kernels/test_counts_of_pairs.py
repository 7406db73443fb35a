"""Counts of what two nodes have in common: against NetworkX, between backends, and on hubs."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch

from hgcn import kernels
from hgcn.kernels import torch_twin
from hgcn.kernels.numba_cpu import counts_of_pairs
from hgcn.nn.structure import both_ways


def shown(graph):
    """The edges of a NetworkX graph, as the operation takes them."""
    edges = list(graph.edges(data="weight"))
    if not graph.is_directed():
        edges += [(b, a, w) for a, b, w in edges]
    ends = torch.tensor([edge[:2] for edge in edges], dtype=torch.int64).reshape(-1, 2).T
    weighted = bool(edges) and edges[0][2] is not None
    weight = torch.tensor([edge[2] for edge in edges]).double() if weighted else None
    return both_ways(ends, weight, graph.number_of_nodes())


def all_pairs(n):
    return torch.tensor(list(itertools.permutations(range(n), 2))).T


def expected(graph, i, j):
    """The row of a pair by its definition, on a graph without the edge between the two."""
    directed = graph.to_directed()
    both = graph.to_undirected().copy()
    degree = dict(both.degree())
    if both.has_edge(i, j):
        both.remove_edge(i, j)
    common = sorted(nx.common_neighbors(both, i, j))
    paths = [p for p in nx.all_simple_paths(both, i, j, cutoff=3) if len(p) == 4]
    distance = nx.shortest_path_length(both, i, j) if nx.has_path(both, i, j) else 0

    def ways(first, second):
        return sum(directed.has_edge(*first(u)) and directed.has_edge(*second(u)) for u in common)

    return [
        len(common),
        sum(1 / np.log(max(2, degree[u])) for u in common),
        sum(1 / degree[u] for u in common),
        len(paths),
        sum((degree[p[1]] * degree[p[2]]) ** -0.5 for p in paths),
        distance if distance <= kernels.FARTHEST else 0,
        ways(lambda u: (i, u), lambda u: (u, j)),
        ways(lambda u: (j, u), lambda u: (u, i)),
        ways(lambda u: (i, u), lambda u: (j, u)),
        ways(lambda u: (u, i), lambda u: (u, j)),
    ]


GRAPHS = {
    "sparse": nx.gnm_random_graph(30, 40, seed=0),
    "dense": nx.gnm_random_graph(16, 60, seed=1),
    "path": nx.path_graph(20),
    "directed": nx.gnm_random_graph(18, 60, seed=2, directed=True),
    "hub": nx.Graph([*nx.star_graph(30).edges, (1, 31), (2, 32), (1, 2), (31, 32), (32, 33)]),
    "no edges": nx.empty_graph(4),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backend", [counts_of_pairs.counts, torch_twin.pair_counts])
def test_counts_are_those_of_their_definitions(name, backend):
    graph = GRAPHS[name]
    pairs, edges = all_pairs(graph.number_of_nodes()), shown(graph)
    found = backend(pairs, edges.weight, edges.direction, edges.graph)
    rows = [expected(graph, i, j) for i, j in pairs.T.tolist()]
    torch.testing.assert_close(found, torch.tensor(rows, dtype=torch.float64))


def test_backends_agree_on_weighted_edges():
    graph = nx.gnm_random_graph(25, 70, seed=3)
    for number, (a, b) in enumerate(graph.edges):
        graph[a][b]["weight"] = 0.1 + number % 7
    pairs, edges = all_pairs(25), shown(graph)
    one = counts_of_pairs.counts(pairs, edges.weight, edges.direction, edges.graph)
    two = torch_twin.pair_counts(pairs, edges.weight, edges.direction, edges.graph)
    torch.testing.assert_close(one, two)
    plain = edges._replace(weight=torch.ones_like(edges.weight))
    other = counts_of_pairs.counts(pairs, plain.weight, plain.direction, plain.graph)
    assert (one[:, 2] - other[:, 2]).abs().max() > 0.05  # weights count


def test_the_mean_of_sampled_counts_is_the_count():
    """Hubs with more neighbours than are looked at; each pair draws a sample of its own."""
    hubs, leaves, linked = 30, 3 * counts_of_pairs.MOST_SHARED, 90
    near = torch.rand(hubs, leaves, generator=torch.Generator().manual_seed(0)) < 0.7
    ends = near.nonzero().T + torch.tensor([[0], [hubs]])
    ends = torch.cat((ends, torch.combinations(hubs + torch.arange(linked)).T), dim=1)
    edges = both_ways(torch.cat((ends, ends.flip(0)), dim=1), None, hubs + leaves)
    pairs = torch.combinations(torch.arange(hubs)).T
    found = kernels.pair_counts(pairs, edges.weight, edges.direction, edges.graph)
    rows = near.double()
    inner = 1 - torch.eye(linked).double()
    exact = rows @ rows.T, rows[:, :linked] @ inner @ rows[:, :linked].T
    for column, matrix in zip((0, 3), exact, strict=True):
        of_pairs = matrix[tuple(pairs)]
        assert not torch.equal(found[:, column], of_pairs)  # sampled
        error = found[:, column] - of_pairs
        assert abs(error.mean()) < 3 * error.std() / len(error) ** 0.5
        assert abs(error.mean()) < 0.1 * of_pairs.mean()
