"""Calibrated probabilities of links: the greatest likelihood, never a NaN, the same order."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from hgcn import files
from hgcn.errors import RunError
from hgcn.figures.reliability import reliability_figure
from hgcn.inference.calibration import Calibration, brier
from hgcn.runs.folder import ENVIRONMENT, METRICS, load_run
from hgcn.runs.run import Run
from hgcn.training.curves import link_reliability
from small_graphs import quick_run, tree


def logits(count: int, mean: float, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    draws = torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return scale * (draws + mean)


def test_scale_and_shift_are_those_of_logistic_regression() -> None:
    positive, negative = logits(4000, 1.0, 1, 3.0) + 5, logits(4000, -1.0, 2, 3.0) + 5
    found = Calibration.fit(positive, negative)
    x, y = torch.cat((positive, negative)).unsqueeze(1), [1] * 4000 + [0] * 4000
    wanted = LogisticRegression(C=1e9, tol=1e-8).fit(x.numpy(), y)
    # So many pairs that the regularisation counts little.
    assert found.scale == pytest.approx(wanted.coef_[0, 0], rel=0.01)
    assert found.shift == pytest.approx(wanted.intercept_[0], rel=0.01)
    # Of two normal distributions one apart from the middle: a = 2/3, b = -a 5.
    assert found.scale == pytest.approx(2 / 3, rel=0.05)


def test_non_edges_count_as_many_as_edges() -> None:
    positive, negative = logits(2000, 1.0, 1), logits(2000, -1.0, 2)
    one, five = (Calibration.fit(positive, negative.repeat(times)) for times in (1, 5))
    assert five.scale == pytest.approx(one.scale, rel=0.01)
    assert five.shift == pytest.approx(one.shift, abs=0.01)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ([5.0, 6.0], [-3.0, -4.0]),  # separable
        ([1e6, 2e6], [-1e6, 3.0]),
        ([1e-7], [-1e-7]),
        ([2.0, 2.0, 2.0], [2.0]),  # all the same
        ([-3.0, -4.0], [5.0, 6.0]),  # the wrong way round
        ([0.5], []),
    ],
)
def test_there_are_always_numbers_and_the_order_stays(
    positive: list[float], negative: list[float], dtype: torch.dtype
) -> None:
    pairs = [torch.tensor(values, dtype=dtype) for values in (positive, negative)]
    found = Calibration.fit(*pairs)
    assert found.scale > 0
    assert math.isfinite(found.scale)
    assert math.isfinite(found.shift)
    every = torch.cat(pairs).sort().values
    chance = found(every)
    assert chance.dtype == dtype
    assert bool(chance.isfinite().all())
    assert bool((chance.diff() >= 0).all())


def test_separable_edges_get_the_probability_that_platt_asks_for() -> None:
    found = Calibration.fit(torch.tensor([4.0] * 8), torch.tensor([-1.0] * 18))
    assert found(torch.tensor([4.0, -1.0])).tolist() == pytest.approx([9 / 10, 1 / 20], abs=1e-4)


def test_the_brier_score_and_the_curve_by_hand() -> None:
    positive, negative = torch.tensor([0.9, 0.5]), torch.tensor([0.1, 0.12, 0.18, 0.55])
    squares = (0.01 + 0.25) / 2, (0.01 + 0.12**2 + 0.18**2 + 0.55**2) / 4
    assert brier(positive, negative) == pytest.approx(sum(squares) / 2)
    mean, share = link_reliability(positive, negative)
    assert mean == pytest.approx([0.4 / 3, (2 * 0.5 + 0.55) / 3, 0.9])
    assert share == pytest.approx([0.0, 2 / 3, 1.0])


@pytest.fixture(scope="module")
def run() -> Run:
    return quick_run(graph=tree(), model="gcn", epochs=20)


def test_a_run_is_calibrated_on_validation(run: Run) -> None:
    task, noted = run.link_task(), run.metrics["calibration"]
    assert run.calibration == Calibration.fit(*task.outputs("val"))
    assert run.calibration == Calibration(noted["scale"], noted["shift"])
    assert run.calibration != Calibration()
    for part in ("val", "test"):
        both = task.outputs(part)
        assert noted["brier"][part]["before"] == pytest.approx(brier(*map(torch.sigmoid, both)))
        assert noted["brier"][part]["after"] == pytest.approx(brier(*map(run.calibration, both)))
    assert noted["brier"]["val"]["after"] <= noted["brier"]["val"]["before"]


def test_predictions_are_calibrated_and_keep_their_order(run: Run) -> None:
    plain = Run(
        config=run.config, metrics=run.metrics, history=run.history, predictor=run.predictor,
        features=run.features, num_nodes=run.num_nodes,
    )  # fmt: skip
    pairs = torch.triu_indices(90, 90, 1)
    before, after = (one.predict_links(pairs, run.graph) for one in (plain, run))
    expected = run.calibration(before.double().logit())
    torch.testing.assert_close(after.double(), expected, rtol=1e-3, atol=1e-5)
    assert bool((after[before.argsort()].diff() >= 0).all())
    (best, first), (again, second) = (one.top_links(20, run.graph) for one in (plain, run))
    assert torch.equal(best, again)
    torch.testing.assert_close(
        second.double(), run.calibration(first.double().logit()), rtol=1e-3, atol=1e-5
    )


def rewrite(path: Path, change: Any) -> None:
    """Change metrics.json under a good seal."""
    metrics = json.loads((path / METRICS).read_text())
    change(metrics)
    files.write_json(path / METRICS, metrics)
    environment = json.loads((path / ENVIRONMENT).read_text())
    environment["files"][METRICS] = files.checksum(path / METRICS)
    files.write_json(path / ENVIRONMENT, environment)


def test_a_folder_keeps_it_and_an_old_one_has_none(run: Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "run")
    again = load_run(path)
    assert again.calibration == run.calibration
    pairs = torch.tensor([[0, 1], [5, 7]])
    assert torch.equal(again.predict_links(pairs, run.graph), run.predict_links(pairs, run.graph))
    rewrite(path, lambda metrics: metrics.pop("calibration"))
    old = load_run(path)
    assert old.calibration == Calibration()
    with pytest.raises(RunError, match="calibration"):
        reliability_figure(old)


@pytest.mark.parametrize(
    "value", [3, {}, {"scale": 1}, {"scale": -1, "shift": 0}, {"scale": 1, "shift": 1e999}, "x"]
)
def test_a_forged_calibration_is_refused(value: Any, run: Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "run")
    rewrite(path, lambda metrics: metrics.update(calibration=value))
    with pytest.raises(RunError):
        load_run(path)


def test_the_figure_has_both_curves(run: Run) -> None:
    figure = reliability_figure(run)
    (ax,), (legend,) = figure.axes, figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    noted = run.metrics["calibration"]["brier"]["test"]
    assert labels == [
        f"before, Brier score {noted['before']:.3f}",
        f"after calibration, Brier score {noted['after']:.3f}",
    ]
    own = [run.calibration(value.double()) for value in run.link_task().outputs("test")]
    assert ax.lines[2].get_xdata().tolist() == pytest.approx(link_reliability(*own)[0])
