"""What the files of a run folder must hold, beyond having the checksums that were noted.

Checksums show damage. Whoever forges a file can forge its checksum too: then the content itself has
to be of the right form, or commands would fail halfway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from hgcn.config import check_names
from hgcn.data.encoding import Encoding
from hgcn.errors import ConfigError
from hgcn.inference.feature_map import FeatureMap
from hgcn.names import NORMALISATIONS

TEXTS = ("task", "model", "source", "preset", "select", "stopped")
NUMBERS = ("best_epoch", "epochs", "parameters", "seed", "seconds")
SCORES = ("val", "test")


def check_metrics(metrics: Any) -> dict[str, Any]:
    """The content of metrics.json, if it is of the form that a training writes."""
    if not isinstance(metrics, dict):
        raise ValueError(f"metrics.json holds {metrics!r:.40}")
    wrong = [name for name in TEXTS if not isinstance(metrics.get(name), str)]
    wrong += [name for name in NUMBERS if not _is_number(metrics.get(name))]
    for name in SCORES:
        scores = metrics.get(name)
        if not isinstance(scores, dict) or not all(map(_is_number, scores.values())):
            wrong.append(name)
    curvatures = metrics.get("curvatures")
    if not isinstance(curvatures, list) or not all(map(_is_number, curvatures)):
        wrong.append("curvatures")
    if not _is_number(metrics.get("radius", 0)):
        wrong.append("radius")
    if wrong:
        raise ValueError(f"metrics.json has no {wrong[0]!r} as a training writes it")
    if "auto" in metrics:
        metrics["auto"] = check_auto(metrics["auto"])
    return metrics


def check_auto(record: Any) -> dict[str, Any]:
    """The record of a choice of settings, if it is of the form that :mod:`hgcn.runs.auto` has."""
    fits = _has(record, texts=("select", "note"), numbers=("seconds", "spent", "chosen"))
    candidates = record.get("candidates") if fits else None
    if not (
        isinstance(candidates, list)
        and record["chosen"] in range(len(candidates))
        and all(
            _has(one, texts=("preset", "error"), numbers=("epochs", "seconds"))
            and isinstance(one.get("settings"), dict)
            and all(
                _is_number(one[name]) for name in ("val", "dropped") if one.get(name) is not None
            )
            for one in candidates
        )
    ):
        raise ConfigError(
            "Expected `auto` to be seconds, or the record of what was chosen in a run, got another "
            f"form: {record!r:.40}."
        )
    for one in candidates:
        check_names(one["settings"])
    return {**record, "chosen": int(record["chosen"])}


def _has(table: Any, *, texts: Sequence[str], numbers: Sequence[str]) -> bool:
    """Whether something is a table with texts and numbers of these names."""
    return (
        isinstance(table, dict)
        and all(isinstance(table.get(name), str) for name in texts)
        and all(_is_number(table.get(name)) for name in numbers)
    )


def check_network(
    weights: Mapping[str, Tensor], features: FeatureMap, about: Mapping[str, Any], num_classes: int
) -> None:
    """Refuse weights, a feature map or names of classes that a network cannot work with."""
    if not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise ValueError("weights are not finite")
    names = about["class_names"]
    if names is not None and not (
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and (num_classes in (0, len(names)))
    ):
        raise ValueError(f"its names of classes are {names!r:.40}")
    if features.normalise not in NORMALISATIONS:
        raise ValueError(f"its features are normalised by {features.normalise!r:.40}")
    if features.encoding is not None:
        _check_encoding(features.encoding, features.num_raw)
    how, row = NORMALISATIONS.find(features.normalise), torch.ones(1, features.num_raw)
    scaled, width = how.apply(row, *features.statistics), len(features.raw_owners)
    if scaled.shape != (1, width) or not bool(scaled.isfinite().all()):
        raise ValueError("the numbers of its feature map are not those of its features")
    if features.num_features != about["in_channels"]:
        raise ValueError("its feature map is not that of the network")


def _check_encoding(encoding: Encoding, num_raw: int) -> None:
    """Refuse an encoding with values of another kind than its columns have."""
    fits = {
        "str": lambda value: isinstance(value, str),
        "bool": lambda value: isinstance(value, bool),
        "float": lambda value: _is_number(value) and value == value,  # noqa: PLR0124 (no NaN)
        "tuple[str, ...]": _are_different_texts,
    }
    for column in encoding.columns:
        for field in fields(column):  # type: ignore[arg-type]  # every column is a dataclass
            value = getattr(column, field.name)
            if not fits[str(field.type)](value):
                raise ValueError(f"{field.name!r} of a column of its features is {value!r:.40}")
    names = tuple(column.name for column in encoding.columns)
    if not _are_different_texts(names) or len(encoding.names) != num_raw:
        raise ValueError("the columns of its features are not those of the network")
    if not isinstance(encoding.label, str | None):
        raise ValueError(f"the column of its classes is {encoding.label!r:.40}")


def _are_different_texts(values: Any) -> bool:
    texts = isinstance(values, tuple) and all(isinstance(value, str) for value in values)
    return texts and len(set(values)) == len(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
