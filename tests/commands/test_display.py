"""What a terminal shows: it fits, it says what matters, and it never cuts what must be typed."""

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hgcn.cli import COMMANDS, main
from hgcn.commands import _display, datasets, embed, train
from hgcn.commands._display import (
    Line,
    LiveDisplay,
    SeedsDisplay,
    TrainingDisplay,
    dots,
    rows_table,
    sparkline,
)
from hgcn.config import Config
from hgcn.data import DATASETS
from hgcn.names import COORDINATES, SCORES
from hgcn.runs.auto import Choosing
from hgcn.runs.seeds import Seeds
from hgcn.training.loop import Best, Progress
from small_graphs import tree, write_files

SLOW = Progress(
    epoch=1234, epochs=5000, loss=0.51234, score=0.9512, best=Best(0.954, 1200), patience_left=100,
    curvatures=[0.5, 1.25, 2.0], seconds=240.0,
)  # fmt: skip


class Shown(LiveDisplay):
    """A display that keeps its lines."""

    def show(self, *lines):
        self.lines = [str(line.text(self.width)) for line in lines]


def training_line(width, progress=SLOW):
    class Display(Shown, TrainingDisplay):
        pass

    display = Display()
    display.width, display.first = width, (0, 0.0)
    display.update(progress)
    (line,) = display.lines
    assert len(line) <= width
    return line


def test_the_line_of_training_says_all_at_80_columns():
    line = training_line(78)  # the terminal's ^C has room too
    for part in ("epoch 1234/5000", "val 95.12", "best 95.40", "patience 100", "at most 12 min"):
        assert part in line
    assert line.count("━") >= 6
    longest = replace(SLOW, epoch=49_999, epochs=50_000, score=1.0, best=Best(1.0, 49_990),
                      patience_left=50_000, seconds=9.9e6)  # fmt: skip
    line = training_line(78, longest)
    assert "━" in line
    for part in ("epoch 49999/50000", "val 100.00", "best 100.00", "patience 50000", "at most"):
        assert part in line


def test_the_first_epoch_which_may_compile_kernels_is_no_measure_of_the_others():
    class Display(Shown, TrainingDisplay):
        width = 140

    display = Display()
    display.update(replace(SLOW, epoch=1, epochs=101, seconds=60.0))
    assert "at most" not in display.lines[0]
    display.update(replace(SLOW, epoch=2, epochs=101, seconds=60.5))
    assert "at most 50 s" in display.lines[0]


def test_a_narrow_line_says_less_and_a_wide_one_more():
    line = training_line(60)
    for part in ("epoch 1234/5000", "val 95.12", "best 95.40", "patience 100"):
        assert part in line
    assert "━" not in line
    assert "epoch 1234/5000" in training_line(30)
    line = training_line(140)
    assert "loss 0.5123" in line
    assert "c 0.5 1.2 2" in line


def test_no_line_is_wider_than_the_terminal():
    facts = [(0, "aa"), (3, "b" * 30), (6, "c" * 20)]
    for width in range(10, 90):
        console = Console(width=width, file=StringIO(), force_terminal=True, legacy_windows=False)
        console.print(Line("start", facts, 0.4), end="")
        assert "\n" not in console.file.getvalue().rstrip("\n")
        assert len(Line("start", facts, 0.4).text(width)) <= width


def seeds(**fields_):
    metrics = {"select": "f1", "val": {"f1": 0.5}, "test": {"f1": 0.4}}
    more = {"select": "f1", "val": {"f1": 0.7}, "test": {"f1": 0.6}}
    return Seeds(Path("runs"), list(range(20)), finished={0: metrics, 1: more}, **fields_)


def test_a_table_of_what_was_tried_fits_in_80_columns_of_a_pipe(tmp_path, capsys):
    settings = {"layers": 1, "attention": False, "aggregation": "origin", "feature_dropout": 0.3}
    one = {"preset": "", "settings": settings, "epochs": 5, "val": 0.5, "dropped": 0, "error": ""}
    record = {"spent": 60.0, "select": "ap", "chosen": 1, "candidates": [one, one], "note": ""}
    scores = {"val": {"ap": 0.5}, "test": {"ap": 0.5}, "select": "ap"}
    facts = {"source": "x", "task": "link", "model": "hgcn", "auto": record}
    train._show({**scores, **facts}, tmp_path, quiet=False, notes=[], warnings=[])
    table = [line for line in capsys.readouterr().out.splitlines() if line[:1] in "┏┃┡│└"]
    assert any("feature_dropout 0.3" in line for line in table)
    assert max(map(len, table)) <= 80


def test_seeds_have_a_line_for_all_and_one_for_each_that_runs():
    class Display(Shown, SeedsDisplay):
        pass

    display = Display()
    display.width, display.first = 80, 0
    display.update(seeds(running={2: SLOW, 3: None}, failed={4: "The loss is nan."}))
    head, second, third = display.lines
    for part in ("seeds 3/20", "val 60.00 ± 14.14", "1 failed", "2 running", "more"):
        assert part in head
    for part in ("seed 2", "epoch 1234/5000", "best 95.40", "patience 100"):
        assert part in second
    assert third.split() == ["seed", "3", "starting"]
    assert all(len(line) <= 80 for line in display.lines)
    display.update(seeds(running=dict.fromkeys(range(2, 14), SLOW)))
    assert len(display.lines) == 10
    assert display.lines[-1] == "  and 4 more"


def test_a_choice_has_one_line_and_a_table_of_what_was_tried():
    display = Shown()
    display.width = 78
    display.choosing(Choosing(1, 3, 4, 0.9512, 42.0))
    assert display.lines == ["choosing: candidate 3 of 4  rung 1  best 95.12  42 s left"]
    display.choosing(Choosing(0, 1, 8, None, 100.0))
    assert display.lines == ["choosing: candidate 1 of 8  rung 0  2 min left"]
    one = {"preset": "", "epochs": 5, "val": 0.5, "dropped": 0, "seconds": 1.0, "error": ""}
    failed = {**one, "settings": {"lr": 0.02}, "val": None, "error": "The loss is nan."}
    best = {**one, "settings": {"attention": False, "layers": 1}, "dropped": None}
    tried = [{**one, "preset": "cora-link-hgcn", "settings": {"c": 2.0}}, failed, best]
    record = {"spent": 60.0, "select": "ap", "chosen": 2, "candidates": tried}
    console = Console(width=80, file=StringIO())
    console.print(_display.auto_table(record))
    text = console.file.getvalue()
    assert "Tried for 60 s: average precision on validation" in text
    rows = [[c.strip() for c in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    assert rows == [
        ["preset cora-link-hgcn", "50.00", "5", "out after rung 0"],
        ["lr 0.02", "-", "5", "The loss is nan."],
        ["attention off, layers 1", "50.00", "5", "chosen"],
    ]


def test_a_pipe_gets_a_line_now_and_then_and_quiet_none(capsys):
    for every, quiet, count in ((0.0, False, 2), (1000.0, False, 0), (0.0, True, 0)):
        with SeedsDisplay(quiet, every=every) as display:
            display.update(seeds(running={2: SLOW}))
            display.update(seeds(running={2: SLOW, 3: SLOW}))
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == said.err.count("seeds 2/20") == count
        assert "\033" not in said.err


def test_brackets_in_names_are_no_markup(monkeypatch):
    file = StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    table = rows_table(["[id]", "class"], [["[/x]", "[red]"]], "runs/[bold]a")
    _display.output().print(table)
    for text in ("[id]", "[/x]", "[red]", "runs/[bold]a"):
        assert text in file.getvalue()


@pytest.mark.parametrize("width", [10, 40, 60, 80, 100, 200])
def test_names_of_data_sets_are_never_cut(width):
    chosen = list(DATASETS.values())
    table, left_out = datasets._table(chosen, width)
    file = StringIO()
    Console(width=width, file=file, force_terminal=False).print(table)
    text = file.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    if width >= 40:
        shown = {line.split()[0] for line in text.splitlines() if line.split()}
        assert set(DATASETS) <= shown
        assert "…" not in text
        assert "19,717" in text
    if width >= 80:
        assert set(left_out) <= {"licence", "graphs", "description"}
    if width == 200:
        assert left_out == []


def help_of(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns(name, capsys, monkeypatch):
    text = help_of(name, capsys, monkeypatch)
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", ["train", "search"])
def test_help_lists_the_choices_of_every_setting(name, capsys, monkeypatch):
    text = " ".join(help_of(name, capsys, monkeypatch).split())
    flags = {
        f"--{one.name.replace('_', '-')}": one.metadata["choices"]
        for one in fields(Config) if one.metadata["choices"] is not None
    }  # fmt: skip
    assert {"--model", "--task", "--protocol", "--aggregation", "--act", "--last-act",
            "--normalise", "--classifier", "--dtype"} <= set(flags)  # fmt: skip
    body = text[text.index("settings: ") :]
    for flag, choices in flags.items():
        entry = body[body.index(f"{flag} ") :].split(" --")[0]
        for choice in choices:
            assert choice in entry, f"{flag} {choice}"
    entry = body[body.index("--select ") :].split(" --")[0]
    for score in set(SCORES) - {"mrr", "roc_auc_degrees", "mean_rank"}:
        assert score in entry
    usage = text.split("positional arguments")[0]
    assert "--model" not in usage  # it does not repeat every flag


def test_help_lists_coordinates():
    parser = argparse.ArgumentParser()
    embed.configure(parser)
    for name in COORDINATES:
        assert name in parser.format_help()


def in_a_terminal(words, cwd, columns=80):
    """Exit code, seconds to the first byte, and everything that a process wrote to a terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "OMP_NUM_THREADS": "1"}
    environment.pop("NO_COLOR", None)
    start, first, text = time.monotonic(), None, b""
    with subprocess.Popen(
        [sys.executable, "-m", "hgcn", *words], cwd=cwd, env=environment,
        stdin=follower, stdout=follower, stderr=follower,
    ) as running:  # fmt: skip
        os.close(follower)
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if first is None:
                first = time.monotonic() - start
            text += chunk
        code = running.wait()
    os.close(leader)
    return code, first, text.decode()


def test_training_in_a_terminal_of_80_columns(tmp_path):
    write_files(tmp_path, tree())
    words = ["train", "edges.csv", "--epochs", "400", "--patience", "400", "--dim", "2", "--out",
             "run"]  # fmt: skip
    code, _, text = in_a_terminal(words, tmp_path)
    assert code == 0, text
    assert text.startswith("Loading ...\r\033[K")
    plain = text.replace("\r\n", "\n")
    plain = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", plain)
    shown = [line for line in re.split(r"[\r\n]", plain) if line.startswith("epoch ")]
    assert all(len(line) <= 78 for line in shown)  # and ^C fits
    for part in ("━", "/400", "val ", "best ", "patience ", "at most "):
        assert part in shown[-1]
    assert "Run folder: run" in plain


def test_quiet_is_quiet_in_a_terminal_too(tmp_path):
    write_files(tmp_path, tree())
    words = ["train", "edges.csv", "--features", "nodes.csv", "--labels", "side", "--epochs", "40",
             "--dim", "4", "--out", "run", "--quiet"]  # fmt: skip
    code, _, text = in_a_terminal(words, tmp_path)
    assert (code, text) == (0, "run\r\n")


def test_a_curve_is_drawn_in_one_line():
    assert sparkline(range(8)) == "▁▂▃▄▅▆▇█"
    assert sparkline([0.5, 0.5]) == "▁▁"
    long = sparkline([*range(1000)], width=20)
    assert len(long) == 20
    assert sorted(long) == list(long)
    assert (long[0], long[-1]) == ("▁", "█")


def test_seeds_are_dots_between_the_ends():
    assert dots([1.0, 2.0, 3.0, 3.0], 1.0, 3.0, width=9) == "•───•───2"
    assert dots([1.0], 1.0, 1.0, width=3) == "•──"


def test_a_terminal_of_ascii_gets_no_drawings(monkeypatch):
    for encoding, able in (("ascii", False), ("utf-8", True)):
        monkeypatch.setattr(sys, "stdout", argparse.Namespace(encoding=encoding))
        assert _display.can_draw() == able
