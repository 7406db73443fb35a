"""What `hgcn train` says of the scores that need no training."""

import copy
from typing import Any

import pytest
from rich.console import Console

from hgcn.commands._scores import untrained_table, untrained_winner
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
    assert untrained_winner(changed) is None
    changed["untrained"]["test"]["short_paths"]["roc_auc"] = 0.99
    assert untrained_winner(changed) is None
    changed["untrained"]["val"]["adamic_adar"]["roc_auc"] = 0.925
    said = untrained_winner(changed)
    assert said is not None
    assert "Adamic-Adar" in said
    assert "92.50" in said
    assert "80.00" in said


def test_other_tasks_and_old_runs_have_neither(metrics: dict[str, Any]) -> None:
    old = {name: value for name, value in metrics.items() if name != "untrained"}
    assert untrained_table(old) is None
    assert untrained_winner(old) is None
