"""Scores against numbers worked out by hand, and against their definitions taken literally."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn
from torch import Tensor

from hgcn.errors import DivergenceError
from hgcn.training import metrics
from hgcn.training.metrics import LINK_SCORES, finite_score, link_metrics, node_metrics

# Ranked from the best, with ties on one line:
#
#   score   edges   other pairs   pairs above   pairs tied   rank = 1 + above + tied/2
#   0.9     1       0             0             0            1
#   0.8     0       1
#   0.7     1       1             1             1            2.5
#   0.5     1       2             2             2            4
#   0.3     0       1
#   0.1     2       1             5             1            6.5, twice
EDGES = torch.tensor([0.5, 0.1, 0.9, 0.7, 0.1])
OTHERS = torch.tensor([0.3, 0.5, 0.7, 0.8, 0.1, 0.5])
RANKS = [1.0, 2.5, 4.0, 6.5, 6.5]


@pytest.mark.parametrize(
    ("k", "share"), [(1, 0.2), (2, 0.2), (3, 0.4), (4, 0.6), (6, 0.6), (7, 1.0), (10, 1.0)]
)
def test_hits_by_hand(k: int, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "HITS", (k,))
    assert link_metrics(EDGES, OTHERS)[f"hits@{k}"] == pytest.approx(share, abs=1e-12)


def test_link_metrics_by_hand() -> None:
    scores = link_metrics(EDGES, OTHERS)
    assert list(scores) == ["roc_auc", "ap", "hits@10", "hits@50", "mrr"]
    # (1 + 2/5 + 1/4 + 2/13 + 2/13) / 5 = 509/1300
    assert scores["mrr"] == pytest.approx(509 / 1300, abs=1e-12)
    assert scores["mrr"] == pytest.approx(sum(1 / rank for rank in RANKS) / 5, abs=1e-12)
    # Of the 6 pairs an edge beats 7 - rank: 6 + 4.5 + 3 + 0.5 + 0.5 = 14.5 of 30 comparisons.
    assert scores["roc_auc"] == pytest.approx(14.5 / 30, abs=1e-12)
    # Recall goes up by 1/5 at 0.9, 0.7 and 0.5 and by 2/5 at 0.1, where 1 of 1, 2 of 4, 3 of 7
    # and 5 of 11 are edges: (1 + 1/2 + 3/7 + 2 · 5/11) / 5 = 437/770.
    assert scores["ap"] == pytest.approx(437 / 770, abs=1e-12)


def test_hits_at_ten_and_fifty_by_hand() -> None:
    others = torch.arange(60.0)
    #   edge:        60   50.5   50 (a tie)   49.5   10.5   9.5   -1
    #   pairs above: 0    9      9            10     49     50    60
    #   rank:        1    10     10.5         11     50     51    61
    edges = torch.tensor([60.0, 50.5, 50.0, 49.5, 10.5, 9.5, -1.0])
    scores = link_metrics(edges, others)
    assert scores["hits@10"] == pytest.approx(2 / 7, abs=1e-12)
    assert scores["hits@50"] == pytest.approx(5 / 7, abs=1e-12)


# Few values, so that ties are the rule.
some_scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=25)


@given(some_scores, some_scores, st.sampled_from([torch.float32, torch.float64]))
def test_link_metrics_are_their_definitions(
    edges: list[float], others: list[float], dtype: torch.dtype
) -> None:
    ranks = [1 + sum((b > a) + (b == a) / 2 for b in others) for a in edges]
    expected = {
        "mrr": sum(1 / rank for rank in ranks) / len(edges),
        "roc_auc": sum((a > b) + (a == b) / 2 for a, b in product(edges, others))
        / (len(edges) * len(others)),
        "ap": average_precision(edges, others),
        "hits@10": sum(rank <= 10 for rank in ranks) / len(edges),
        "hits@50": sum(rank <= 50 for rank in ranks) / len(edges),
    }
    got = link_metrics(torch.tensor(edges, dtype=dtype), torch.tensor(others, dtype=dtype))
    assert got == pytest.approx(expected, abs=1e-12)


def average_precision(edges: list[float], others: list[float]) -> float:
    """Precision at the score of each edge, all with the same score taken at once."""
    total = 0.0
    for threshold in edges:
        right = sum(a >= threshold for a in edges)
        total += right / (right + sum(b >= threshold for b in others))
    return total / len(edges)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_has_no_rank(bad: float) -> None:
    with pytest.raises(DivergenceError, match="scores of links to be finite"):
        link_metrics(EDGES, torch.tensor([0.1, bad]))


@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 1000))
def test_scores_are_those_of_scikit_learn(count: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(9, (count,), generator=generator).double()
    others = torch.randint(8, (2 * count,), generator=generator).double()
    truth, scores = [1] * count + [0] * 2 * count, torch.cat((edges, others))
    found = link_metrics(edges, others)
    assert found["roc_auc"] == pytest.approx(sklearn.roc_auc_score(truth, scores), abs=1e-12)
    assert found["ap"] == pytest.approx(sklearn.average_precision_score(truth, scores), abs=1e-12)
    logits = torch.rand(count, classes, generator=generator)
    y = torch.randint(classes, (count,), generator=generator)
    for name, average in (("f1", "binary" if classes == 2 else "micro"), ("f1_macro", "macro")):
        f1 = sklearn.f1_score(
            y.numpy(), logits.argmax(1).numpy(), average=average, zero_division=0.0
        )
        assert node_metrics(logits, y)[name] == pytest.approx(f1, abs=1e-12)


def logits_of(guesses: list[int], classes: int) -> Tensor:
    """Logits whose largest one is that of the guess, by more or by less."""
    logits = torch.zeros(len(guesses), classes)
    for row, guess in enumerate(guesses):
        logits[row, guess] = 0.1 * (row + 1)
    return logits - 1


def test_two_classes_by_hand() -> None:
    #   truth 0: guessed 0 three times, 1 once
    #   truth 1: guessed 1 twice, 0 twice
    y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    logits = logits_of([0, 0, 0, 1, 1, 1, 0, 0], classes=2)
    scores = node_metrics(logits, y)
    assert scores["accuracy"] == pytest.approx(5 / 8, abs=1e-12)
    # Class 1: precision 2/3, recall 1/2, F1 = 2·2 / (2·2 + 1 + 2) = 4/7. It alone is the F1.
    assert scores["f1"] == pytest.approx(4 / 7, abs=1e-12)
    # Class 0: precision 3/5, recall 3/4, F1 = 2·3 / (2·3 + 2 + 1) = 2/3.
    assert scores["f1_macro"] == pytest.approx((4 / 7 + 2 / 3) / 2, abs=1e-12)
    assert list(scores) == ["accuracy", "f1", "f1_macro"]


def test_three_classes_by_hand() -> None:
    #   truth 0: guessed 0, 0, 1
    #   truth 1: guessed 1, 2
    #   truth 2: guessed 2, 2, 2, 0
    y = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2])
    logits = logits_of([0, 0, 1, 1, 2, 2, 2, 2, 0], classes=3)
    scores = node_metrics(logits, y)
    assert scores["accuracy"] == pytest.approx(6 / 9, abs=1e-12)
    # Micro: 2·6 / (2·6 + 3 + 3), since each wrong guess is one too many and one too few.
    assert scores["f1"] == pytest.approx(2 / 3, abs=1e-12)
    # Class 0: 2·2 / (2·2 + 1 + 1) = 2/3; class 1: 2·1 / (2·1 + 1 + 1) = 1/2;
    # class 2: 2·3 / (2·3 + 1 + 1) = 3/4.
    assert scores["f1_macro"] == pytest.approx((2 / 3 + 1 / 2 + 3 / 4) / 3, abs=1e-12)


def test_a_class_that_is_never_guessed_right_counts_as_zero() -> None:
    y = torch.tensor([1, 1, 0, 0])
    scores = node_metrics(logits_of([0, 0, 0, 0], classes=2), y)
    # Class 0: 2·2 / (2·2 + 2 + 0) = 2/3. Class 1 has precision 0/0.
    assert scores == pytest.approx({"accuracy": 0.5, "f1": 0.0, "f1_macro": 1 / 3}, abs=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", LINK_SCORES)
def test_a_score_of_numbers_that_are_not_finite_is_nan(name: str, bad: float) -> None:
    broken = EDGES.clone()
    broken[1] = bad
    score = LINK_SCORES[name]
    assert math.isnan(finite_score(score, broken, OTHERS))
    assert math.isnan(finite_score(score, OTHERS, broken))
    assert finite_score(score, EDGES, OTHERS) == link_metrics(EDGES, OTHERS)[name]
