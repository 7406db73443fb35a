"""A picture of what a prediction rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hgcn.plots.style import BLUE, GREEN, LINE, ORANGE, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hgcn.inference.explanation import Explanation, Reason

MOST = 10
COLUMNS = 3
WIDEST = 32
"""Letters of a name that are drawn."""
ROW, PANEL, LETTER = 0.21, 2.4, 0.072  # inches: of a bar, of a panel without names, of a letter


def explanation_figure(why: Explanation) -> Figure:
    """Bars of what each part, node and feature adds, and of the attention: a panel for each."""
    panels = [panel for panel in _panels(why) if panel[1]]
    bars = min(MOST, max([len(reasons) for _, reasons, _ in panels] or [1]))
    columns = max(1, min(COLUMNS, len(panels)))
    lines = max(1, -(-len(panels) // columns))
    longest = max(
        (len(_short(one.name)) for _, found, _ in panels for one in found[:MOST]), default=0
    )
    with style():
        figure = new_figure((PANEL + LETTER * longest) * columns, 0.5 + lines * (0.8 + ROW * bars))
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, (title, reasons, unit) in zip(axes, panels, strict=False):
            _bars(ax, title, reasons, unit, bars)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        figure.suptitle(
            f"{why.subject}: {why.prediction}, probability {why.probability:.3f} "
            f"(score {why.score:.3g}, {why.baseline:.3g} without features)",
            x=0.01, ha="left",
        )  # fmt: skip
        return figure


def _panels(why: Explanation) -> list[tuple[str, list[Reason], str]]:
    panels = [
        ("parts of the logit", why.of("part"), "added to the score"),
        ("nodes whose features count", why.of("node"), "added to the score"),
        ("features", why.of("feature"), "added to the score"),
    ]
    for name in dict.fromkeys(reason.of for reason in why.of("attention")):
        heard = [reason for reason in why.of("attention") if reason.of == name]
        panels.append((f"attention of {_short(name)}", heard, "share in the last layer"))
    panels.append(("common neighbours", why.of("common neighbour"), "1 / log(degree)"))
    return panels


def _bars(ax: Axes, title: str, reasons: list[Reason], unit: str, bars: int) -> None:
    shown = reasons[:MOST]
    values = [reason.value for reason in shown]
    signed = unit == "added to the score"
    colours = [(BLUE if value >= 0 else ORANGE) if signed else GREEN for value in values]
    places = range(len(shown))
    ax.barh(places, values, color=colours, height=0.7)
    ax.set_yticks(places, [_short(reason.name) for reason in shown])
    ax.set_ylim(bars - 0.4, -0.6)
    ax.axvline(0, color=LINE, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.08)
    ax.set_xlabel(unit)
    rest = len(reasons) - len(shown)
    ax.set_title(title + f", {len(shown)} of {len(reasons):,}" * (rest > 0))


def _short(name: str) -> str:
    return name if len(name) <= WIDEST else name[: WIDEST - 1] + "…"
