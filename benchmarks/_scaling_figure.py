"""The figure of docs/layers.md: time and memory of an epoch against the number of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from _figure import SETTINGS

mpl.use("svg")
from matplotlib import pyplot as plt

# Okabe and Ito's palette; ours are the thick lines.
STYLES = (
    {"color": "#E69F00", "marker": "s"},
    {"color": "#D55E00", "marker": "^"},
    {"color": "#0072B2", "marker": "o", "linewidth": 2.6},
    {"color": "#56B4E9", "marker": "o", "linewidth": 2.6},
)
Series = Mapping[str, Sequence[float]]


def draw_scaling(path: Path, *, edges: Sequence[int], seconds: Series, gigabytes: Series) -> None:
    with mpl.rc_context(SETTINGS):
        figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.9))
        for ax, series, title in zip(
            axes, (seconds, gigabytes), ("Seconds an epoch", "Peak memory of an epoch, GB"),
            strict=True,
        ):  # fmt: skip
            for (name, values), style in zip(series.items(), STYLES, strict=True):
                ax.plot(edges[-len(values) :], values, label=name, **style)
            ax.set(title=title, xscale="log", yscale="log", xlabel="directed edges")
            # A line of slope one, below the others.
            last, lowest = edges[-1], min(values[-1] for values in series.values())
            first = edges[-min(map(len, series.values()))]
            ax.plot(
                (first, last), (lowest * first / last / 2, lowest / 2), ":", color="0.35",
                label="slope 1",
            )  # fmt: skip
            ax.minorticks_off()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
        figure.tight_layout(rect=(0, 0.09, 1, 1))
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
