"""The figure of docs/geometry.md: error against radius, one colour for each method."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from _oracle import Array

mpl.use("svg")
from matplotlib import pyplot as plt  # noqa: E402

# Okabe and Ito's palette; dashes tell the two ball packages apart where they coincide.
STYLES = (
    {"color": "#0072B2", "linewidth": 2.6, "zorder": 5},
    {"color": "#D55E00", "linewidth": 1.6},
    {"color": "#CC79A7", "linewidth": 1.6, "dashes": (4, 1.5)},
    {"color": "#009E73", "linewidth": 1.6},
    {"color": "#E69F00", "linewidth": 1.6, "dashes": (4, 1.5)},
)
ROWS = {"near": "Neighbours, 0.001 to 0.1 apart", "typical": "Random directions"}
LOWEST = {"float32": 1e-8, "float64": 3e-17}
SETTINGS = {
    "svg.hashsalt": "hgcn",
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
}


def draw_errors(
    path: Path,
    *,
    errors: dict[tuple[str, str, float], dict[str, Array]],
    worth: dict[tuple[str, str, float], Array],
    rivals: list[str],
) -> None:
    """Medians over the pairs, clipped at 1, where no digit is right."""
    radii = sorted({radius for _, _, radius in errors})
    with mpl.rc_context(SETTINGS):
        figure, axes = plt.subplots(2, 2, figsize=(9.2, 6.6), sharex=True, sharey="col")
        for column, (dtype, lowest) in enumerate(LOWEST.items()):
            for row, (family, label) in enumerate(ROWS.items()):
                ax = axes[row, column]
                unit = np.finfo(dtype).eps / 2
                ax.axhline(unit, color="0.55", linewidth=0.9)
                ax.text(0.0105, unit * 1.3, "rounding unit", color="0.4", fontsize=8)
                line = [np.median(worth[dtype, family, radius]) for radius in radii]
                ax.plot(radii, line, color="0.4", linewidth=1.1, linestyle=":", label="_")
                for name, style in zip(rivals, STYLES, strict=True):
                    medians = [np.median(errors[dtype, family, r][name]) for r in radii]
                    ax.plot(radii, np.clip(medians, lowest * 2, 1), label=name, **style)
                ax.set(xscale="log", yscale="log", ylim=(lowest, 3), xlim=(0.01, 40))
                ax.set_title(f"{label}, {dtype}")
                ax.grid(color="0.92", linewidth=0.7)
        for ax in axes[1]:
            ax.set_xlabel("distance of the pair from the origin")
            ax.set_xticks([0.01, 0.1, 1, 3, 10, 40], ["0.01", "0.1", "1", "3", "10", "40"])
            ax.minorticks_off()
        for ax in axes[:, 0]:
            ax.set_ylabel("relative error of the distance")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
        figure.tight_layout(rect=(0, 0.045, 1, 1))
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
