"""The report of a run: its curves are those of the scores, its page needs nothing."""

from __future__ import annotations

import math
import re
import webbrowser
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn import metrics as sklearn_metrics

from hgcn.cli import main
from hgcn.errors import ConfigError
from hgcn.reports.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Series,
    chart,
    histogram,
)
from hgcn.reports.page import Panel, Section, render_report, table
from hgcn.runs.fit import fit
from hgcn.runs.folder import load_run
from hgcn.training.curves import average_precision_curve, reliability, roc_curve
from small_graphs import tree, write_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run on links and one on classes of the same small tree."""
    folder = tmp_path_factory.mktemp("report")
    edges, nodes = write_files(folder, tree())[:2]
    quick = {"dim": 3, "epochs": 6, "eval_every": 2}
    for task in ("link", "node"):
        fit(edges, features=nodes, labels="side", task=task, out=folder / task, **quick)
    return folder


def text_of(page: str) -> str:
    return re.sub(r"<[^>]+>", " ", page)


def test_training_leaves_a_report(folder):
    link = (folder / "link" / "report.html").read_text()
    for title in ("ROC curve", "Precision and recall", "Reliability", "Distances", "Loss"):
        assert title in link
    assert "Adamic-Adar" in link
    node = (folder / "node" / "report.html").read_text()
    for title in (
        "Confusion matrix",
        "Scores of each class",
        "Reliability",
        "Radius against depth",
    ):
        assert title in node
    assert "ROC curve" not in node
    run = load_run(folder / "node")
    assert f"{100 * run.metrics['val']['accuracy']:.2f}" in text_of(node)
    for row in run.metrics["confusion"]["test"]:
        for count in row:
            assert f">{count}</td>" in node


def test_the_table_of_scores_says_which_are_of_the_test_part(folder):
    page = (folder / "link" / "report.html").read_text()
    run = load_run(folder / "link")
    head, first = re.search(r"<thead>(.*?)</thead><tbody><tr>(.*?)</tr>", page, re.S).groups()
    spans = re.findall(r'colspan="(\d+)"[^>]*>(\w*)<', head)
    names = list(run.metrics["val"])
    assert spans == [("1", ""), (str(len(names)), "validation"), (str(len(names)), "test")]
    assert len(re.findall(r'scope="col"', head)) == 1 + 2 * len(names)
    cells = [float(cell) for cell in re.findall(r"<td>([\d.]+)</td>", first)]
    wanted = [100 * run.metrics[part][name] for part in ("val", "test") for name in names]
    assert cells == pytest.approx(wanted, abs=0.006)
    assert "input" in re.findall(r'<span class="s0">([^<]*)<', page)


def test_the_page_needs_nothing_and_runs_nothing(folder):
    for task in ("link", "node"):
        page = (folder / task / "report.html").read_text()
        assert page.startswith("<!doctype html>")
        assert page.rstrip().endswith("</html>")
        assert not re.search(r"https?://|<script|@import|url\(", page)
        assert "default-src &#x27;none&#x27;" in page
        for drawing in re.findall(r"<svg.*?</svg>", page, re.S):
            ET.fromstring(drawing)
            assert "nan" not in drawing
            assert "inf" not in drawing.replace("infected", "")


def test_the_command_adds_the_deltas(folder, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    out = folder / "report.html"
    assert main(["report", str(folder / "link"), "-o", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert opened == [out.resolve().as_uri()]
    assert "Gromov&#x27;s delta" in out.read_text()
    assert main(["report", str(folder / "link"), "-o", "report.pdf"]) == 2
    assert "end in .html" in capsys.readouterr().err


def test_other_models_stand_beside_a_run(folder, tmp_path, capsys):
    of_node = load_run(folder / "node").config
    flat = fit(
        of_node.source, features=of_node.features, labels="side", task="node", model="gcn", dim=3,
        epochs=2, eval_every=1, out=tmp_path / "flat",
    )  # fmt: skip
    out = tmp_path / "report.html"
    words = ["report", str(folder / "node"), "-o", str(out), "--no-open", "--beside"]
    assert main([*words, str(tmp_path / "flat")]) == 0
    row = re.split(r"\bgcn\b", text_of(out.read_text()))[1].split()
    assert row[0] == f"{100 * next(iter(flat.metrics['val'].values())):.2f}"
    assert "compare --baselines" not in out.read_text()
    before = out.read_bytes()
    assert main([*words, str(folder / "link")]) == 2
    assert "Expected runs on the same split" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_the_report_is_the_same_each_time(folder, tmp_path):
    run = load_run(folder / "link")
    first, second = (run.report(tmp_path / f"{k}.html").read_bytes() for k in range(2))
    assert first == second
    del run._kept["path"]
    with pytest.raises(ConfigError, match="this run has no folder"):
        run.report()


def test_the_area_below_the_curves_is_the_score():
    random = torch.Generator().manual_seed(0)
    # Rounded, so that there are ties.
    positive = torch.randn(200, generator=random).add(1).mul(4).round()
    negative = torch.randn(300, generator=random).mul(4).round()
    y = np.r_[np.ones(200), np.zeros(300)]
    score = torch.cat((positive, negative)).numpy()
    area = np.trapezoid(*reversed(roc_curve(positive, negative)))
    assert area == pytest.approx(sklearn_metrics.roc_auc_score(y, score))
    recall, precision = map(np.array, average_precision_curve(positive, negative))
    steps = float((np.diff(recall) * precision[1:]).sum())
    assert steps == pytest.approx(sklearn_metrics.average_precision_score(y, score))


def test_a_calibrated_probability_lies_on_the_diagonal():
    chance = torch.tensor([0.1, 0.1, 0.1, 0.1, 0.55, 0.55])
    right = torch.tensor([True, False, False, False, True, False])
    mean, share = reliability(chance, right, torch.ones(6))
    assert mean == pytest.approx([0.1, 0.55])
    assert share == pytest.approx([0.25, 0.5])


def test_charts_have_round_ticks_and_no_points_outside():
    drawing = chart(
        [Series("one", [0, 3, 10, math.nan], [1, 4, 2, 5]), Series("", [0, 10], [0, 5], "guide")],
        Axis("x"), Axis("y", low=0), mark=3,
    )  # fmt: skip
    svg = ET.fromstring(drawing[drawing.index("<svg") :])
    ticks = [t.text for t in svg.iter("text") if "middle" in t.get("class") and t.text != "x"]
    assert ticks == ["0", "2", "4", "6", "8", "10"]
    (line,) = [p for p in svg.iter("path") if p.get("class") == "line s0"]
    corners = [tuple(map(float, c.split())) for c in line.get("d")[1:].split("L")]
    assert len(corners) == 3  # without the NaN
    assert all(46 <= x <= 350 and 24 <= y <= 194 for x, y in corners)
    assert drawing.startswith('<p class="legend"><span class="s0">one</span></p>')


def test_a_curve_of_one_point_is_seen():
    drawing = chart([Series("one", [0.4], [0.7], "marked")], Axis("x", 0, 1), Axis("y", 0, 1))
    (dot,) = re.findall(r'class="dots full s0" d="M([\d.]+) ([\d.]+)h0"', drawing)
    assert float(dot[0]) == pytest.approx(LEFT + 0.4 * (WIDTH - RIGHT - LEFT), abs=0.06)
    assert float(dot[1]) == pytest.approx(TOP + 0.3 * (HEIGHT - BOTTOM - TOP), abs=0.06)


def test_a_histogram_is_shares_of_each_group():
    drawing = histogram([("a", np.zeros(5)), ("b", np.array([1.0, 0.0]))], Axis("d"), bins=2)
    svg = ET.fromstring(drawing[drawing.index("<svg") :])
    tops = [
        min(float(corner.split()[1]) for corner in path.get("d")[1:].split("L"))
        for path in svg.iter("path") if path.get("class", "").startswith("steps")
    ]  # fmt: skip
    # All of a are in one bin, half of b in each: a is twice as high.
    assert 194 - tops[0] == pytest.approx(2 * (194 - tops[1]), abs=0.2)
    assert histogram([("none", np.zeros(0))], Axis("d")) == ""


def test_text_of_the_user_is_escaped():
    evil = "<script>alert(1)</script>"
    drawing = chart([Series(evil, [0, 1], [0, 1])], Axis(evil), Axis(evil))
    body = table([evil], [[evil, evil]])
    page = render_report(evil, evil, [Section(evil, [Panel(evil, drawing + body, evil)])])
    assert "<script" not in page
