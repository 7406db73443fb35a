"""Phrases of error messages, and names of files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path


def one_of(name: str, given: object, choices: Iterable[str], more: str = "") -> str:
    """The phrase 'Expected `name` to be one of ...', with the near miss suggested."""
    known = list(choices)
    listed = ", ".join(repr(choice) for choice in known)
    message = f"Expected `{name}` to be one of {listed}{', ' * bool(more)}{more}, got {given!r}."
    return message + near_miss(given, known)


def near_miss(given: object, choices: Iterable[str]) -> str:
    """The phrase ' Did you mean ...?'; empty if no choice is near."""
    near = difflib.get_close_matches(str(given), list(choices), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def count(number: int, what: str) -> str:
    """A number and its noun, as '1 node', '2 nodes' or '3 classes'."""
    return f"{number:,} {what}{'' if number == 1 else 'es' if what.endswith('s') else 's'}"


def short_name(source: str) -> str:
    """A name for what comes of a source, as part of the name of a file: 'edges' of 'my/edges.csv'.

    Standard input, which is '-', gives 'graph'.
    """
    return re.sub(r"[^\w-]+", "-", Path(source).stem).strip("-") or "graph"
