"""What is said about a graph in memory is done, or refused; never dropped."""

from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
import torch

import hgcn
from hgcn.errors import DataError

QUICK = {"epochs": 4, "eval_every": 2, "dim": 3}


@pytest.fixture(scope="module")
def club() -> nx.Graph:
    network = nx.karate_club_graph()
    for node, values in network.nodes(data=True):
        values["size"] = node % 7
    return network


def test_attributes_of_networkx(club: nx.Graph) -> None:
    run = hgcn.fit(club, labels="club", features=["size"], **QUICK)
    assert run.config.task == "node"
    assert run.config.labels == "club"
    assert run.class_names == ("Mr. Hi", "Officer")
    assert run.features.names == ("size",)
    again = hgcn.fit(club, config=run.config)
    torch.testing.assert_close(again.embeddings(), run.embeddings(), rtol=0, atol=0)
    with pytest.raises(DataError, match=r"'clubb'.*Did you mean 'club'"):
        hgcn.fit(club, labels="clubb", **QUICK)


def test_direction(club: nx.Graph) -> None:
    with pytest.raises(DataError, match="undirected one"):
        hgcn.fit(club, directed=True, **QUICK)
    arcs = nx.DiGraph(club.edges())
    assert hgcn.fit(arcs, **QUICK).graph.directed
    assert not hgcn.fit(arcs, directed=False, **QUICK).graph.directed
    ends = np.array(club.edges()).T
    assert hgcn.fit(ends, directed=True, **QUICK).graph.directed
    with pytest.raises(DataError, match="`directed`"):
        hgcn.fit(hgcn.load(ends), directed=True, **QUICK)


def test_arrays_beside_arrays(club: nx.Graph) -> None:
    ends = np.array(club.edges()).T
    x = np.random.default_rng(0).normal(size=(34, 5))
    y = np.array([club.nodes[node]["club"] for node in club])
    run = hgcn.fit(ends, features=x, labels=y, **QUICK)
    assert run.features.num_raw == 5
    assert run.class_names == ("Mr. Hi", "Officer")
    with pytest.raises(DataError, match=r"0\.\.29"):
        hgcn.fit(ends, features=x[:30], **QUICK)
    with pytest.raises(DataError, match="labels"):
        hgcn.fit(ends, labels="club", **QUICK)


def test_a_graph_and_a_pyg_data_take_values_for_their_nodes(club: nx.Graph) -> None:
    graph = hgcn.load(club)
    assert hgcn.fit(graph, labels="club", **QUICK).config.task == "node"
    data = hgcn.load(club).to_pyg()
    with pytest.raises(DataError, match="labels"):
        hgcn.fit(data, labels="club", **QUICK)
    run = hgcn.fit(data, labels=np.arange(34) % 2, features=np.eye(34), **QUICK)
    assert run.features.num_raw == 34


def nodes(package: str) -> Any:
    ids = [f"n{i}" for i in range(34)]
    data = {"size": [None, *range(33)], "kind": ["a", "b"] * 17, "when": ["2020-01-01"] * 34}
    if package == "polars":
        return pl.DataFrame({"id": ids, **data})
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ids, **data})
    frame["when"] = pandas.to_datetime(frame["when"])
    frame["kind"] = frame["kind"].astype("category")
    return frame.set_index("id") if package == "pandas, named index" else frame


def edges(package: str, club: nx.Graph) -> Any:
    pairs = {
        "source": [f"n{a}" for a, _ in club.edges()],
        "target": [f"n{b}" for _, b in club.edges()],
        "weight": [float(1 + a) for a, _ in club.edges()],
    }
    if package == "polars":
        return pl.DataFrame(pairs)
    frame = pytest.importorskip("pandas").DataFrame(pairs)
    return frame[frame["weight"] > 0].sort_values("target")


@pytest.mark.parametrize("package", ["polars", "pandas", "pandas, named index"])
def test_dataframes(package: str, club: nx.Graph) -> None:
    graph = hgcn.load(edges(package, club), features=nodes(package), labels="kind")
    assert graph.num_nodes == 34
    assert graph.num_edges == club.number_of_edges()
    assert graph.edge_weight is not None
    assert graph.ids[0] == "n0"
    assert graph.feature_names == ("size", "size missing", "when")
    assert graph.class_names == ("a", "b")
    run = hgcn.fit(edges(package, club), features=nodes(package), labels="kind", **QUICK)
    assert run.config.source is None
    assert run.predict_nodes(graph).shape == (34, 2)


def test_a_dataframe_that_is_no_table_is_refused() -> None:
    with pytest.raises(DataError, match="got none"):
        hgcn.load(pl.DataFrame({"source": [], "target": []}))
    with pytest.raises(DataError, match="'target', got List"):
        hgcn.load(pl.DataFrame({"source": [1, 2], "target": [[1], [2]]}))


def test_ids_of_dataframes_that_met_a_missing_value(club: nx.Graph) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"source": [0, 1, 2], "target": [1.0, 2.0, 0.0]})
    assert hgcn.load(frame).ids.tolist() == [0, 1, 2]


def test_what_cannot_be_stored_is_asked_for_again(club: nx.Graph, tmp_path: Any) -> None:
    ends = np.array(club.edges()).T
    run = hgcn.fit(ends, labels=np.arange(34) % 2, out=tmp_path / "run", **QUICK)
    assert run.config.labels is None
    stored = hgcn.load_run(tmp_path / "run")
    with pytest.raises(hgcn.errors.RunError, match="held in memory"):
        stored.embeddings()
    torch.testing.assert_close(stored.embeddings(ends), run.embeddings())


def test_ids_that_64_bits_cannot_hold_are_text() -> None:
    graph = hgcn.load(nx.path_graph([0, 1, 10**29]))
    assert sorted(graph.ids.tolist()) == ["0", "1", str(10**29)]
