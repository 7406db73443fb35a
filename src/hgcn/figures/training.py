"""How a run was trained: loss, validation score and curvatures, epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hgcn.errors import RunError
from hgcn.names import VAL_LOSS, score_name
from hgcn.plots.style import BLUE, GREEN, LINE, PALETTE, SOFT, new_figure, style
from hgcn.scenes.of_network import curvature_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hgcn.runs.run import Run


def training_figure(run: Run) -> Figure:
    """Training curves of a run, with the epoch whose weights were kept.

    Example:
        >>> import hgcn
        >>> run = hgcn.fit(hgcn.data.random_tree(40), epochs=2, dim=2)
        >>> training_figure(run).axes[0].get_xlabel() is not None
        True
    """
    if not run.history:
        raise RunError("Expected a run with a history of its training, got none.")
    select = run.metrics["select"]
    curvatures = [
        name for name in run.history[0] if name not in ("epoch", "loss", VAL_LOSS, select)
    ]
    epochs = [row["epoch"] for row in run.history]
    best = run.metrics["best_epoch"]
    with style():
        rows = 3 if curvatures else 2
        figure = new_figure(5.6, 1.75 * rows + 0.2)
        panels = figure.subplots(rows, 1, sharex=True)
        panels[0].plot(epochs, [row["loss"] for row in run.history], color=BLUE, label="training")
        panels[0].set_title("loss")
        if VAL_LOSS in run.history[0]:
            values = [row[VAL_LOSS] for row in run.history]
            panels[0].plot(epochs, values, color=GREEN, label="validation")
            panels[0].legend(loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0)
        scores = [100 * row[select] for row in run.history]
        panels[1].plot(epochs, scores, color=GREEN)
        panels[1].set_title(f"validation {score_name(select)}, per cent")
        top = 100 * next((row[select] for row in run.history if row["epoch"] == best), 0.0)
        if top:
            panels[1].plot(best, top, "o", color=GREEN, markersize=5)
        if curvatures:
            _curvatures(panels[2], run, curvatures, epochs)
        for ax in panels:
            ax.axvline(best, color=LINE, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
            ax.grid(axis="y")
            ax.margins(x=0.01)
        panels[1].set_title(
            f"best: {top:.1f} at epoch {best}", loc="right", fontsize=8, color=SOFT
        )  # beside the curve, not on it
        panels[-1].set_xlabel("epoch")
        figure.suptitle(f"{run.config.model} on {run.metrics['source']}", x=0.01, ha="left")
        return figure


def _curvatures(ax: Axes, run: Run, names: list[str], epochs: list[int]) -> None:
    for k, (name, space) in enumerate(zip(names, curvature_names(run), strict=True)):
        values = [row[name] for row in run.history]
        ax.plot(epochs, values, color=PALETTE[k % len(PALETTE)], label=space)
    ax.set_title("c of each space (curvature −c)")
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0)
