"""Public names of older versions: they work for a minor version more at least, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module, by which names that have changed are still found.

    Example:
        >>> find = renamed("hgcn.deprecated", {"moved": "renamed"})
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     find("moved") is renamed
        True
        >>> str(told[0].message)
        '`hgcn.deprecated.moved` is called `renamed` now; the old name will go in a later version.'

    Args:
        module: the name of the module.
        names: the new name of each old one.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(
            f"`{module}.{name}` is called `{names[name]}` now; the old name will go in a later "
            "version.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], names[name])

    return find
