"""Input that cannot be a graph: one clear error with the file, the line and a hint."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import polars as pl
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data, HeteroData

from hgcn.data import Graph, Table, as_graph, combine, default_features, read, standardise
from hgcn.errors import DataError, GraphError, HGCNError

EDGES = "source,target\nann,bob\nbob,cem\n"
NUMBERED = "source,target\n0,1\n1,2\n"


class Case(NamedTuple):
    """Files by name, what to call (paths are joined to the folder), and parts of the message."""

    files: dict[str, str | bytes]
    parts: tuple[str, ...]
    arguments: dict[str, Any] = {}  # noqa: RUF012
    source: str = "edges.csv"


def array_bytes(array: Any, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


def archive_bytes(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def sparse_bytes(matrix: Any) -> bytes:
    file = io.BytesIO()
    sparse.save_npz(file, matrix)
    return file.getvalue()


def parquet_bytes(**columns: Any) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def people(text: str, edges: str = EDGES, **arguments: Any) -> dict[str, Any]:
    return {
        "files": {"edges.csv": edges, "people.csv": text},
        "arguments": {"features": "people.csv", **arguments},
    }


def rows(array: Any, edges: str = NUMBERED) -> dict[str, Any]:
    content = array if isinstance(array, bytes) else array_bytes(array)
    return {
        "files": {"edges.csv": edges, "x.npy": content},
        "arguments": {"features": "x.npy"},
    }


def labelled(text: str) -> dict[str, Any]:
    return {
        "files": {"edges.csv": EDGES, "labels.csv": text},
        "arguments": {"labels": "labels.csv"},
    }


THREE = "id,age\nann,1\nbob,2\ncem,3\n"

CASES = {
    # The edge list as a file.
    "missing file": Case({}, ("edges.csv", "got none")),
    "missing file, near miss": Case({"edgse.csv": EDGES}, ("Did you mean 'edgse.csv'",)),
    "empty file": Case({"edges.csv": ""}, ("edges.csv", "empty file")),
    "only blank lines": Case({"edges.csv": "\n\n \n"}, ("edges.csv", "empty file")),
    "header only": Case(
        {"edges.csv": "source,target\n"}, ("edges.csv", "rows below the header", "header=False")
    ),
    "one ambiguous line": Case({"edges.csv": "ann,bob\n"}, ("line 1", "header=True")),
    "a header or an edge": Case(
        {"edges.csv": "person,friend\nann,bob\nbob,cem\n"},
        ("person, friend", "line 1", "header=True"),
    ),
    "semicolons in .csv": Case(
        {"edges.csv": EDGES.replace(",", ";")}, ("line 1", "semicolons", "delimiter=';'")
    ),
    "tabs in .csv": Case(
        {"edges.csv": EDGES.replace(",", "\t")}, ("line 1", "tabs", r"delimiter='\t'")
    ),
    "decimal commas between semicolons": Case(
        {"edges.csv": "ann;bob;0,5\nbob;cem;1,5\n"}, ("line 1", "delimiter=';'")
    ),
    "commas in .tsv": Case({"edges.tsv": EDGES}, ("line 1", "delimiter=','"), source="edges.tsv"),
    "one column": Case({"edges.csv": "ann\nbob\n"}, ("line 1", "two columns", "'ann'")),
    "row too long": Case(
        {"edges.csv": EDGES + "cem,dan,eva\n"}, ("2 fields", "got 3", "line 4", "quotes")
    ),
    "row too short": Case({"edges.csv": EDGES + "cem\ndan,ann\n"}, ("got 1", "line 4")),
    "row too short after blank lines": Case(
        {"edges.csv": "\nsource,target\n\nann,bob\n\r\ncem\n"}, ("got 1", "line 6")
    ),
    "row too short after a field of two lines": Case(
        {"edges.csv": 'source,target\nann,"bob\nthe builder"\ncem\n'}, ("got 1", "line 4")
    ),
    "source missing": Case({"edges.csv": EDGES + ",dan\n"}, ("an id", "nothing", "line 4")),
    "target missing": Case({"edges.csv": EDGES + "dan,\n"}, ("an id", "nothing", "line 4")),
    "both missing": Case({"edges.csv": EDGES + ",\n"}, ("an id", "nothing", "line 4")),
    "None as an id": Case({"edges.csv": EDGES + "ann,None\n"}, ("an id", "None", "line 4")),
    "nan as an id": Case({"edges.csv": NUMBERED + "1,nan\n"}, ("an id", "nan", "line 4")),
    "quoted nothing as an id": Case({"edges.csv": EDGES + '"",dan\n'}, ("an id", "line 4")),
    "negative id": Case({"edges.csv": NUMBERED + "2,-1\n"}, ("-1", "line 4", "Remove")),
    "open quote": Case({"edges.csv": EDGES + 'cem,"dan\neva,ann\n'}, ("quotes", "line 4")),
    "quote inside a field": Case({"edges.csv": EDGES + 'ce"m,dan\n'}, ("inside", "line 4")),
    "text after a quote": Case({"edges.csv": EDGES + '"cem"x,dan\n'}, ("quotes", "line 4")),
    "weight not a number": Case(
        {"edges.csv": "source,target,weight\na,b,1\nb,c,heavy\n"}, ("heavy", "line 3", "Remove")
    ),
    "weight missing": Case(
        {"edges.csv": "source,target,weight\na,b,1\nb,c,\n"}, ("nothing", "line 3")
    ),
    "weight NaN": Case({"edges.csv": "source,target,weight\na,b,nan\n"}, ("nan", "line 2")),
    "weight infinite": Case({"edges.csv": "source,target,weight\na,b,inf\n"}, ("inf", "line 2")),
    "weight zero": Case({"edges.csv": "source,target,weight\na,b,0\n"}, ("above zero", "line 2")),
    "weight negative": Case({"edges.csv": "source,target,weight\na,b,-2\n"}, ("-2", "line 2")),
    "weight beyond float32": Case({"edges.csv": "a,b,1\nb,c,1e300\n"}, ("1e300", "line 2")),
    "column named twice": Case({"edges.csv": "source,target,target\na,b,c\n"}, ("twice", "line 1")),
    "Latin-1": Case(
        {"edges.csv": (EDGES + "cem,josé\n").encode("latin-1")}, ("0xe9", "line 4", "UTF-8")
    ),
    "UTF-16": Case({"edges.csv": EDGES.encode("utf-16")}, ("UTF-16", "line 1", "UTF-8")),
    "binary junk": Case({"edges.csv": b"a,b\nc,\x00\x01\n"}, ("binary", "line 2", "ending")),
    "cut gzip": Case(
        {"edges.csv.gz": gzip.compress(EDGES.encode())[:20]}, ("gzip", "cut"), source="edges.csv.gz"
    ),
    "only comments": Case({"edges.txt": "# one\n# two\n"}, ("comments",), source="edges.txt"),
    "unknown ending": Case({"edges.xls": EDGES}, ("'.xls'", ".csv"), source="edges.xls"),
    "cut Parquet": Case(
        {"edges.parquet": parquet_bytes(source=[0], target=[1])[:-30]},
        ("Parquet", "damaged"),
        source="edges.parquet",
    ),
    "CSV called Parquet": Case({"e.parquet": EDGES}, ("Parquet",), source="e.parquet"),
    "missing id in Parquet": Case(
        {"e.parquet": parquet_bytes(source=[0, None], target=[1, 2])},
        ("an id", "row 2"),
        source="e.parquet",
    ),
    "Parquet without rows": Case(
        {"e.parquet": parquet_bytes(source=[], target=[])}, ("rows",), source="e.parquet"
    ),
    "one column of Parquet": Case(
        {"e.parquet": parquet_bytes(source=[0])}, ("two columns",), source="e.parquet"
    ),
    # Tables of nodes.
    "features missing": Case({"edges.csv": EDGES}, ("people.csv",), {"features": "people.csv"}),
    "id without features": Case(
        parts=("cem", "people.csv", "edges.csv, line 3"), **people("id,age\nann,1\nbob,2\n")
    ),
    "many ids without features": Case(
        parts=("b, c, d and 2 more", "line 2"),
        **people("id,age\na,1\n", "source,target\na,b\nc,d\ne,f\n"),
    ),
    "id twice": Case(parts=("ann", "line 5", "first at", "line 2"), **people(THREE + "ann,4\n")),
    "feature not a number": Case(
        parts=("'age'", "'old'", "line 3", "empty"),
        **people("id,age\nann,1\nbob,old\ncem,3\n"),
    ),
    "feature infinite": Case(
        parts=("'age'", "inf", "line 4"), **people("id,age\nann,1\nbob,2\ncem,inf\n")
    ),
    "feature beyond float32": Case(
        parts=("'age'", "1e39", "line 2"), **people("id,age\nann,1e39\nbob,2\ncem,3\n")
    ),
    "column without values": Case(
        parts=("'age'", "Leave it out"), **people("id,age\nann,\nbob,\ncem,\n")
    ),
    "short row of features": Case(
        parts=("3 fields", "got 2", "line 3"),
        **people("id,age,size\nann,1,2\nbob,2\ncem,3,4\n"),
    ),
    "too many categories": Case(
        parts=("'name'", "300", "`drop`", "`text`"),
        **people("id,name\n" + "".join(f"{i},person{i}\n" for i in range(300)), edges="0,1\n1,2\n"),
    ),
    "unknown column of features": Case(
        {"edges.csv": EDGES, "n.csv": THREE},
        ("'aeg'", "Did you mean 'age'", "n.csv"),
        {"nodes": "n.csv", "features": ["aeg"]},
    ),
    "columns without a table": Case({"edges.csv": EDGES}, ("nodes=",), {"features": ["age"]}),
    "unknown column of labels": Case(
        parts=("'clas'", "Did you mean 'class'"),
        **people("id,age,class\nann,1,x\nbob,2,y\ncem,3,x\n", labels="clas"),
    ),
    "labels of unknown nodes": Case(
        parts=("unknown id dan", "labels.csv, line 4"), **labelled("id,c\nann,x\nbob,y\ndan,x\n")
    ),
    "labels with a fraction": Case(
        parts=("0.5", "labels.csv, line 3"), **labelled("id,c\nann,1\nbob,0.5\n")
    ),
    "labels all missing": Case(parts=("labels.csv",), **labelled("id,c\nann,\nbob,\n")),
    "labels -1 and 1": Case(parts=("-1", "0 and 1"), **labelled("id,c\nann,-1\nbob,1\n")),
    "labels in three columns": Case(
        parts=("a, b", "columns=("), **labelled("id,a,b\nann,1,2\nbob,1,2\n")
    ),
    "label twice": Case(parts=("bob", "line 4"), **labelled("id,c\nann,x\nbob,y\nbob,x\n")),
    "graph id missing": Case(
        {"edges.csv": EDGES, "n.csv": "id,g\nann,0\nbob,0\ncem,\n"},
        ("graph id", "cem", "1 such node"),
        {"nodes": "n.csv", "graph_ids": "g"},
    ),
    "edge between graphs": Case(
        {"edges.csv": EDGES, "n.csv": "id,g\nann,0\nbob,0\ncem,1\n"},
        ("inside one graph", "edges.csv, line 3"),
        {"nodes": "n.csv", "graph_ids": "g"},
    ),
    # Arrays of nodes.
    "1-based ids": Case(
        parts=("0..2", "got 3", "edges.csv, line 3", "1-based?"),
        **rows(np.eye(3), "source,target\n1,2\n2,3\n"),
    ),
    "id beyond the rows": Case(
        parts=("0..2", "got 7", "line 4", "x.npy"), **rows(np.eye(3), NUMBERED + "0,7\n")
    ),
    "names next to an array": Case(parts=("'ann'", "line 2", "nodes="), **rows(np.eye(3), EDGES)),
    "NaN in an array": Case(
        parts=("nan", "row 1, column 0", "x.npy"), **rows(np.array([[1.0], [np.nan], [2.0]]))
    ),
    "inf in a sparse array": Case(
        {
            "edges.csv": NUMBERED,
            "x.npz": sparse_bytes(sparse.csr_array([[0, 1], [np.inf, 0], [0, 0]])),
        },
        ("inf", "row 1, column 0", "x.npz"),
        {"features": "x.npz"},
    ),
    "one-dimensional features": Case(parts=("matrix", "[3]", "x.npy"), **rows(np.arange(3))),
    "text in an array": Case(parts=("numbers", "x.npy"), **rows(np.array([["a"], ["b"], ["c"]]))),
    "pickled objects": Case(
        parts=("pickle", "x.npy", "never"),
        **rows(array_bytes(np.array([{}, 1], dtype=object), pickled=True)),
    ),
    "a plain pickle": Case(parts=("x.npy", "never"), **rows(b"\x80\x04}q\x00.")),
    "cut array": Case(parts=("x.npy", "damaged"), **rows(array_bytes(np.eye(3))[:-20])),
    "empty array file": Case(parts=("x.npy",), **rows(b"")),
    "cut archive": Case(
        {"edges.csv": NUMBERED, "x.npz": archive_bytes(x=np.eye(3))[:-30]},
        ("x.npz", "damaged"),
        {"features": "x.npz"},
    ),
    "archive of two arrays": Case(
        {"edges.csv": NUMBERED, "x.npz": archive_bytes(a=np.eye(3), b=np.eye(3))},
        ("one array", "a, b", "x.npz"),
        {"features": "x.npz"},
    ),
    "archive with a pickled array": Case(
        {"edges.csv": NUMBERED, "x.npz": archive_bytes(a=np.array([{}], dtype=object))},
        ("pickle", "x.npz"),
        {"features": "x.npz"},
    ),
    "sparse matrix with wrong indices": Case(
        {
            "edges.csv": NUMBERED,
            "x.npz": archive_bytes(
                format=np.array(b"csr"),
                shape=np.array([3, 2]),
                data=np.ones(3),
                indices=np.array([0, 9, 1]),
                indptr=np.array([0, 1, 2, 3]),
            ),
        },
        ("x.npz", "damaged"),
        {"features": "x.npz"},
    ),
    "features and labels of different length": Case(
        {
            "edges.csv": NUMBERED,
            "x.npy": array_bytes(np.eye(3)),
            "y.npy": array_bytes(np.arange(4)),
        },
        ("3 in", "x.npy", "4 in", "y.npy"),
        {"features": "x.npy", "labels": "y.npy"},
    ),
    "rows that do not match the table": Case(
        {"edges.csv": EDGES, "n.csv": THREE, "x.npy": array_bytes(np.eye(4))},
        ("3 nodes", "got 4", "x.npy"),
        {"nodes": "n.csv", "features": "x.npy"},
    ),
    "numbered table out of order next to an array": Case(
        {"edges.csv": NUMBERED, "n.csv": "id,a\n1,x\n0,y\n2,z\n", "x.npy": array_bytes(np.eye(3))},
        ("in order", "n.csv, line 2", "Sort"),
        {"nodes": "n.csv", "features": "x.npy"},
    ),
    "labels of several classes each": Case(
        {"edges.csv": NUMBERED, "y.npy": array_bytes(np.eye(3, dtype=int))},
        ("one value for each node", "y.npy"),
        {"labels": "y.npy"},
    ),
    "unknown kind of file": Case(
        {"edges.csv": NUMBERED, "x.mat": b"x"}, ("x.mat", ".npy"), {"features": "x.mat"}
    ),
    # Folders and files of NetworkX.
    "folder without edges": Case(
        {"nodes.csv": THREE}, ("edges.csv", "nodes.csv", "another name"), source="."
    ),
    "folder with two files of features": Case(
        {"edges.csv": NUMBERED, "features.npy": b"", "features.csv": ""},
        ("one file of features", "features.csv"),
        source=".",
    ),
    "split that is no JSON": Case(
        {"edges.csv": NUMBERED, "split.json": '{"train": [0],\n'},
        ("split.json, line 2",),
        source=".",
    ),
    "split with unknown nodes": Case(
        {"edges.csv": NUMBERED, "split.json": '{"train": [0, 9]}'}, ("'train'", "9"), source="."
    ),
    "split of graphs without graph ids": Case(
        {"edges.csv": NUMBERED, "split.json": '{"train_graphs": [0]}'},
        ("graph_ids.npy", "split.json"),
        source=".",
    ),
    "GraphML that is none": Case({"g.graphml": "<graphml>"}, ("GraphML",), source="g.graphml"),
    "GML that is none": Case({"g.gml": "graph [ node ["}, ("GML", "g.gml"), source="g.gml"),
    "JSON that is none": Case({"g.json": '{\n"nodes": [,]}'}, ("JSON", "line 2"), source="g.json"),
    "JSON of another form": Case(
        {"g.json": "[1, 2]"}, ("node-link", "nodes", "g.json"), source="g.json"
    ),
    "graph without nodes": Case(
        {"g.json": json.dumps(nx.node_link_data(nx.Graph(), edges="edges"))},
        ("nodes", "g.json"),
        source="g.json",
    ),
    "missing GraphML": Case({}, ("g.graphml",), source="g.graphml"),
}


@pytest.mark.parametrize("name", CASES)
def test_error_names_file_line_and_hint(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for file, content in case.files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / file).write_bytes(data)

    def joined(value: Any) -> Any:
        is_file = isinstance(value, str) and Path(value).suffix
        return tmp_path / value if is_file else value

    arguments = {key: joined(value) for key, value in case.arguments.items()}
    with pytest.raises(HGCNError) as caught:
        read(tmp_path / case.source, **arguments)
    message = str(caught.value)
    assert message.startswith("Expected ")
    for part in case.parts:
        assert part in message, message


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 40


VALUES: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: read(None), "got NoneType"),
    "a number": (lambda: as_graph(3), "got int"),
    "a path as a graph": (lambda: as_graph("cora"), r"hgcn.load\('cora'\)"),
    "an empty list": (lambda: read([]), "empty list"),
    "no edges and no nodes": (lambda: read(([], [])), "Expected edges"),
    "arrays of different length": (lambda: read(([0, 1], [1])), r"one length, got \[2, 1\]"),
    "negative numbers": (lambda: read(([0, -2], [1, 1])), "-2.*position 1"),
    "a matrix that is not square": (lambda: read(sparse.csr_array((2, 3))), "square"),
    "a negative entry": (lambda: read(sparse.csr_array([[0, -1], [1, 0]])), r"entry \(0, 1\)"),
    "a NaN weight": (lambda: read(([0], [1], [np.nan])), "position 0"),
    "too few features": (lambda: read(([0, 1], [1, 2]), features=np.eye(2)), "0..1.*got 2"),
    "graphs of different width": (
        lambda: combine([star(3, 4), star(3, 5)]),
        "`num_features` 4 in graph 0 and 5 in graph 1",
    ),
    "some graphs with labels": (
        lambda: combine([star(3, 4), star(3, 4).replace(y=torch.zeros(3, dtype=torch.int64))]),
        "`y`",
    ),
    "hetero": (lambda: as_graph(HeteroData()), "to_homogeneous"),
    "no edge_index": (lambda: as_graph(Data(x=torch.eye(3))), "edge_index"),
    "edge_index too high": (
        lambda: as_graph(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [2]]))),
        r"0\.\.1, got 0\.\.2",
    ),
    "float labels": (
        lambda: as_graph(Data(edge_index=torch.tensor([[0], [1]]), y=torch.rand(2))),
        "data.y",
    ),
    "masks of several splits": (
        lambda: as_graph(
            Data(
                x=torch.eye(2),
                edge_index=torch.tensor([[0], [1]]),
                train_mask=torch.ones(2, 10, dtype=torch.bool),
            )
        ),
        "choose one",
    ),
    "fit on nothing": (
        lambda: standardise(star(3, 2), torch.zeros(3, dtype=torch.bool)),
        "at least one node",
    ),
    "scaling without features": (
        lambda: standardise(star(3, 0), torch.arange(3)),
        "default_features",
    ),
    "an unknown delimiter": (lambda: read(Table(__file__, delimiter="::")), "delimiter"),
}


def star(nodes: int, features: int) -> Graph:
    graph = as_graph(nx.star_graph(nodes - 1))
    return graph.replace(x=torch.ones(nodes, features)) if features else graph


@pytest.mark.parametrize("name", VALUES)
def test_values_in_memory(name: str) -> None:
    call, pattern = VALUES[name]
    with pytest.raises((DataError, GraphError), match=pattern):
        call()


def test_reader_does_not_change_what_is_good(tmp_path: Path) -> None:
    """The cases above fail for their own reason: the same files without the fault are read."""
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "people.csv").write_text(THREE)
    graph = read(tmp_path / "edges.csv", features=tmp_path / "people.csv")
    assert graph.ids.tolist() == ["ann", "bob", "cem"]
    assert default_features(graph) is graph
