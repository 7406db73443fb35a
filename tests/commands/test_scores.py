"""What `hgcn train` says of the scores that need no training."""

import copy
import math
from typing import Any

import pytest
import torch
from rich.console import Console

from hgcn.commands._scores import advice, untrained_table
from small_graphs import quick_run


@pytest.fixture(scope="module")
def metrics() -> dict[str, Any]:
    return quick_run(model="gcn").metrics


def test_the_table_fits_in_eighty_columns(metrics: dict[str, Any]) -> None:
    table = untrained_table(metrics)
    assert table is not None
    console = Console(width=80, record=True)
    console.print(table)
    text = console.export_text()
    assert "…" not in text
    for name in ("gcn", "common neighbours", "Adamic-Adar", "preferential attachment"):
        (line,) = (line for line in text.splitlines() if line.startswith(f"│ {name} "))
        assert len([cell for cell in line.split("│") if cell.strip()]) == 6
    (line,) = (line for line in text.splitlines() if "short paths" in line)
    assert f"{100 * metrics['untrained']['test']['short_paths']['roc_auc_degrees']:.2f}" in line


def test_a_winner_on_validation_is_told_and_one_on_the_test_is_not(metrics: dict[str, Any]) -> None:
    changed = copy.deepcopy(metrics)
    for part in ("val", "test"):
        for scores in changed["untrained"][part].values():
            scores["roc_auc"] = 0.1
    changed["val"]["roc_auc"] = 0.8
    assert advice(changed) is None
    changed["untrained"]["test"]["short_paths"]["roc_auc"] = 0.99
    assert advice(changed) is None
    changed["untrained"]["val"]["adamic_adar"]["roc_auc"] = 0.925
    said = advice(changed)
    assert said is not None
    assert "Adamic-Adar" in said
    assert "92.50" in said
    assert "80.00" in said


def test_one_that_is_half_a_point_behind_would_have_done_as_well(metrics: dict[str, Any]) -> None:
    changed = copy.deepcopy(metrics)
    for scores in changed["untrained"]["val"].values():
        scores["roc_auc"] = 0.1
    changed["val"]["roc_auc"] = 0.8
    changed["untrained"]["val"]["short_paths"]["roc_auc"] = 0.796
    assert advice(changed) == (
        "Without any training, short paths would have done as well on validation: ROC AUC 79.60, "
        "gcn 80.00."
    )
    changed["untrained"]["val"]["short_paths"]["roc_auc"] = 0.794
    assert advice(changed) is None


def test_a_space_that_is_nearly_flat_is_told(metrics: dict[str, Any]) -> None:
    changed = {**metrics, "untrained": {}, "source": "my edges.csv", "radius": 0.2}
    # sinh(0.2)/0.2 = 1.00668
    assert advice(changed) == (
        "The space of the embeddings is nearly flat: distances are Euclidean within 0.67 %. "
        "A Euclidean model may do as well: hgcn compare --baselines 'my edges.csv'"
    )
    assert advice({**changed, "radius": 0.25}) is None  # 1.05 %
    assert advice({**changed, "radius": 1000.0}) is None
    ahead = copy.deepcopy(metrics)
    ahead["val"]["roc_auc"] = 0.0
    assert "Without any training" in str(advice({**ahead, "radius": 0.2}))  # never two of them
    assert "flat" not in str(advice({**ahead, "radius": 0.2}))


def test_the_radius_bounds_how_far_distances_are_from_euclidean_ones() -> None:
    run = quick_run(c=0.5, trainable_c=False)
    radius = run.metrics["radius"]
    z = run.embeddings()
    assert radius == pytest.approx(float(z.norm(dim=1).max()) * 0.5**0.5, rel=1e-5)
    i, j = torch.combinations(torch.arange(len(z))).T
    distance = run.predictor.encoder.space.squared_distance(z[i], z[j]).sqrt()
    ratio = (distance / (z[i] - z[j]).norm(dim=1))[(z[i] - z[j]).norm(dim=1) > 1e-3]
    assert float(ratio.min()) >= 1 - 1e-3
    assert float(ratio.max()) <= math.sinh(radius) / radius + 1e-3
    assert "radius" not in quick_run(model="gcn").metrics


def test_other_tasks_and_old_runs_have_neither(metrics: dict[str, Any]) -> None:
    old = {name: value for name, value in metrics.items() if name != "untrained"}
    assert untrained_table(old) is None
    assert advice(old) is None
