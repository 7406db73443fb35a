"""`hgcn neighbours` and `hgcn path`, on runs and on points that somebody already has."""

from importlib import import_module

import polars as pl
import pytest

import hgcn as package
from hgcn.cli import main
from hgcn.commands import _display as display
from small_graphs import tree, write_files

fit_module = import_module("hgcn.runs.fit")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("near")
    write_files(path, tree())
    (path / "ball.csv").write_text("id,x,y\nann,0,0\nbob,0.5,0\ncem,0.9,0\ndov,0,0.9\n")
    (path / "bad.csv").write_text("id,x,y\nann,0,0\nbob,0.5,far\n")
    (path / "out.csv").write_text("id,x,y\nann,0,0\nbob,1.5,0\n")
    (path / "ids.csv").write_text("id\nann\nbob\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setattr(fit_module, "_draw", lambda run, folder: None)
        words = ["train", "edges.csv", "--epochs", "4", "--dim", "3", "--out", "run", "--quiet"]
        assert main(words) == 0
        tree_words = [*words[:6], "--task", "hierarchy", "--quiet", "--out"]
        assert main([*tree_words, "above", "--model", "free"]) == 0
        named = ["--features", "nodes.csv", "--labels", "side", "--model", "mlp"]
        assert main([*tree_words, "placed", *named]) == 0
    (path / "fewer.csv").write_text("source,target\nn1,n0\n")
    rows = (path / "nodes.csv").read_text().splitlines()[:3]
    (path / "few_nodes.csv").write_text("\n".join(rows))
    return path


@pytest.fixture
def hgcn(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_neighbours_of_a_run_are_nearest_in_its_own_distance(hgcn, folder, monkeypatch):
    monkeypatch.chdir(folder)
    run = package.load_run("run")
    ids = run.graph.ids.tolist()
    code, _, _ = hgcn("neighbours", "run", "-k", 4, "-o", "near.parquet")
    assert code == 0
    table = pl.read_parquet("near.parquet")
    assert table.height == 4 * len(ids)
    z, space = run.embeddings().double(), run.predictor.encoder.space
    square = space.squared_distance(z[7].expand_as(z), z)
    square[7] = float("inf")
    expected = square.sort()[0][:4].sqrt()
    mine = table.filter(pl.col("id") == ids[7])
    assert mine["rank"].to_list() == [1, 2, 3, 4]
    assert mine["distance"].to_list() == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-9)
    some = run.neighbours(ids[7], k=4)
    assert some["neighbour"].to_list() == mine["neighbour"].to_list()
    code, out, _ = hgcn("neighbours", "run", ids[7], "-k", 4)
    assert code == 0
    assert out.splitlines()[1].startswith(f"{ids[7]},1,{some['neighbour'][0]},")


def test_points_of_a_file_have_neighbours_and_paths(hgcn):
    code, out, _ = hgcn("neighbours", "ball.csv", "cem", "-k", 2, "--coordinates", "ball")
    assert code == 0
    assert [line.split(",")[2] for line in out.splitlines()] == ["neighbour", "bob", "ann"]
    code, out, _ = hgcn("path", "ball.csv", "cem", "dov", "--coordinates", "ball")
    assert code == 0
    ids = [line.split(",")[0] for line in out.splitlines()]
    assert ids[0] == "id"
    assert (ids[1], ids[-1]) == ("cem", "dov")
    assert "ann" in ids


def test_the_path_of_a_run_joins_its_ends(hgcn, folder, monkeypatch):
    monkeypatch.chdir(folder)
    run = package.load_run("run")
    first, last = run.graph.ids[[3, 11]].tolist()
    way = run.path_between(first, last)["id"].to_list()
    assert (way[0], way[-1]) == (first, last)
    code, out, _ = hgcn("path", "run", first, last)
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == [str(id_) for id_ in way]


def test_mips_vectors_are_points_of_the_hyperboloid_with_another_sign(hgcn):
    code, _, _ = hgcn("embed", "run", "-o", "mips.parquet", "--coordinates", "mips")
    assert code == 0
    table = pl.read_parquet("mips.parquet")
    assert table.columns == ["id", "z0", "z1", "z2", "z3"]
    assert (table["z0"] < 0).all()


def test_a_long_search_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(display.LiveDisplay, "show", lambda self, line: shown.append(str(line)))
    shown: list[str] = []
    blocks = [pl.DataFrame({"id": [0, 0, 1, 1]}), pl.DataFrame({"id": [2, 2]})]
    assert [block.height for block in display.counted(blocks, "nodes", 3, 2)] == [4, 2]
    assert shown[0].startswith("nodes 2/3  about ")
    assert shown[1:] == ["nodes 3/3"]
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ancestors", "nothing", "n3"], "there is none at nothing"),
        (["ancestors", "run", "n3"], "Expected a run of the task 'hierarchy', got one of 'link'"),
        (["ancestors", "above", "n333"], "Expected ids of nodes of the graph, got 'n333'"),
        (["ancestors", "above", "n3", "-k", "0"], "-k to be a whole number above 0"),
        (["ancestors", "above", "n3", "-o", "none/above.csv"], "Expected the folder none"),
        (["roots", "run"], "Expected a run of the task 'hierarchy', got one of 'link'"),
        (["roots", "edges.csv"], "edges.csv"),
        (["place", "run", "--features", "nodes.csv"], "Expected a run of the task 'hierarchy'"),
        (["evaluate", "above", "--graph", "fewer.csv"], "Expected the graph that free was trained"),
        (
            ["evaluate", "placed", "--graph", "fewer.csv", "--features", "few_nodes.csv"],
            "Expected the 90 nodes of the run's own hierarchy, got 2",
        ),
        (["path", "above", "n3", "n333"], "got 'n333'"),
        (["neighbours", "bad.csv"], "coordinate in the column 'y', got 'far' (bad.csv, line 3)"),
        (["neighbours", "out.csv", "--coordinates", "ball"], "ball"),
        (["neighbours", "ids.csv"], "Expected two columns or more"),
        (["neighbours", "ball.csv", "-k", "4"], "`k` to be at most 3"),
        (["neighbours", "ball.csv", "-k", "no"], "-k to be a whole number above 0"),
        (["neighbours", "ball.csv", "anne"], "Did you mean 'ann'?"),
        (["neighbours", "ball.csv", "--coordinates", "bal"], "Did you mean 'ball'?"),
        (["neighbours", "ball.csv", "--curvature", "high"], "--curvature to be a number"),
        (["neighbours", "run", "--coordinates", "ball"], "a run knows its own"),
        (["neighbours", "nothing"], "there is none at nothing"),
        (["neighbours", "ball.csv", "-o", "near.txt"], "ending of --out"),
        (["path", "ball.csv", "ann", "ann"], "two different ends"),
    ],
)
def test_bad_input_is_told_plainly(hgcn, words, message):
    code, out, said = hgcn(*words)
    assert code == 2
    assert message in said
    assert not out
