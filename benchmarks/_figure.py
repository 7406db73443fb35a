"""The figure of docs/geometry.md: error against radius, one colour for each method."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from _oracle import Array

mpl.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

# Okabe and Ito's palette; dashes show both of two lines that coincide.
STYLES = (
    {"color": "#0072B2", "linewidth": 2.8, "zorder": 5},
    {"color": "#D55E00", "linewidth": 1.7},
    {"color": "#F0B6D3", "linewidth": 1.7, "dashes": (3, 2)},
    {"color": "#009E73", "linewidth": 1.7},
    {"color": "#E6C200", "linewidth": 1.7, "dashes": (3, 2)},
)
TITLES = {"near": "Neighbours, 0.001 to 0.1 apart", "typical": "Random directions"}
TICKS = {"float32": range(-8, 1, 2), "float64": range(-16, 1, 4)}
SHOWN_AS_ZERO = 5e-17
SETTINGS = {
    "svg.hashsalt": "hgcn",
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "0.92",
}
Key = tuple[str, str, float]  # dtype, family, radius


def draw_errors(
    path: Path,
    *,
    errors: dict[Key, dict[str, Array]],
    worth: dict[Key, Array],
    rays: dict[str, float],
    rivals: list[str],
) -> None:
    """Medians over the pairs, clipped at 1, where no digit is right."""
    radii = sorted({radius for _, _, radius in errors})
    with mpl.rc_context(SETTINGS):
        figure, axes = plt.subplots(2, 2, figsize=(9.2, 6.8), sharex=True, sharey="col")
        for column, (dtype, ticks) in enumerate(TICKS.items()):
            for row, (family, title) in enumerate(TITLES.items()):
                ax = axes[row, column]
                _prepare(ax, f"{title}, {dtype}", ticks, float(np.finfo(dtype).eps) / 2)
                line = [np.median(worth[dtype, family, r]) for r in radii]
                ax.plot(
                    radii,
                    np.maximum(line, SHOWN_AS_ZERO),
                    ":",
                    color="0.35",
                    label="one unit in the input's last place",
                )
                for name, style in zip(rivals, STYLES, strict=True):
                    medians = [np.median(errors[dtype, family, r][name]) for r in radii]
                    ax.plot(radii, np.clip(medians, SHOWN_AS_ZERO, 1), label=name, **style)
            _shade(axes[0, column], rays[dtype])
        for ax in axes[:, 0]:
            ax.set_ylabel("relative error of the distance")
        for ax in axes[1]:
            ax.set_xlabel("radius: how far the pair is from the origin")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        order = [*range(2, len(labels)), 1, 0]
        figure.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="lower center",
            ncols=4,
            frameon=False,
        )
        figure.tight_layout(rect=(0, 0.075, 1, 1))
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)


def _prepare(ax: Axes, title: str, ticks: range, unit: float) -> None:
    ax.set(title=title, xscale="log", yscale="log", xlim=(0.01, 40))
    ax.set_xticks([0.01, 0.1, 1, 3, 10, 40], ["0.01", "0.1", "1", "3", "10", "40"])
    ax.set_yticks([10.0**k for k in ticks])
    ax.set_ylim(10.0 ** (ticks[0] - ticks.step / 2), 8)
    ax.minorticks_off()
    ax.axhline(unit, color="0.6", linewidth=1, label="rounding unit")
    ax.axhline(1, color="0.85", linewidth=1)
    ax.annotate(
        "no digit right",
        (0.011, 1),
        textcoords="offset points",
        xytext=(0, 3),
        color="0.4",
        fontsize=8,
    )


def _shade(ax: Axes, start: float) -> None:
    """Where neighbours are only found on one ray."""
    ax.axvspan(start, 40, color="0.93", zorder=0)
    ax.text(
        (start * 40) ** 0.5,
        0.33,
        "on one ray",
        transform=ax.get_xaxis_transform(),
        rotation=90,
        ha="center",
        va="center",
        color="0.35",
        fontsize=8,
    )
