"""Scores of predictions, as scikit-learn defines them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from torch import Tensor

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
    rank = _ranks(positive, negative)
    for k in HITS:
        scores[f"hits@{k}"] = float((rank <= k).mean())
    scores["mrr"] = float((1 / rank).mean())
    return scores


def node_metrics(logits: Tensor, y: Tensor) -> dict[str, float]:
    """Accuracy, F1 (of class 1 if there are two classes, else micro) and macro F1."""
    return {name: score(logits, y) for name, score in NODE_SCORES.items()}


def finite_score(score: Score, first: Tensor, second: Tensor) -> float:
    """A score, or NaN if the network gave numbers that are not finite."""
    if not bool(first.isfinite().all() and second.isfinite().all()):
        return math.nan
    return score(first, second)


def _ranks(positive: Tensor, negative: Tensor) -> np.ndarray:
    """The rank of each edge among all the pairs that are no edges, and itself."""
    ordered, edges = np.sort(negative.cpu().numpy()), positive.cpu().numpy()
    above = len(ordered) - np.searchsorted(ordered, edges, side="right")
    ties = len(ordered) - np.searchsorted(ordered, edges, side="left") - above
    ranks: np.ndarray = 1 + above + 0.5 * ties
    return ranks


def _roc_auc(positive: Tensor, negative: Tensor) -> float:
    """The share of the other pairs that an edge is ahead of, in the mean."""
    return 1 - float((_ranks(positive, negative) - 1).mean()) / len(negative)


def _average_precision(positive: Tensor, negative: Tensor) -> float:
    """The mean share of edges among the pairs that have the score of an edge, or a higher one."""
    edges, others = (np.sort(score.cpu().numpy()) for score in (positive, negative))
    higher = [
        len(scores) - np.searchsorted(scores, edges, side="left") for scores in (edges, others)
    ]
    return float((higher[0] / (higher[0] + higher[1])).mean())


def _accuracy(logits: Tensor, y: Tensor) -> float:
    return float((logits.argmax(-1) == y).double().mean())


def _f1(logits: Tensor, y: Tensor, average: str | None = None) -> float:
    from sklearn.metrics import f1_score

    average = average or ("binary" if logits.shape[-1] == 2 else "micro")
    guess = logits.argmax(-1).cpu().numpy()
    return float(f1_score(y.cpu().numpy(), guess, average=average, zero_division=0.0))


def _f1_macro(logits: Tensor, y: Tensor) -> float:
    return _f1(logits, y, "macro")


Score = Callable[[Tensor, Tensor], float]

LINK_SCORES: Mapping[str, Score] = MappingProxyType({"roc_auc": _roc_auc, "ap": _average_precision})
"""Scores to select a link prediction run by: of the logits of edges and of other pairs."""

NODE_SCORES: Mapping[str, Score] = MappingProxyType(
    {"accuracy": _accuracy, "f1": _f1, "f1_macro": _f1_macro}
)
"""Scores to select a node classification run by: of logits and classes."""
