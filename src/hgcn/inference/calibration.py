"""Calibration: logits to probabilities that can be taken at their word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hgcn.geometry.scalars import wide

LEAST = 1e-3
"""The least scale, for logits of standard deviation 1: the order of links never changes."""

MOST_STEPS = 200
"""Steps of the search for the greatest likelihood; ten are usual."""


@dataclass(frozen=True)
class Calibration:
    r"""Platt's scaling: a logit x has the probability :math:`\mathrm{sigmoid}(a x + b)`.

    Attributes:
        scale: the number a, above zero, so that the order of links stays.
        shift: the number b.

    Example:
        >>> import torch
        >>> Calibration(scale=2.0, shift=-1.0)(torch.tensor([0.5])).item()
        0.5
    """

    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.scale < math.inf and math.isfinite(self.shift)):
            raise ValueError(f"its calibration is {self.scale!r:.20} and {self.shift!r:.20}")

    def __call__(self, logits: Tensor) -> Tensor:
        """Probabilities of logits, of the same type."""
        return (self.scale * wide(logits) + self.shift).sigmoid().to(logits.dtype)

    def classes(self, logits: Tensor) -> Tensor:
        """Probabilities of classes ``[n, k]``: the softmax at the temperature 1/a."""
        return (self.scale * wide(logits)).softmax(-1).to(logits.dtype)

    @classmethod
    def from_tree(cls, tree: Any) -> Calibration:
        """What metrics.json has; nothing, as in older runs, leaves logits as they are."""
        return cls() if tree is None else cls(float(tree["scale"]), float(tree["shift"]))

    @classmethod
    def fit(cls, positive: Tensor, negative: Tensor) -> Calibration:
        """The scale and shift of greatest likelihood, if there is one non-edge for each edge.

        Edges weigh as much as non-edges, however many there are of each. They are to have the
        probabilities (n + 1)/(n + 2) and 1/(n + 2), rather than 1 and 0, where n is the number of
        them: that is Platt's own regularisation, by which the scale stays finite where logits tell
        all edges apart.

        Args:
            positive: logits of edges.
            negative: logits of pairs without an edge.
        """
        lists = [logits.detach().cpu().double() for logits in (positive, negative)]
        if not all(map(len, lists)):
            return cls()
        every = torch.cat(lists)
        middle, spread = float(every.mean()), float(every.std())
        if not math.isfinite(spread) or spread <= 1e-12 * (1 + abs(middle)):
            middle, spread = 0.0, 1.0  # all are the same: only the shift means something
        edges, others = map(len, lists)
        units = _both(lists, 0.5 / edges, 0.5 / others)
        wanted = _both(lists, (edges + 1) / (edges + 2), 1 / (others + 2))
        x = (every - middle) / spread

        scale, shift = _greatest_likelihood(x, units, wanted)
        return cls(scale / spread, shift - scale / spread * middle)


def fit_temperature(logits: Tensor, y: Tensor) -> Calibration:
    """The scale of greatest likelihood of logits of classes ``[n, k]``, given the classes.

    The right class is to have the probability (n + 1)/(n + k), as in Platt's scaling, so that the
    scale is finite where all predictions are right. The cross-entropy is convex in the scale: its
    slope is brought to zero by bisection.
    """
    logits, y = logits.detach().cpu().double(), y.cpu()
    n, k = logits.shape
    spread = float(logits.std(-1, correction=0).mean()) if n else 0.0
    if not spread > 0 or not math.isfinite(spread):
        return Calibration()
    x = logits / spread
    wanted = torch.full_like(x, 1 / (n + k))
    wanted[torch.arange(n), y] += n / (n + k)

    def slope(scale: float) -> float:
        return float((((scale * x).softmax(-1) - wanted) * x).sum())

    low, high = LEAST, 1.0
    while slope(high) < 0 and high < 1e6:
        high *= 2
    if slope(low) >= 0:
        return Calibration(scale=low / spread)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return Calibration(scale=high / spread)


def _greatest_likelihood(x: Tensor, units: Tensor, wanted: Tensor) -> tuple[float, float]:
    """The scale a, at least ``LEAST``, and the shift b of the least cross-entropy of a x + b.

    That is a convex function of both. Newton's steps lead to its bottom, each cut in half until it
    leads downwards. Where a is at its bound and would sink further, only b moves.

    Args:
        x: numbers of mean 0 and standard deviation 1.
        units: how much each of them counts.
        wanted: the probability that each should have.
    """

    def loss(a: float, b: float) -> float:
        logits = a * x + b
        return float(units @ (functional.softplus(logits) - wanted * logits))

    a, b = 1.0, 0.0
    value = loss(a, b)
    for _ in range(MOST_STEPS):
        chance = (a * x + b).sigmoid()
        slope = units * (chance - wanted)
        by_a, by_b = float(slope @ x), float(slope.sum())
        weight = units * chance * (1 - chance)
        aa, ab, bb = float(weight @ (x * x)), float(weight @ x), float(weight.sum())
        # A little of the slope's own size keeps steps finite where all chances are 0 or 1.
        ridge = 1e-12 + 1e-3 * math.hypot(by_a, by_b)
        aa, bb = aa + ridge, bb + ridge
        if a == LEAST and by_a > 0:
            step_a, step_b = 0.0, -by_b / bb
        else:
            whole = aa * bb - ab * ab
            step_a, step_b = (ab * by_b - bb * by_a) / whole, (ab * by_a - aa * by_b) / whole
        share = 1.0
        while share > 1e-10:
            at = max(LEAST, a + share * step_a), b + share * step_b
            if (lower := loss(*at)) < value:
                break
            share /= 2
        else:  # as low as rounding errors allow
            break
        (a, b), value = at, lower
    return a, b


def _both(lists: list[Tensor], edge: float, other: float) -> Tensor:
    """One number for each edge, another one for each other pair."""
    return torch.cat([torch.full_like(x, v) for x, v in zip(lists, (edge, other), strict=True)])


def brier(positive: Tensor, negative: Tensor) -> float:
    """The Brier score: mean squared error of probabilities, edges and non-edges by halves."""
    misses = (1 - wide(positive)).square().mean(), wide(negative).square().mean()
    return float(0.5 * (misses[0] + misses[1]))
