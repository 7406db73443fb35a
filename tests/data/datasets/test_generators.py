import networkx as nx
import numpy as np
import pytest
import torch

from hgcn.data.datasets.generators import (
    balanced_tree,
    barabasi_albert,
    hyperbolic_random,
    random_tree,
    tree_with_features,
)
from hgcn.data.graph import Graph
from hgcn.errors import GraphError


def as_networkx(graph: Graph) -> nx.Graph:
    made = nx.empty_graph(graph.num_nodes)
    made.add_edges_from(graph.pairs().t().tolist())
    return made


def exponent(degrees: np.ndarray, low: int) -> float:
    """Of the power law that fits the degrees from ``low`` on best (Clauset et al., 2009)."""
    tail = degrees[degrees >= low]
    return 1 + len(tail) / np.log(tail / (low - 0.5)).sum()


def degrees(graph: Graph) -> np.ndarray:
    return torch.bincount(graph.edge_index[0], minlength=graph.num_nodes).numpy()


@pytest.mark.parametrize(
    "graph",
    [
        balanced_tree(2, 3), random_tree(50), random_tree(50, preferential=True),
        barabasi_albert(60, 3), hyperbolic_random(80), tree_with_features(0.5, depth=3),
    ],
    ids=lambda graph: graph.name,
)  # fmt: skip
def test_edges_are_there_both_ways_and_once(graph: Graph) -> None:
    both = list(map(tuple, graph.edge_index.t().tolist()))
    assert len(set(both)) == len(both)
    assert {(target, source) for source, target in both} == set(both)
    assert not any(source == target for source, target in both)


@pytest.mark.parametrize(("branching", "depth"), [(2, 0), (1, 6), (2, 5), (3, 4), (7, 2)])
def test_balanced_tree_is_that_of_networkx(branching: int, depth: int) -> None:
    graph, expected = balanced_tree(branching, depth), nx.balanced_tree(branching, depth)
    assert set(map(tuple, graph.pairs().t().tolist())) == set(expected.edges)
    assert graph.num_nodes == len(expected)
    level = nx.single_source_shortest_path_length(expected, 0)
    assert graph.columns["depth"].tolist() == [level[node] for node in range(len(expected))]
    parent = graph.columns["parent"]
    assert parent[0] == -1
    assert (graph.columns["depth"][parent[1:]] == graph.columns["depth"][1:] - 1).all()


@pytest.mark.parametrize("preferential", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 3, 500])
def test_random_trees_are_trees(nodes: int, preferential: bool) -> None:
    graph = random_tree(nodes, preferential=preferential, seed=nodes)
    assert nx.is_tree(as_networkx(graph))
    assert (graph.columns["parent"] < np.arange(nodes)).all()


def test_uniform_attachment_is_uniform() -> None:
    # In a random recursive tree the share of leaves tends to 1/2, and the depth to ln n.
    graph = random_tree(50_000, seed=1)
    assert (degrees(graph)[1:] == 1).mean() == pytest.approx(1 / 2, abs=0.01)
    parent = graph.columns["parent"]
    depth = np.zeros(len(parent))
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    assert depth.mean() == pytest.approx(np.log(50_000), rel=0.2)


def test_preferential_attachment_follows_its_law() -> None:
    # The share of nodes of degree k tends to 4/(k (k+1) (k+2)) (Bollobás et al., 2001).
    counts = np.bincount(degrees(random_tree(50_000, preferential=True, seed=1))) / 50_000
    for k in (1, 2, 3, 4, 5):
        assert counts[k] == pytest.approx(4 / (k * (k + 1) * (k + 2)), abs=0.006)


@pytest.mark.parametrize(("nodes", "each"), [(2, 1), (4, 3), (5, 3), (200, 1), (300, 4)])
def test_barabasi_albert_has_the_counts_of_networkx(nodes: int, each: int) -> None:
    graph = barabasi_albert(nodes, each, seed=3)
    expected = nx.barabasi_albert_graph(nodes, each, seed=3)
    assert graph.num_edges == expected.number_of_edges()
    assert nx.is_connected(as_networkx(graph))
    # Each node after the first ones has as many edges to earlier nodes.
    _, target = graph.pairs()
    earlier = torch.bincount(target, minlength=nodes)
    assert (earlier[each + 1 :] == each).all()


@pytest.mark.parametrize("each", [2, 4])
def test_barabasi_albert_has_the_degrees_of_its_law(each: int) -> None:
    graph = barabasi_albert(60_000, each, seed=1)
    found = degrees(graph)
    # P(k) = 2m(m+1)/(k(k+1)(k+2)) in the limit.
    for k in range(each, each + 4):
        law = 2 * each * (each + 1) / (k * (k + 1) * (k + 2))
        assert (found == k).mean() == pytest.approx(law, rel=0.05)
    assert exponent(found, 6 * each) == pytest.approx(3, abs=0.25)


@pytest.mark.parametrize("gamma", [2.1, 2.5, 3.5, 8.0])
@pytest.mark.parametrize(("nodes", "degree"), [(2, 0.4), (150, 2.0), (400, 10.0), (400, 190.0)])
def test_hyperbolic_random_is_all_pairs_that_are_near(
    nodes: int, degree: float, gamma: float
) -> None:
    graph = hyperbolic_random(nodes, degree=degree, gamma=gamma, seed=5)
    r, angle = graph.columns["radius"], graph.columns["angle"]
    # The law of cosines for all pairs. The radius R of the disk is not told, but all edges must be
    # shorter than all pairs that are no edges.
    cosine = np.cos(angle[:, None] - angle)
    cosh = np.cosh(r)[:, None] * np.cosh(r) - np.sinh(r)[:, None] * np.sinh(r) * cosine
    edge = np.zeros((nodes, nodes), dtype=bool)
    edge[tuple(graph.edge_index.numpy())] = True
    other = ~edge & ~np.eye(nodes, dtype=bool)
    longest = np.arccosh(np.maximum(cosh[edge], 1)).max(initial=0)
    shortest = np.arccosh(np.maximum(cosh[other], 1)).min(initial=np.inf)
    assert longest <= shortest * (1 + 1e-9)
    # And R, which lies between the two, is the radius of the disk.
    assert r.max() <= shortest


@pytest.mark.parametrize(
    ("degree", "gamma", "error"),
    [(8, 2.2, 0.12), (8, 3.0, 0.06), (40, 6.0, 0.03), (250, 2.7, 0.05)],
)
def test_hyperbolic_random_has_the_expected_degree(
    degree: float, gamma: float, error: float
) -> None:
    found = [
        degrees(hyperbolic_random(600, degree=degree, gamma=gamma, seed=seed)).mean()
        for seed in range(12)
    ]
    assert np.mean(found) == pytest.approx(degree, rel=error)


@pytest.mark.parametrize("gamma", [2.3, 3.0])
def test_hyperbolic_random_is_scale_free_and_clustered(gamma: float) -> None:
    graph = hyperbolic_random(20_000, degree=10, gamma=gamma, seed=2)
    assert exponent(degrees(graph), 25) == pytest.approx(gamma, abs=0.3)
    assert nx.average_clustering(as_networkx(graph), nodes=range(200)) > 0.4
    # The share of points within r is (cosh(a r) - 1)/(cosh(a R) - 1), about e^(a (r - R)).
    r, alpha = graph.columns["radius"], (gamma - 1) / 2
    assert (r < r.max() - 2).mean() == pytest.approx(np.exp(-2 * alpha), abs=0.02)
    turns = np.histogram(graph.columns["angle"], bins=10, range=(0, 2 * np.pi))[0]
    assert turns.min() > 1800


def test_hyperbolic_random_is_fast_enough_to_have_no_all_pairs() -> None:
    graph = hyperbolic_random(100_000, degree=5, gamma=2.8, seed=0)  # all pairs would be 80 GB
    assert degrees(graph).mean() == pytest.approx(5, rel=0.15)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9, 1.0])
def test_features_are_handed_down_as_told(gamma: float) -> None:
    graph = tree_with_features(gamma, branching=4, depth=5, features=2000, seed=1)
    assert graph.x is not None
    x, parent = graph.x.double(), graph.columns["parent"]
    child = np.flatnonzero(graph.columns["depth"] >= 2)
    grandparent = parent[parent[child]]
    assert float((x[child] * x[parent[child]]).mean()) == pytest.approx(gamma, abs=0.1)
    assert float((x[child] * x[grandparent]).mean()) == pytest.approx(gamma**2, abs=0.1)
    assert float(x.var(dim=1).mean()) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: random_tree(90, seed=seed),
        lambda seed: random_tree(90, preferential=True, seed=seed),
        lambda seed: barabasi_albert(90, 3, seed=seed),
        lambda seed: hyperbolic_random(90, seed=seed),
        lambda seed: tree_with_features(0.5, depth=3, seed=seed),
    ],
)
def test_the_seed_decides_everything(make: object) -> None:
    state = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    one, same, other = (make(seed).fingerprint() for seed in (1, 1, 2))  # type: ignore[operator]
    assert one == same != other
    assert (np.random.get_state()[1] == state).all()  # type: ignore[index]  # noqa: NPY002


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: balanced_tree(0, 3), "`branching` to be at least 1, got 0"),
        (lambda: balanced_tree(2, -1), "`depth` to be at least 0"),
        (lambda: random_tree(0), "`nodes` to be at least 1"),
        (lambda: barabasi_albert(3, 3), "`nodes` to be at least 4, got 3"),
        (lambda: barabasi_albert(3, 0), "`edges_per_node`"),
        (lambda: hyperbolic_random(100, gamma=2), "`gamma` to be more than 2"),
        (lambda: hyperbolic_random(100, degree=80), "`degree` .* at most 49.5"),
        (lambda: hyperbolic_random(100, degree=float("nan")), "`degree`"),
        (lambda: tree_with_features(1.1), r"`gamma` to be in 0..1, got 1.1"),
    ],
)
def test_wrong_arguments_are_refused(call: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        call()  # type: ignore[operator]
