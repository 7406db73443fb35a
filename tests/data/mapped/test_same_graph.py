"""A converted graph is the graph that is read in memory, and has the same errors and notes."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from hgcn.data import Graph, Table, load
from hgcn.data.datasets import is_present
from hgcn.data.mapped.build import convert
from hgcn.errors import HGCNError

pytestmark = pytest.mark.usefixtures("small_steps")
ROWS = 40
GOOD = "source,target,weight\n" + "".join(f"{i},{i + 1},1\n" for i in range(30))


def assert_same(found: Graph, wanted: Graph) -> None:
    assert found.fingerprint() == wanted.fingerprint()
    assert repr(found) == repr(wanted)
    for name in ("notes", "class_names", "feature_names", "directed", "ratios", "num_edges"):
        assert getattr(found, name) == getattr(wanted, name), name
    np.testing.assert_array_equal(found.ids, wanted.ids)
    assert found.ids.dtype == wanted.ids.dtype
    assert list(found.columns) == list(wanted.columns)
    for name, column in wanted.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)
        assert found.columns[name].dtype == column.dtype
    assert (found.table is None) == (wanted.table is None)
    if found.table is not None and wanted.table is not None:
        assert found.table.data.equals(wanted.table.data)
    # The stored fingerprint is that of the data: a graph made of the same tensors has it too.
    assert found.replace(ratios=wanted.ratios).fingerprint() == wanted.fingerprint()
    for which in ("incoming", "outgoing"):
        mine, theirs = getattr(found, which), getattr(wanted, which)
        np.testing.assert_array_equal(mine.start, theirs.start)
        np.testing.assert_array_equal(mine.node, theirs.node)
        assert mine.node.dtype == np.int32
    if found.edge_weight is not None and wanted.edge_weight is not None:
        mine, theirs = found.incoming, wanted.incoming
        weight = found.edge_weight.numpy()
        weight = weight if mine.edge is None else weight[mine.edge]
        order = slice(None) if theirs.edge is None else theirs.edge
        np.testing.assert_array_equal(weight, wanted.edge_weight.numpy()[order])


def check(source: Any, folder: Path, **options: Any) -> Graph | str:
    """Read and convert: the same graph, which is returned, or the same error."""
    out = folder / "graph"
    try:
        wanted = load(source, **options)
    except HGCNError as error:
        with pytest.raises(type(error)) as caught:
            convert(source, out, **options)
        assert str(caught.value) == str(error)  # noqa: PT017
        return str(error)
    convert(source, out, **options)
    assert not (out / ".building").exists()
    found = load(str(out))
    assert_same(found, wanted)
    return found


def pairs(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 15, (ROWS, 2))


def lines(form: Callable[..., str], *columns: Any, header: str = "") -> str:
    return header + "".join(form(*row) + "\n" for row in zip(*columns, strict=True))


FORMS = {
    "numbers": lambda a, b: f"{a},{b}",
    "names": lambda a, b: f"n{a},n{b}",
    "quoted": lambda a, b: f'"n,{a}","two\nlines {b}"',
    "points": lambda a, b: f"{a}.0,{b}",
    "points among names": lambda a, b: f"{a}.0,{'x' if b == 3 else b}",
    "spaces": lambda a, b: f" {a}, {b}",
    "zeros": lambda a, b: f"00{a},{b}",
    "far apart": lambda a, b: f"{a * 10**14},{b}",
    "too large": lambda a, b: f"{a}{'9' * 25},{b}",
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_ids_in_text(form: str, directed: bool, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(lines(FORMS[form], *pairs(1).T, header="source,target\n"))
    assert isinstance(check(str(path), tmp_path, directed=directed), Graph)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("both_ways", [False, True])
def test_weights_are_summed_alike(both_ways: bool, directed: bool, tmp_path: Path) -> None:
    ends, weight = pairs(2) % 6, np.random.default_rng(2).random(ROWS) + 0.01
    if both_ways:
        ends, weight = np.concatenate((ends, ends[:, ::-1])), np.tile(weight, 2)
    path = tmp_path / "edges.tsv"
    path.write_text(lines("{}\t{}\t{}".format, *ends.T, weight, header="u\tv\tweight\n"))
    graph = check(path, tmp_path, directed=directed)
    assert isinstance(graph, Graph)
    assert graph.edge_weight is not None


PARQUET = {
    "numbers": lambda a, b: {"src": a, "dst": b.astype(np.int32), "when": a},
    "text": lambda a, b: {"src": [f"é{i}" for i in a], "dst": [f"é{i}" for i in b]},
    "halves": lambda a, b: {"src": a + 0.5, "dst": b},
    "floats": lambda a, b: {"src": a.astype(float), "dst": b},
    "weights": lambda a, b: {"src": a, "dst": b, "weight": a + 0.25},
    "large": lambda a, b: {"src": a.astype(np.uint64) + np.uint64(2**63), "dst": b},
    "gaps": lambda a, b: {"src": [None if i == 3 else i for i in a.tolist()], "dst": b},
    "lists": lambda a, b: {"src": [[i] for i in a.tolist()], "dst": b},
    "two": lambda a, b: {"src": a},
}


@pytest.mark.parametrize("row_group", [3, 100])
@pytest.mark.parametrize("kind", PARQUET)
def test_parquet(kind: str, row_group: int, tmp_path: Path) -> None:
    path = tmp_path / "edges.parquet"
    pl.DataFrame(PARQUET[kind](*pairs(3).T)).write_parquet(path, row_group_size=row_group)
    check(path, tmp_path)


FAULTS = (
    "3\n", "3,4,5,6\n", ",4,1\n", "3,,1\n", "3,4,0\n", "3,4,x\n", "-3,4,1\n", "3,4,inf\n",
    '3,"4,1\n', '3,4"4,1\n', "3,\x004,1\n", "nan,3,1\n", "3,4,\n", "\n\n3,4,1,2\n", "3,4,1e-60\n",
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_name_the_same_line(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(GOOD + fault + GOOD.split("\n", 1)[1])
    said = str(check(path, tmp_path))
    assert "line 32" in said or "line 34" in said


def test_other_faults(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    rest = "".join(f"x{i},y{i}\n" for i in range(ROWS))
    for content in (
        b"", b"\n \n", b"source,target\n", GOOD.encode() + b"\xff,3,1\n" + GOOD.encode(),
        b"ann,bob\n" + rest.encode(), "ann,bob\n".encode("utf-16"), b"a;b\n1;2\n",
    ):  # fmt: skip
        path.write_bytes(content)
        assert isinstance(check(path, tmp_path), str), content
    packed = tmp_path / "cut.csv.gz"
    packed.write_bytes(gzip.compress(GOOD.encode())[:-20])
    assert "gzip" in str(check(packed, tmp_path))
    broken = tmp_path / "broken.parquet"
    pl.DataFrame({"a": range(100), "b": range(100)}).write_parquet(broken)
    broken.write_bytes(broken.read_bytes()[:200])
    assert "Parquet" in str(check(broken, tmp_path))


def test_unusual_texts(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    rest = "".join(f"x{i},y{i}\n" for i in range(ROWS)) + "ann,cem\n"
    for at, content in enumerate((
        b"ann,bob\n" + rest.encode(), b"\n\n\n" + GOOD.encode(), GOOD.replace("\n", "\r").encode(),
        GOOD.replace("\n", "\r\n").encode() + b"\r\n\r\n", b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("7,8,1\n", "7,8,1\n" + "\n" * 200).encode(), GOOD.encode().rstrip(),
    )):  # fmt: skip
        path.write_bytes(content)
        (tmp_path / str(at)).mkdir()
        assert isinstance(check(path, tmp_path / str(at)), Graph), content
    packed = tmp_path / "whole.csv.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))
    assert isinstance(check(packed, tmp_path), Graph)
    loose = tmp_path / "edges.txt"
    loose.write_text("# a comment\n" + GOOD.split("\n", 1)[1].replace(",", " "))
    (tmp_path / "loose").mkdir()
    assert isinstance(check(Table(loose, header=False), tmp_path / "loose"), Graph)


TABLE = "id,age,town,since,bio,role,group,part\n" + "".join(
    f"n{i},{'' if i == 4 else i * 1.5},{'ab'[i % 2]},2020-01-{i + 1:02d},hello word{i},"
    f"{'x' if i % 3 else ''},{i % 2},{('train', 'val', 'test', '')[i % 4]}\n"
    for i in np.random.default_rng(0).permutation(20).tolist()
)
GIVEN: tuple[dict[str, Any], ...] = (
    {"features": "nodes"},
    {"features": "nodes", "labels": "role", "split": "part"},
    {"nodes": "nodes"},
    {"features": "nodes", "text": "bio,age", "labels": "role", "date_parts": True, "drop": "town"},
    {"nodes": "nodes", "feature_columns": "age,town", "labels": "role"},
    {"features": "nodes", "labels": "roll"},
    {"features": "nodes", "graph_ids": "group"},
    {"features": "nodes", "labels": "age"},
)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("options", GIVEN, ids=str)
def test_tables_of_nodes(options: dict[str, Any], kind: str, tmp_path: Path) -> None:
    edges, nodes = tmp_path / "edges.csv", tmp_path / f"nodes.{kind}"
    edges.write_text(lines(FORMS["names"], *pairs(4).T, header="source,target\n"))
    (tmp_path / "nodes.csv").write_text(TABLE)
    if kind == "parquet":
        pl.read_csv(tmp_path / "nodes.csv").write_parquet(nodes)
    given = {key: str(nodes) if value == "nodes" else value for key, value in options.items()}
    graph = check(edges, tmp_path, **given)
    assert isinstance(graph, str) == (
        options.get("labels") in ("roll", "age") or "graph_ids" in options
    )


@pytest.mark.parametrize(
    "table",
    [
        lines("n{},{}".format, range(10), range(10), header="id,age\n"),
        lines("n{},{}".format, [*range(20), 3], range(21), header="id,age\n"),
        lines("n{},{}".format, range(20), ["five", *range(19)], header="id,age\n"),
        lines("n{},{}".format, range(20), [""] * 20, header="id,age\n"),
        lines("n{},{}".format, range(20), [f"word{i}" for i in range(20)], header="id,age\n"),
    ],
)
def test_faults_of_tables(table: str, tmp_path: Path) -> None:
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text(lines(FORMS["names"], *pairs(5).T, header="source,target\n"))
    nodes.write_text(table)
    check(edges, tmp_path, features=str(nodes))


def test_arrays_of_features(tmp_path: Path) -> None:
    edges = tmp_path / "edges.csv"
    edges.write_text(lines(FORMS["numbers"], *pairs(6).T, header="source,target\n"))
    x = np.random.default_rng(6).random((15, 4))
    for at, rows in enumerate((x, np.where(x > 0.9, np.nan, x), x[:, 0])):
        np.save(tmp_path / "x.npy", rows)
        (tmp_path / str(at)).mkdir()
        found = check(edges, tmp_path / str(at), features=str(tmp_path / "x.npy"))
        assert isinstance(found, str) == bool(at)
    matrix = sparse.random(15, 30, 0.2, format="csr", random_state=1)
    sparse.save_npz(tmp_path / "x.npz", matrix)
    np.save(tmp_path / "y.npy", np.arange(15) % 3)
    found = check(edges, tmp_path, features=tmp_path / "x.npz", labels=tmp_path / "y.npy")
    assert isinstance(found, Graph)
    assert found.x is not None
    assert found.x.col_indices().dtype == torch.int32


def test_folders(tmp_path: Path) -> None:
    source = tmp_path / "own"
    source.mkdir()
    (source / "edges.csv").write_text(lines(FORMS["names"], *pairs(7).T, header="source,target\n"))
    (source / "nodes.csv").write_text(TABLE)
    names = [f"n{i}" for i in range(20)]
    split = {"train": names[:9], "val": names[9:12], "test": names[12:]}
    (source / "split.json").write_text(json.dumps(split))
    assert isinstance(check(source, tmp_path, labels="role"), Graph)


@pytest.mark.parametrize("name", ["cora", "airport", "disease", "disease_m"])
def test_data_sets(name: str, tmp_path: Path) -> None:
    if not is_present(name):
        pytest.skip(f"needs {name}: set HGCN_DATA")
    assert isinstance(check(name, tmp_path), Graph)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ends=st.lists(
        st.tuples(*[st.sampled_from(["0", "1", "2", "3.0", "x", " 4 ", "-1", "07"])] * 2)
    ),
    directed=st.booleans(),
    weighted=st.booleans(),
)
def test_any_edges(
    ends: list[tuple[str, str]], directed: bool, weighted: bool, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = folder / "edges.csv"
    rows = [f"{a},{b}" + f",{k % 3 + 0.1}" * weighted for k, (a, b) in enumerate(ends)]
    path.write_text("\n".join(["source,target" + ",weight" * weighted, *rows]) + "\n")
    check(path, folder, directed=directed)
