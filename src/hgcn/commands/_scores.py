"""The scores that need no training, beside those of a network."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hgcn.names import PLAIN_SCORES, score_name, untrained_name

if TYPE_CHECKING:
    from rich.table import Table

CLOSE = 0.005
"""A score that is behind by no more than this would have done as well."""
FLAT = 0.01
"""Distances that differ by less than this from Euclidean ones make no difference."""
COLUMNS = {
    "map": "MAP\ntest",
    "mean_rank": "mean rank\ntest",
    "roc_auc": "ROC AUC\ntest",
    "roc_auc_degrees": "same\ndegrees",
    "ap": "AP\ntest",
    "mrr": "MRR\ntest",
    "accuracy": "accuracy\ntest",
    "f1": "F1\ntest",
    "f1_macro": "macro F1\ntest",
}
"""The scores on the test part that are shown, and the heads of their columns."""


def untrained_table(metrics: Mapping[str, Any]) -> Table | None:
    """The network and the scores that need no training on the same pairs; None if there are none.

    Of several seeds the means are shown.
    """
    untrained = metrics.get("untrained", {})
    if not untrained.get("val") or not untrained.get("test"):
        return None
    from hgcn.commands._display import rows_table

    select = metrics["select"]
    shown = [column for column in COLUMNS if column in metrics["test"]]
    rows = []
    for name in (metrics["model"], *untrained["test"]):
        val, test = (_scores_of(metrics, name, part) for part in ("val", "test"))
        cells = [_cell(test.get(column), column) for column in shown]
        rows.append([untrained_name(name), _cell(val.get(select), select), *cells])
    heads = [COLUMNS[select].replace("test", "val"), *(COLUMNS[column] for column in shown)]
    header = ["without a network" if metrics["task"] == "node" else "without training", *heads]
    return rows_table(header, rows)


def advice(metrics: Mapping[str, Any]) -> str | None:
    """A sentence, if something simpler would do as well; at most one."""
    return _untrained_advice(metrics) or _flat_advice(metrics)


def _untrained_advice(metrics: Mapping[str, Any]) -> str | None:
    """A score that needs no training and is ahead on validation, or close behind."""
    select = metrics["select"]
    untrained = metrics.get("untrained", {}).get("val") or {}
    found = {name: mean_of(scores[select]) for name, scores in untrained.items()}
    best = max(found, key=lambda name: found[name], default="")
    own = mean_of(metrics["val"][select])
    if not best or found[best] < own - CLOSE:
        return None
    verdict = "would be ahead" if found[best] > own else "would have done as well"
    return (
        f"{'Without a network' if metrics['task'] == 'node' else 'Without any training'}, "
        f"{untrained_name(best)} {verdict} on validation: "
        f"{score_name(select)} {100 * found[best]:.2f}, {metrics['model']} {100 * own:.2f}."
    )


def _flat_advice(metrics: Mapping[str, Any]) -> str | None:
    """A hyperbolic space whose points lie so close together that it is nearly flat.

    Distances in a ball of radius rho, in units of the curvature radius, are between one and
    ``sinh(rho)/rho`` times those of normal coordinates as plain vectors.
    """
    radius = metrics.get("radius")
    if radius is None or radius >= 1 or radius == 0:
        return None
    stretch = math.sinh(radius) / radius - 1
    if stretch >= FLAT:
        return None
    return (
        f"The space of the embeddings is nearly flat: distances are Euclidean within "
        f"{100 * stretch:.2g} %. A Euclidean model may do as well: "
        f"hgcn compare --baselines {shlex.quote(metrics['source'])}"
    )


def mean_of(value: float | Mapping[str, float]) -> float:
    """A score, or its mean over several seeds."""
    return value["mean"] if isinstance(value, Mapping) else value


def _scores_of(metrics: Mapping[str, Any], name: str, part: str) -> Mapping[str, Any]:
    own = name == metrics["model"]
    scores: Mapping[str, Any] = metrics[part] if own else metrics["untrained"][part][name]
    return scores


def _cell(value: float | Mapping[str, float] | None, name: str) -> str:
    unit = 1 if name in PLAIN_SCORES else 100
    return "-" if value is None else f"{unit * mean_of(value):.2f}"
