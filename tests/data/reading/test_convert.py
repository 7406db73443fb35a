from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_undirected

from hgcn.data import Graph, as_graph, combine, read
from hgcn.data.sparse import as_features
from hgcn.errors import DataError


def same(first: Graph, second: Graph) -> None:
    assert first.fingerprint() == second.fingerprint()
    assert first.directed == second.directed
    assert first.feature_names == second.feature_names
    assert first.class_names == second.class_names


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Graphs with and without features, labels, weights, graph ids and names."""
    n = draw(st.integers(1, 7))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(pair, max_size=12)) if n > 1 else []
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    weight = None
    if draw(st.booleans()):
        weight = draw(st.lists(st.integers(1, 5), min_size=len(pairs), max_size=len(pairs)))
    graph = read(
        (source, target) if weight is None else (source, target, np.array(weight, dtype=float)),
        features=draw(st.sampled_from([np.eye(n), sparse.eye_array(n, format="csr")])),
        directed=draw(st.booleans()),
    )
    changes: dict[str, Any] = {}
    if draw(st.booleans()):
        changes["y"] = torch.tensor(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
        changes["class_names"] = ("x", "y", "z")
    if draw(st.booleans()):
        changes["ids"] = np.array([f"node {i}" for i in range(n)])
    if draw(st.booleans()):
        changes["x"] = None
    if draw(st.booleans()):
        changes["graph_ids"] = torch.zeros(n, dtype=torch.int64)
    return graph.replace(**changes)


@given(graphs())
def test_to_pyg_and_back(graph: Graph) -> None:
    data = graph.to_pyg()
    assert data.num_nodes == graph.num_nodes
    same(Graph.from_pyg(data), graph)
    same(as_graph(data), graph)


def test_pyg_tells_whether_it_is_directed() -> None:
    edges = torch.tensor([[0, 1, 1], [1, 2, 2]])
    one_way = as_graph(Data(edge_index=edges, num_nodes=4))
    assert one_way.directed
    assert one_way.edge_index.tolist() == [[0, 1], [1, 2]]
    assert one_way.num_nodes == 4
    assert one_way.notes == ("Edges: merged 1 repeated edge.",)
    assert not as_graph(Data(edge_index=to_undirected(edges), num_nodes=4)).directed
    weighted = Data(
        edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.tensor([1.0, 2.0]), num_nodes=2
    )
    assert as_graph(weighted).directed
    undirected = Graph.from_pyg(Data(edge_index=edges, num_nodes=4), directed=False)
    assert undirected.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    same(read(Data(edge_index=edges, num_nodes=4), directed=False), undirected)
    with pytest.raises(DataError, match="`directed` to be False"):
        read(undirected, directed=True)


def test_pyg_masks_become_the_split() -> None:
    mask = torch.tensor([True, False, True])
    data = Data(
        x=torch.eye(3, dtype=torch.float64),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        y=torch.tensor([[1], [0], [1]]),
        train_mask=mask,
        test_mask=~mask,
    )
    graph = Graph.from_pyg(data, name="mine")
    assert graph.split is not None
    assert {part: nodes.tolist() for part, nodes in graph.split.items()} == {
        "train": [0, 2],
        "test": [1],
    }
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, 1]
    assert graph.name == "mine"
    back = graph.to_pyg()
    assert back.train_mask.tolist() == mask.tolist()


def test_a_batch_of_pyg_is_many_graphs() -> None:
    parts = [Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]])) for _ in range(3)]
    graph = as_graph(Batch.from_data_list(parts))
    assert graph.num_graphs == 3
    assert graph.graph_ids is not None
    assert graph.graph_ids.tolist() == [0, 0, 1, 1, 2, 2]
    assert read(parts).edge_index.tolist() == graph.edge_index.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=15),
    st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]),
)
def test_networkx_edges_are_the_same(edges: list[tuple[int, int]], kind: Any) -> None:
    network = kind()
    network.add_nodes_from([6, "x", (1, 2)])
    network.add_edges_from(edges)
    graph = read(network)
    simple = (nx.DiGraph if network.is_directed() else nx.Graph)(network)
    simple.remove_edges_from(nx.selfloop_edges(simple))
    assert graph.directed == network.is_directed()
    assert graph.num_nodes == network.number_of_nodes()
    assert graph.num_edges == simple.number_of_edges()
    names = [tuple(graph.ids[pair].tolist()) for pair in graph.pairs().T.numpy()]
    expected = {(str(a), str(b)) for a, b in simple.edges}
    if not graph.directed:
        expected = {tuple(sorted(edge)) for edge in expected}
        names = [tuple(sorted(edge)) for edge in names]
    assert set(names) == expected


def test_networkx_attributes_become_columns() -> None:
    network = nx.karate_club_graph()
    graph = read(network, labels="club")
    assert graph.class_names == ("Mr. Hi", "Officer")
    assert graph.y is not None
    assert [graph.class_names[label] for label in graph.y] == [
        club for _, club in network.nodes(data="club")
    ]
    assert graph.edge_weight is not None
    weight = nx.to_scipy_sparse_array(network, weight="weight")
    source, target = graph.edge_index.numpy()
    assert graph.edge_weight.tolist() == weight.toarray()[source, target].tolist()
    assert as_graph(network).columns["club"].tolist() == [c for _, c in network.nodes(data="club")]


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_sparse_matrices(layout: str) -> None:
    upper = np.triu(np.arange(16.0).reshape(4, 4) % 3, 1)
    expected = upper + upper.T
    for matrix in (upper, expected):
        graph = read(sparse.coo_array(matrix).asformat(layout))
        assert graph.edge_weight is not None
        found = np.zeros((4, 4))
        found[tuple(graph.edge_index.numpy())] = graph.edge_weight.numpy()
        np.testing.assert_array_equal(found, expected)
    ones = read(sparse.coo_array(expected > 0).asformat(layout))
    assert ones.edge_weight is None
    assert read(sparse.coo_array(upper), directed=True).num_edges == np.count_nonzero(upper)


def test_edge_index_counts_nodes_that_no_edge_names() -> None:
    edge_index = torch.tensor([[0, 4], [4, 0]])
    assert read(edge_index).num_nodes == 5
    assert read(edge_index.numpy()).num_nodes == 5
    assert read(edge_index, features=np.eye(7)).num_nodes == 7
    assert read(tuple(edge_index)).ids.tolist() == [0, 4]


def test_a_graph_without_edges_is_one() -> None:
    assert as_graph(nx.empty_graph(3)).num_edges == 0
    assert read(sparse.csr_array((3, 3))).num_nodes == 3
    assert read(torch.zeros(2, 0, dtype=torch.int64), features=np.eye(3)).num_nodes == 3


def test_values_for_a_graph_in_memory() -> None:
    graph = read(nx.path_graph(3), features=np.eye(3), labels=["x", None, "y"], graph_ids=[5, 5, 5])
    assert graph.num_features == 3
    assert graph.y is not None
    assert graph.y.tolist() == [0, -1, 1]
    assert graph.num_graphs == 1
    data = graph.to_pyg()
    again = read(data, labels=np.array([1, 0, 1]), name="again")
    assert again.y is not None
    assert again.y.tolist() == [1, 0, 1]
    assert again.name == "again"


@pytest.mark.parametrize("is_sparse", [False, True])
def test_combined_graphs_come_apart_again(is_sparse: bool) -> None:
    def part(size: int) -> Graph:
        x = np.arange(2.0 * size).reshape(size, 2)
        graph = as_graph(nx.path_graph(size))
        return graph.replace(
            x=as_features(sparse.csr_array(x) if is_sparse else x),
            y=torch.arange(size) % 2,
            ids=np.array([f"{size}-{i}" for i in range(size)]),
            columns={"height": np.arange(size)},
            split={"train": torch.tensor([size - 1])},
        )

    parts = [part(3), part(2), part(4)]
    whole = combine(parts)
    assert whole.num_graphs == 3
    assert whole.graph_ids is not None
    for at, one in enumerate(parts):
        again = whole.subgraph(whole.graph_ids == at)
        same(again.replace(graph_ids=None), one)
        assert again.columns["height"].tolist() == one.columns["height"].tolist()
        assert again.split is not None
        assert again.split["train"].tolist() == [one.num_nodes - 1]
    nested = combine([whole, part(5)])
    assert nested.num_graphs == 4


def test_as_graph_leaves_a_graph_alone() -> None:
    graph = as_graph(nx.path_graph(2))
    assert as_graph(graph) is graph
