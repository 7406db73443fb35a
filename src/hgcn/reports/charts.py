"""Small charts as SVG text: curves, dots, histograms. Colours and fonts come from the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 24, 36
MOST_POINTS = 2_000
"""A curve has at most so many corners, and a cloud so many dots: more cannot be told apart."""


@dataclass(frozen=True, eq=False)
class Series:
    """Points of a chart that belong together.

    Args:
        name: what the legend calls them; empty for no entry.
        x, y: their coordinates.
        kind: "line", "marked" (a line whose points are seen), "dots", "steps" (the outline of a
            histogram) or "guide" (a thin dashed line).
    """

    name: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    kind: str = "line"


@dataclass(frozen=True)
class Axis:
    """An axis of a chart: its label, its range if it is not that of the data, and its scale."""

    label: str
    low: float | None = None
    high: float | None = None
    log: bool = False


def chart(
    series: Sequence[Series], x: Axis, y: Axis, *, mark: float | None = None, title: str = ""
) -> str:
    """A chart as an ``<svg>`` element.

    Args:
        series: what is drawn; the page gives each its colour.
        x, y: the axes.
        mark: a value of x at which a line is drawn, such as the chosen epoch.
        title: what a screen reader says.
    """
    series = [_finite(one, x, y) for one in series]
    to_x, ticks_x = _scale([one.x for one in series], x, LEFT, WIDTH - RIGHT)
    to_y, ticks_y = _scale([one.y for one in series], y, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title or y.label)}">'
    ]
    for value in ticks_y:
        at = to_y(value)
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{at + 3.5:.1f}">{_number(value)}</text>'
        )
    parts += [
        f'<text class="tick middle" x="{to_x(value):.1f}" y="{HEIGHT - BOTTOM + 15}">'
        f"{_number(value)}</text>"
        for value in ticks_x
    ]
    parts.append(f'<text class="label" x="4" y="11">{escape(y.label)}</text>')
    bottom = HEIGHT - BOTTOM
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}"/>')
    if mark is not None:
        parts.append(f'<path class="mark" d="M{to_x(mark):.1f} {TOP}V{bottom}"/>')
    colour = 0
    for one in series:
        if one.kind == "guide":
            parts.append(f'<path class="guide" d="{_path(one, to_x, to_y)}"/>')
            continue
        parts.append(_drawn(one, colour, to_x, to_y))
        colour += 1
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="label middle" x="{middle}" y="{HEIGHT - 6}">{escape(x.label)}</text></svg>'
    )
    return _legend(series) + "".join(parts)


def histogram(groups: Sequence[tuple[str, np.ndarray]], x: Axis, *, bins: int = 40) -> str:
    """The shares of values in equal bins, from zero on, a series for each group."""
    found = np.concatenate([np.asarray(values, dtype=float) for _, values in groups])
    found = found[np.isfinite(found)]
    if not len(found):
        return ""
    low, high = min(0.0, float(found.min())), float(found.max())
    ends = np.linspace(low, high if high > low else low + 1, bins + 1)
    series = []
    for name, values in groups:
        counts = np.histogram(np.asarray(values, dtype=float), ends)[0]
        share = 100 * counts / max(1, counts.sum())
        corners = np.repeat(ends, 2)
        heights = np.concatenate(([0.0], np.repeat(share, 2), [0.0]))
        series.append(Series(name, corners, heights, "steps"))
    return chart(series, x, Axis("per cent", low=0), title=f"histogram of {x.label}")


def _finite(one: Series, x: Axis, y: Axis) -> Series:
    """The finite points, at most so many of them; on a logarithmic axis those above zero."""
    points = np.stack((np.asarray(one.x, dtype=float), np.asarray(one.y, dtype=float)))
    kept = np.isfinite(points).all(0)
    for values, axis in zip(points, (x, y), strict=True):
        kept &= (values > 0) | (not axis.log)
    points = points[:, kept]
    if points.shape[1] > MOST_POINTS:
        if one.kind == "dots":
            some = np.random.default_rng(0).choice(points.shape[1], MOST_POINTS, replace=False)
            points = points[:, np.sort(some)]
        else:
            some = np.linspace(0, points.shape[1] - 1, MOST_POINTS).round().astype(int)
            points = points[:, some]
    return Series(one.name, points[0], points[1], one.kind)


def _scale(
    values: Sequence[Sequence[float] | np.ndarray], axis: Axis, start: float, end: float
) -> tuple[Callable[[float], float], list[float]]:
    """The map from values to pixels, and the round values with a tick."""
    found = np.concatenate([np.asarray(one, dtype=float) for one in values] or [np.zeros(0)])
    low = axis.low if axis.low is not None else float(found.min()) if len(found) else 0.0
    high = axis.high if axis.high is not None else float(found.max()) if len(found) else 1.0
    if axis.log:
        low, high = max(low, 1e-300), max(high, low * 10)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        ticks = [10.0**k for k in range(first, last + 1, max(1, (last - first) // 5))]
        bounds = math.log10(low), math.log10(high)
        ticks = [tick for tick in ticks if low <= tick <= high * (1 + 1e-9)]
        return (
            lambda v: start + (end - start) * (math.log10(v) - bounds[0]) / (bounds[1] - bounds[0]),
            ticks,
        )
    if not high > low:
        low, high = low - (abs(low) or 1) / 10, high + (abs(high) or 1) / 10
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(k * unit for k in (1, 2, 5, 10) if k * unit >= rough * 0.999)
    count = math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1
    first_tick = math.ceil(low / step - 1e-9)
    ticks = [round((first_tick + k) * step, 12) for k in range(count)]
    return lambda v: start + (end - start) * (v - low) / (high - low), ticks


def _drawn(
    one: Series, colour: int, to_x: Callable[[float], float], to_y: Callable[[float], float]
) -> str:
    look = f"s{colour % 6}"
    if one.kind == "dots":
        # Rounded to pixels, equal dots are drawn once.
        places = dict.fromkeys(
            (round(to_x(a), 1), round(to_y(b), 1)) for a, b in zip(one.x, one.y, strict=True)
        )
        dots = "".join(f"M{a} {b}h0" for a, b in places)
        return f'<path class="dots {look}" d="{dots}"/>'
    kind = "steps" if one.kind == "steps" else "line"
    drawn = f'<path class="{kind} {look}" d="{_path(one, to_x, to_y)}"/>'
    if one.kind == "marked":
        points = zip(one.x, one.y, strict=True)
        dots = "".join(f"M{to_x(a):.1f} {to_y(b):.1f}h0" for a, b in points)
        drawn += f'<path class="dots full {look}" d="{dots}"/>'
    return drawn


def _path(one: Series, to_x: Callable[[float], float], to_y: Callable[[float], float]) -> str:
    points = zip(one.x, one.y, strict=True)
    return (
        "M" + "L".join(f"{to_x(a):.1f} {to_y(b):.1f}" for a, b in points) if len(one.x) else "M0 0"
    )


def _legend(series: Sequence[Series]) -> str:
    """The names of the series that have one, in the order of their colours."""
    named, colour = [], 0
    for one in series:
        if one.kind == "guide":
            continue
        if one.name:
            named.append(f'<span class="s{colour % 6}">{escape(one.name)}</span>')
        colour += 1
    return f'<p class="legend">{"".join(named)}</p>' if named else ""


def _number(value: float) -> str:
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:g}".replace("-", "−")
