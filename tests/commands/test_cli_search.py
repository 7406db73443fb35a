"""The command `hgcn search`."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from hgcn.cli import main
from hgcn.config import Config, read_toml

NODES = 40
FAST = ["--epochs", "6", "--eval-every", "2", "--dim", "3", "--processes", "1"]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tree as an edge list; results go to the folder of the test."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{child // 2},{child}" for child in range(1, NODES)]
    Path("family.csv").write_text("\n".join(["source,target", *lines]) + "\n")
    return "family.csv"


def test_a_search_ends_with_settings_to_train_with(graph, capsys):
    assert main(["search", graph, "--trials", "3", *FAST]) == 0
    shown = capsys.readouterr().out
    assert "hgcn train --config searches/family-link-hgcn.toml" in shown
    assert "Trials: 3 complete." in shown
    trials = pl.read_csv("searches/family-link-hgcn.csv")
    assert len(trials) == 3
    settings = read_toml("searches/family-link-hgcn.toml")
    best = trials.sort(["value", "number"], descending=[True, False]).row(0, named=True)
    assert settings["lr"] == pytest.approx(best["lr"])
    assert settings["dim"] == 3
    assert Config(**settings).task == "link"
    command = ["train", "--config", "searches/family-link-hgcn.toml", "--out", "run", "--quiet"]
    assert main(command) == 0
    assert Path("run/metrics.json").is_file()


def test_a_search_on_standard_input_has_a_name(graph, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(graph).read_bytes())))
    assert main(["search", "-", "--trials", "1", "--quiet", *FAST]) == 0
    assert capsys.readouterr().out == "searches/graph-link-hgcn.toml\n"


def test_the_same_command_goes_on(graph, capsys, tmp_path):
    space = tmp_path / "space.toml"
    space.write_text("lr = {low = 1e-4, high = 1e-1, log = true}\nlayers = [1, 2]\n")
    words = ["search", graph, "--space", str(space), "--model", "mlp", "--quiet", *FAST]
    for count in (2, 2, 4):
        assert main([*words, "--trials", str(count), "--seeds", "2", "--storage", "all.log"]) == 0
        assert capsys.readouterr().out == "searches/family-link-mlp.toml\n"
        trials = pl.read_csv("searches/family-link-mlp.csv")
        assert len(trials) == count
        assert trials.columns[-2:] == ["lr", "layers"]
    assert Path("all.log").is_file()
    assert not Path("searches/journal.log").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials", "none"], "Expected --trials to be a whole number above 0, got 'none'."),
        (["--processes", "0"], "Expected --processes to be a whole number above 0, got '0'."),
        (["--space", "no.toml"], "no.toml cannot be read"),
        (["--lr", "fast"], "to be a number, got 'fast'"),
        (["--task", "node"], "Expected labels for the task 'node'"),
        (["--storage", "none/j.log"], "Expected to write none/j.log"),
    ],
)
def test_mistakes_are_told_in_one_line(graph, capsys, words, message):
    assert main(["search", graph, "--trials", "1", *FAST, *words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_a_source_is_needed(capsys):
    assert main(["search"]) == 2
    assert "hgcn search cora" in capsys.readouterr().err


def test_ctrl_c_leaves_a_study_that_goes_on(graph):
    words = [sys.executable, "-m", "hgcn", "search", graph, "--trials", "100000", *FAST]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    journal = Path("searches/journal.log")
    deadline = time.monotonic() + 120
    # The second trial has begun once the first one has a value.
    while not (journal.exists() and '"values":[' in journal.read_text()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Interrupted; the same command goes on." in out
    before = pl.read_csv("searches/family-link-hgcn.csv")
    counted = before.filter(pl.col("state") != "interrupted")
    assert 0 < len(counted) < 100_000
    assert main(["search", graph, "--trials", str(len(counted) + 1), "--quiet", *FAST]) == 0
    after = pl.read_csv("searches/family-link-hgcn.csv")
    assert "interrupted" not in after["state"]
    assert after["number"].to_list() == list(range(len(counted) + 1))
