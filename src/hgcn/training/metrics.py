"""Scores of predictions, as scikit-learn defines them, in a hundredth of its time on few pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from hgcn.errors import DivergenceError

HITS = (10, 50)


def link_metrics(
    positive: Tensor, negative: Tensor, same_degrees: Tensor | None = None
) -> dict[str, float]:
    """ROC AUC, average precision, hits@k and mean reciprocal rank of link scores.

    Each edge is ranked against all the pairs that are no edges: its rank is one, plus the pairs
    with a higher score, plus half of those with the same. ``hits@k`` is the share of edges of rank
    k at most.

    Args:
        positive: scores of edges.
        negative: scores of other pairs.
        same_degrees: scores of negatives that have the degrees of the edges; ``roc_auc_degrees``
            is the ROC AUC against them, if there are any.
    """
    scores = {"roc_auc": _roc_auc(positive, negative)}
    if same_degrees is not None and len(same_degrees):
        scores["roc_auc_degrees"] = _roc_auc(positive, same_degrees)
    scores["ap"] = _average_precision(positive, negative)
    above, ties = _above(*_sorted(positive, negative))
    rank = 1 + above + 0.5 * ties
    for k in HITS:
        scores[f"hits@{k}"] = float((rank <= k).mean())
    scores["mrr"] = float((1 / rank).mean())
    return scores


def node_metrics(logits: Tensor, y: Tensor) -> dict[str, float]:
    """Accuracy, F1 (of class 1 if there are two classes, else micro) and macro F1."""
    return {name: score(logits, y) for name, score in NODE_SCORES.items()}


def confusion(logits: Tensor, y: Tensor) -> list[list[int]]:
    """How many nodes of each class, a row, are predicted to be of each class, a column."""
    k = logits.shape[-1]
    pairs = y.cpu() * k + logits.argmax(-1).cpu()
    table: list[list[int]] = pairs.bincount(minlength=k * k).reshape(k, k).tolist()
    return table


def finite_score(score: Score, first: Tensor, second: Tensor) -> float:
    """A score, or NaN if the network gave numbers that are not finite."""
    if not bool(first.isfinite().all() and second.isfinite().all()):
        return math.nan
    return score(first, second)


def best_threshold(right: Tensor, wrong: Tensor) -> float:
    """The score from which on pairs are called right for the greatest F1."""
    scores, order = torch.cat((right, wrong)).sort(descending=True)
    hits = torch.cat((torch.ones(len(right)), torch.zeros(len(wrong))))[order].cumsum(0)
    f1 = 2 * hits / (len(right) + torch.arange(1, len(scores) + 1))
    return float(scores[int(f1.argmax())]) if len(scores) else 0.0


def f1_from(right: Tensor, wrong: Tensor, threshold: float) -> float:
    """F1 of "is a" where scores from a threshold on count as such."""
    hits, called = int((right >= threshold).sum()), int((wrong >= threshold).sum())
    return 2 * hits / max(1, len(right) + hits + called)


def _sorted(positive: Tensor, negative: Tensor) -> list[np.ndarray]:
    """Both scores from the lowest to the highest; NaN has no place among them."""
    if not bool(positive.isfinite().all() and negative.isfinite().all()):
        raise DivergenceError("Expected scores of links to be finite, got NaN or infinity.")
    return [np.sort(values.cpu().numpy()) for values in (positive, negative)]


def _above(edges: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many other pairs are above each edge, and how many have the same score."""
    above = len(others) - np.searchsorted(others, edges, side="right")
    return above, len(others) - np.searchsorted(others, edges, side="left") - above


def _roc_auc(positive: Tensor, negative: Tensor) -> float:
    """The share of comparisons of an edge with another pair that the edge wins; a tie is half."""
    above, ties = _above(*_sorted(positive, negative))
    halves = 2 * len(positive) * len(negative)
    return float((halves - (2 * above + ties).sum()) / halves)


def _average_precision(positive: Tensor, negative: Tensor) -> float:
    """The mean over edges of the share of edges among what has their score or a higher one."""
    edges, others = _sorted(positive, negative)
    right = len(edges) - np.searchsorted(edges, edges, side="left")
    return float((right / (right + sum(_above(edges, others)))).mean())


def _accuracy(logits: Tensor, y: Tensor) -> float:
    return float((logits.argmax(-1) == y).cpu().double().mean())


def _f1(logits: Tensor, y: Tensor) -> float:
    if logits.shape[-1] != 2:
        return _accuracy(logits, y)  # which micro F1 is where each node has one class
    return float(_f1_of_classes(logits, y)[0][1])


def _f1_macro(logits: Tensor, y: Tensor) -> float:
    scores, counted = _f1_of_classes(logits, y)
    return float(scores[counted].mean())


def _f1_of_classes(logits: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """F1 of each class, 0 where nothing is right, and whether it is there or guessed at all."""
    guess, truth = logits.argmax(-1).cpu().numpy(), y.cpu().numpy()
    right, guessed, there = (
        np.bincount(classes, minlength=logits.shape[-1])
        for classes in (truth[guess == truth], guess, truth)
    )
    both = guessed + there
    return 2 * right / np.maximum(both, 1), both > 0


Score = Callable[[Tensor, Tensor], float]

LINK_SCORES: Mapping[str, Score] = MappingProxyType({"roc_auc": _roc_auc, "ap": _average_precision})
"""Scores to select a link prediction run by: of the logits of edges and of other pairs."""

NODE_SCORES: Mapping[str, Score] = MappingProxyType(
    {"accuracy": _accuracy, "f1": _f1, "f1_macro": _f1_macro}
)
"""Scores to select a node classification run by: of logits and classes."""
