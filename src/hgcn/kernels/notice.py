"""Say so when kernels are compiled: it happens once on a machine, and takes a while."""

from __future__ import annotations

import logging

from numba.core import event


class _Notice(event.Listener):
    """Hears of compilations, not of kernels that are found in Numba's cache on disk."""

    said = False

    def on_start(self, event: event.Event) -> None:
        module = str(event.data["dispatcher"].py_func.__module__)
        if module.startswith("hgcn.") and not self.said:
            self.said = True
            logging.getLogger("hgcn").warning(
                "hgcn: compiling kernels for this machine, which happens once and takes up to a "
                "minute"
            )

    def on_end(self, event: event.Event) -> None:
        pass


def announce_compilation() -> None:
    """Have one line logged when the first kernel is compiled."""
    event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
