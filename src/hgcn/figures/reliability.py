"""Whether probabilities of links can be taken at their word: how often such links are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hgcn.errors import RunError
from hgcn.inference.calibration import Calibration, brier
from hgcn.plots.style import BLUE, GREEN, LINE, new_figure, style
from hgcn.training.curves import link_reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hgcn.runs.run import Run


def reliability_figure(run: Run) -> Figure:
    """The reliability curve of a run's test links, before and after calibration.

    See :func:`hgcn.figures.training_figure`: a run is given in the same way.

    There are as many edges as other pairs: each is weighted so.
    """
    if "calibration" not in run.metrics:
        raise RunError("Expected a run with a calibration of its links, got none. Train it again.")
    logits = run.link_task().outputs("test")
    with style():
        figure = new_figure(4.2, 4.2)
        ax = figure.subplots()
        ax.plot([0, 1], [0, 1], color=LINE, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        for name, colour, probability in (
            ("before", BLUE, Calibration()),
            ("after calibration", GREEN, run.calibration),
        ):
            both = [probability(value.cpu().double()) for value in logits]
            label = f"{name}, Brier score {brier(*both):.3f}"
            ax.plot(*link_reliability(*both), "o-", color=colour, markersize=4, label=label)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set_xlabel("probability, mean of each tenth")
        ax.set_ylabel("share of edges")
        ax.set_title("one test edge for each other pair", fontsize=9)
        figure.legend(loc="outside lower center")
        figure.suptitle(f"{run.config.model} on {run.metrics['source']}", x=0.01, ha="left")
        return figure
