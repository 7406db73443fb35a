"""Folders of arrays: mapped, shared, checked, built in steps that can be interrupted."""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

import hgcn
from hgcn.data import Graph, load
from hgcn.data.mapped import arrays, build
from hgcn.data.mapped.build import convert
from hgcn.data.mapped.journal import Journal
from hgcn.data.mapped.load import check_folder
from hgcn.data.mapped.sorting import Runs, in_order, write_run
from hgcn.errors import DataError
from small_graphs import QUICK, tree, write_files


@pytest.fixture
def source(tmp_path: Path) -> tuple[str, str]:
    return write_files(tmp_path, tree(60))


@pytest.fixture
def folder(source: tuple[str, str], tmp_path: Path) -> Path:
    return convert(source[0], tmp_path / "graph", features=source[1], labels="side")


def test_arrays_are_mapped_and_nothing_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hgcn.data.mapped.load.SMALL", 0)
    graph = load(str(folder))
    maps = Path("/proc/self/maps")
    if maps.exists():
        mapped = [
            line.split()[0].split("-")
            for line in maps.read_text().splitlines()
            if str(folder) in line
        ]
        spans = [range(int(low, 16), int(high, 16)) for low, high in mapped]
        assert graph.x is not None
        assert graph.y is not None
        for tensor in (graph.edge_index, graph.x, graph.y):
            assert any(tensor.data_ptr() in span for span in spans)
    with pytest.raises(ValueError, match="read-only"):
        graph.ids[0] = "other"
    monkeypatch.setattr("hashlib.sha256", None)  # the fingerprint is known
    assert len(graph.fingerprint()) == 64
    graph.release()
    assert int(graph.edge_index[0, 0]) == 0


def test_a_copy_in_another_process_maps_the_same_files(folder: Path) -> None:
    graph = load(folder)
    content = pickle.dumps(graph)
    assert len(content) < 500
    again = pickle.loads(content)
    assert again.fingerprint() == graph.fingerprint()
    assert torch.equal(again.x, graph.x)


def test_neighbours_of_an_unsorted_graph() -> None:
    graph = Graph(torch.tensor([[2, 0, 1, 0], [0, 2, 0, 1]]), 3, directed=True)
    start, node, edge = graph.incoming
    assert (start.tolist(), node.tolist()) == ([0, 2, 3, 4], [1, 2, 0, 0])
    assert edge is not None
    assert graph.edge_index[0, torch.from_numpy(edge).long()].tolist() == node.tolist()
    assert graph.replace(name="other").incoming is graph.incoming


def test_training_is_the_same_from_a_folder(source: tuple[str, str], folder: Path) -> None:
    runs = [
        hgcn.fit(source[0], features=source[1], labels="side", task="node", **QUICK),
        hgcn.fit(str(folder), task="node", **QUICK),
    ]
    assert torch.equal(runs[0].embeddings(), runs[1].embeddings())
    assert runs[0].environment["data_sha256"] == runs[1].environment["data_sha256"]
    table = runs[0].class_table(str(folder))
    assert table.equals(runs[1].class_table())


def test_further_values_may_be_given(folder: Path, tmp_path: Path) -> None:
    graph = load(folder, labels=torch.arange(60) % 3, name="other")
    assert (graph.num_classes, graph.name) == (3, "other")
    with pytest.raises(DataError, match="directed"):
        load(folder, directed=True)


def test_the_same_call_again_changes_nothing(source: tuple[str, str], folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    convert(source[0], folder, features=source[1], labels="side")
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    for options in ({}, {"features": source[1]}):
        with pytest.raises(DataError, match="another one"):
            convert(source[0], folder, **options)
    Path(source[0]).write_text(Path(source[0]).read_text())
    with pytest.raises(DataError, match="changed since"):
        convert(source[0], folder, features=source[1], labels="side")


def test_other_folders_are_not_touched(source: tuple[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match=r"letter\.txt"):
        convert(source[0], other)
    with pytest.raises(DataError, match="got a file"):
        convert(source[0], other / "letter.txt")


class Stop(Exception):
    pass


@pytest.mark.usefixtures("small_steps")
def test_interrupted_anywhere_and_gone_on(source: tuple[str, str], tmp_path: Path) -> None:
    """Each call does one step more than the last one, and then is interrupted."""
    options = {"features": source[1], "labels": "side", "directed": True}
    steps: list[str] = []
    convert(source[0], tmp_path / "calm", tell=steps.append, **options)
    assert len(steps) > 40
    left: list[int] = []

    def tell(step: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise Stop

    calls = 0
    while True:
        left[:], calls = [12], calls + 1
        try:
            convert(source[0], tmp_path / "graph", tell=tell, **options)
            break
        except Stop:
            assert not (tmp_path / "graph" / "graph.json").exists()
    assert calls > len(steps) // 12
    for path in (tmp_path / "calm").iterdir():
        assert path.read_bytes() == (tmp_path / "graph" / path.name).read_bytes()
    assert len(list((tmp_path / "graph").iterdir())) == len(list((tmp_path / "calm").iterdir()))


@pytest.mark.usefixtures("small_steps")
def test_a_source_that_changes_in_between_is_read_anew(
    source: tuple[str, str], tmp_path: Path
) -> None:
    def tell(step: str) -> None:
        if step == "written":
            raise Stop

    with pytest.raises(Stop):
        convert(source[0], tmp_path / "graph", tell=tell)
    Path(source[0]).write_text("source,target\na,b\nb,c\n")
    graph = load(convert(source[0], tmp_path / "graph"))
    assert graph.ids.tolist() == ["a", "b", "c"]


def test_a_disk_that_is_full(
    source: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "graph/x.npy")

    with monkeypatch.context() as patch:
        patch.setattr(arrays.ArrayFile, "write_flat", full)
        with pytest.raises(DataError, match=r"No space left.*same command again"):
            convert(source[0], tmp_path / "graph")
    assert load(convert(source[0], tmp_path / "graph")).num_nodes == 60


def test_two_processes(source: tuple[str, str], tmp_path: Path) -> None:
    """The second is refused while the first one works."""

    def second(step: str) -> None:
        script = "import sys; from hgcn.cli import main; sys.exit(main(sys.argv[1:]))"
        words = [sys.executable, "-c", script, "convert", source[0], "-o", str(tmp_path / "graph")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, "Another process" in done.stderr) == (2, True)
        raise Stop

    with pytest.raises(Stop):
        convert(source[0], tmp_path / "graph", tell=second)


def damages(folder: Path) -> Iterator[str]:
    """Damage each file in several ways, one after the other."""
    for path in sorted(folder.iterdir()):
        good = path.read_bytes()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 4
        for content in (b"", good[:-1], good[: len(good) // 2], bytes(flipped), good + b"x"):
            path.write_bytes(content)
            yield f"{path.name}: {content[:80]!r}"
        path.unlink()
        yield f"{path.name} is gone" if path.name != "graph.json" else ""
        path.write_bytes(good)


def test_damage_is_refused(folder: Path) -> None:
    fingerprint = load(folder).fingerprint()
    for damage in damages(folder):
        if not damage:
            continue
        try:
            graph = load(folder)
        except DataError as error:
            assert str(error).startswith("Expected"), damage  # noqa: PT017
            continue
        # White space and names in the description may be changed.
        assert damage.startswith("graph.json"), damage
        assert graph.fingerprint() == fingerprint or "fingerprint" in damage
    assert check_folder(folder) > 1000


def test_descriptions_that_lie_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "graph.json"
    about = json.loads(path.read_text())
    for change in (
        {"format": 2}, {"num_nodes": 61}, {"num_nodes": "many"}, {"arrays": []}, {"columns": 3},
        {"arrays": {"../secret.npy": about["arrays"]["y.npy"]}}, {"table": {}}, {"split": {"a": 1}},
        {"arrays": {**about["arrays"], "y.npy": {"dtype": "O", "shape": [60]}}},
    ):  # fmt: skip
        path.write_text(json.dumps({**about, **change}))
        with pytest.raises(DataError, match=r"^Expected"):
            load(folder)
    path.write_text(json.dumps({**about, "fingerprint": "0" * 64}))
    with pytest.raises(DataError, match="fingerprint"):
        check_folder(folder)
    monkeypatch.setattr("hgcn.data.mapped.load.SMALL", 0)
    path.write_text(json.dumps(about))
    edges = np.lib.format.open_memmap(folder / "edge_index.npy", "r+")
    edges[0, 0] = 99
    edges.flush()
    load(folder)  # large folders are checked on request
    with pytest.raises(DataError, match=r"edge_index\.npy"):
        check_folder(folder)
    with pytest.raises(DataError, match="hgcn convert"):
        check_folder(folder / "nothing")


@pytest.mark.parametrize("weighted", [False, True])
def test_runs_are_sorted_as_in_memory(
    weighted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hgcn.data.mapped.sorting.RANGE", 100)
    generator = np.random.default_rng(0)
    journal = Journal(tmp_path / "work", "test")
    every, values = [], []
    for k in range(8):
        key = generator.integers(0, (30, 10**15)[k % 2], 70 * k).astype(np.uint64)
        value = generator.random(len(key)) if weighted else None
        every.append(key)
        values.append(value if value is not None else np.zeros(0))
        write_run(journal.folder, f"run-{k}", *in_order(key, value))
    runs = Runs(
        journal, "runs", tuple(f"run-{k}" for k in range(8)), np.float64 if weighted else None
    )
    assert len(runs) > 5
    read = [runs.read(r) for r in range(len(runs))]
    joined = np.concatenate(every)
    order = np.argsort(joined, kind="stable")
    np.testing.assert_array_equal(np.concatenate([key for key, _ in read]), joined[order])
    if weighted:
        found = np.concatenate([value for _, value in read if value is not None])
        np.testing.assert_array_equal(found, np.concatenate(values)[order])
    assert runs.starts == [0, *np.cumsum([len(key) for key, _ in read])]
    runs.remove()
    assert not list(journal.folder.glob("*.key"))


def test_memory_is_bounded(tmp_path: Path) -> None:
    """The peak of the memory of its own does not grow with the number of edges."""
    if not Path("/proc/self/status").exists():
        pytest.skip("reads /proc")
    script = (
        "import sys, threading, time\n"
        "import hgcn.data.mapped.build as b\n"
        "from hgcn.data.mapped import blocks, edges, sorting\n"
        "blocks.BLOCK_ROWS, sorting.RANGE, edges.RANGE = 50_000, 50_000, 50_000\n"
        "def own():\n"
        "    text = open('/proc/self/status').read()\n"
        "    return int(text.split('RssAnon:')[1].split()[0])\n"
        "peak, begin = [0], []\n"
        "def tell(step):\n"
        "    begin.append(own()); peak[0] = max(peak[0], own())\n"
        "b.convert(sys.argv[1], sys.argv[2], tell=tell)\n"
        "print(peak[0] - begin[0])"
    )
    peaks = []
    for rows in (100_000, 1_000_000):
        ends = np.random.default_rng(0).integers(0, 20_000, (2, rows))
        path = tmp_path / f"{rows}.parquet"
        pl.DataFrame({"source": ends[0], "target": ends[1]}).write_parquet(path)
        words = [sys.executable, "-c", script, str(path), str(tmp_path / f"graph{rows}")]
        peaks.append(int(subprocess.run(words, capture_output=True, check=True).stdout))
    assert peaks[1] < peaks[0] + 16_000, peaks  # kilobytes; the edges alone have 32,000


def test_sources_that_are_no_tables(tmp_path: Path) -> None:
    graph = tree(30)
    made = convert(graph, tmp_path / "graph")
    assert load(made).fingerprint() == graph.fingerprint()
    assert build.convert(load(made), tmp_path / "again") == tmp_path / "again"
