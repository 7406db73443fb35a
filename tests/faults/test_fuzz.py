"""Damaged files and settings: read as what they say, or refused; never anything else."""

import io
import json
import tomllib
import warnings
from datetime import date
from functools import partial

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy import sparse

from fault_children import check_reason, try_all
from hgcn.config import Config, read_toml
from hgcn.data import read
from hgcn.errors import HGCNError
from hgcn.nearest.files import read_points
from hgcn.tuning.search import search
from small_graphs import tree


def files():
    """A small valid file of every format."""
    dense, packed, table, nodes = (io.BytesIO() for _ in range(4))
    np.save(dense, np.eye(4))
    sparse.save_npz(packed, sparse.eye_array(4, format="csr"))
    pl.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3]}).write_parquet(table)
    columns = {"id": [0, 1, 2, 3], "a": [0.5, None, 2.0, 1.0], "b": ["x", None, "y", "x"],
               "c": [date(2020, 1, 1)] * 4, "d": [True, False, None, True]}  # fmt: skip
    pl.DataFrame(columns).write_parquet(nodes, compression="uncompressed")
    network = nx.path_graph(4)
    return {
        "x.npy": dense.getvalue(),
        "x.npz": packed.getvalue(),
        "edges.parquet": table.getvalue(),
        "x.parquet": nodes.getvalue(),
        "edges.csv": b"source,target,weight\n0,1,0.5\n1,2,1\n2,3,2e0\n",
        "edges.tsv": b"a\tb\nb\tc\nc\td\n",
        "g.graphml": "\n".join(nx.generate_graphml(network)).encode(),
        "g.gml": "\n".join(nx.generate_gml(network)).encode(),
        "g.json": json.dumps(nx.node_link_data(network, edges="edges")).encode(),
    }


FILES = files()
PIECES = [b"", b"\0", b"\xff", b",", b"\n", b'"', b"-1", b"1e999", b"nan", b"9" * 30, b"{", b"]",
          b"[" * 5000]  # fmt: skip


def mutated(content, draw):
    """The content with a few pieces changed, put in, taken out, doubled or cut off."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at, width = draw.randrange(len(content) + 1), draw.choice((0, 1, 1, 2, 8, 64))
        piece = draw.choice(PIECES) if draw.random() < 0.5 else draw.randbytes(draw.randint(0, 4))
        if draw.random() < 0.1:
            piece = bytes(content[at : at + width]) * 2
        content[at : at + width] = piece
        if draw.random() < 0.1:
            del content[draw.randrange(len(content) + 1) :]
    return bytes(content)


def read_one(folder, item):
    """Read a file: a graph whose numbers are finite, or refused."""
    name, content = item
    path = folder / name
    path.write_bytes(content)
    arguments = {"features": path} if name.startswith("x") else {}
    source = (np.array([0, 1, 2]), np.array([1, 2, 3])) if arguments else path
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            graph = read(source, **arguments)
        except HGCNError as error:
            check_reason(error)
            return
    assert graph.num_nodes >= 1
    assert not (graph.edge_index >= graph.num_nodes).any()
    for values in graph.tensors():
        if values.is_floating_point():
            assert bool(values.to_dense().isfinite().all())


@pytest.mark.parametrize("name", FILES)
def test_damaged_graph_files(name, children, tally, tmp_path):
    count = tally(f"fuzz: {name}", short=20, full=2000 if "parquet" in name else 400)
    items = [(name, mutated(FILES[name], draw)) for _, draw in count]
    try_all(children, tmp_path / "work", count, partial(read_one, tmp_path / "work"), items)


def points():
    """A small table of points in two formats."""
    table = pl.DataFrame({"id": list("abcd"), "x": [0.1, -0.2, 0.3, 0.0], "y": [0.5, 0, 0, -0.9]})
    packed = io.BytesIO()
    table.write_parquet(packed)
    return {"points.csv": table.write_csv().encode(), "points.parquet": packed.getvalue()}


POINTS = points()


def search_one(folder, item):
    """Search a table of points: finite distances in their order, or refused."""
    name, content = item
    path = folder / name
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = pl.concat(read_points(path, coordinates="ball").neighbour_blocks(None, 2))
        except HGCNError as error:
            check_reason(error)
            return
    assert table["distance"].is_finite().all()
    assert (table["distance"] >= 0).all()
    assert table.filter(pl.col("id") == pl.col("neighbour")).is_empty()


@pytest.mark.parametrize("name", POINTS)
def test_damaged_points(name, children, tally, tmp_path):
    count = tally(f"fuzz: {name}", short=20, full=2000 if "parquet" in name else 400)
    items = [(name, mutated(POINTS[name], draw)) for _, draw in count]
    try_all(children, tmp_path / "work", count, partial(search_one, tmp_path / "work"), items)


def test_damaged_settings(tally, tmp_path):
    path = tmp_path / "config.toml"
    valid = Config(source="cora", task="link").to_toml().encode()
    count = tally("fuzz: settings", short=500, full=20_000)
    for number, draw in count:
        content = mutated(valid, draw)
        path.write_bytes(content)
        with count.attempt(f"try {number}, {content!r}"):
            try:
                config = Config(**read_toml(path))
            except HGCNError as error:
                check_reason(error)
                continue
            assert Config(**tomllib.loads(config.to_toml())) == config


def go_on(path, content):
    """Go on with a search whose journal was changed: refused, or it comes to its end."""
    path.write_bytes(content)
    try:
        result = search(tree(30), storage=path, **SEARCH)
    except HGCNError as error:
        check_reason(error)
    else:
        assert 0 <= result.value <= 1


SEARCH = {"task": "node", "trials": 2, "epochs": 2, "dim": 2, "space": {"lr": [0.01, 0.02]}}


def test_a_damaged_journal(children, tally, tmp_path):
    path = tmp_path / "journal.log"
    search(tree(30), storage=path, **SEARCH)
    whole = path.read_bytes()
    count = tally("fuzz: journal of a search", short=15, full=300)
    items = [mutated(whole, draw) for _, draw in count]
    try_all(children, tmp_path / "work", count, partial(go_on, tmp_path / "j.log"), items)
