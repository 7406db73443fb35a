"""The most probable links with a structural term are those of scoring all pairs."""

import functools
import itertools

import numba
import numpy as np
import pytest
import torch

from hgcn import kernels
from hgcn.config import Config
from hgcn.data import Graph
from hgcn.inference import missing_links
from hgcn.inference.missing_links import likely_pairs
from hgcn.inference.pair_scan import places_of
from hgcn.inference.pair_search import Pairs, search
from hgcn.inference.structural_model import model_of
from hgcn.inference.structural_rows import (
    PIECES,
    class_bound,
    pair_bound,
    room_for,
    term_of,
    visit,
)
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
    # All best pairs are three steps apart, and the nodes with the most neighbours come last.
    "two sides": lambda: undirected(
        [
            (i, 69 - int((7 * i + 3 * m * m) ** 1.5) % (6 * m + 5))
            for i in range(35)
            for m in range(6)
        ],
        70,
    ),
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


@functools.cache
def pairs_and_facts(kind, both):
    """All pairs of nodes without an edge of a graph of ``GRAPHS``, and what they have in common."""
    graph = GRAPHS[kind]()
    n, edges = range(graph.num_nodes), set(map(tuple, graph.edge_index.T.tolist()))
    pairs = [
        (i, j)
        for i, j in (itertools.permutations(n, 2) if both else itertools.combinations(n, 2))
        if (i, j) not in edges
        and (graph.graph_ids is None or graph.graph_ids[i] == graph.graph_ids[j])
    ]
    ends = torch.tensor(pairs).T
    return pairs, pair_facts(ends, graph.edge_index, graph.edge_weight, graph.num_nodes)


def all_pairs(predictor, z, kind, k, per_node):
    """By scoring all pairs; logits that differ by rounding alone count as equal."""
    pairs, facts = pairs_and_facts(kind, per_node or kind == "directed")
    logits = predictor.links(z, torch.tensor(pairs).T, facts).detach().mul(1e8).round().tolist()
    order = sorted(range(len(pairs)), key=lambda p: (-logits[p], pairs[p]))
    if not per_node:
        return [pairs[p] for p in order[:k]]
    best = {}
    for p in order:
        best.setdefault(pairs[p][0], []).append(pairs[p])
    return [pair for node in sorted(best) for pair in best[node][:k]]


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize(
    "weights", ["moderate", "large", "positive", "negative", "2", "3", "4", "7"]
)
def test_the_best_pairs_are_those_of_all_pairs(kind, weights):
    graph, seed = GRAPHS[kind](), len(kind) + len(weights)
    for c, where in ((None, "some equal"), (0.7, "random"), (1.0, "equal")):
        predictor, z = network(c, weights, seed), points(graph, where)
        expected = all_pairs(predictor, z, kind, 10**6, per_node=False)
        for k in (1, 10, 10**6):
            found = likely_pairs(predictor, z, graph, k)
            assert list(map(tuple, found.T.tolist())) == expected[:k]
        found = likely_pairs(predictor, z, graph, 3, per_node=True)
        expected = all_pairs(predictor, z, kind, 3, per_node=True)
        assert list(map(tuple, found.T.tolist())) == expected


@numba.njit
def bounds_of_pair(i, j, kind, bucket, model, room):
    """The term of a pair, and both its bounds in one piece and in several."""
    return (
        term_of(i, j, model, room),
        pair_bound(i, j, 1, model, room),
        pair_bound(i, j, PIECES, model, room),
        class_bound(i, kind, bucket, 1, model, room),
        class_bound(i, kind, bucket, PIECES, model, room),
    )


@numba.njit
def visit_from(i, model, room):
    return visit(i, model, room)


@pytest.mark.parametrize("kind", ["two sides", "thick", "directed", "weighted"])
def test_bounds_hold_and_are_closer_in_pieces(kind):
    graph, predictor = GRAPHS[kind](), network(1.0, "moderate", seed=1)
    model = model_of(predictor.structure, graph)
    room, gained = room_for(model), 0.0
    linked = set(map(tuple, graph.edge_index.T.tolist()))
    for i in range(graph.num_nodes):
        visit_from(i, model, room)
        for j in set(range(graph.num_nodes)) - {i}:
            if (i, j) in linked or (j, i) in linked:
                continue
            bucket = model.bucket[int(room.shared[j, 0])] if room.seen[j] == i else 0
            term, *bounds = bounds_of_pair(i, j, model.kind[j], bucket, model, room)
            of_pair, of_class = bounds[:2], bounds[2:]
            assert term <= of_pair[1] + 1e-9
            assert of_pair[1] <= of_pair[0] + 1e-9
            assert of_pair[1] <= of_class[1] + 1e-9
            assert of_class[1] <= of_class[0] + 1e-9
            gained = max(gained, of_class[0] - of_class[1])
    assert gained > 0.5


def test_few_pairs_are_counted_though_hubs_have_the_largest_numbers():
    # Most terms of a bipartite graph are three steps apart; a hub is the node to look from.
    rng = np.random.default_rng(0)
    pairs = np.stack(
        (rng.integers(0, 1000, 8000), 1299 - (300 * rng.random(8000) ** 3).astype(int))
    )
    graph, predictor = undirected(pairs.T, 1300), network(1.0, "positive")
    model, z = model_of(predictor.structure, graph), torch.zeros(1300, 4).double()
    form = missing_links.search_form(predictor.encoder.space, z)
    rows = np.argsort(-np.diff(model.start), kind="stable")
    places = places_of(form, np.zeros(1300, int), model.kind, rows, both_ways=False)
    neighbours = missing_links.sorted_neighbours(graph)
    search_in = Pairs(*form, places, *neighbours, 2.0, 1.0, 1.0, structured=True, both_ways=False)
    heaps, room = missing_links.empty_heaps(graph, 10, per_node=False), room_for(model)
    search(rows, search_in, model, (np.inf, 0, 0), heaps, 0, room)
    assert (
        room.used[0] < 60
    )  # of 840,000 pairs; 122 if a pair were looked at from its smaller number


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
    assert list(map(tuple, found.T.tolist())) == all_pairs(predictor, z, "weighted", 4, per_node)


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
