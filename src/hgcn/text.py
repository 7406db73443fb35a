"""Phrases shared by error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def one_of(name: str, given: object, choices: Iterable[str], more: str = "") -> str:
    """'Expected `name` to be one of ...', with the near miss suggested."""
    known = list(choices)
    listed = ", ".join(repr(choice) for choice in known)
    message = f"Expected `{name}` to be one of {listed}{', ' * bool(more)}{more}, got {given!r}."
    near = difflib.get_close_matches(str(given), known, n=1)
    return f"{message} Did you mean {near[0]!r}?" if near else message
