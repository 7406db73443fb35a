"""Splits against sets of Python."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.splits.draw import split_links, split_nodes
from hgcn.data.splits.links import LinkPart, LinkSplit, check_links
from hgcn.data.splits.negatives import NonEdges
from hgcn.data.splits.nodes import NodeSplit, check_nodes
from hgcn.errors import GraphError, LegacyWarning
from hgcn.names import PARTS


def pair_set(pairs: Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.T.tolist()))


def random_graph(n: int, m: int, seed: int = 0, **fields: object) -> Graph:
    generator = np.random.default_rng(seed)
    every = np.array(list(itertools.combinations(range(n), 2)))
    chosen = torch.from_numpy(generator.choice(every, m, replace=False).T.copy())
    return Graph(torch.cat((chosen, chosen.flip(0)), dim=1), n, **fields)  # type: ignore[arg-type]


def many_graphs(count: int, n: int = 12, m: int = 20, **fields: object) -> Graph:
    """Graphs whose nodes are mixed, so that no part is a range of ids."""
    edges = [random_graph(n, m, seed=i).edge_index * count + i for i in range(count)]
    ids = torch.arange(count * n) % count
    return Graph(torch.cat(edges, dim=1), count * n, graph_ids=ids, **fields)  # type: ignore[arg-type]


# Negatives


@st.composite
def edge_sets(draw: st.DrawFn) -> tuple[int, bool, bool, list[int], list[tuple[int, int]]]:
    n = draw(st.integers(2, 9))
    directed, loops = draw(st.sampled_from([(False, False), (True, False), (False, True)]))
    graph_ids = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    graph_ids[0] = 0
    if draw(st.booleans()):
        graph_ids = [0] * n
    nodes = range(n)
    candidates = [
        (i, j)
        for i, j in itertools.product(nodes, nodes)
        if graph_ids[i] == graph_ids[j] >= 0
        and (i < j or (directed and i > j) or (loops and i == j))
    ]
    subset = draw(st.sets(st.sampled_from(candidates))) if candidates else set()
    return n, directed, loops, graph_ids, sorted(subset)


@given(edge_sets())
def test_non_edges_are_the_complement(
    case: tuple[int, bool, bool, list[int], list[tuple[int, int]]],
) -> None:
    n, directed, loops, graph_ids, edges = case
    expected = {
        (i, j)
        for i, j in itertools.product(range(n), range(n))
        if graph_ids[i] == graph_ids[j] >= 0
        and (i < j or (directed and i > j) or (loops and i == j))
        and (i, j) not in edges
    }
    free = NonEdges(
        torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T,
        n,
        directed=directed,
        graph_ids=torch.tensor(graph_ids),
        self_pairs=loops,
    )
    assert len(free) == len(expected)
    listed = free.pairs(torch.arange(len(free)))
    assert listed.shape == (2, len(expected))
    assert pair_set(listed) == expected


def test_draws_are_uniform_and_repeatable() -> None:
    graph = random_graph(8, 18)
    free = NonEdges(graph.pairs(), 8)
    draws = free.draw(20_000, torch.Generator().manual_seed(3))
    counts = np.unique(draws[0] * 8 + draws[1], return_counts=True)[1]
    assert len(counts) == 10
    # Each count is binomial with mean 2000 and standard deviation 42.
    assert np.abs(counts - 2000).max() < 5 * 42
    again = free.draw(20_000, torch.Generator().manual_seed(3))
    torch.testing.assert_close(draws, again, rtol=0, atol=0)


def test_graphs_are_drawn_as_often_as_they_have_edges() -> None:
    # A complete graph of 4 nodes, which has no negatives, a path of 4, and a path of 31.
    full = list(itertools.combinations(range(4), 2))
    paths = [(i, i + 1) for i in (*range(4, 7), *range(8, 38))]
    ids = torch.tensor([0] * 4 + [1] * 4 + [2] * 31)
    free = NonEdges(torch.tensor(full + paths).T, 39, graph_ids=ids)
    draws = free.draw(11_000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(ids[draws[0]], ids[draws[1]])
    counts = torch.bincount(ids[draws[0]], minlength=3).tolist()
    assert counts[0] == 0
    assert counts[1] == pytest.approx(1000, abs=5 * 30)  # 3 of 33 edges that can be answered


def test_draws_need_a_non_edge() -> None:
    free = NonEdges(random_graph(4, 6).pairs(), 4)
    with pytest.raises(GraphError, match="each pair of nodes has an edge"):
        free.draw(1, torch.Generator())


# Links


@pytest.mark.parametrize("directed", [False, True])
@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), m=st.integers(20, 150))
def test_links_of_one_graph(directed: bool, seed: int, m: int) -> None:
    graph = random_graph(30, m, seed)
    if directed:  # half of the edges have a reverse
        graph = graph.replace(edge_index=graph.edge_index[:, : m + m // 2], directed=True)
    split = split_links(graph, val=0.1, test=0.2, seed=seed)
    every = pair_set(graph.pairs())
    asked = {part: pair_set(getattr(split, part).positives) for part in PARTS}
    assert set.union(*asked.values()) == every
    assert sum(map(len, asked.values())) == len(every)
    loose = {part: {frozenset(pair) for pair in pairs} for part, pairs in asked.items()}
    assert not loose["train"] & loose["val"] | loose["train"] & loose["test"]
    assert not loose["val"] & loose["test"]
    if not directed:
        assert len(asked["val"]) == round(0.1 * m)
        assert len(asked["test"]) == round(0.2 * m)
    back = {(j, i) for i, j in asked["train"]}
    for part in PARTS:
        messages = getattr(split, part).messages
        assert pair_set(messages) == (asked["train"] if directed else asked["train"] | back)
    wrong = []
    for part in ("val", "test"):
        negatives = getattr(split, part).negatives
        wrong.append(pair_set(negatives))
        assert len(wrong[-1]) == negatives.shape[1] == len(asked[part])
        assert not wrong[-1] & every
        assert all(i != j if directed else i < j for i, j in wrong[-1])
    assert not wrong[0] & wrong[1]
    assert split.train.negatives is None
    drawn = pair_set(split.sample_negatives(5000, torch.Generator().manual_seed(seed)))
    assert not drawn & asked["train"]
    # 5000 draws of at most 870 pairs meet the held-out edges: they are not left out.
    assert drawn & (asked["val"] | asked["test"])


@pytest.mark.parametrize("directed", [False, True])
def test_the_test_may_see_the_edges_of_validation(directed: bool) -> None:
    graph = random_graph(30, 100).replace(directed=directed)
    usual = split_links(graph, seed=3)
    split = split_links(graph, seed=3, val_as_input=True)
    asked = pair_set(split.test.positives)
    shown = {pair for pair in pair_set(graph.edge_index) if not {pair, pair[::-1]} & asked}
    assert pair_set(split.test.messages) == shown
    for part in PARTS:
        torch.testing.assert_close(getattr(split, part).positives, getattr(usual, part).positives)
    torch.testing.assert_close(split.val.messages, usual.train.messages)
    torch.testing.assert_close(split.train.messages, usual.train.messages)


def test_equal_seeds_give_equal_splits() -> None:
    graph = random_graph(40, 100)
    first, again, other = (split_links(graph, seed=seed) for seed in (5, 5, 6))
    assert torch.equal(first.test.positives, again.test.positives)
    assert torch.equal(first.test.negatives, again.test.negatives)  # type: ignore[arg-type]
    assert not torch.equal(first.test.positives, other.test.positives)


def test_splits_leave_the_global_generators_alone() -> None:
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    graph = random_graph(40, 100, y=torch.arange(40) % 2)
    split_links(graph).sample_negatives(10, torch.Generator().manual_seed(0))
    split_nodes(graph)
    with pytest.warns(LegacyWarning):
        split_links(graph, protocol="legacy")
    assert torch.equal(state, torch.get_rng_state())
    np.testing.assert_array_equal(numpy_state, np.random.get_state()[1])  # noqa: NPY002


def test_weights_and_self_loops_stay_with_their_edges() -> None:
    graph = random_graph(20, 60)
    loops = torch.tensor([[3, 7], [3, 7]])
    edges = torch.cat((graph.edge_index, loops), dim=1)
    weight = (edges[0] + 1).float() * 100 + edges[1] + 1
    split = split_links(graph.replace(edge_index=edges, edge_weight=weight))
    source, target = split.test.messages
    torch.testing.assert_close(
        split.test.message_weight, (source + 1).float() * 100 + target + 1, rtol=0, atol=0
    )
    assert {(3, 3), (7, 7)} <= pair_set(split.test.messages)
    assert split.train.positives.shape[1] == 51


@pytest.mark.parametrize("given_split", [False, True])
def test_links_of_many_graphs(given_split: bool) -> None:
    graph = many_graphs(10)
    ids = graph.graph_ids
    assert ids is not None
    if given_split:
        bounds = {"train": (0, 4), "val": (4, 6), "test": (6, 10)}
        nodes = {
            part: ((ids >= low) & (ids < high)).nonzero()[:, 0]
            for part, (low, high) in bounds.items()
        }
        graph = graph.replace(split=nodes)
    split = split_links(graph, val=0.2, test=0.2)
    assert split.inductive
    every, used = pair_set(graph.pairs()), {}
    for name in PARTS:
        part = getattr(split, name)
        used[name] = set(ids[part.messages].flatten().tolist())
        asked = pair_set(part.positives)
        inside = {pair for pair in every if int(ids[pair[0]]) in used[name]}
        shown = {(i, j) for i, j in pair_set(part.messages) if i < j}
        assert asked | shown == inside
        if name == "train":
            assert asked == shown
            continue
        assert not asked & shown
        assert len(asked) == round(0.2 * len(inside))
        assert not pair_set(part.negatives) & every
        assert len(pair_set(part.negatives)) == len(asked)
        torch.testing.assert_close(
            torch.bincount(ids[part.positives[0]], minlength=10),
            torch.bincount(ids[part.negatives[0]], minlength=10),
        )
        torch.testing.assert_close(ids[part.negatives[0]], ids[part.negatives[1]])
    if given_split:
        assert used == {"train": {0, 1, 2, 3}, "val": {4, 5}, "test": {6, 7, 8, 9}}
    else:
        assert sorted(map(len, used.values())) == [2, 2, 6]
        assert len(set.union(*used.values())) == 10
    drawn = split.sample_negatives(3000, torch.Generator().manual_seed(0))
    assert set(ids[drawn].flatten().tolist()) == used["train"]
    torch.testing.assert_close(ids[drawn[0]], ids[drawn[1]])
    assert not pair_set(drawn) & every


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (random_graph(5, 2), {}, "at least 3 edges, one for each part, got 2"),
        (random_graph(5, 10), {}, "at least 2 pairs of nodes without an edge .* got 0"),
        (random_graph(9, 9), {"val": 0.6, "test": 0.5}, "add up to 1 at most"),
        (random_graph(9, 9), {"val": 0.5, "test": 0.5}, "leave something to train on"),
        (random_graph(9, 9), {"val": -0.1}, "shares in 0..1"),
        (random_graph(9, 9), {"val": float("nan")}, "shares in 0..1"),
        (random_graph(9, 9), {"protocol": "lagacy"}, "Did you mean 'legacy'"),
        (many_graphs(2), {}, "at least 3 graphs, one for each part, got 2"),
        (many_graphs(3, n=3, m=3), {}, "without an edge in graph . to serve as negatives, got 0"),
        (many_graphs(3), {"protocol": "legacy"}, "Expected one undirected graph"),
        (many_graphs(3), {"val_as_input": True}, "one graph that is split at random"),
        (Graph(torch.tensor([[0, 1, 2], [1, 0, 0]]), 3), {}, "only one between nodes 0 and 2"),
    ],
)
def test_impossible_link_splits(graph: Graph, options: dict[str, object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        split_links(graph, **options)  # type: ignore[arg-type]


def test_leaks_are_found() -> None:
    clean = split_links(random_graph(30, 100))

    def leaking(**changes: LinkPart) -> LinkSplit:
        parts = {part: changes.get(part, getattr(clean, part)) for part in PARTS}
        return LinkSplit(**parts, protocol="clean", inductive=False, non_edges=clean.non_edges)

    check_links(leaking(), 30)
    shown = torch.cat((clean.train.messages, clean.test.positives[:, :1].flip(0)), dim=1)
    with pytest.raises(GraphError, match="edge of the test part is shown"):
        check_links(leaking(train=LinkPart(shown, None, clean.train.positives, None)), 30)
    with pytest.raises(GraphError, match="edge of the test part is shown in the test"):
        check_links(leaking(test=replace(clean.test, messages=shown)), 30)
    with pytest.raises(GraphError, match="validation and in the test"):
        check_links(leaking(val=clean.test), 30)
    nodes = torch.arange(4)
    with pytest.raises(GraphError, match="in two parts"):
        check_nodes(NodeSplit(nodes, nodes[3:], nodes[:0], "clean", False), 4)


# Nodes


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(3, 60), min_size=1, max_size=5),
    ratios=st.sampled_from([(0.7, 0.15, 0.15), (0.3, 0.1, 0.6), (0.2, 0.1, 0.3)]),
)
def test_nodes_are_stratified(seed: int, sizes: list[int], ratios: tuple[float, ...]) -> None:
    labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    y = torch.cat((labels, torch.tensor([-1, -1])))
    y = y[torch.from_numpy(np.random.default_rng(seed).permutation(len(y)))]
    split = split_nodes(Graph(torch.empty(2, 0, dtype=torch.int64), len(y), y=y), ratios=ratios)
    parts = [getattr(split, part) for part in PARTS]
    every = torch.cat(parts).tolist()
    assert len(every) == len(set(every))
    assert (y[every] >= 0).all()
    for label, size in enumerate(sizes):
        for nodes, ratio in zip(parts, ratios, strict=True):
            count = int((y[nodes] == label).sum())
            assert count >= 1
            assert abs(count - ratio * size) <= 1 + 2 * (size < 10)
    if sum(ratios) == pytest.approx(1):
        assert len(every) == sum(sizes)


def test_the_graph_s_own_split_comes_first() -> None:
    own = {"train": torch.tensor([0, 3]), "val": torch.tensor([1]), "test": torch.tensor([4, 5])}
    y = torch.tensor([0, 1, 0, 1, 0, -1] * 3)
    graph = random_graph(18, 20, y=y, split=own)
    split = split_nodes(graph)
    assert [getattr(split, part).tolist() for part in PARTS] == [[0, 3], [1], [4]]  # 5: no label
    assert len(split_nodes(graph, ratios=(0.2, 0.4, 0.4)).train) == 3
    twice = graph.replace(split={**own, "val": torch.tensor([3])})
    with pytest.raises(GraphError, match="node 3 in 'val' and in 'train'"):
        split_nodes(twice)


def test_nodes_of_many_graphs_are_split_by_graph() -> None:
    graph = many_graphs(10, y=torch.arange(120) % 3)
    split = split_nodes(graph)
    ids = graph.graph_ids
    assert ids is not None
    assert split.inductive
    graphs = [set(ids[getattr(split, part)].tolist()) for part in PARTS]
    assert [len(part) for part in graphs] == [6, 2, 2]
    assert len(set.union(*graphs)) == 10
    assert sum(len(getattr(split, part)) for part in PARTS) == 120


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"y": torch.tensor([0] * 9 + [1])}, {}, "at least 3 nodes of class 1, .* got 1.*Merge"),
        (
            {"y": torch.tensor([0] * 9 + [1]), "class_names": ("cat", "dog")},
            {},
            "nodes of class 'dog'",
        ),
        ({}, {}, "graph with labels"),
        ({"y": torch.zeros(10, dtype=torch.int64)}, {"ratios": (0.5, 0.5)}, "shares"),
        ({"y": torch.zeros(10, dtype=torch.int64)}, {"ratios": (0.8, 0.2, 0.2)}, "add up to 1"),
        ({}, {"protocol": "legacy"}, "label for each node"),
    ],
)
def test_impossible_node_splits(
    fields: dict[str, object], options: dict[str, object], message: str
) -> None:
    graph = random_graph(10, 20, **fields)
    with pytest.raises(GraphError, match=message):
        split_nodes(graph, **options)  # type: ignore[arg-type]


def test_without_labels_or_classes() -> None:
    assert len(split_nodes(random_graph(20, 20), stratify=False).train) == 14
    rare = random_graph(20, 20, y=torch.tensor([0] * 19 + [1]))
    assert len(split_nodes(rare, stratify=False).test) == 3
