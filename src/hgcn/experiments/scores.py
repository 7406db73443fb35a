"""Scores of cells, as means over seeds and compared seed by seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hgcn.experiments.cells import Cell
from hgcn.experiments.paper import TITLES
from hgcn.experiments.store import Store

SCORES = {"link": "roc_auc", "node": "f1"}
HYPERBOLIC = ("hyp", "hyp-mixed", "hnn", "hgcn")

Seed = TypeVar("Seed")
BySeed = Mapping[int, float]
"""Scores in per cent by seed: the same seed has the same split in every cell of a column."""


@dataclass(frozen=True)
class Value:
    """The score of a cell: mean and standard deviation in per cent, and the number of seeds."""

    mean: float
    std: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.std:.1f}"


@dataclass(frozen=True)
class Gain:
    """The mean difference of two methods over the same splits, and its standard error."""

    mean: float
    error: float

    @property
    def larger(self) -> bool:
        """Whether the first method is ahead by more than the standard error."""
        return self.mean > self.error

    def __str__(self) -> str:
        return f"{self.mean:+.1f} ± {self.error:.1f}"


def by_seed(store: Store, cell: Cell, seeds: int) -> dict[int, float]:
    """The test scores of a cell in per cent, by seed, of the seeds that were run."""
    name = SCORES[cell.task]
    return {seed: 100 * r["test"][name] for seed, r in store.by_seed(cell, seeds).items()}


def value(store: Store, cell: Cell, seeds: int) -> Value | None:
    """The test score of a cell, from the seeds that were run; None if there is none."""
    return value_of(list(by_seed(store, cell, seeds).values()))


def value_of(scores: Sequence[float]) -> Value | None:
    """Mean and standard deviation; None if there are no scores."""
    if not scores:
        return None
    spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return Value(statistics.fmean(scores), spread, len(scores))


def gain_of(own: Mapping[Seed, float], rival: Mapping[Seed, float]) -> Gain | None:
    """The mean difference over the seeds that both have; None if these are fewer than two."""
    gains = [own[seed] - rival[seed] for seed in own if seed in rival]
    if len(gains) < 2:
        return None
    return Gain(statistics.fmean(gains), statistics.stdev(gains) / math.sqrt(len(gains)))


def begun(scores: Mapping[str, BySeed]) -> list[str]:
    """The methods to compare: one that is hardly begun is neither the best nor a rival."""
    most = max((len(one) for one in scores.values()), default=0)
    return [row for row, one in scores.items() if one and 2 * len(one) >= most]


class Column:
    """The scores of all methods on one data set and task.

    Args:
        scores: of each method, by seed.
    """

    def __init__(self, scores: Mapping[str, BySeed]) -> None:
        self.scores = scores
        self.values = {row: value_of(list(one.values())) for row, one in scores.items()}

    def best(self, *, hyperbolic: bool) -> str | None:
        """The method with the largest mean, of those in hyperbolic space or of the others."""
        rows = [row for row in begun(self.scores) if (row in HYPERBOLIC) == hyperbolic]
        return max(rows, key=self.mean, default=None)

    def mean(self, row: str) -> float:
        """The mean of a method; that of one without results is the least."""
        entry = self.values.get(row)
        return -math.inf if entry is None else entry.mean

    def gain(self, row: str) -> Gain | None:
        """How far a method is ahead of the best one of the other kind of space."""
        rival = self.best(hyperbolic=row not in HYPERBOLIC)
        return None if rival is None else gain_of(self.scores.get(row, {}), self.scores[rival])

    def winner(self) -> str | None:
        """The best method, if it is ahead of the other kind by more than the standard error."""
        rows = [self.best(hyperbolic=True), self.best(hyperbolic=False)]
        best = max((row for row in rows if row is not None), key=self.mean, default=None)
        found = None if best is None else self.gain(best)
        return best if found is not None and found.larger else None

    def against_euclidean(self) -> str:
        """The difference of HGCN to the best Euclidean method, and which one that is."""
        rival, found = self.best(hyperbolic=False), self.gain("hgcn")
        return "" if found is None or rival is None else f"{found} ({TITLES[rival]})"


def shown(given: Value | None, seeds: int, best: float = math.inf) -> str:
    """A value as text, bold from ``best`` on; with its number of seeds where not all were run."""
    if given is None:
        return "missing"
    text = f"**{given}**" if given.mean >= best - 0.05 else str(given)
    return text if given.seeds == seeds else f"{text} ({given.seeds})"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: first column to the left, the others to the right."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
