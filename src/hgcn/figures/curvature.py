"""Figure 4 of the paper: link prediction against a fixed curvature."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.errors import RunError
from hgcn.experiments import Store
from hgcn.experiments.cells import curvature
from hgcn.plots.style import BLUE, ORANGE, SOFT, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SEEDS = 100
FLAT = 1e-3
"""Curvatures up to this one are as good as none."""
SCORES = Path(__file__).with_name("curvature.json")
BREAK = 4.0
"""How far left of the least curvature above it, as a factor, they are drawn."""


def curvature_scores(store: Store) -> dict[str, list[float]]:
    """ROC AUC in per cent of all seeds, by the row of the experiment: "0.1", ..., or "gcn"."""
    found = {
        cell.row: [100 * record["test"]["roc_auc"] for record in store.of(cell, MOST_SEEDS)]
        for cell in curvature()
    }
    return {row: scores for row, scores in found.items() if scores}


def stored_scores() -> dict[str, list[float]]:
    """The same of our own runs; ``benchmarks/curvature_scores.py`` puts them into the package."""
    scores: dict[str, list[float]] = json.loads(SCORES.read_text(encoding="utf-8"))
    return scores


def curvature_figure(path: str | Path | None = None) -> Figure:
    """ROC AUC on Disease against curvature, with the Euclidean network beside it.

    Args:
        path: a result store that `hgcn reproduce curvature` fills; by default our own runs.

    Example:
        >>> curvature_figure().axes[0].get_ylabel()
        'ROC AUC'
    """
    scores = stored_scores() if path is None else curvature_scores(Store(path))
    fixed = {float(row): values for row, values in scores.items() if row != "gcn"}
    if not fixed:
        raise RunError(
            f"Expected results of the experiment 'curvature' in {path}, got none. Make them with: "
            f"hgcn reproduce curvature --store {path}"
        )
    with style():
        figure = new_figure(5.4, 3.3)
        ax = figure.subplots()
        c = sorted(fixed)
        # What is as good as flat has no place on a logarithmic axis: it stands before a break.
        curved = [one for one in c if one > FLAT]
        place = {one: one if one > FLAT else (curved or [1.0])[0] / BREAK for one in c}
        look: dict[str, Any] = {
            "color": BLUE, "marker": "o", "markersize": 5, "capsize": 2.5, "elinewidth": 1,
        }  # fmt: skip
        for part, label in ((curved, "HGCN, fixed curvature"), (c[: len(c) - len(curved)], None)):
            rows = [(place[one], *_summary(fixed[one])) for one in part]
            if rows:
                x, mean, spread = zip(*rows, strict=True)
                ax.errorbar(x, mean, spread, label=label, **look)
        ax.set(xscale="log", xlabel="curvature −c  (more curved to the right)", ylabel="ROC AUC")
        named = [one for one in c if one in (c[0], c[-1]) or math.log10(one).is_integer()]
        ticks = [place[one] for one in named]
        ax.set_xticks(ticks, [f"−{one:g}" if one > FLAT else "0" for one in named])
        ax.set_xticks([place[one] for one in curved], [], minor=True)
        if curved and len(curved) < len(c):
            gap = curved[0] / BREAK**0.5
            ax.plot(
                [gap / 1.06, gap * 1.06], [0, 0], transform=ax.get_xaxis_transform(), color="white",
                linewidth=4, clip_on=False, zorder=9, solid_capstyle="butt",
            )  # fmt: skip
            ax.plot(
                [gap / 1.06, gap * 1.06], [0, 0], transform=ax.get_xaxis_transform(), color=SOFT,
                linestyle="", marker=[(-0.5, -1), (0.5, 1)], markersize=9, clip_on=False, zorder=10,
            )  # fmt: skip
        if "gcn" in scores:
            level, width = _summary(scores["gcn"])
            ax.axhline(level, color=ORANGE, linestyle=(0, (4, 3)), label="GCN, Euclidean")
            ax.axhspan(level - width, level + width, color=ORANGE, alpha=0.12, linewidth=0)
        ax.grid(axis="y")
        seeds = max(len(values) for values in scores.values())
        note = f"mean and standard deviation of {seeds} seeds" if seeds > 1 else None
        ax.legend(loc="best", title=note, title_fontsize=8.5, alignment="left")
        ax.set_title("Link prediction on Disease")
        return figure


def _summary(scores: list[float]) -> tuple[float, float]:
    return statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else 0.0
