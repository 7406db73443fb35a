"""The table of data sets, and the way of one from a server to a graph."""

import csv
import functools
import json
import os
import shutil
import threading
import tomllib
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from hgcn.data import read
from hgcn.data.datasets.folder import write_folder
from hgcn.data.datasets.released import PARSERS
from hgcn.data.datasets.table import (
    DATASETS,
    PRESETS,
    SERVER,
    SOURCES,
    find_dataset,
    is_present,
    load_dataset,
)
from hgcn.data.reading.arrays import load_array
from hgcn.errors import ConfigError, DataError
from hgcn.scenes.columns import labels_of

DATA = os.environ.get("HGCN_DATA")
# A folder with the raw files under owner/repository/commit/path, such as a mirror of the server.
RAW = os.environ.get("HGCN_RAW")
NOWHERE = "http://127.0.0.1:1"
needs_data = pytest.mark.skipif(not DATA, reason="needs the data sets: set HGCN_DATA")
needs_raw = pytest.mark.skipif(not (DATA and RAW), reason="needs raw files: set HGCN_RAW")
BUILT_IN = {"disease", "disease_m"}
# In HGCN_DATA, or not at all.
ONLY_HERE = {"usair", "netscience", "yeast", "power", "wordnet_noun", "debian"}
OGB = {name for name, entry in DATASETS.items() if entry.source == "snap-stanford/ogb"}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which it is served."""
    folder = Path(RAW) if RAW else tmp_path / "mirror"
    folder.mkdir(exist_ok=True)
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def raw_openflights(mirror: tuple[Path, str]) -> str:
    """A server with the raw tables of OpenFlights, which the data folder has."""
    folder, address = mirror
    for place in tomllib.loads(SOURCES.read_text())["openflights"]:
        target = folder / place
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(str(DATA)) / "openflights" / target.name, target)
    return address


@needs_data
@pytest.mark.parametrize("name", [name for name in DATASETS if name not in OGB])
def test_declared_counts_are_those_of_the_data(name: str) -> None:
    graph, entry = load_dataset(name), DATASETS[name]
    assert graph.name == entry.name == name
    declared = entry.nodes, entry.edges, entry.features, entry.classes, entry.graphs
    found = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
    assert (*found, graph.num_graphs) == declared
    # Both ways, once, no self-loops.
    source, target = graph.edge_index
    assert graph.pairs().shape[1] == entry.edges
    assert len(source) == 2 * entry.edges
    assert bool((source != target).all())
    assert len(np.unique(graph.ids)) == entry.nodes
    if graph.y is not None:
        assert set(graph.y.tolist()) - {-1} == set(range(entry.classes))
    assert is_present(name)


@needs_data
@pytest.mark.parametrize("name", [name for name in DATASETS if DATASETS[name].delta == 0])
def test_delta_0_means_a_tree(name: str) -> None:
    graph = load_dataset(name)
    assert nx.is_forest(nx.Graph(graph.pairs().t().tolist()))


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("cora", [351, 217, 418, 818, 426, 298, 180]),
        ("pubmed", [4103, 7739, 7875]),
        ("citeseer", [249, 590, 668, 701, 596, 508]),
    ],
)
def test_planetoid_sets_have_the_public_split(name: str, sizes: list[int]) -> None:
    graph = load_dataset(name)
    assert graph.split is not None
    assert graph.y is not None
    assert torch.bincount(graph.y[graph.y >= 0]).tolist() == sizes
    train, val, test = (graph.split[part] for part in ("train", "val", "test"))
    assert torch.bincount(graph.y[train]).tolist() == [20] * len(sizes)
    assert (len(val), len(test)) == (500, 1000)
    assert len(torch.unique(torch.cat((train, val, test)))) == 1500 + len(train)
    assert int(graph.y[torch.cat((train, val, test))].min()) == 0


@needs_data
@pytest.mark.parametrize("name", ["twitch", "tissue_ppi", "disease_m"])
def test_many_graphs_are_split_by_graph(name: str) -> None:
    graph = load_dataset(name)
    assert graph.split is not None
    assert graph.graph_ids is not None
    parts = [set(graph.graph_ids[nodes].tolist()) for nodes in graph.split.values()]
    assert sorted(number for part in parts for number in part) == list(range(graph.num_graphs))
    assert sum(map(len, graph.split.values())) == graph.num_nodes
    source, target = graph.edge_index
    assert torch.equal(graph.graph_ids[source], graph.graph_ids[target])


@needs_data
def test_airport_has_two_sets_of_features() -> None:
    graph, lp = load_dataset("airport"), load_dataset("airport_lp")
    assert graph.x is not None
    assert lp.x is not None
    assert torch.equal(graph.x, lp.x[:, :4])
    # The class is the fifth one, cut at 10, 100 and 1000 million people.
    people = 10 ** (7 * lp.x[:, 4].double())
    bounds = torch.tensor([1e7, 1e8, 1e9], dtype=torch.float64) * (1 - 1e-6)
    assert torch.equal(torch.bucketize(people, bounds), graph.y)
    code = dict(zip(graph.columns["iata"], graph.columns["country"], strict=True))
    assert (code["CDG"], code["JFK"], code["NRT"]) == ("France", "United States", "Japan")
    # Its folder has no names, but the table of OpenFlights beside it has.
    name = dict(zip(graph.ids.tolist(), graph.columns["name"].tolist(), strict=True))
    assert name[580] == "Amsterdam Airport Schiphol"
    assert labels_of(graph)[graph.ids.tolist().index(580)] == name[580]


@needs_data
def test_names_belong_to_their_nodes() -> None:
    mammals = load_dataset("wordnet_mammal")
    number = {name: node for node, name in enumerate(mammals.ids.tolist())}
    assert (number["dog.n.01"], number["canine.n.02"]) in set(
        map(tuple, mammals.edge_index.t().tolist())
    )
    closure = load_dataset("wordnet_mammal_closure")
    above = {tuple(pair) for pair in closure.pairs().t().tolist()}
    assert all((0, node) in above for node in range(1, closure.num_nodes))
    assert {tuple(pair) for pair in mammals.pairs().t().tolist()} <= above
    tissues = load_dataset("tissue_ppi")
    assert tissues.ids[0] == f"{tissues.columns['graph'][0]}:{tissues.columns['gene'][0]}"


def test_every_data_set_has_a_source_and_a_parser() -> None:
    sources = tomllib.loads(SOURCES.read_text())
    assert set(sources) == set(PARSERS)
    others = {"airport_lp", "wordnet_mammal_closure"}
    assert set(PARSERS) == set(DATASETS) - BUILT_IN - ONLY_HERE - OGB - others
    for name, files in sources.items():
        for place, sha256 in files.items():
            commit, *path = place.split("/")[2:]
            assert (len(commit), len(sha256), bool(path)) == (40, 64, True)
            assert set(commit + sha256) <= set("0123456789abcdef")
        assert any(place.startswith(DATASETS[name].source + "/") for place in files)
        assert len({place.rsplit("/", 1)[-1] for place in files}) == len(files)
    assert SERVER.startswith("https://")


@pytest.mark.parametrize("name", sorted(ONLY_HERE))
def test_without_an_address_the_error_says_where_data_belong(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path))
    monkeypatch.delenv("HGCN_DATA", raising=False)
    assert not is_present(name)
    with pytest.raises(DataError, match=f"folder '{name}' .* nothing to download.* HGCN_DATA"):
        load_dataset(name, server=NOWHERE)
    (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "data" / name / "edges.csv").write_text("source,target\n0,1\n")
    monkeypatch.setenv("HGCN_DATA", str(tmp_path / "data"))
    assert is_present(name)
    with pytest.raises(DataError, match="missing"):  # one edge is not the data set
        load_dataset(name, server=NOWHERE)


def test_the_documentation_has_the_same_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for entry in DATASETS.values():
        if entry.name in OGB:  # how many edges are left when they are clean was not counted
            cells = [
                f"`{entry.name}`",
                *(f"{n:,}" for n in (entry.nodes, entry.features, entry.classes)),
            ]
            assert f"| {' | '.join(cells)} | {', '.join(entry.tasks)} | {entry.licence} |" in text
            continue
        counts = entry.nodes, entry.edges, entry.features, entry.classes, entry.graphs
        cells = [f"`{entry.name}`", *(f"{number:,}" for number in counts)]
        cells += [f"{entry.delta:g}", ", ".join(entry.tasks), entry.licence]
        assert f"| {' | '.join(cells)} |" in text


@needs_data
@pytest.mark.parametrize("name", ["cora", "disease_lp", "twitch"])
def test_the_reader_of_folders_finds_the_same_graph(name: str) -> None:
    graph = read(Path(str(DATA)) / name).replace(ratios=DATASETS[name].ratios)
    assert graph.fingerprint() == load_dataset(name).fingerprint()


def test_entries_cannot_be_replaced() -> None:
    with pytest.raises(TypeError):
        DATASETS["new"] = DATASETS["cora"]  # type: ignore[index]
    with pytest.raises(ConfigError, match="'cora' is taken"):
        DATASETS.register("cora", DATASETS["cora"])


def test_an_unknown_name_is_refused_with_a_hint() -> None:
    with pytest.raises(DataError, match=r"Did you mean 'citeseer'\?"):
        load_dataset("citesser")


def test_what_is_built_in_needs_nothing(empty: Path) -> None:
    assert is_present("disease")
    assert find_dataset("disease") is None
    assert load_dataset("disease", server=NOWHERE).num_nodes == 1044
    assert not empty.exists()
    assert not is_present("cora")


def test_a_wrong_data_folder_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HGCN_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataError, match=r"HGCN_DATA to be a folder, got .*absent"):
        load_dataset("cora")


@needs_data
def test_a_downloaded_set_equals_the_stored_one(
    raw_openflights: str, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_present("openflights")
    graph = load_dataset("openflights", server=raw_openflights, progress=False)
    assert is_present("openflights")
    assert not list((empty / "raw").iterdir())
    # The second time there is no server.
    again = load_dataset("openflights", server=NOWHERE)
    monkeypatch.setenv("HGCN_DATA", str(DATA))
    stored = load_dataset("openflights")
    assert graph.fingerprint() == again.fingerprint() == stored.fingerprint()
    for name, values in stored.columns.items():
        np.testing.assert_array_equal(graph.columns[name], values)


@needs_data
def test_a_changed_file_is_not_taken(
    raw_openflights: str, mirror: tuple[Path, str], empty: Path
) -> None:
    if RAW:
        pytest.skip("the mirror is the user's")
    routes = next(mirror[0].rglob("routes.dat"))
    routes.write_bytes(routes.read_bytes() + b"\n")
    with pytest.raises(DataError, match=r"routes.dat to have SHA-256"):
        load_dataset("openflights", server=raw_openflights, progress=False)
    assert not is_present("openflights")


def read_content(path: Path) -> Any:
    """The content of a file of a data set, to compare it."""
    if path.suffix in (".npy", ".npz"):
        return load_array(path)
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if path.name == "nodes.csv":
        return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    return np.array(rows, dtype=np.int64)


@needs_raw
@pytest.mark.parametrize("name", PARSERS)
def test_raw_files_make_the_stored_folder(name: str, mirror: tuple[Path, str], empty: Path) -> None:
    load_dataset(name, server=mirror[1], progress=False)
    for path in (empty / "datasets" / name).iterdir():
        found, expected = read_content(path), read_content(Path(str(DATA)) / name / path.name)
        if path.suffix == ".npz":
            assert (found != expected).nnz == 0
            assert found.dtype == expected.dtype
        elif (name, path.name) == ("airport", "nodes.csv"):
            # OpenFlights has renamed some since; places were rounded in another way.
            assert found["openflights_id"] == expected["openflights_id"]
            for column, least in (("iata", 3180), ("country", 3160)):
                same = sum(map(str.__eq__, found[column], expected[column]))
                assert same > least
            for column in ("latitude", "longitude", "altitude_ft"):
                one, other = (np.array(side[column], float) for side in (found, expected))
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
        elif isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(found, expected, strict=True)
        elif path.name == "nodes.csv":
            assert {column: found[column] for column in expected} == expected
        else:
            assert found == expected


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    class Broken:
        """Cannot be written."""

    folder = tmp_path / "set"
    with pytest.raises(TypeError):
        write_folder({"edges.csv": np.array([[0, 1]]), "split.json": Broken()}, folder)
    assert not list(tmp_path.iterdir())
    write_folder({"edges.csv": np.array([[0, 1]])}, folder)
    write_folder({"edges.csv": np.array([[0, 2]])}, folder)  # takes the place of the first
    assert read_content(folder / "edges.csv").tolist() == [[0, 2]]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@needs_data
@pytest.mark.parametrize("file", ["edges.csv", "labels.npy", "features.npz", "split.json"])
def test_a_damaged_file_is_named(file: str, tmp_path: Path, empty: Path) -> None:
    folder = empty / "datasets" / "cora"
    shutil.copytree(Path(str(DATA)) / "cora", folder, copy_function=shutil.copyfile)
    (folder / file).write_text("source,target\n0,x\n")
    with pytest.raises(DataError, match=file):
        load_dataset("cora", server=NOWHERE)


def test_presets_of_this_package_are_beside_the_table() -> None:
    assert {entry.presets for entry in DATASETS.values()} == {PRESETS}
    assert SOURCES.parent / "presets" == PRESETS
