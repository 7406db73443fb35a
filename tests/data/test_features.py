import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from hgcn.data import (
    Graph,
    as_graph,
    default_features,
    log_features,
    normalise_rows,
    read,
    standardise,
)
from hgcn.data.features import BINS, LOG, ROW, STANDARD, UNCHANGED
from hgcn.data.sparse import as_features, select_rows
from hgcn.errors import GraphError
from hgcn.names import NORMALISATIONS

PEOPLE = """id,age,colour,height
a,1,red,
b,,blue,2
c,3,,4.5
"""


def people(tmp_path: Path, text: str = PEOPLE, **arguments: object) -> Graph:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "people.csv").write_text(text)
    return read(tmp_path / "edges.csv", features=tmp_path / "people.csv", **arguments)  # type: ignore[arg-type]


def test_numbers_categories_and_missing_values(tmp_path: Path) -> None:
    graph = people(tmp_path)
    assert graph.feature_names == (
        "age",
        "age missing",
        "colour = blue",
        "colour = red",
        "colour missing",
        "height",
        "height missing",
    )
    assert graph.x is not None
    expected = [
        [1, 0, 0, 1, 0, 3.25, 1],
        [2, 1, 1, 0, 0, 2, 0],
        [3, 0, 0, 0, 1, 4.5, 0],
    ]
    assert graph.x.tolist() == expected
    assert "Features: 1 missing value of 'age' became the mean, marked in an own column." in (
        graph.notes
    )
    assert "Features: 1 missing value of 'colour' became an own category." in graph.notes


def test_labels_leave_the_features(tmp_path: Path) -> None:
    graph = people(tmp_path, labels="colour")
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, -1]
    assert graph.class_names == ("blue", "red")
    assert graph.feature_names == ("age", "age missing", "height", "height missing")
    assert "Labels: 1 node without one." in graph.notes


@pytest.mark.parametrize("word", ["NA", "nan", "None", "null", " ", '""'])
def test_words_for_missing(word: str, tmp_path: Path) -> None:
    graph = people(tmp_path, f"id,age\na,1\nb,{word}\nc,3\n")
    assert graph.x is not None
    assert graph.x.tolist() == [[1, 0], [2, 1], [3, 0]]


def test_rows_follow_ids_not_the_order_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n10,9\n9,2\n")
    (tmp_path / "f.csv").write_text("id,v\n2,0.2\n10,1.0\n9,0.9\n7,0.7\n")
    graph = read(tmp_path / "edges.csv", features=tmp_path / "f.csv")
    assert graph.x is not None
    values = dict(zip(graph.ids.tolist(), graph.x[:, 0].tolist(), strict=True))
    assert values == {i: pytest.approx(i / 10) for i in (2, 7, 9, 10)}
    assert graph.num_edges == 2
    ends = {tuple(graph.ids[pair].tolist()) for pair in graph.edge_index.T.numpy()}
    assert ends == {(10, 9), (9, 10), (9, 2), (2, 9)}


def graph_with(x: np.ndarray, is_sparse: bool) -> Graph:
    features = as_features(sparse.csr_array(x) if is_sparse else x)
    return Graph(torch.zeros(2, 0, dtype=torch.int64), len(x), x=features)


def result(graph: Graph, is_sparse: bool) -> np.ndarray:
    assert graph.x is not None
    assert (graph.x.layout == torch.sparse_csr) == is_sparse
    return graph.x.to_dense().numpy()


# Many zeros, rows and columns of nothing but zeros among them.
matrices = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5, 1000.0]),
)


@pytest.mark.parametrize("is_sparse", [False, True])
@given(x=matrices)
def test_normalised_rows_are_those_of_scikit_learn(is_sparse: bool, x: np.ndarray) -> None:
    ours = result(normalise_rows(graph_with(x, is_sparse)), is_sparse)
    np.testing.assert_allclose(ours, normalize(x, "l1"), rtol=1e-5)


@pytest.mark.parametrize("is_sparse", [False, True])
@given(x=matrices)
def test_logarithm(is_sparse: bool, x: np.ndarray) -> None:
    ours = result(log_features(graph_with(x, is_sparse)), is_sparse)
    expected = [[math.copysign(math.log1p(abs(value)), value) for value in row] for row in x]
    np.testing.assert_allclose(ours, expected, rtol=1e-5)


@pytest.mark.parametrize("is_sparse", [False, True])
@given(x=matrices, data=st.data())
def test_standardised_as_in_scikit_learn(
    is_sparse: bool, x: np.ndarray, data: st.DataObject
) -> None:
    nodes = data.draw(st.lists(st.integers(0, len(x) - 1), min_size=1, unique=True))
    ours = result(standardise(graph_with(x, is_sparse), torch.tensor(nodes)), is_sparse)
    scaler = StandardScaler(with_mean=not is_sparse).fit(x[nodes].astype(np.float64))
    np.testing.assert_allclose(ours, scaler.transform(x.astype(np.float64)), rtol=1e-4, atol=1e-4)


def test_other_nodes_do_not_change_the_scale() -> None:
    x = np.array([[1.0], [3.0], [50.0]])
    mask = torch.tensor([True, True, False])
    first = standardise(graph_with(x, False), mask)
    x[2] = -7.0
    second = standardise(graph_with(x, False), mask)
    assert first.x is not None
    assert second.x is not None
    assert first.x[:2].flatten().tolist() == second.x[:2].flatten().tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("is_sparse", [False, True])
@given(x=matrices)
def test_normalisations_do_what_the_functions_of_graphs_do(is_sparse: bool, x: np.ndarray) -> None:
    graph, nodes = graph_with(x, is_sparse), torch.arange(1 + len(x) // 2)
    assert graph.x is not None
    expected = {
        "none": graph,
        "row": normalise_rows(graph),
        "log": log_features(graph),
        "standard": standardise(graph, nodes),
    }
    assert {*expected, "bins"} == {*NORMALISATIONS}
    for name, other in expected.items():
        normalisation = NORMALISATIONS[name]
        statistics = normalisation.fit(select_rows(graph.x, nodes))
        assert len(statistics) == (2 if name == "standard" else 0)
        scaled = graph.replace(x=normalisation.apply(graph.x, *statistics))
        np.testing.assert_array_equal(result(scaled, is_sparse), result(other, is_sparse))


def test_normalisations_are_values() -> None:
    for normalisation in (UNCHANGED, ROW, STANDARD, LOG, BINS):
        assert pickle.loads(pickle.dumps(normalisation)) == normalisation
        with pytest.raises(AttributeError):
            normalisation.scale = None  # type: ignore[misc, assignment]
    with pytest.raises(GraphError, match="at least one row"):
        STANDARD.fit(torch.empty(0, 3))


def test_default_features_are_constant_and_degree() -> None:
    star = as_graph((["hub"] * 7, [f"leaf{i}" for i in range(7)]))
    graph = default_features(star.subgraph(torch.arange(8)))
    assert graph.x is not None
    assert graph.feature_names is not None
    hub = dict(zip(graph.feature_names, graph.x[0].tolist(), strict=True))
    leaf = dict(zip(graph.feature_names, graph.x[3].tolist(), strict=True))
    assert hub["constant"] == leaf["constant"] == 1
    assert hub["log(1 + degree)"] == pytest.approx(math.log(8))
    assert [name for name, value in hub.items() if value == 1] == ["constant", "degree >= 5"]
    assert [name for name, value in leaf.items() if value == 1] == ["constant", "degree = 1"]
    assert "none were given" in graph.notes[-1]


def test_degree_of_a_directed_graph_counts_both_ends() -> None:
    graph = default_features(read(([0, 1], [1, 2]), directed=True))
    assert graph.x is not None
    torch.testing.assert_close(graph.x[:, 1].exp() - 1, torch.tensor([1.0, 2.0, 1.0]))
