"""Settings that were chosen on validation for a data set: its presets."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hgcn.config import check_names
from hgcn.data.datasets import DATASETS
from hgcn.errors import ConfigError
from hgcn.names import TASKS
from hgcn.training.batches import USUAL_LR, asks_for_batches

STRUCTURE = "-structure"
"""What the name of a section ends with whose settings were chosen with the structural term."""


WHOLE: Mapping[str, Any] = MappingProxyType({"structure": False, "consistency": 0.0})
"""What presets mean that do not say: they were chosen before there were defaults for these."""


def preset(source: object, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a preset and its settings; nothing if there is none.

    A data set brings a file for each task with a section for each model: ``cora-link.toml`` has
    the section ``[hgcn]``, which is the preset "cora-link-hgcn". A section ``[hgcn-structure]`` was
    chosen with the structural term, and comes first unless ``structure`` is off. Without a task,
    the first one that has a preset is taken.

    Args:
        source: the source of the graph. Only names of data sets have presets.
        settings: the given settings, such as ``task``, ``model``, ``structure`` and ``epochs``.
    """
    check_names(settings)
    model = settings.get("model", "hgcn")
    if not (isinstance(source, str) and source in DATASETS and isinstance(model, str)):
        return "", {}
    folder = DATASETS[source].presets
    if folder is None:
        return "", {}
    for task in (settings["task"],) if settings.get("task") else TASKS:
        file = folder / f"{source}-{task}.toml"
        sections = _sections(file) if file.is_file() else {}
        named = f"{model}{STRUCTURE}"
        if settings.get("structure") is False or named not in sections:
            named = model
        if named not in sections:
            continue
        chosen = {"task": task, "model": model, **sections[named]}
        if named != model:
            chosen["structure"] = True
        epochs = settings.get("epochs")
        if isinstance(epochs, int) and chosen.get("pretrain", 0) >= epochs:
            chosen.pop("pretrain", None)  # a warm-up is for longer runs
        if "lr" in chosen and asks_for_batches(settings):
            chosen["lr"] = min(chosen["lr"], USUAL_LR)
        if settings.get("protocol") == "legacy":
            chosen.pop("smooth", None)  # some of its test nodes are training nodes
        return f"{source}-{task}-{named}", chosen
    return "", {}


@lru_cache
def _sections(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """The sections of a file of presets."""
    try:
        sections = tomllib.loads(file.read_text(encoding="utf-8"))
        for section in sections.values():
            check_names(section)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, ConfigError) as error:
        raise ConfigError(
            f"Expected {file} to hold a section of settings for each model: {error}"
        ) from error
    return sections
