import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from hgcn.data import Graph, combine, load
from hgcn.data.clean import count
from hgcn.data.sparse import as_features, csr_matrix
from hgcn.errors import GraphError


def small(**fields: object) -> Graph:
    """A path 0 - 1 - 2 and the isolated node 3."""
    given: dict[str, object] = {
        "x": torch.arange(8.0).view(4, 2),
        "y": torch.tensor([0, 1, 1, -1]),
        "edge_weight": torch.tensor([1.0, 1.0, 2.0, 2.0]),
        "ids": np.array(["a", "b", "c", "d"]),
        "columns": {"age": np.array([1, 2, 3, 4])},
        "split": {"train": torch.tensor([0, 2]), "test": torch.tensor([1])},
    }
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return Graph(edges, 4, **(given | fields))  # type: ignore[arg-type]


def test_numbers() -> None:
    graph = small()
    assert (graph.num_edges, graph.num_features, graph.num_classes, graph.num_graphs) == (
        2,
        2,
        2,
        1,
    )
    assert repr(graph) == "Graph(4 nodes, 2 edges, 2 features, 2 classes)"
    assert small(directed=True).num_edges == 4
    assert [count(1, "class"), count(2, "class"), count(1000, "node")] == [
        "1 class",
        "2 classes",
        "1,000 nodes",
    ]


def test_ids_are_numbers_unless_given() -> None:
    assert Graph(torch.zeros(2, 0, dtype=torch.int64), 3).ids.tolist() == [0, 1, 2]


def test_fields_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        small().num_nodes = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        small().columns["age"] = np.zeros(4)  # type: ignore[index]


def test_pairs_are_each_edge_once() -> None:
    assert small().pairs().tolist() == [[0, 1], [1, 2]]
    directed = small(directed=True)
    assert directed.pairs().tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_subgraph_renumbers_everything(is_sparse: bool) -> None:
    x = torch.arange(8.0).view(4, 2)
    graph = small(x=as_features(sparse.csr_array(x)) if is_sparse else x)
    part = graph.subgraph(torch.tensor([2, 1]))
    assert part.ids.tolist() == ["c", "b"]
    assert part.edge_index.tolist() == [[1, 0], [0, 1]]
    assert part.edge_weight is not None
    assert part.edge_weight.tolist() == [2.0, 2.0]
    assert part.x is not None
    assert part.x.to_dense().tolist() == [[4.0, 5.0], [2.0, 3.0]]
    assert part.y is not None
    assert part.y.tolist() == [1, 1]
    assert part.columns["age"].tolist() == [3, 2]
    assert part.split is not None
    assert {name: nodes.tolist() for name, nodes in part.split.items()} == {
        "train": [0],
        "test": [1],
    }


def test_subgraph_takes_a_mask() -> None:
    mask = torch.tensor([False, True, True, False])
    assert small().subgraph(mask).ids.tolist() == ["b", "c"]


def all_different() -> Graph:
    """A graph of which every field has a value."""
    return small(
        x=as_features(sparse.csr_array(np.diag([1.0, 2, 3, 4]))),
        graph_ids=torch.tensor([0, 0, 0, 1]),
        split={"train": torch.tensor([0, 2]), "val": torch.tensor([1])},
        class_names=("red", "blue"),
        ratios=(0.5, 0.3, 0.2),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"edge_index": torch.tensor([[0, 2, 1, 2], [2, 0, 2, 1]])},
        {"num_nodes": 5, "graph_ids": torch.tensor([0, 0, 0, 1, 1])},
        {"x": None},
        {"x": torch.diag(torch.tensor([1.0, 2, 3, 5]))},
        {"x": as_features(sparse.csr_array(np.diag([1.0, 2, 3, 5])))},
        {"x": as_features(sparse.csr_array(np.eye(4, 5) * [1, 2, 3, 4, 5]))},
        {"y": None},
        {"y": torch.tensor([0, 1, 0, -1])},
        {"class_names": ("red", "blue", "green")},
        {"edge_weight": None},
        {"edge_weight": torch.tensor([1.0, 1.0, 2.0, 3.0])},
        {"directed": True},
        {"ids": np.array(["a", "b", "c", "e"])},
        {"graph_ids": None},
        {"graph_ids": torch.tensor([1, 1, 1, 0])},
        {"split": None},
        {"split": {"train": torch.tensor([0, 2]), "test": torch.tensor([1])}},
        {"split": {"train": torch.tensor([0, 3]), "val": torch.tensor([1])}},
        {"split": {"train": torch.tensor([0]), "val": torch.tensor([2, 1])}},
        {"ratios": None},
        {"ratios": (0.5, 0.2, 0.3)},
    ],
)
def test_each_field_that_can_change_a_training_changes_the_fingerprint(
    change: dict[str, Any],
) -> None:
    graph = all_different()
    if change.get("num_nodes") == 5:
        rows = {"x": None, "y": None, "ids": None, "columns": {}}
        graph, change = graph.replace(**rows), change | rows
    assert graph.replace(**change).fingerprint() != graph.fingerprint()


def test_equal_data_have_equal_fingerprints() -> None:
    graph = all_different()
    x = graph.x
    assert x is not None
    for change in (
        {},
        {"name": "other", "notes": ("read",), "columns": {}},
        {"class_names": ("one", "two"), "feature_names": ("a", "b", "c", "d")},
        {"split": {"val": torch.tensor([1]), "train": torch.tensor([2, 0])}},
        {"split": {"train": torch.tensor([0, 2], dtype=torch.int32), "val": torch.tensor([1])}},
        {"ratios": [0.5, 0.3, 0.2]},
        {
            "x": csr_matrix(
                x.crow_indices().int(), x.col_indices().int(), x.values().clone(), x.shape
            )
        },
        {"edge_index": graph.edge_index.t().contiguous().t()},
    ):
        assert graph.replace(**change).fingerprint() == graph.fingerprint()


def test_a_graph_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, other = small(), small(y=None)
    first = graph.fingerprint()
    monkeypatch.setattr("hgcn.data.graph.hashlib.sha256", None)
    assert graph.fingerprint() == first
    with pytest.raises(TypeError):
        other.fingerprint()


def test_ratios_are_kept() -> None:
    graph = small(ratios=(0.3, 0.1, 0.6))
    for copied in (
        graph.replace(name="other"),
        graph.subgraph(torch.tensor([2, 1])),
        pickle.loads(pickle.dumps(graph)),
        copy.deepcopy(graph),
        Graph.from_pyg(graph.to_pyg()),
        combine([graph, graph]),
        load(graph),
    ):
        assert copied.ratios == (0.3, 0.1, 0.6)
    assert combine([graph, small()]).ratios is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edge_index": torch.tensor([[1], [4]])}, r"0\.\.3, got 1\.\.4\. Are the ids 1-based"),
        ({"edge_index": torch.tensor([[-1], [0]])}, r"got -1\.\.0"),
        ({"edge_index": torch.tensor([[0.0], [1.0]])}, "int64"),
        ({"edge_index": torch.tensor([0, 1])}, "shape"),
        ({"num_nodes": 0}, "at least one node"),
        ({"x": torch.zeros(3, 2)}, "`x` to have 4 rows, got 3"),
        ({"x": torch.full((4, 2), torch.nan)}, "finite"),
        ({"x": torch.zeros(4, 2, dtype=torch.float64)}, "float32"),
        ({"feature_names": ("one",)}, "2 feature names, got 1"),
        ({"y": torch.tensor([0, 1, 2, -2])}, "-1 for unknown"),
        ({"y": torch.zeros(4)}, "int64"),
        ({"class_names": ("one",)}, "a name for each class"),
        ({"edge_weight": torch.tensor([1.0, 1.0, 0.0, 0.0])}, "positive"),
        ({"edge_weight": torch.ones(3)}, "4 rows"),
        ({"ids": np.arange(3)}, "`ids` to have 4 entries"),
        ({"columns": {"age": np.arange(3)}}, "`age` to have 4 entries"),
        ({"split": {"training": torch.arange(2)}}, "'training'"),
        ({"split": {"train": torch.tensor([4])}}, r"0\.\.3"),
        ({"graph_ids": torch.tensor([0, 0, 1, 1])}, "inside one graph"),
        ({"graph_ids": torch.tensor([-1, -1, -1, 0])}, "graph_ids"),
        ({"ratios": (0.5, 0.5)}, "three shares"),
        ({"ratios": (0.5, 0.5, 0.5)}, "add up to 1"),
        ({"ratios": (-0.5, 0.5, 0.5)}, r"shares in 0\.\.1"),
    ],
)
def test_what_is_no_graph_is_refused(fields: dict[str, object], message: str) -> None:
    plain = small(edge_weight=None) if "edge_index" in fields else small()
    with pytest.raises(GraphError, match=message):
        plain.replace(**fields)


def test_a_graph_can_be_pickled_and_copied() -> None:
    graph = Graph(
        torch.tensor([[0, 1], [1, 0]]),
        num_nodes=2,
        columns={"colour": np.array(["red", "blue"])},
        split={"train": torch.tensor([1])},
    )
    for copied in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert copied.fingerprint() == graph.fingerprint()
        assert copied.columns["colour"].tolist() == ["red", "blue"]
        assert copied.split is not None
        assert copied.split["train"].tolist() == [1]


def test_sparse_features_have_sorted_columns() -> None:
    edges = torch.tensor([[0], [1]])
    for crow, columns, fine in (
        ([0, 2, 2, 3], [0, 3, 1], True),
        ([0, 0, 0, 0], [], True),
        ([0, 2, 3, 3], [3, 0, 1], False),
        ([0, 2, 2, 4], [1, 2, 1, 1], False),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the layout is in beta
            x = torch.sparse_csr_tensor(
                crow, columns, torch.ones(len(columns)), (3, 4), check_invariants=False
            )
        if fine:
            assert Graph(edges, 3, x=x).num_features == 4
        else:
            with pytest.raises(GraphError, match="columns of each row of a CSR `x` to be sorted"):
                Graph(edges, 3, x=x)
