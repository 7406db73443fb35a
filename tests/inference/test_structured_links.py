"""The most probable links with a structural term are those of scoring all pairs."""

import itertools

import numpy as np
import pytest
import torch

from hgcn import kernels
from hgcn.config import Config
from hgcn.data import Graph
from hgcn.inference import missing_links
from hgcn.inference.missing_links import likely_pairs
from hgcn.inference.structural_term import fill_facts
from hgcn.models.predictor import Predictor, model_settings
from hgcn.nn.structure import FACTS, both_ways, pair_facts
from small_graphs import forest, tree


def undirected(pairs, nodes, **fields):
    ends = torch.as_tensor(np.array(list(pairs)).reshape(-1, 2).T).long()
    ends = ends[:, ends[0] != ends[1]]
    return Graph(torch.unique(torch.cat((ends, ends.flip(0)), 1), dim=1), nodes, **fields)


def random_pairs(nodes, count, seed=0):
    return np.random.default_rng(seed).integers(0, nodes, (count, 2))


def weighted(graph):
    n = graph.num_nodes
    key = graph.edge_index.min(0)[0] * n + graph.edge_index.max(0)[0]
    return graph.replace(edge_weight=0.5 + (key * 7919 % 97).float() / 30)


def directed_graph():
    ends = torch.unique(torch.from_numpy(random_pairs(40, 110)).T, dim=1)
    return Graph(ends[:, ends[0] != ends[1]], 40, directed=True)


GRAPHS = {
    "tree": lambda: tree(60),
    "sparse": lambda: undirected(random_pairs(80, 90), 80),
    "dense": lambda: undirected(random_pairs(40, 400), 40),
    "star": lambda: undirected([(20, j) for j in range(45)], 45),
    "stars": lambda: undirected([(j % 3, j) for j in range(3, 60)] + [(0, 1)], 60),
    "ring": lambda: undirected([(j, (j + 1) % 50) for j in range(50)], 50),
    "apart": lambda: undirected(
        np.r_[random_pairs(30, 60), 30 + random_pairs(25, 40, seed=1)], 60
    ),  # two components and isolated nodes
    "directed": directed_graph,
    "many": lambda: forest((20, 1, 15, 30)),
    "weighted": lambda: weighted(undirected(random_pairs(50, 120), 50)),
    # Nodes have more than 2048 ways of two steps, so that paths are counted on a sample.
    "thick": lambda: undirected(random_pairs(80, 4000), 80),
}


def network(c: float | None, weights: str, seed: int = 0) -> Predictor:
    """A network whose structural term has weights of some kind."""
    config = Config(model="hyp" if c else "euc", dim=4, structure=True, dtype="float64")
    if c:
        config = config.replace(c=c)
    predictor = Predictor(model_settings(config), in_channels=1, num_nodes=3, num_classes=0).eval()
    term = predictor.structure
    assert term is not None
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in (term.hidden, term.out, term.direct):
            part.weight.copy_(torch.randn(part.weight.shape, generator=generator) * 0.4)
        if weights == "large":
            term.out.weight.mul_(30)
        elif weights == "positive":
            for part in (term.hidden, term.out, term.direct):
                part.weight.abs_()
        elif weights == "negative":
            term.out.weight.copy_(-term.out.weight.abs())
            term.direct.weight.copy_(-term.direct.weight.abs())
        elif weights.isdigit():  # only nodes at this distance
            term.out.weight.zero_()
            term.direct.weight.zero_()
            term.direct.weight[0, 6 + int(weights) - 2] = 9.0
    return predictor


def points(graph, kind):
    z = torch.randn(graph.num_nodes, 4, generator=torch.Generator().manual_seed(3)).double()
    if kind == "equal":
        z[:] = z[0]
    elif kind == "some equal":
        z = z[torch.arange(graph.num_nodes) % 5]
    return z


def all_pairs(predictor, z, graph, k, per_node):
    """By scoring all pairs; logits that differ by rounding alone count as equal."""
    both = per_node or graph.directed
    n, edges = range(graph.num_nodes), set(map(tuple, graph.edge_index.T.tolist()))
    pairs = [
        (i, j)
        for i, j in (itertools.permutations(n, 2) if both else itertools.combinations(n, 2))
        if (i, j) not in edges
        and (graph.graph_ids is None or graph.graph_ids[i] == graph.graph_ids[j])
    ]
    ends = torch.tensor(pairs).T
    facts = predictor.facts(ends, graph.edge_index, graph.edge_weight, graph.num_nodes)
    logits = predictor.links(z, ends, facts).detach().mul(1e8).round().tolist()
    order = sorted(range(len(pairs)), key=lambda p: (-logits[p], pairs[p]))
    if per_node:
        order = [p for node in n for p in [q for q in order if pairs[q][0] == node][:k]]
    else:
        order = order[:k]
    return [pairs[p] for p in order]


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize(
    "weights", ["moderate", "large", "positive", "negative", "2", "3", "4", "7"]
)
def test_the_best_pairs_are_those_of_all_pairs(kind, weights):
    graph, seed = GRAPHS[kind](), len(kind) + len(weights)
    for c, where in ((None, "some equal"), (0.7, "random"), (1.0, "equal")):
        predictor, z = network(c, weights, seed), points(graph, where)
        expected = all_pairs(predictor, z, graph, 10**6, per_node=False)
        for k in (1, 10, 10**6):
            found = likely_pairs(predictor, z, graph, k)
            assert list(map(tuple, found.T.tolist())) == expected[:k]
        found = likely_pairs(predictor, z, graph, 3, per_node=True)
        expected = all_pairs(predictor, z, graph, 3, per_node=True)
        assert list(map(tuple, found.T.tolist())) == expected


def test_two_hubs_are_found_though_their_neighbours_are_sampled():
    pairs = [(hub, leaf) for hub in (5, 9) for leaf in range(10, 2110)]
    graph, predictor = undirected(pairs, 2110), network(1.0, "2")
    with torch.no_grad():  # the most common neighbours
        predictor.structure.direct.weight.zero_()
        predictor.structure.direct.weight[0, 1] = 1.0
    found = likely_pairs(predictor, torch.zeros(2110, 4).double(), graph, 3)
    assert found.T.tolist() == [[5, 9], [10, 11], [10, 12]]


@pytest.mark.parametrize("per_node", [False, True])
def test_a_space_of_another_kind_is_searched_pair_by_pair(per_node, monkeypatch):
    graph, predictor = GRAPHS["weighted"](), network(0.7, "moderate")
    z = points(graph, "random")
    monkeypatch.setattr(missing_links, "search_form", lambda space, z: None)
    found = likely_pairs(predictor, z, graph, 4, per_node=per_node)
    assert list(map(tuple, found.T.tolist())) == all_pairs(predictor, z, graph, 4, per_node)


def test_the_facts_of_the_search_are_those_of_the_network():
    graph = GRAPHS["weighted"]()
    pairs = torch.combinations(torch.arange(50)).T
    linked = torch.zeros(50, 50, dtype=torch.bool)
    linked[tuple(graph.edge_index)] = True
    pairs = pairs[:, ~linked[tuple(pairs)]]
    shown = both_ways(graph.edge_index, graph.edge_weight, 50)
    counts = kernels.pair_counts(pairs, shown.weight, shown.direction, shown.graph).numpy()
    counts = np.pad(counts, ((0, 0), (0, 4)))
    degree, facts = shown.graph.degree.double().numpy(), np.empty((pairs.shape[1], FACTS))
    for row, count, (i, j) in zip(facts, counts, pairs.T.tolist(), strict=True):
        fill_facts(count, degree[i], degree[j], row)
    expected = pair_facts(pairs, graph.edge_index, graph.edge_weight, 50)
    torch.testing.assert_close(torch.from_numpy(facts), expected, rtol=1e-12, atol=1e-12)
