"""Curves of scores: false against true positives, precision against recall, reliability."""

from __future__ import annotations

import torch
from torch import Tensor

BINS = 10

Curve = tuple[list[float], list[float]]


def _counts(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Edges and other pairs at or above each threshold, from the highest; equal ones together."""
    score = torch.cat((positive, negative)).double()
    edge = (torch.arange(len(score)) < len(positive)).double()
    order = score.argsort(descending=True, stable=True)
    last = torch.cat((score[order].diff() != 0, torch.ones(1, dtype=torch.bool)))
    return edge[order].cumsum(0)[last], (1 - edge[order]).cumsum(0)[last]


def roc_curve(positive: Tensor, negative: Tensor) -> Curve:
    """Shares of false and of true positives; the area below is the ROC AUC."""
    true, false = _counts(positive, negative)
    zero = torch.zeros(1, dtype=true.dtype)
    x, y = torch.cat((zero, false / len(negative))), torch.cat((zero, true / len(positive)))
    return x.tolist(), y.tolist()


def average_precision_curve(positive: Tensor, negative: Tensor) -> Curve:
    """Recall and precision; the area of its steps is the average precision."""
    true, false = _counts(positive, negative)
    precision = true / (true + false)
    return [0.0, *(true / len(positive)).tolist()], [float(precision[0]), *precision.tolist()]


def reliability(chance: Tensor, right: Tensor, weight: Tensor) -> Curve:
    """Mean probability and share of what is right, for each tenth of 0..1 that has something.

    Args:
        chance: probabilities.
        right: whether what has them is so.
        weight: how much each counts.
    """
    chance, right, weight = chance.double(), right.double(), weight.double()
    tenth = (BINS * chance).long().clamp(max=BINS - 1)
    total, mean, share = (
        torch.bincount(tenth, weight * value, BINS)
        for value in (torch.ones_like(chance), chance, right)
    )
    used = total > 0
    return (mean[used] / total[used]).tolist(), (share[used] / total[used]).tolist()


def link_reliability(positive: Tensor, negative: Tensor) -> Curve:
    """The reliability of links: probabilities of edges, and of other pairs, which weigh as much."""
    chance = torch.cat((positive, negative))
    weight = [torch.full((len(part),), 0.5 / max(1, len(part))) for part in (positive, negative)]
    edge = torch.arange(len(chance)) < len(positive)
    return reliability(chance.cpu(), edge, torch.cat(weight))
