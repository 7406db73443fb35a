import csv
import gzip
import itertools
import json
import os
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hgcn.data import Graph, Table, load, loading, read
from hgcn.data.clean import clean_edges
from hgcn.errors import DataError

DATA = os.environ.get("HGCN_DATA")


def named_edges(graph: Graph) -> set[tuple[Any, Any]]:
    return {tuple(graph.ids[pair].tolist()) for pair in graph.edge_index.T.numpy()}


def both_ways(*edges: tuple[Any, Any]) -> set[tuple[Any, Any]]:
    return {pair for a, b in edges for pair in ((a, b), (b, a))}


PATH = both_ways(("a", "b"), ("b", "c"))

TEXTS = {
    "edges.csv": "source,target\na,b\nb,c\n",
    "other header.csv": "from,to\na,b\nb,c\n",
    "reordered.csv": "kind,Target,SOURCE\nx,a,b\nx,b,c\n",
    "no header.csv": "a,b\nb,c\n",
    "pandas.csv": ",source,target\n0,a,b\n1,b,c\n",
    "edges.tsv": "source\ttarget\na\tb\nb\tc\n",
    "snap.txt": "# Nodes: 3\n# From\tTo\na\tb\nb\tc\n",
    "spaces.edges": "a b\nb c\n",
    "crlf.csv": "source,target\r\na,b\r\nb,c\r\n",
    "old mac.csv": "source,target\ra,b\rb,c\r",
    "bom.csv": "\ufeffsource,target\na,b\nb,c\n",
    "no last line end.csv": "source,target\na,b\nb,c",
    "blank lines.csv": "\n\nsource,target\n\na,b\n\r\nb,c\n\n\n",
    "quotes.csv": '"source","target"\n"a","b"\nb,"c"\n',
    "spaces around.csv": "source, target\na, b\nb ,c\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_edge_lists_as_they_come(name: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / (name + ".gz" if packed else name)
    data = TEXTS[name].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    graph = read(path)
    assert named_edges(graph) == PATH
    assert not graph.directed
    assert graph.name == name.split(".", maxsplit=1)[0]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_ids_keep_commas_spaces_quotes_and_leading_zeros(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    names = ["Doe, Jane", 'the "boss"', "two words", "007", "7", "NA", "naïve", "line\nbreak"]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *itertools.pairwise(names)])
    graph = read(path)
    assert named_edges(graph) == both_ways(*itertools.pairwise(names))


def test_whole_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    graph = read(write(tmp_path / "e.csv", "10,9\n9,100000000000\n"))
    assert graph.ids.dtype == np.int64
    assert graph.ids.tolist() == [9, 10, 100000000000]
    mixed = read(write(tmp_path / "e.csv", "10,9\n9,x\n"))
    assert mixed.ids.tolist() == ["10", "9", "x"]


def test_header_is_noted_when_guessed(tmp_path: Path) -> None:
    graph = read(write(tmp_path / "e.csv", "person,friend\n1,2\n2,3\n"))
    assert graph.num_nodes == 3
    assert graph.notes == ("The first line of the edges was read as a header: person, friend.",)


def test_table_says_what_the_file_does_not(tmp_path: Path) -> None:
    path = write(tmp_path / "e.csv", "km;to;from\n3;b;a\n4;c;b\n")
    graph = read(Table(path, columns=("from", "to", "km"), delimiter=";"), directed=True)
    assert named_edges(graph) == {("a", "b"), ("b", "c")}
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [3.0, 4.0]
    path = write(tmp_path / "people.csv", "person,friend\na,b\n")
    assert named_edges(read(Table(path, header=True))) == both_ways(("a", "b"))
    assert read(Table(path, header=False)).num_nodes == 4
    with pytest.raises(DataError, match="Did you mean 'friend'"):
        read(Table(path, columns=("person", "freind")))


def test_repeats_loops_and_weights(tmp_path: Path) -> None:
    path = write(tmp_path / "e.csv", "source,target,weight\na,b,1\nb,a,2\nb,c,4\nb,c,8\nc,c,16\n")
    graph = read(path)
    assert graph.edge_weight is not None
    weights = dict(
        zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_weight.tolist(), strict=True)
    )
    assert weights == {(0, 1): 3.0, (1, 0): 3.0, (1, 2): 12.0, (2, 1): 12.0}
    assert graph.notes == ("Edges: removed 1 self-loop; merged 2 repeated edges, weights summed.",)
    directed = read(path, directed=True)
    assert directed.edge_weight is not None
    assert directed.edge_index.tolist() == [[0, 1, 1], [1, 0, 2]]
    assert directed.edge_weight.tolist() == [1.0, 2.0, 12.0]


def test_an_edge_listed_in_both_directions_is_not_doubled(tmp_path: Path) -> None:
    graph = read(write(tmp_path / "e.csv", "a,b,2\nb,a,2\nb,c,3\nc,b,3\n"))
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert graph.notes == ("The third column of the edges was read as their weight.",)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=25),
    st.booleans(),
    st.booleans(),
)
def test_cleaning_agrees_with_a_dense_matrix(
    rows: list[tuple[int, int, int]], directed: bool, weighted: bool
) -> None:
    dense = np.zeros((6, 6))
    for a, b, weight in rows:
        dense[a, b] += weight if a != b else 0
    if not directed and not np.array_equal(dense, dense.T):
        dense = dense + dense.T
    a, b, weight = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    edges, weights, _ = clean_edges(
        a, b, weight.astype(float) if weighted else None, num_nodes=6, directed=directed
    )
    if not weighted:
        dense = (dense > 0).astype(float)
    found = np.zeros((6, 6))
    source, target = edges.numpy()
    found[source, target] = 1 if weights is None else weights.numpy()
    assert len(source) == np.count_nonzero(found)
    np.testing.assert_array_equal(found, dense)
    assert (np.diff(source * 6 + target) > 0).all()


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    lines = ["a,b", "b,c", "c,d", "d,a", "d,b"]
    first = read(write(tmp_path / "e.csv", "source,target\n" + "\n".join(lines)))
    second = read(write(tmp_path / "e.csv", "source,target\n" + "\n".join(reversed(lines))))
    assert first.fingerprint() == second.fingerprint()


def test_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}).write_parquet(tmp_path / "e.parquet")
    assert named_edges(read(tmp_path / "e.parquet")) == PATH
    pl.DataFrame({"u": [5.0, 6.0], "v": [6.0, 7.0]}).write_parquet(tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet").ids.tolist() == [5, 6, 7]
    pl.DataFrame(
        {"id": [7, 5, 6], "age": [1.5, float("nan"), 2.5], "member": [True, False, True]}
    ).write_parquet(tmp_path / "n.parquet")
    graph = read(tmp_path / "f.parquet", features=tmp_path / "n.parquet")
    assert graph.ids.tolist() == [7, 5, 6]
    assert graph.feature_names == ("age", "age missing", "member")
    assert graph.x is not None
    assert graph.x.tolist() == [[1.5, 0, 1], [2, 1, 0], [2.5, 0, 1]]


def test_table_of_nodes(tmp_path: Path) -> None:
    edges = write(tmp_path / "e.csv", "source,target\na,b\nb,c\n")
    nodes = write(
        tmp_path / "n.csv",
        "id,name,age,team,city\nd,Dan,4,red,\nb,Bob,2,blue,Rome\na,Ann,1,red,Bonn\n",
    )
    graph = read(edges, nodes=nodes, labels="team")
    assert graph.ids.tolist() == ["d", "b", "a", "c"]
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, 1, -1]
    assert graph.x is None
    assert graph.columns["city"].tolist() == ["", "Rome", "Bonn", ""]
    np.testing.assert_array_equal(graph.columns["age"], [4, 2, 1, np.nan])
    assert list(graph.columns) == ["name", "age", "city"]
    assert named_edges(graph) == PATH
    with pytest.raises(DataError, match=r"features for each node.*got none for c"):
        read(edges, nodes=nodes, features=["age"])


def test_isolated_nodes_come_from_the_table(tmp_path: Path) -> None:
    edges = write(tmp_path / "e.csv", "source,target\na,b\n")
    graph = read(edges, features=write(tmp_path / "f.csv", "id,v\na,1\nb,2\nz,3\n"))
    assert graph.num_nodes == 3
    assert graph.num_edges == 1


def test_labels_in_a_file_of_their_own(tmp_path: Path) -> None:
    edges = write(tmp_path / "e.csv", "1,2\n2,10\n")
    graph = read(edges, labels=write(tmp_path / "l.csv", "id,class\n10,30\n2,4\n"))
    assert graph.class_names == ("4", "30")
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 0, 1]


def test_many_graphs_by_a_column(tmp_path: Path) -> None:
    edges = write(tmp_path / "e.csv", "source,target\na,b\nc,d\n")
    nodes = write(tmp_path / "n.csv", "id,where\na,rome\nb,rome\nc,bonn\nd,bonn\n")
    graph = read(edges, nodes=nodes, graph_ids="where")
    assert graph.graph_ids is not None
    assert graph.graph_ids.tolist() == [1, 1, 0, 0]
    assert graph.columns["graph"].tolist() == ["rome", "rome", "bonn", "bonn"]


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder / "edges.csv", "source,target\n0,1\n3,4\n")
    np.save(folder / "features.npy", np.arange(10.0).reshape(5, 2))
    np.save(folder / "labels.npy", np.array([2, 1, -1, 2, 1]))
    np.save(folder / "graph_ids.npy", np.array([0, 0, 0, 1, 1]))
    split = {"graph_names": ["x", "y"], "train_graphs": [0], "test_graphs": [1]}
    write(folder / "split.json", json.dumps(split))
    graph = read(folder)
    assert repr(graph) == "Graph('mine': 5 nodes, 2 edges, 2 features, 2 classes, 2 graphs)"
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, -1, 1, 0]
    assert graph.class_names == ("1", "2")
    assert graph.split is not None
    assert graph.split["train"].tolist() == [0, 1, 2]
    assert graph.split["test"].tolist() == [3, 4]
    assert graph.columns["graph"].tolist() == ["x", "x", "x", "y", "y"]
    other = read(folder, labels=np.zeros(5, dtype=int))
    assert other.num_classes == 1


def test_sparse_features_stay_sparse(tmp_path: Path) -> None:
    drawn, value = np.random.default_rng(0).random((2, 50, 30))
    matrix = sparse.csr_array(np.where(drawn < 0.1, value, 0))
    sparse.save_npz(tmp_path / "x.npz", matrix)
    graph = read(write(tmp_path / "e.csv", "0,49\n"), features=tmp_path / "x.npz")
    assert graph.x is not None
    assert graph.x.layout == torch.sparse_csr
    np.testing.assert_allclose(graph.x.to_dense().numpy(), matrix.toarray(), rtol=1e-6)


def test_load_tells_names_from_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "e.csv", "source,target\na,b\n")
    assert load(str(path)).num_edges == load(path).num_edges == 1
    with pytest.raises(DataError, match=r"path of an existing file.*Did you mean 'cora'"):
        load("corra")
    monkeypatch.setattr(loading, "load_dataset", lambda name, directed: f"the data set {name}")
    assert load("cora") == "the data set cora"


COUNTS = {
    "cora": (2708, 5278, 1433, 7, 1),
    "pubmed": (19717, 44324, 500, 3, 1),
    "citeseer": (3327, 4552, 3703, 6, 1),
    "airport": (3188, 18630, 4, 4, 1),
    "disease_lp": (2665, 2664, 11, 2, 1),
    "disease_nc": (1044, 1043, 0, 2, 1),
    "twitch": (36890, 492575, 3170, 2, 7),
    "tissue_ppi": (16985, 217281, 0, 0, 9),
    "wordnet_mammal": (1180, 1180, 0, 0, 1),
    "openflights": (3214, 18858, 3, 0, 1),
    "email_enron": (36692, 183831, 0, 0, 1),
}


@pytest.mark.skipif(DATA is None, reason="HGCN_DATA does not name a folder of data sets")
@pytest.mark.parametrize("name", COUNTS)
def test_folders_of_benchmark_data(name: str) -> None:
    graph = read(Path(str(DATA)) / name)
    counts = (
        graph.num_nodes,
        graph.num_edges,
        graph.num_features,
        graph.num_classes,
        graph.num_graphs,
    )
    assert counts == COUNTS[name]
    assert not any("Edges" in note for note in graph.notes)


names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=4)
ids = st.one_of(st.integers(0, 10**15), names)


@given(
    st.lists(st.tuples(ids, ids), min_size=1, max_size=20),
    st.sampled_from([".csv", ".tsv", ".parquet"]),
    st.booleans(),
)
def test_round_trip_through_a_file(
    tmp_path_factory: pytest.TempPathFactory,
    edges: list[tuple[Any, Any]],
    ending: str,
    directed: bool,
) -> None:
    edges = [(str(a), str(b)) for a, b in edges]
    words = {word for edge in edges for word in edge}
    if words & {"", "nan", "NaN", "None", "null", "NULL"}:
        return
    path = tmp_path_factory.mktemp("trip") / f"edges{ending}"
    if ending == ".parquet":
        pl.DataFrame(edges, schema=["source", "target"], orient="row").write_parquet(path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="," if ending == ".csv" else "\t")
            writer.writerows([("source", "target"), *edges])
    graph = read(path, directed=directed)
    proper = {edge for edge in edges if edge[0] != edge[1]}
    expected = proper if directed else both_ways(*proper)
    assert {(str(a), str(b)) for a, b in named_edges(graph)} == expected
    assert sorted(map(str, graph.ids.tolist())) == sorted(words)


@pytest.mark.parametrize("ending", [".graphml", ".gml", ".json"])
@pytest.mark.parametrize("directed", [False, True])
def test_formats_of_networkx(ending: str, directed: bool, tmp_path: Path) -> None:
    network = nx.DiGraph() if directed else nx.Graph()
    network.add_edge("a", "b", weight=2.0)
    network.add_edge("b", "c", weight=3.0)
    for node, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        network.nodes[node].update(colour=colour, size=len(colour))
    path = tmp_path / f"g{ending}"
    if ending == ".graphml":
        nx.write_graphml(network, path)
    elif ending == ".gml":
        nx.write_gml(network, path)
    else:
        path.write_text(json.dumps(nx.node_link_data(network, edges="edges")))
    graph = read(path, labels="colour", features=["size"])
    assert graph.directed == directed
    assert named_edges(graph) == (set(network.edges) if directed else PATH)
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, 1]
    assert graph.x is not None
    assert graph.x.tolist() == [[3.0], [4.0], [3.0]]
    assert graph.edge_weight is not None
    assert sorted(set(graph.edge_weight.tolist())) == [2.0, 3.0]


def test_gml_without_labels(tmp_path: Path) -> None:
    text = "graph [ node [ id 4 ] node [ id 7 ] edge [ source 4 target 7 ] ]"
    assert read(write(tmp_path / "g.gml", text)).ids.tolist() == [4, 7]


def test_edges_of_a_hierarchy_go_from_child_to_parent(tmp_path: Path) -> None:
    path = write(tmp_path / "e.csv", "parent,child\nanimal,dog\nanimal,cat\n")
    graph = load(path, directed=True)
    sources = graph.ids[graph.edge_index[0].numpy()].tolist()
    assert sorted(sources) == ["cat", "dog"]
