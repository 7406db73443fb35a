"""Data sets that users add to the table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from hgcn.data import load
from hgcn.data.datasets import DATASETS, Dataset, find_dataset, is_present
from hgcn.data.datasets.dataset import Datasets
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, DataError


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Datasets:
    """The table of data sets, as it was before once the test is over."""
    monkeypatch.setattr(DATASETS, "_entries", dict(DATASETS))
    return DATASETS


def square() -> Graph:
    return Graph(torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), 4, y=torch.tensor([0, 1, 0, 1]))


def test_a_registered_function_is_a_data_set(table: Datasets, empty: Path) -> None:
    entry = Dataset(
        "mine",
        "four nodes",
        nodes=4,
        load=square,
        class_names=("even", "odd"),
        notes=("Only for tests.",),
        ratios=(0.5, 0.25, 0.25),
        presets=Path("settings"),
    )
    table.register("mine", entry)
    graph = load("mine")
    assert (graph.name, graph.class_names, graph.notes) == ("mine", entry.class_names, entry.notes)
    assert graph.ratios == entry.ratios
    assert torch.equal(graph.edge_index, square().edge_index)
    assert is_present("mine")
    assert find_dataset("mine") is None
    assert table["mine"].presets == Path("settings")
    assert load("mine", labels=[0, 0, 0, 1]).y.tolist() == [0, 0, 0, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("by_name", [True, False])
def test_a_registered_folder_is_a_data_set(
    by_name: bool, table: Datasets, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "forest"
    table.register("oaks", Dataset("oaks", "", folder="forest" if by_name else folder))
    assert not is_present("oaks")
    with pytest.raises(DataError, match=r"'oaks' in the folder '.*forest'.*nothing to download"):
        load("oaks")
    folder.mkdir(parents=True)
    (folder / "edges.tsv").write_text("source\ttarget\na\tb\nb\tc\n")
    (folder / "labels.csv").write_text("id,kind\na,oak\nb,fir\nc,oak\n")
    if by_name:
        monkeypatch.setenv("HGCN_DATA", str(folder.parent))
    graph = load("oaks")
    assert graph.name == "oaks"
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.class_names == ("fir", "oak")
    assert is_present("oaks")


def test_what_an_entry_adds_to_a_folder(table: Datasets, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,0\n")
    (tmp_path / "other.csv").write_text("source,target\n0,3\n")
    (tmp_path / "nodes.csv").write_text("node,town\n0,x\n1,y\n2,x\n3,y\n")
    np.save(tmp_path / "door.npy", np.array([7, 7, 8, 8]))
    table.register(
        "doors",
        Dataset(
            "doors",
            "",
            nodes=4,
            folder=tmp_path,
            instead={"edges": "other.csv"},
            columns={"door": "door.npy"},
            ids=("town", "door"),
        ),
    )
    graph = load("doors")
    assert graph.pairs().tolist() == [[0], [3]]
    assert graph.ids.tolist() == ["x:7", "y:7", "x:8", "y:8"]
    assert graph.columns["door"].tolist() == [7, 7, 8, 8]
    table.register("wrong", Dataset("wrong", "", folder=tmp_path, ids=("twon",)))
    with pytest.raises(DataError, match=r"Did you mean 'town'\?"):
        load("wrong")


def test_edges_alone_need_the_number_of_nodes(table: Datasets, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,3\n")
    table.register("six", Dataset("six", "", nodes=6, folder=tmp_path))
    assert load("six").num_nodes == 6
    table.register("three", Dataset("three", "", nodes=3, folder=tmp_path))
    with pytest.raises(DataError, match=r"ids in 0\.\.2.*got 3 \(.*edges.csv, line 3\)"):
        load("three")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dataset("new", ""), "`load` function or a `folder`, got neither"),
        (lambda: Dataset("new", "", load=square, folder="new"), "got both"),
        (lambda: Dataset("new", "", load="square"), "to be a function"),  # type: ignore[arg-type]
        (lambda: Dataset("new", "", load=square, tasks=("nodes",)), r"Did you mean 'node'\?"),
        (lambda: Dataset("other", "", load=square), "its own name 'other', got 'new'"),
        (square, "Expected a Dataset under the name 'new', got Graph"),
    ],
)
def test_an_incomplete_registration_is_refused(
    make: Callable[[], Dataset], message: str, table: Datasets
) -> None:
    with pytest.raises(ConfigError, match=message):
        table.register("new", make())
    assert "new" not in table


def test_data_that_are_not_what_their_entry_says_are_refused(table: Datasets) -> None:
    table.register("five", Dataset("five", "", nodes=5, load=square))
    with pytest.raises(DataError, match=r"'five' to have 5 nodes.*got 4"):
        load("five")
    table.register("none", Dataset("none", "", load=lambda: None))  # type: ignore[arg-type, return-value]
    with pytest.raises(DataError, match="'none' to return a Graph, got NoneType"):
        load("none")
