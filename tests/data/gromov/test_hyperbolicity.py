"""Hyperbolicity against all quadruples written out, and against values known from theory."""

from __future__ import annotations

import itertools
import os

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hgcn.data import load
from hgcn.data.graph import Graph
from hgcn.data.gromov.distances import diameter, eccentricities, hop_distances
from hgcn.data.gromov.report import RANDOM, TREE_LIKE, Hyperbolicity, hyperbolicity
from hgcn.errors import GraphError


def delta_of(distance: dict[int, dict[int, int]], four: tuple[int, ...]) -> float:
    a, b, c, d = four
    sums = sorted(
        distance[i][j] + distance[k][m] for i, j, k, m in ((a, b, c, d), (a, c, b, d), (a, d, b, c))
    )
    return (sums[2] - sums[1]) / 2


def brute_force(graph: networkx.Graph) -> list[float]:
    distance = dict(networkx.all_pairs_shortest_path_length(graph))
    return [delta_of(distance, four) for four in itertools.combinations(graph, 4)]


def as_graph(graph: networkx.Graph, **fields: object) -> Graph:
    edges = torch.tensor(list(graph.edges), dtype=torch.int64).reshape(-1, 2).T
    both = torch.cat((edges, edges.flip(0)), dim=1)
    return Graph(both, graph.number_of_nodes(), **fields)  # type: ignore[arg-type]


def random_connected(n: int, extra: int, seed: int) -> networkx.Graph:
    graph = networkx.random_labeled_tree(n, seed=seed)
    generator = np.random.default_rng(seed)
    graph.add_edges_from(
        pair for pair in generator.integers(n, size=(extra, 2)) if pair[0] != pair[1]
    )
    return networkx.convert_node_labels_to_integers(graph)


@settings(max_examples=40)
@given(n=st.integers(4, 14), extra=st.integers(0, 14), seed=st.integers(0, 2**16))
def test_exact_delta_is_the_largest_of_all_quadruples(n: int, extra: int, seed: int) -> None:
    graph = random_connected(n, extra, seed)
    deltas = brute_force(graph)
    # Without samples there is no value to start from: the search has to find it alone.
    result = hyperbolicity(as_graph(graph), samples=0)
    assert result.exact
    assert result.delta == max(deltas)
    assert result.diameter == networkx.diameter(graph)


@pytest.mark.parametrize(
    "graph",
    [
        networkx.petersen_graph(),
        networkx.dodecahedral_graph(),
        networkx.circular_ladder_graph(9),
        networkx.karate_club_graph(),
        networkx.gnm_random_graph(30, 60, seed=0),
    ],
)
def test_exact_delta_of_graphs_with_symmetry_or_hubs(graph: networkx.Graph) -> None:
    assert hyperbolicity(as_graph(graph), samples=0).delta == max(brute_force(graph))


@pytest.mark.parametrize("seed", range(4))
def test_exact_delta_of_larger_graphs_and_its_quadruple(seed: int) -> None:
    graph = random_connected(40, 14, seed)
    result = hyperbolicity(as_graph(graph), samples=0)
    distance = dict(networkx.all_pairs_shortest_path_length(graph))
    assert result.delta == max(brute_force(graph)) > 0
    assert delta_of(distance, result.quadruple) == result.delta


@pytest.mark.parametrize("seed", range(3))
def test_samples_follow_the_distribution_of_all_quadruples(seed: int) -> None:
    graph = random_connected(20, 8, seed)
    deltas = brute_force(graph)
    result = hyperbolicity(as_graph(graph), samples=40_000, exact=False, seed=seed)
    assert result.samples == sum(result.counts.values()) == 40_000
    assert result.average == pytest.approx(np.mean(deltas), abs=5 * np.std(deltas) / 200)
    for delta, count in result.counts.items():
        share = np.mean(np.array(deltas) == delta)
        assert count / 40_000 == pytest.approx(share, abs=0.0125)  # five standard deviations
    assert result.average_distance == pytest.approx(
        networkx.average_shortest_path_length(graph), abs=0.05
    )


@pytest.mark.parametrize(
    ("graph", "delta"),
    [
        (networkx.path_graph(30), 0),
        (networkx.star_graph(30), 0),
        (networkx.balanced_tree(3, 4), 0),
        (networkx.complete_graph(9), 0),
        (networkx.barbell_graph(6, 4), 0),
        # A cycle of n nodes: n = 4k gives k, 4k + 1 gives k - 1/2, 4k + 2 and 4k + 3 give k.
        *((networkx.cycle_graph(n), n // 4 - (0.5 if n % 4 == 1 else 0)) for n in range(4, 25)),
        # A grid: the shorter side less one.
        *((networkx.grid_2d_graph(p, q), min(p, q) - 1) for p, q in ((2, 9), (5, 5), (4, 11))),
        (networkx.complete_bipartite_graph(3, 4), 1),
        (networkx.hypercube_graph(4), 2),
    ],
)
def test_known_values(graph: networkx.Graph, delta: float) -> None:
    result = hyperbolicity(as_graph(networkx.convert_node_labels_to_integers(graph)), samples=100)
    assert result.exact
    assert result.delta == delta


def test_large_tree_is_known_without_a_search() -> None:
    parent = np.random.default_rng(0).integers(0, np.arange(1, 50_000))
    edges = torch.from_numpy(np.stack((np.arange(1, 50_000), parent)))
    result = hyperbolicity(Graph(torch.cat((edges, edges.flip(0)), dim=1), 50_000))
    assert result.exact
    assert (result.delta, result.average) == (0, 0)
    assert result.sources < result.nodes
    assert "should help" in result.advice


@settings(max_examples=40)
@given(n=st.integers(2, 150), extra=st.integers(0, 60), seed=st.integers(0, 2**16))
def test_searches_give_the_distances_of_networkx(n: int, extra: int, seed: int) -> None:
    graph = random_connected(n, extra, seed)
    matrix = networkx.to_scipy_sparse_array(graph, nodelist=range(n), format="csr")
    start, other = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    expected = networkx.floyd_warshall_numpy(graph, nodelist=range(n))
    nodes = np.random.default_rng(seed).permutation(n)[: max(1, n // 2)]
    hops, farthest = hop_distances(start, other, nodes)
    np.testing.assert_array_equal(hops, expected[np.ix_(nodes, nodes)])
    np.testing.assert_array_equal(farthest, expected[nodes].max(axis=1))
    np.testing.assert_array_equal(eccentricities(start, other, nodes), farthest)
    assert diameter(start, other, most=10_000) == (expected.max(), True)
    # A search that is cut short says so, and never claims too much.
    short, certain = diameter(start, other, most=0)
    assert short <= expected.max()
    assert not certain or short == expected.max()


def test_a_long_path_does_not_overflow() -> None:
    result = hyperbolicity(as_graph(networkx.path_graph(70_000)), samples=100)
    assert (result.diameter, result.diameter_exact) == (69_999, True)
    assert result.delta == 0


def test_largest_component_by_the_user_s_ids() -> None:
    # A square with a tail, a triangle and a lonely node; one loop; ids are words.
    edges = torch.tensor([[4, 5, 6, 7, 7, 0, 1, 2, 5], [5, 6, 7, 4, 8, 1, 2, 0, 5]])
    ids = np.array([f"node {i}" for i in range(10)])
    graph = Graph(torch.cat((edges, edges.flip(0)), dim=1), 10, ids=ids)
    result = hyperbolicity(graph, samples=0)
    assert (result.total_nodes, result.nodes, result.edges) == (10, 5, 5)
    assert result.delta == 1
    assert set(result.quadruple) == {"node 4", "node 5", "node 6", "node 7"}


def test_directions_do_not_count() -> None:
    cycle = torch.stack((torch.arange(8), (torch.arange(8) + 1) % 8))
    assert hyperbolicity(Graph(cycle, 8, directed=True)).delta == 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_than_four_nodes(n: int) -> None:
    result = hyperbolicity(as_graph(networkx.path_graph(n)))
    assert (result.delta, result.samples, result.diameter) == (0, 0, n - 1)
    assert "Too few" in str(result)


def test_equal_seeds_give_equal_results() -> None:
    graph = as_graph(random_connected(60, 60, 0))
    first, again, other = (hyperbolicity(graph, samples=500, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.counts != other.counts


def test_bad_requests() -> None:
    with pytest.raises(GraphError, match="`samples` to be 0 or more, got -1"):
        hyperbolicity(as_graph(networkx.path_graph(5)), samples=-1)
    ring = as_graph(networkx.cycle_graph(30_001))
    with pytest.raises(GraphError, match=r"at most 30,000 nodes .* got 30,001.*Sample it"):
        hyperbolicity(ring, exact=True, samples=10)


@pytest.mark.parametrize(
    ("average", "words"),
    [(0, "should help"), (TREE_LIKE, "may help"), (RANDOM, "do not expect")],
)
def test_advice(average: float, words: str) -> None:
    result = Hyperbolicity(
        name="graph",
        total_nodes=9,
        nodes=9,
        edges=9,
        delta=1,
        exact=True,
        quadruple=(1, 2, 3, 4),
        diameter=4,
        diameter_exact=True,
        average=average,
        average_distance=1,
        counts={0.0: 9},
        samples=9,
        sources=9,
        random_average=2,
    )
    assert result.relative == 0.5
    assert result.relative_average == 2 * average
    assert result.against_random == average
    assert words in result.advice
    assert str(result).endswith(result.advice)


@pytest.mark.parametrize(("n", "m"), [(400, 1000), (4000, 8000), (20_000, 200_000)])
def test_random_graphs_of_all_sizes_are_not_tree_like(n: int, m: int) -> None:
    result = hyperbolicity(as_graph(networkx.gnm_random_graph(n, m, seed=0)), exact=False)
    assert result.against_random == pytest.approx(1, abs=0.08)
    assert "do not expect" in result.advice


@pytest.mark.skipif("HGCN_DATA" not in os.environ, reason="needs the data sets in HGCN_DATA")
def test_delta_of_cora_is_not_the_paper_s() -> None:
    result = hyperbolicity(load("cora"))
    assert result.exact
    assert (result.nodes, result.diameter) == (2485, 19)
    assert result.delta <= 19 / 2 < 11
    matrix = networkx.Graph(load("cora").pairs().T.tolist())
    places = [list(load("cora").ids).index(node) for node in result.quadruple]
    distance = {i: networkx.single_source_shortest_path_length(matrix, i) for i in places}
    assert delta_of(distance, tuple(places)) == result.delta
