"""`hgcn view` and `hgcn figures` on run folders, and the page that training leaves beside a run."""

from __future__ import annotations

import re
import shutil
import webbrowser
from pathlib import Path

import pytest
import torch

from hgcn import viewer
from hgcn.cli import main
from hgcn.data import load
from hgcn.errors import ConfigError
from hgcn.nearest.files import read_points
from hgcn.runs import pictures
from hgcn.runs.fit import fit
from hgcn.runs.folder import load_run
from hgcn.runs.run import Run
from hgcn.scenes import of_points
from hgcn.scenes.of_points import points_scene

EDGES = "\n".join(["source,target", *(f"p{k},p{(k - 1) // 2}" for k in range(1, 31))])
SETTINGS = {"dim": 3, "epochs": 10, "eval_every": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edge list, and runs of two models on it."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "tree.csv").write_text(EDGES)
    for model in ("hgcn", "gcn"):
        fit(folder / "tree.csv", task="link", model=model, out=folder / model, **SETTINGS)
    return folder


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser would have been sent to."""
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(address) or True)
    return found


def check_page(path: Path, *names: str) -> str:
    """A whole page that asks the network for nothing and has these names in its title."""
    text = path.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    assert title is not None
    assert all(name in title[1] for name in names)
    return text


def test_training_leaves_a_page(folder: Path) -> None:
    text = check_page(folder / "hgcn" / "disk.html", "hgcn on tree")
    assert "p17" in text


def test_view_writes_and_opens(
    folder: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    page = folder / "hgcn" / "disk.html"
    page.unlink()
    assert main(["view", str(folder / "hgcn")]) == 0
    check_page(page, "hgcn on tree")
    assert opened == [page.resolve().as_uri()]
    assert capsys.readouterr().out.strip() == str(page)


def test_who_waits_is_told_what_is_done_and_where_pages_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    words = ["view", str(folder / "hgcn"), "--no-open", "-o", str(tmp_path / "page.html")]
    assert main(words) == 0
    assert capsys.readouterr().err == ""  # a file is no place for progress
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(words) == 0
    said = capsys.readouterr().err
    steps = ["embedding 31 nodes", "reading the attention", "looking for probable links", "drawing"]
    assert [step in said for step in steps] == [True] * 4
    assert said.endswith("\r\033[K")  # and in the end nothing is left of it
    monkeypatch.undo()
    run = tmp_path / "run"
    quick = ["--dim", "3", "--epochs", "2", "--model", "hgcn", "--task", "link"]
    assert main(["train", str(folder / "tree.csv"), "--out", str(run), *quick]) == 0
    told = capsys.readouterr().out
    assert f"Page of the embedding: {run / 'disk.html'}" in told
    assert f"Page of the report: {run / 'report.html'}" in told


def test_view_compares_without_overwriting(folder: Path, opened: list[str]) -> None:
    words = ["view", str(folder / "hgcn"), "--compare", str(folder / "gcn"), "--no-open"]
    assert main(words) == 0
    check_page(folder / "hgcn" / "disk-gcn.html", "hgcn on tree", "gcn on tree")
    assert opened == []


def test_view_of_another_graph(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "star.csv").write_text("source,target\nq0,q1\nq0,q2\nq0,q3\n")
    out = tmp_path / "star.html"
    graph = str(tmp_path / "star.csv")
    assert main(["view", str(folder / "hgcn"), "--graph", graph, "-o", str(out), "--no-open"]) == 0
    text = check_page(out, "star")
    assert "q3" in text
    assert "p17" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["view", "nowhere"], "there is none at nowhere"),
        (["view", "{run}", "-o", "page.png"], "end in .html"),
        (["view", "{run}", "--port", "x"], "--port to be a number"),
        (["view", "{run}", "--compare", "nowhere"], "there is none at nowhere"),
        (["figures", "geometri"], "Did you mean 'geometry'?"),
        (["figures", "geometry", "{run}"], "Expected no RUN for the figure 'geometry'"),
        (["figures", "geometry", "-o", "a.gif"], "got '.gif'"),
        (["figures", "geometry", "--dpi", "5"], "--dpi to be in 10..2000"),
        (["figures", "training"], "Expected one run folder"),
        (["figures", "curvature", "--store", "{run}/none.jsonl"], "hgcn reproduce curvature"),
        (["figures", "embeddings", "--epochs", "x"], "--epochs to be a whole number"),
        (["figures", "embeddings", "{run}", "--color", "dept"], "Did you mean 'depth'?"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [word.replace("{run}", str(folder / "hgcn")) for word in words]
    assert main(filled) == 2
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_figures_of_a_run_folder(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run = str(folder / "hgcn")
    assert main(["figures", "training", run]) == 0
    assert main(["figures", "embeddings", run, str(folder / "gcn"), "--out", "both.png"]) == 0
    assert main(["figures", "attention", run, "--node", "p1", "-o", "attention.pdf"]) == 0
    assert capsys.readouterr().out.split() == ["training.svg", "both.png", "attention.pdf"]
    assert (tmp_path / "training.svg").read_text().startswith("<?xml")
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "attention.pdf").read_bytes().startswith(b"%PDF")


def test_a_page_that_fails_loses_no_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no picture.")

    monkeypatch.setattr(pictures, "write_page", fail)
    with pytest.warns(UserWarning, match=r"disk.html cannot be drawn: no picture\..*hgcn view"):
        run = fit(folder / "tree.csv", task="link", out=tmp_path / "run", **SETTINGS)
    assert isinstance(run, Run)
    assert not (tmp_path / "run" / "disk.html").exists()
    torch.testing.assert_close(load_run(tmp_path / "run").embeddings(), run.embeddings())


def test_large_graphs_get_no_page_at_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load_run(folder / "hgcn")
    monkeypatch.setattr(pictures, "MOST_NODES_AT_ONCE", 30)
    assert pictures.write_run_page(tmp_path / "disk.html", run) is None
    monkeypatch.setattr(pictures, "MOST_NODES_AT_ONCE", 31)
    assert pictures.write_run_page(tmp_path / "disk.html", run) == tmp_path / "disk.html"


def test_view_from_python(folder: Path, tmp_path: Path, opened: list[str]) -> None:
    shutil.copytree(folder / "gcn", tmp_path / "gcn")
    run = load_run(tmp_path / "gcn")
    page = run.view()
    assert page == tmp_path / "gcn" / "disk.html"
    assert opened == [page.as_uri()]
    del run._kept["path"]
    with pytest.raises(ConfigError, match="this run has no folder"):
        run.view()
    assert run.view(tmp_path / "page.html", open=False) == tmp_path / "page.html"
    assert len(opened) == 1


def test_serve_gets_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = []
    monkeypatch.setattr(viewer, "serve", lambda path, **options: served.append((path, options)))
    assert main(["view", str(folder / "gcn"), "--serve", "--port", "8123", "--no-open"]) == 0
    path = folder / "gcn" / "disk.html"
    assert served == [(path, {"port": 8123, "open_browser": False})]


POINTS = "id,x,y,z\n" + "".join(f"p{k},{0.02 * k},{-0.01 * k},0.1\n" for k in range(31))


def test_view_draws_any_table_of_points(
    tmp_path: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.csv").write_text(POINTS)
    words = ["view", str(tmp_path / "own.csv"), "--coordinates", "ball", "--curvature", "0.5"]
    assert main(words) == 0
    text = check_page(tmp_path / "own.html", "own.csv")
    assert "p17" in text
    assert '"curvature":0.5' in text
    assert opened == [(tmp_path / "own.html").resolve().as_uri()]
    assert capsys.readouterr().out.strip() == str(tmp_path / "own.html")


def test_view_draws_points_with_the_edges_of_their_graph(folder: Path, tmp_path: Path) -> None:
    """The rows of a table may have another order than the nodes of the graph, and more ids."""
    head, *rows = POINTS.splitlines()
    (tmp_path / "own.csv").write_text("\n".join([head, "stranger,0,0,0", *rows[::-1]]))
    scene = points_scene(read_points(tmp_path / "own.csv", c=0), load(folder / "tree.csv"))
    assert scene.num_nodes == 31
    assert scene.edges.shape == (2, 30)
    assert list(scene.columns)[:3] == ["radius", "degree", "depth"]
    far = scene.columns["radius"]
    assert isinstance(far, viewer.Numbers)
    number = scene.ids.tolist().index("p30")
    assert far.values[number] == pytest.approx((0.6**2 + 0.3**2 + 0.1**2) ** 0.5)
    # Of very many points a sample is drawn.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_points, "MOST_NODES_DRAWN", 20)
        few = points_scene(read_points(tmp_path / "own.csv", c=0), load(folder / "tree.csv"))
    assert (few.num_nodes, few.note) == (20, "A sample of 20 of 31 nodes")
    words = ["view", str(tmp_path / "own.csv"), "--graph", str(folder / "tree.csv"), "--no-open"]
    assert main([*words, "--compare", str(tmp_path / "own.csv")]) == 0
    check_page(tmp_path / "own-tree-own-csv.html", "own.csv and own.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["view", "own.csv", "--coordinates", "ball"], "ball"),
        (["view", "own.csv", "--features", "own.csv"], "Expected --graph beside --features"),
        (["view", "own.csv", "--label-column", "x"], "Expected --graph beside --label-column"),
        (["view", "own.csv", "--graph", "two.csv", "--label-column", "x"], "the column of labels"),
        (["view", "own.csv", "--graph", "tree.csv"], "Expected ids of own.csv, got 'p1'"),
        (["view", "own.csv", "-o", "page.png"], "Expected --out to end in .html"),
        (["view", "own.csv", "--compare", "gcn"], "gcn"),
        (["view", "gcn", "--coordinates", "ball"], "a run knows its own"),
    ],
)
def test_a_table_that_cannot_be_drawn_is_told(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder / "tree.csv", "tree.csv")
    Path("own.csv").write_text("id,x\np0,0\nfar,1.5\n")
    Path("two.csv").write_text("source,target\np0,far\n")
    Path("gcn").mkdir()
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))
