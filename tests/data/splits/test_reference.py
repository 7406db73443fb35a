"""Legacy splits against the reference implementation's procedure, redone."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from hgcn.data import Graph, as_graph, split_links, split_nodes
from hgcn.errors import LegacyWarning
from hgcn.names import PARTS


def pair_set(pairs: Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.T.tolist()))


def reference_links(adjacency: np.ndarray, val: float, test: float, seed: int) -> list[np.ndarray]:
    """The procedure of the reference, with its dense matrices: edges, then candidates."""
    generator = np.random.RandomState(seed)
    lists = []
    for matrix in (adjacency, 1.0 - adjacency):
        rows = np.argwhere(np.triu(matrix))
        generator.shuffle(rows)
        lists.append(rows)
    a, b = (int(len(lists[0]) * share) for share in (val, test))
    return [lists[0][:a], lists[0][a : a + b], lists[0][a + b :], lists[1][:a], lists[1][a : a + b]]


@pytest.mark.parametrize("seed", [0, 1234])
@pytest.mark.filterwarnings("ignore::hgcn.errors.LegacyWarning")
def test_legacy_links_are_those_of_the_reference(seed: int) -> None:
    graph = as_graph(nx.gnm_random_graph(60, 200, seed=0))
    edges = torch.cat((graph.edge_index, torch.tensor([[5], [5]])), dim=1)
    adjacency = np.zeros((60, 60))
    adjacency[edges[0], edges[1]] = 1
    split = split_links(graph.replace(edge_index=edges), seed=seed, protocol="legacy")
    result = (
        split.val.positives,
        split.test.positives,
        split.train.positives,
        split.val.negatives,
        split.test.negatives,
    )
    for ours, theirs in zip(result, reference_links(adjacency, 0.05, 0.10, seed), strict=True):
        assert ours is not None
        np.testing.assert_array_equal(ours.T, theirs)
    drawn = pair_set(split.sample_negatives(40_000, torch.Generator().manual_seed(0)))
    trained = pair_set(split.train.positives)
    expected = {(i, j) for i in range(60) for j in range(i, 60)} - trained
    assert drawn == expected  # a node and itself too


def labels_of(name: str) -> Graph:
    folder = Path(os.environ.get("HGCN_DATA", "")) / name
    if "HGCN_DATA" not in os.environ or not folder.is_dir():
        pytest.skip(f"needs the folder {name} in HGCN_DATA")
    y = torch.from_numpy(np.load(folder / "labels.npy"))
    return Graph(torch.empty(2, 0, dtype=torch.int64), len(y), y=y, name=name)


def test_legacy_split_of_airport_has_test_nodes_in_training() -> None:
    with pytest.warns(LegacyWarning, match="225 of 506 test nodes are also training nodes"):
        split = split_nodes(labels_of("airport"), seed=1234, protocol="legacy")
    val = torch.unique(split.val)
    assert len(val) == 505
    assert int(torch.isin(val, split.train).sum()) == 246


def test_legacy_split_of_disease_is_not_the_paper_s() -> None:
    graph = labels_of("disease_nc").replace(ratios=(0.3, 0.1, 0.6))
    with pytest.warns(LegacyWarning, match="748/42/254"):
        split = split_nodes(graph, protocol="legacy")
    assert graph.y is not None
    assert torch.bincount(graph.y[split.test]).tolist() == [127, 127]
    clean = split_nodes(graph)
    assert [len(getattr(clean, part)) for part in PARTS] == [313, 104, 627]


def test_clean_split_of_airport() -> None:
    split = split_nodes(labels_of("airport"))
    assert [len(getattr(split, part)) for part in PARTS] == [2232, 478, 478]
