"""How a setting is declared, and what may be wrong with a value of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import Field, field
from typing import Any

from hgcn.text import one_of

LARGEST = {int: 10**12, float: 1e30}
"""Larger numbers are more than torch can take."""


def setting(
    default: Any,
    help_: str,
    *,
    group: str,
    choices: Collection[str] | None = None,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
) -> Any:
    """A field of :class:`hgcn.config.Config`: its default, its help, and what it may be."""
    return field(
        default=default,
        metadata={
            "help": help_, "group": group, "choices": choices,
            "low": low, "high": high, "above": above,
        },
    )  # fmt: skip


def complaint(setting: Field[Any], value: Any, kind: type) -> str | None:
    """A sentence on what is wrong with a value of a type; None if it is valid."""
    name, facts = setting.name, setting.metadata
    if value is None:
        return None if setting.default is None else f"Expected `{name}` to be set, got none."
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool):
        words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        return f"Expected `{name}` to be {words[kind]}, got {value!r}."
    if facts["choices"] is not None and value not in facts["choices"]:
        return one_of(name, value, facts["choices"])
    low, high, above = facts["low"], facts["high"], facts["above"]
    bounds = []
    if low is not None:
        bounds.append((value >= low, f"at least {_shown(low)}"))
    if above is not None:
        bounds.append((value > above, f"above {_shown(above)}"))
    if high is not None:
        bounds.append((value <= high, f"at most {_shown(high)}"))
    if kind is float:
        bounds.append((abs(value) < float("inf"), "finite"))
    if kind in LARGEST and LARGEST[kind] < abs(value) < float("inf"):
        largest = _shown(LARGEST[kind])
        bounds = [(False, f"between -{largest} and {largest}")]
    if not all(holds for holds, _ in bounds):
        return f"Expected `{name}` to be {' and '.join(text for _, text in bounds)}, got {value!r}."
    return None


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"
