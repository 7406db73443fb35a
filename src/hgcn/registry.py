"""Registries: the choices of a setting by name, to which other packages may add their own."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from hgcn.errors import ConfigError
from hgcn.text import one_of

T = TypeVar("T")

PLUGINS = "hgcn.plugins"
"""The group of entry points of other packages; each is a function that registers something."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class Registry(Mapping[str, T], Generic[T]):
    """Choices by name.

    A choice may be written as the address of an object, ``"module:attribute"``, which is imported
    when it is asked for: so the names are known without loading torch.

    Example:
        >>> shapes = Registry("shape", {"ordered": "collections:OrderedDict"})
        >>> shapes.register("plain", dict)
        >>> list(shapes), shapes["ordered"]()
        (['ordered', 'plain'], OrderedDict())

    Args:
        what: the word for one choice, as an error message says it.
        entries: the choices of this package, each an object or its address.
    """

    def __init__(self, what: str, entries: Mapping[str, T | str]) -> None:
        self.what = what
        self._entries = dict(entries)

    def register(self, name: str, value: T | str) -> None:
        """Add a choice, or its address; a name that is taken is refused."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(
                f"Expected the name of a {self.what} to be of small letters, digits, '-' and '_', "
                f"got {name!r}."
            )
        if name in self._entries:
            raise ConfigError(f"Expected a new name for a {self.what}, but {name!r} is taken.")
        self._entries[name] = value

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise KeyError(name)
        entry = self._entries[name]
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            entry = cast(T, getattr(import_module(module), attribute))
            self._entries[name] = entry
        return entry

    def find(self, name: str) -> T:
        """The choice of this name; an unknown one is an error that suggests the near miss."""
        if name not in self:
            raise ConfigError(one_of(self.what, name, self))
        return self[name]

    def __contains__(self, name: object) -> bool:
        if name in self._entries:
            return True
        load_plugins()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        load_plugins()
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.what}: {', '.join(self)})"


_loaded = False
_loading = threading.RLock()
_busy: list[bool] = []


def load_plugins() -> None:
    """Let installed packages register what they offer, once in a process.

    A plugin that fails is named in a warning, and everything else works without it.
    """
    global _loaded  # noqa: PLW0603
    if _loaded:
        return
    _loaded = True  # before the first call: a plugin may read the registries
    from importlib.metadata import entry_points

    for point in entry_points(group=PLUGINS):
        try:
            cast(Any, point.load())()
        except Exception as error:
            warnings.warn(
                f"The plugin {point.name!r} ({point.value}) cannot be loaded: {error}",
                stacklevel=2,
            )
