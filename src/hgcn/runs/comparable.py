"""Which runs may be compared: those with the same test part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECIDING = (
    "source", "task", "labels", "directed", "hold_out", "protocol", "split", "val_share",
    "test_share",
)  # fmt: skip
"""Settings that, with the seed of the split, decide what is in the parts of a run."""


def same_split(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether runs with these settings have the same parts if the seeds of their splits agree."""
    return all(one.get(name) == other.get(name) for name in DECIDING)
