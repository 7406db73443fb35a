"""Files that are made to do harm: each is refused soon, in little memory, and with its name."""

import datetime
import gzip
import io
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from scipy import sparse

import hgcn
from hgcn.data import read
from hgcn.data.reading import bounds, lines
from hgcn.data.reading.parquet import read_parquet
from hgcn.errors import DataError, HGCNError
from hgcn.files import write_table

EDGES = "source,target\n0,1\n1,2\n"
SECONDS = 15
MEMORY = 3 << 30


def text(content: str | bytes) -> Callable[[Path], None]:
    data = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(data) and None


def write_socket(path: Path) -> None:
    # A socket's path may be at most 108 bytes long, so it is bound from inside its folder.
    before = Path.cwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(before)


def npy(shape: str, kind: str = "<f8", data: bytes = b"") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def claim(archive: bytes, size: int) -> bytes:
    """A zip file that says in its directory that its first member has another size."""
    at = archive.index(b"PK\x01\x02") + 24
    return archive[:at] + struct.pack("<I", size) + archive[at + 4 :]


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def packed_bomb(path: Path) -> None:
    member = gzip.compress(b"0,1\n" * (1 << 24), 9)
    path.write_bytes(member * 17)


def parquet_bomb(path: Path) -> None:
    zeros = pl.zeros(70_000_000, pl.Int8, eager=True)
    pl.DataFrame({"source": zeros, "target": zeros}).write_parquet(path)


def endless_run(path: Path) -> None:
    """Say that a value is there 2^61 times, where whether it is there is stored for each row."""
    ids = [number if number % 2 else None for number in range(200)]
    pl.DataFrame({"source": ids, "target": ids}).write_parquet(path, compression="uncompressed")
    content, levels = path.read_bytes(), b"\xaa" * 20
    at = content.index(levels)
    run = b"\xfe" + b"\xff" * 7 + b"\x7f\x01"
    path.write_bytes(content[: at - 2] + run + content[at - 2 + len(run) :])


def repeated_text(path: Path) -> None:
    """A text of a million letters, stored once, in a million rows."""
    ids = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, "int32"), ["x" * 1_000_000])
    table = pa.table({"source": ids, "target": ids})
    pq.write_table(table, path, store_schema=False, dictionary_pagesize_limit=1 << 22)


NODES = 20_000
ENTITIES = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
MATRIX = {"data": saved(np.ones(1)), "row": saved(np.zeros(1, int)), "col": saved(np.zeros(1, int))}
# A file by its name, how it is made, and what the error says. Edges, or else features, are read.
BOMBS: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "pipe": ("edges.csv", os.mkfifo, "got a pipe"),
    "pipe as JSON": ("g.json", os.mkfifo, "got a pipe"),
    "pipe as Parquet": ("e.parquet", os.mkfifo, "got a pipe"),
    "pipe as an array": ("x.npy", os.mkfifo, "got a pipe"),
    "socket": ("edges.csv", write_socket, "got a socket"),
    "random device": ("edges.csv", lambda p: p.symlink_to("/dev/urandom"), "got a device"),
    "zero device": ("x.npy", lambda p: p.symlink_to("/dev/zero"), "got a device"),
    "zero device as GML": ("g.gml", lambda p: p.symlink_to("/dev/zero"), "got a device"),
    "link to itself": ("edges.csv", lambda p: p.symlink_to(p), "readable file"),
    "folder as an array": ("x.npy", os.mkdir, "got a folder"),
    "hole of a terabyte": ("edges.csv", lambda p: (p.touch(), os.truncate(p, 1 << 40)), "binary"),
    "10 MB on one line": ("edges.csv", text("a,b," * 2_500_000), "lines of at most 4,194,304"),
    "10 MB in one word": ("edges.csv", text("a" * 10_000_000), "lines of at most 4,194,304"),
    "a long line below": ("e.csv", text(EDGES + "2," + "x" * 5_000_000), "line 4"),
    "a long field": ("edges.csv", text("a,b\nc," + "x" * 200_000), "fields of at most 131,072"),
    "an open quote": ("edges.csv", text('a,"b\n' + "c,d\n" * 100_000), "around whole fields"),
    "columns": ("edges.csv", text(",".join(map(str, range(200_000)))), "at most 100,000 columns"),
    "short rows": (
        "edges.csv", text(",".join(map(str, range(50_000))) + "\n" + "1\n" * 500_000), "got 1",
    ),
    "blank rows": (
        "edges.csv",
        text(",".join(map(str, range(50_000))) + "\n" + "\n" * 500_000 + ",".join("1" * 50_000)),
        "mostly blank lines",
    ),
    "one long id": (
        "edges.csv", text("a,b\n" * 200_000 + "a," + "x" * 100_000 + "\n"), "got one of 100,000",
    ),
    "gzip that grows": ("edges.csv.gz", packed_bomb, "at most 1,073,741,824 bytes"),
    "Parquet that grows": ("e.parquet", parquet_bomb, "at most 1,073,741,824 bytes"),
    "Parquet, endless run": ("e.parquet", endless_run, "Parquet"),
    "Parquet, repeated text": ("e.parquet", repeated_text, "at most 1,073,741,824 bytes"),
    "Parquet of nothing": ("e.parquet", text(b"PAR1" + b"\xff" * 8 + b"PAR1"), "Parquet"),
    "Parquet, long footer": ("e.parquet", text(b"PAR1\xff\xff\xff\x7fPAR1"), "Parquet"),
    "array that grows": ("x.npz", text(claim(npz(x=saved(np.eye(3))), 0xF0000000)), "1 GiB"),
    "absurd array": ("x.npy", text(npy("(1000000000000,)")), "NumPy file"),
    "endless empty rows": ("x.npy", text(npy("(1000000000000000, 0)")), "NumPy file"),
    "endless empty texts": ("x.npy", text(npy("(1000000000000000,)", "|S0")), "NumPy file"),
    "absurd member": ("x.npz", text(npz(x=npy("(10000000000, 0)"))), "NumPy file"),
    "absurd matrix": (
        "x.npz",
        text(npz(**MATRIX, format=saved(b"coo"), shape=saved(np.array([10**10, 3])))),
        "1 GiB",
    ),
    "many members": (
        "x.npz", text(npz(**{f"a{i}": saved(i) for i in range(3000)})), "got 3000: a0, a1",
    ),
    "JSON 900 deep": (
        "g.json", text('{"nodes": [{"id": 1, "a": ' + "[" * 900 + "]" * 900 + '}], "links": []}'),
        "nested more than 100 levels deep",
    ),
    "JSON without end": ("g.json", text("[" * 2_000_000), "nested more than 100 levels deep"),
    "attributes of their own": (
        "g.json",
        text(json.dumps({"nodes": [{"id": i, f"a{i}": 1} for i in range(NODES)], "links": []})),
        "20,000 different ones",
    ),
    "entities": (
        "g.graphml", text(f'<!DOCTYPE g [<!ENTITY e0 "ha">{ENTITIES}]><graphml>&e12;</graphml>'),
        "without entities",
    ),
    "a file as an entity": (
        "g.graphml",
        text('<!DOCTYPE g [<!ENTITY e SYSTEM "file:///etc/passwd">]><graphml>&e;</graphml>'),
        "without entities",
    ),
    "deep GraphML": ("g.graphml", text("<a>" * 200_000), "GraphML"),
    "deep GML": ("g.gml", text("graph [\n" + "a [\n" * 100_000), "nested too deep"),
    "10 MB line of GML": ("g.gml", text("graph [ " + 'a "b" ' * 2_000_000), "lines of at most"),
}  # fmt: skip

READER = """
import json, resource, signal, sys, time
from hgcn.data import read
from hgcn.errors import HGCNError
folder, seconds, memory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
# Time of the processor, which other processes do not use up; a pipe that is waited for uses none.
signal.signal(signal.SIGPROF, lambda *_: sys.exit("took too long"))
signal.signal(signal.SIGALRM, lambda *_: sys.exit("waited too long"))
for line in sys.stdin:
    name, source, features = json.loads(line)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(8 * seconds)
    try:
        read(source, features=features)
        said = "read"
    except HGCNError as error:
        said = str(error)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    print(json.dumps([name, said]), flush=True)
"""


def said_of_bombs(folder: Path) -> dict[str, str]:
    """What a process with little time and memory says of each bomb."""
    (folder / "edges.csv").write_text(EDGES)
    jobs = []
    for at, (name, (file, make, _)) in enumerate(BOMBS.items()):
        path = folder / str(at) / file
        path.parent.mkdir()
        make(path)
        array = path.suffix in (".npy", ".npz")
        source, features = (folder / "edges.csv", path) if array else (path, None)
        jobs.append(json.dumps([name, str(source), features and str(features)]))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(folder), str(SECONDS), str(MEMORY)],
        check=False, input="\n".join(jobs), capture_output=True, text=True, timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
    )  # fmt: skip
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    return found | {"stderr": done.stderr}


def test_bombs_are_refused_in_little_time_and_memory(tmp_path: Path) -> None:
    """One test, so that several workers do not make and read all of them each."""
    said = said_of_bombs(tmp_path)
    assert said.keys() == {*BOMBS, "stderr"}, said["stderr"]
    wrong = {
        name: said[name]
        for name, (file, _, reason) in BOMBS.items()
        if not said[name].startswith("Expected ")
        or reason not in said[name]
        or (file not in said[name] and name != "many members")
    }
    assert not wrong


def test_honest_files_meet_no_bound(tmp_path: Path) -> None:
    """What is refused above is refused for its size: the same in small is read."""
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"0,1\n1,2\n" * 100_000))
    assert read(tmp_path / "e.csv.gz").num_edges == 2
    x = np.zeros((3, 50_000))
    np.savez_compressed(tmp_path / "x.npz", x=x)  # a thousandth of its size
    assert read(tmp_path / "e.csv.gz", features=tmp_path / "x.npz").num_features == 50_000
    wide = "id," + ",".join(f"c{i}" for i in range(2000)) + "\n"
    rows = "".join(f"{node}," + ",".join("1" * 2000) + "\n" for node in range(3))
    (tmp_path / "n.csv").write_text(wide + "\n" * 1000 + rows)
    assert read(tmp_path / "e.csv.gz", features=tmp_path / "n.csv").num_features == 2000
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: {"a": 1}, 1: {"b": 2}, 2: {"c": 3}})
    (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    assert read(tmp_path / "g.json").num_nodes == 3


@pytest.mark.parametrize("length", [bounds.MOST_LINE, bounds.MOST_LINE + 1])
def test_the_bound_on_lines_is_exact(length: int) -> None:
    for before in (0, 1, bounds.MOST_LINE // 3):
        data = b"x" * before + b"\n" + b"y" * length + b"\nz"
        if length <= bounds.MOST_LINE:
            bounds.check_lines(data, "t")
        else:
            with pytest.raises(DataError, match=r"one of 4,194,305 \(t, line 2\)"):
                bounds.check_lines(data, "t")


# Endings in capitals.


def test_endings_may_be_in_capitals(tmp_path: Path) -> None:
    graph = nx.path_graph(4)
    nx.write_graphml(graph, tmp_path / "g.GraphML")
    nx.write_gml(graph, tmp_path / "g.GML")
    (tmp_path / "g.JSON").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    (tmp_path / "g.CSV").write_text("source,target\n0,1\n1,2\n2,3\n")
    pl.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3]}).write_parquet(tmp_path / "g.PARQUET")
    for ending in ("GraphML", "GML", "JSON", "CSV", "PARQUET"):
        assert read(tmp_path / f"g.{ending}").num_edges == 3, ending
    np.save(tmp_path / "x.npy", np.eye(4))
    (tmp_path / "x.npy").rename(tmp_path / "x.NPY")
    assert read(tmp_path / "g.CSV", features=tmp_path / "x.NPY").num_features == 4
    (tmp_path / "bad.JSON").write_text("[1, 2]")
    with pytest.raises(DataError, match=r"node-link form.*bad\.JSON.*\"nodes\""):
        read(tmp_path / "bad.JSON")


# JSON of another form.

FORMS = {
    "nodes a number": ({"nodes": 3, "links": []}, '"nodes" to be a list of objects.*a number'),
    "nodes an object": ({"nodes": {}, "links": []}, '"nodes".*got an object'),
    "a node a number": ({"nodes": [{"id": 0}, 1], "links": []}, r"nodes\[1\]"),
    "an id nothing": ({"nodes": [{"id": None}], "links": []}, r"nothing as 'id'.*nodes\[0\]"),
    "an id an object": ({"nodes": [{"id": {}}], "links": []}, "an object as 'id'"),
    "an id with an object": ({"nodes": [{"id": [{}]}], "links": []}, "node-link form"),
    "no links": ({"nodes": [{"id": 0}]}, '"edges" to be a list.*nothing'),
    "links text": ({"nodes": [{"id": 0}], "links": "x"}, '"links".*got text'),
    "a link a list": ({"nodes": [{"id": 0}], "links": [[0, 1]]}, r"a list.*links\[0\]"),
    "a link without a target": (
        {"nodes": [{"id": 0}], "links": [{"source": 0}]}, "nothing as 'target'",
    ),
    "a weight a list": (
        {"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1, "weight": [1]}]},
        r"number as weight, got \[1\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_json_of_another_form_is_explained(name: str, tmp_path: Path) -> None:
    content, pattern = FORMS[name]
    (tmp_path / "g.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=pattern) as caught:
        read(tmp_path / "g.json")
    assert "g.json" in str(caught.value)


@pytest.mark.parametrize("content", ["9" * 5000, '{"nodes": [' + "9" * 5000 + "]}", "", "nul", "{"])
def test_json_that_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(content)
    with pytest.raises(DataError, match=r"Expected JSON.*g\.json"):
        read(tmp_path / "g.json")


# Columns of lists, records and bytes.

CELLS: dict[str, Any] = {
    "lists": [[1], [2], [3]],
    "arrays": pl.Series([[1], [2], [3]], dtype=pl.Array(pl.Int64, 1)),
    "records": [{"a": 1}, {"a": 2}, {"a": 3}],
    "bytes": [b"\xff", b"\xfe", b"\xfd"],
}
USES: dict[str, Callable[[Path, Any], Any]] = {
    "source": lambda at, cells: put(at, {"source": cells, "target": [1, 2, 3]}),
    "target": lambda at, cells: put(at, {"source": [1, 2, 3], "target": cells}),
    "weight": lambda at, cells: put(at, {"source": [0] * 3, "target": [1] * 3, "weight": cells}),
    "id": lambda at, cells: put(at, {"id": cells, "age": [1, 2, 3]}, features=True),
    "feature": lambda at, cells: put(at, {"id": [0, 1, 2], "age": cells}, features=True),
    "label": lambda at, cells: put(at, {"id": [0, 1, 2], "age": cells}, labels=True),
    "column": lambda at, cells: put(at, {"id": [0, 1, 2], "age": cells}, nodes=True),
}


def put(folder: Path, columns: dict[str, Any], **uses: bool) -> Any:
    path = folder / "t.parquet"
    pl.DataFrame(columns).write_parquet(path)
    if not uses:
        return read(path)
    (folder / "edges.csv").write_text(EDGES)
    return read(folder / "edges.csv", **dict.fromkeys(uses, path))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", CELLS)
def test_cells_are_single_values(kind: str, use: str, tmp_path: Path) -> None:
    pattern = r"a number, a text or a date.*column '\w+', got .*t\.parquet"
    with pytest.raises(DataError, match=pattern):
        USES[use](tmp_path, CELLS[kind])


def test_columns_of_edges_that_are_not_used_may_hold_anything(tmp_path: Path) -> None:
    graph = put(tmp_path, {"source": [0, 1, 2], "target": [1, 2, 3], "path": CELLS["lists"]})
    assert graph.num_edges == 3
    assert any("not used: path" in note for note in graph.notes)


@pytest.mark.parametrize("value", [[1, 2], (1, 2), {"a": 1}, {1}, b"x", np.ones(2), 1j, object()])
def test_attributes_that_are_no_columns_are_left_out_and_noted(value: Any) -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: value, 1: 5}, "tags")
    nx.set_node_attributes(graph, dict.fromkeys(graph, datetime.date(2024, 1, 2)), "born")
    nx.set_node_attributes(graph, dict.fromkeys(graph, np.float32(0.5)), "size")
    found = read(graph)
    assert sorted(found.columns) == ["born", "size"]
    assert any("left out" in note and "tags" in note for note in found.notes)
    with pytest.raises(DataError, match=r"'size'.*got 'tags'"):
        read(graph, features=["tags"])


def test_list_attributes_in_a_file_are_left_out(tmp_path: Path) -> None:
    deep: Any = [1]
    for _ in range(40):
        deep = [deep]
    content = {"nodes": [{"id": 0, "a": deep}, {"id": 1, "a": 2}], "links": []}
    (tmp_path / "g.json").write_text(json.dumps(content))
    assert "a" not in read(tmp_path / "g.json").columns


# A split of another form.

SPLITS = {
    "a list": ([1], "an object with lists train"),
    "no part": ({"protocol": "x"}, "an object with lists train"),
    "nothing": ({"train": None}, "a list in 'train', got None"),
    "a number": ({"train": 5}, "a list in 'train', got 5"),
    "nested": ({"train": [[0]]}, r"whole numbers or text in 'train', got \[0\]"),
    "an object": ({"train": [{}]}, "whole numbers or text in 'train'"),
    "a float": ({"train": [0.0]}, "whole numbers or text in 'train', got 0.0"),
    "true": ({"train": [True]}, "whole numbers or text in 'train', got True"),
    "null": ({"train": [0, None]}, "whole numbers or text in 'train', got None"),
    "NaN": ({"train": [float("nan")]}, "whole numbers or text in 'train', got nan"),
    "huge": ({"train": [10**30]}, "nodes of the graph in 'train'"),
    "text": ({"train": ["0"]}, "nodes of the graph in 'train', got '0'"),
    "twice": ({"train": [0, 1, 0]}, "each entry of 'train' once, got 0 twice"),
    "graphs": ({"train_graphs": [10**30]}, "graph_ids.npy"),
    "a float graph": ({"train_graphs": [0.0]}, "whole numbers or text in 'train_graphs'"),
    "graphs nothing": ({"train_graphs": None}, "a list in 'train_graphs'"),
    "graph twice": ({"test_graphs": [0, 0]}, "once"),
    "names": ({"train_graphs": [0], "graph_names": [1, 2]}, "a name for each of 1 graphs"),
    "names of another form": ({"train_graphs": [0], "graph_names": 3}, "a list in 'graph_names'"),
}


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("groups", [True, False])
def test_a_damaged_split_is_explained(name: str, groups: bool, tmp_path: Path) -> None:
    content, pattern = SPLITS[name]
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "split.json").write_text(json.dumps(content))
    if groups:
        np.save(tmp_path / "graph_ids.npy", np.zeros(3, int))
    elif "names" in name:
        pattern = "graph_ids.npy"
    with pytest.raises(DataError, match=pattern) as caught:
        read(tmp_path)
    assert "split.json" in str(caught.value)


@pytest.mark.parametrize("content", [b"[" * 5000, b"9" * 5000, b"\xff\xfe", b"{", b""])
def test_a_split_that_is_no_json(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "split.json").write_bytes(content)
    with pytest.raises(DataError, match=r"split\.json"):
        read(tmp_path)


# Any damage to a Parquet file or a NumPy archive.


@pytest.mark.parametrize("ending", ["parquet", "npz", "npy"])
def test_flipped_bytes_are_an_error_or_numbers(ending: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    matrix = io.BytesIO()
    sparse.save_npz(matrix, sparse.csr_array(np.eye(3)))
    whole = {
        "parquet": parquet(id=[0, 1, 2], a=[1.5, 2, 3], b=["x", "y", "x"]),
        "npz": matrix.getvalue(),
        "npy": saved(np.eye(3)),
    }[ending]
    path = tmp_path / f"x.{ending}"
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        for at in random.integers(len(whole), size=random.integers(1, 4)):
            damaged[at] = random.integers(256)
        path.write_bytes(damaged)
        try:
            read(tmp_path / "edges.csv", features=path)
        except HGCNError as error:
            refused += str(path) in str(error)
    assert refused > 20


def test_damage_to_a_parquet_file_with_checksums_never_changes_its_values(tmp_path: Path) -> None:
    path, random = tmp_path / "e.parquet", np.random.default_rng(0)
    table = pl.DataFrame({"source": random.integers(9, size=99), "target": ["a", "b", "c"] * 33})
    write_table(path, table)
    whole = path.read_bytes()
    assert_frame_equal(read_parquet(path), table)
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    refused = 0
    for at in random.integers(4, pages, size=200):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random.integers(8)
        path.write_bytes(damaged)
        try:
            assert_frame_equal(read_parquet(path), table)
        except DataError as error:
            refused += str(path) in str(error)
    assert refused > 150


# What is in a Parquet file is what polars would read, whoever wrote it.

VALUES: dict[str, Any] = {
    "Int8": pl.Series([1, None, -3], dtype=pl.Int8),
    "UInt64": pl.Series([1, None, 2**64 - 1], dtype=pl.UInt64),
    "Float32": pl.Series([0.1, None, np.inf], dtype=pl.Float32),
    "String": pl.Series(["", None, "ü"]),
    "Boolean": pl.Series([True, None, False]),
    "Date": pl.Series([1, None, 20_000]).cast(pl.Date),
    "Datetime": pl.Series([1, None, 10**15]).cast(pl.Datetime("us", "UTC")),
    "Duration": pl.Series([1, None, 3]).cast(pl.Duration("ms")),
    "Time": pl.Series([1, None, 3]).cast(pl.Time),
    "Categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "Null": pl.Series([None, None, None]),
}


@pytest.mark.parametrize("writer", ["polars", "pyarrow"])
def test_parquet_keeps_names_types_and_missing_values(writer: str, tmp_path: Path) -> None:
    path, table = tmp_path / "t.parquet", pl.DataFrame({f"a.{k}": v for k, v in VALUES.items()})
    if writer == "polars":
        table.write_parquet(path, row_group_size=2)
    else:
        pq.write_table(table.to_arrow(), path, row_group_size=2, data_page_version="2.0")
    assert_frame_equal(read_parquet(path), pl.read_parquet(path))


# Standard input.


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was taken."""

    taken = 0

    def __init__(self, pattern: bytes) -> None:
        self.pattern = itertools.cycle(pattern)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.taken += len(buffer)
        buffer[:] = bytes(itertools.islice(self.pattern, len(buffer)))
        return len(buffer)


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes | io.RawIOBase) -> None:
    raw: Any = io.BytesIO(content) if isinstance(content, bytes) else io.BufferedReader(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))


def test_edges_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"source,target\nann,bob\nbob,cem\n")
    assert hgcn.load("-").ids.tolist() == ["ann", "bob", "cem"]
    feed(monkeypatch, gzip.compress(EDGES.encode()))
    assert hgcn.load("-").num_edges == 2
    feed(monkeypatch, b"source,target\nann,bob\nbob\n")
    with pytest.raises(DataError, match=r"got 1 \(standard input, line 3\)"):
        hgcn.load("-")
    feed(monkeypatch, b"")
    with pytest.raises(DataError, match=r"empty file \(standard input\)"):
        hgcn.load("-")


def test_standard_input_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_STDIN", 4 << 20)
    endless = Endless(b"0,1\n")
    feed(monkeypatch, endless)
    with pytest.raises(DataError, match="at most 4,194,304 bytes on standard input"):
        hgcn.load("-")
    assert endless.taken <= 6 << 20
    endless = Endless(bytes(range(256)))
    feed(monkeypatch, endless)
    with pytest.raises(DataError, match="binary data"):
        hgcn.load("-")
    assert endless.taken <= 2 << 20


def test_a_terminal_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    with pytest.raises(DataError, match="got a terminal"):
        hgcn.load("-")
