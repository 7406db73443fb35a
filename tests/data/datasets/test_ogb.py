"""Small folders of the form in which the package ogb leaves its data sets."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hgcn.data import load, split_links, split_nodes
from hgcn.data.datasets import is_present
from hgcn.data.datasets.ogb import ARXIV, COLLAB, PRODUCTS
from hgcn.errors import DataError

NODES = 30


def put(path: Path, values: Any, form: str = "%d") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, np.asarray(values), form, delimiter=",")


def write_raw(folder: Path, edges: np.ndarray) -> np.ndarray:
    generator = np.random.default_rng(1)
    x = generator.random((NODES, 5)).round(6)
    put(folder / "raw" / "edge.csv.gz", edges)
    put(folder / "raw" / "num-node-list.csv.gz", [NODES])
    put(folder / "raw" / "num-edge-list.csv.gz", [len(edges)])
    put(folder / "raw" / "node-feat.csv.gz", x, "%.6f")
    return x


@pytest.fixture
def edges() -> np.ndarray:
    return np.random.default_rng(0).integers(0, NODES, (60, 2))


@pytest.mark.parametrize(("benchmark", "split"), [(ARXIV, "time"), (PRODUCTS, "sales_ranking")])
def test_nodes(benchmark: Any, split: str, edges: np.ndarray, tmp_path: Path) -> None:
    folder = tmp_path / benchmark.name.replace("-", "_")
    x = write_raw(folder, edges)
    put(folder / "raw" / "node-label.csv.gz", np.arange(NODES) % 3)
    put(folder / "raw" / "node_year.csv.gz", 2000 + np.arange(NODES))
    order = np.random.default_rng(2).permutation(NODES)
    parts = {"train": order[:15], "valid": order[15:20], "test": order[20:]}
    for name, nodes in parts.items():
        put(folder / "split" / split / f"{name}.csv.gz", nodes)
    graph = benchmark.load([tmp_path / "nowhere", tmp_path])
    proper = {tuple(sorted(pair)) for pair in edges.tolist() if pair[0] != pair[1]}
    assert {tuple(pair) for pair in graph.pairs().T.tolist()} == proper
    assert graph.x is not None
    np.testing.assert_array_equal(graph.x.numpy(), x.astype(np.float32))
    assert graph.y is not None
    assert graph.y.tolist() == [k % 3 for k in range(NODES)]
    found = split_nodes(graph)
    assert sorted(found.val.tolist()) == sorted(parts["valid"].tolist())
    if benchmark is ARXIV:
        assert graph.columns["year"][3] == 2003


def write_links(folder: Path, edges: np.ndarray, **changes: Any) -> None:
    write_raw(folder, edges)
    put(folder / "raw" / "edge_weight.csv.gz", 1 + np.arange(len(edges)) % 3)
    parts = folder / "split" / "time"
    parts.mkdir(parents=True)
    generator = np.random.default_rng(3)
    for name in ("train", "valid", "test"):
        content = {key: generator.integers(0, NODES, (9, 2)) for key in ("edge", "edge_neg")}
        content["edge"] = edges[generator.permutation(60)[:9]]
        content |= {"weight": np.ones(9, int), "year": np.full(9, 2018)}
        torch.save({**content, **changes.get(name, {})}, parts / f"{name}.pt")


def test_links(edges: np.ndarray, tmp_path: Path) -> None:
    test = torch.tensor([[0, 1], [2, 3], [4, 5]])
    val = np.array([[1, 0], [6, 7], [8, 8], [9, 10]])
    folder = tmp_path / "ogbl_collab_pyg"
    write_links(folder, edges, valid={"edge": val}, test={"edge": test})
    graph = COLLAB.load([tmp_path])
    assert graph.links is not None
    assert graph.links["val"].T.tolist() == [[6, 7], [9, 10]]
    assert graph.links["test"].T.tolist() == test.tolist()
    assert graph.edge_weight is not None
    assert any("1 pair of the test" in note for note in graph.notes)
    split = split_links(graph)
    asked = {
        tuple(sorted(pair))
        for part in (split.val, split.test)
        for pair in part.positives.T.tolist()
    }
    shown = {tuple(sorted(pair)) for pair in split.train.messages.T.tolist()}
    assert not asked & shown
    assert torch.equal(split.test.negatives, graph.links["test_negatives"])  # type: ignore[arg-type]


class Harmful:
    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


def test_damaged_files_are_refused(
    edges: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "ogbl_collab"
    write_links(folder, edges)
    valid = folder / "split" / "time" / "valid.pt"
    for content in ({"edge": Harmful()}, [1], {"edge": np.ones((3, 3), int)}, {"edge": edges + 99}):
        torch.save(content, valid)
        with pytest.raises(DataError, match=r"^Expected .*valid\.pt"):
            COLLAB.load([tmp_path])
    assert not Path("harm").exists()
    valid.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"valid\.pt"):
        COLLAB.load([tmp_path])
    put(folder / "raw" / "edge_weight.csv.gz", np.ones(59))
    with pytest.raises(DataError, match=r"60 lines, got 59"):
        COLLAB.load([tmp_path])
    for line, reason in (("1,x", "line 61"), ("1,2,3", "line 61"), ("1,99", "in 0..29, got 99")):
        with gzip.open(folder / "raw" / "edge.csv.gz", "wt") as file:
            np.savetxt(file, edges, "%d", delimiter=",")
            file.write(line + "\n")
        with pytest.raises(DataError, match=reason):
            COLLAB.load([tmp_path])


def test_data_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HGCN_DATA", str(tmp_path))
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path / "cache"))
    assert not is_present("ogbn-arxiv")
    with pytest.raises(DataError, match=r"ogbn_arxiv.*HGCN_DATA"):
        load("ogbn-arxiv")
    write_raw(tmp_path / "ogbn_arxiv", np.zeros((1, 2), int))
    assert is_present("ogbn-arxiv")
