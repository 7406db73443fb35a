"""Any text and any damage: the graph is the one that is written there, or there is an error."""

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hgcn.data import Table, read
from hgcn.errors import HGCNError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def edges_by_the_csv_module(text: str) -> set[tuple[str, str]]:
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    rows = [row for row in rows if len(row) > 1 or "".join(row).strip()]
    width = len(rows[0])
    # One delimiter too many at the end of a line adds nothing.
    rows = [row[:-1] if len(row) == width + 1 and row[-1] == "" else row for row in rows]
    assert all(len(row) == width for row in rows)
    return {(a.strip(), b.strip()) for a, b, *_ in rows if a.strip() != b.strip()}


@given(st.text('ab1,"\n\r é', max_size=30))
def test_any_text_is_read_as_the_csv_module_does_or_refused(folder: Path, text: str) -> None:
    path = folder / "edges.csv"
    # A line end inside quotes belongs to the id; which one it is may change.
    text = text.replace("\r\n", "\n").replace("\r", "\n") if '"' in text else text
    path.write_bytes(text.encode())
    try:
        graph = read(Table(path, header=False), directed=True)
    except HGCNError:
        return
    found = {tuple(map(str, graph.ids[pair].tolist())) for pair in graph.edge_index.T.numpy()}
    assert found == edges_by_the_csv_module(text)


def contents() -> dict[str, bytes]:
    dense, array, table = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(dense, np.eye(3))
    sparse.save_npz(array, sparse.eye_array(3, format="csr"), compressed=False)
    pl.DataFrame({"source": [0, 1], "target": [1, 2]}).write_parquet(table)
    network = nx.path_graph(3)
    return {
        "x.npy": dense.getvalue(),
        "x.npz": array.getvalue(),
        "edges.parquet": table.getvalue(),
        "edges.csv": b"source,target\n0,1\n1,2\n",
        "g.graphml": "\n".join(nx.generate_graphml(network)).encode(),
        "g.gml": "\n".join(nx.generate_gml(network)).encode(),
        "g.json": json.dumps(nx.node_link_data(network, edges="edges")).encode(),
    }


CONTENTS = contents()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CONTENTS)
@given(data=st.data())
def test_damaged_files_raise_nothing_else(folder: Path, name: str, data: st.DataObject) -> None:
    content = bytearray(CONTENTS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    path = folder / name
    path.write_bytes(bytes(content[:end] if data.draw(st.booleans()) else content))
    arguments: dict[str, Any] = {"features": path} if name.startswith("x") else {}
    source: Any = (np.array([0, 1]), np.array([1, 2])) if arguments else path
    with contextlib.suppress(HGCNError):
        assert read(source, **arguments).num_nodes >= 1
