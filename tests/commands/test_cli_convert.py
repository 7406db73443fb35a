"""`hgcn convert`, and tables that are written block by block."""

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from hgcn.cli import main
from hgcn.errors import RunError
from hgcn.files import write_blocks, write_table
from hgcn.inference import trained
from small_graphs import quick_run, tree, write_files


def test_convert_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges, nodes = write_files(tmp_path, tree(40))
    out = str(tmp_path / "graph")
    words = ["convert", edges, "-o", out, "--features", nodes, "--labels", "side"]
    assert main(words) == 0
    assert "40 nodes, 39 edges, 4 features, 2 classes" in capsys.readouterr().out
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["convert", "--check", out]) == 0
    assert "all as they were written" in capsys.readouterr().out
    (tmp_path / "graph" / "x.npy").write_bytes(b"")
    assert main(["convert", "--check", out]) == 2
    assert "x.npy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["edges.csv"], "-o graph/"),
        (["--check", "graph", "-o", "other"], "alone with --check"),
        (["--check", "graph", "--labels", "side"], "alone with --check"),
        (["nowhere.csv", "-o", "graph"], "nowhere.csv"),
        (["--check", "nowhere"], "hgcn convert"),
    ],
)
def test_wrong_words(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["convert", *words]) == 2
    assert said in capsys.readouterr().err


def test_blocks_make_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = quick_run("node", tree(50))
    whole = {"embed": run.embedding_table(), "predict": run.class_table()}
    monkeypatch.setattr(trained, "BLOCK", 7)
    for command, table in whole.items():
        blocks = {"embed": run.embedding_blocks, "predict": run.prediction_blocks}[command]
        assert [block.height for block in blocks()] == [7] * 7 + [1]
        for ending in ("csv", "parquet"):
            path = tmp_path / f"{command}.{ending}"
            assert write_blocks(path, blocks()) == 50
            write_table(tmp_path / f"whole.{ending}", table)
        # The last bit of a number may depend on the place of its row in a block.
        for ending, read in (("csv", pl.read_csv), ("parquet", pl.read_parquet)):
            found, expected = (read(tmp_path / f"{n}.{ending}") for n in (command, "whole"))
            assert_frame_equal(found, expected, rel_tol=1e-6)
        assert pq.ParquetFile(tmp_path / f"{command}.parquet").num_row_groups == 8
    chance = run.predict_nodes()
    assert chance.shape == (50, 2)


def test_a_table_that_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    def broken():
        yield pl.DataFrame({"a": [1]})
        raise RunError("no more")

    for ending in ("csv", "parquet"):
        path = tmp_path / f"table.{ending}"
        path.write_text("old")
        with pytest.raises(RunError, match="no more"):
            write_blocks(path, broken())
        assert path.read_text() == "old"
        assert len(list(tmp_path.glob(f".table.{ending}*"))) == 0
