"""Scores in few dimensions: HGCN beside Euclidean networks, links and nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hgcn.errors import RunError
from hgcn.experiments import Store
from hgcn.experiments.cells import DIMENSIONS, LOW_GRAPHS, LOW_METHODS
from hgcn.experiments.node_tables import lowdim_columns
from hgcn.experiments.paper import TITLES
from hgcn.plots.style import PALETTE, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SEEDS = 100
TASKS = {"link": "links, ROC AUC", "node": "nodes, F1"}
COLOURS = dict(zip(("hgcn", "gcn", "sage", "gat"), PALETTE, strict=False))


def lowdim_figure(path: str | Path) -> Figure:
    """A panel for each data set and task: the score against the number of dimensions.

    See :func:`hgcn.figures.curvature_figure`: a store is given in the same way.

    Args:
        path: the result store that `hgcn reproduce lowdim` fills.
    """
    columns = lowdim_columns(Store(path), MOST_SEEDS)
    if not any(any(column.values.values()) for column in columns.values()):
        raise RunError(
            f"Expected results of the experiment 'lowdim' in {path}, got none. Make them with: "
            f"hgcn reproduce lowdim --store {path}"
        )
    with style():
        figure = new_figure(9.6, 4.6)
        axes = figure.subplots(len(TASKS), len(LOW_GRAPHS), sharex=True)
        for row, task in enumerate(TASKS):
            for place, graph in enumerate(LOW_GRAPHS):
                ax = axes[row, place]
                for at, model in enumerate(LOW_METHODS):
                    # Side by side, so that no bar hides another.
                    aside = 1.035 ** (at - (len(LOW_METHODS) - 1) / 2)
                    values = [columns[graph, task, dim].values[model] for dim in DIMENSIONS]
                    known = [(d, v) for d, v in zip(DIMENSIONS, values, strict=True) if v]
                    if known:
                        ax.errorbar(
                            [d * aside for d, _ in known], [v.mean for _, v in known],
                            [v.std for _, v in known], color=COLOURS[model], marker="o",
                            markersize=4, capsize=2, elinewidth=1, label=TITLES[model],
                        )  # fmt: skip
                ax.set_xscale("log", base=2)
                ax.set_xlim(DIMENSIONS[0] / 1.15, DIMENSIONS[-1] * 1.15)
                ax.set_xticks(DIMENSIONS, [str(dim) for dim in DIMENSIONS])
                ax.grid(axis="y")
                if row == 0:
                    ax.set_title(TITLES[graph])
                else:
                    ax.set_xlabel("dimensions")
            axes[row, 0].set_ylabel(TASKS[task])
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, names, loc="outside lower center", ncols=len(LOW_METHODS),
            title="mean and standard deviation", title_fontsize=8.5,
        )  # fmt: skip
        return figure
