"""What happens before a command can show anything: packages are loaded, data fetched."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module


def preload(arguments: argparse.Namespace, module: str) -> None:
    """Import a module that takes seconds, and say so in a terminal for as long as it takes."""
    if getattr(arguments, "quiet", False) or not sys.stderr.isatty():
        import_module(module)
        return
    sys.stderr.write("Loading ...")
    sys.stderr.flush()
    try:
        import_module(module)
    finally:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def fetch(source: str) -> None:
    """Download a data set that is not here, before a display that its own bar would tear."""
    from hgcn.data import load
    from hgcn.data.datasets import DATASETS, is_present

    if source in DATASETS and not is_present(source):
        load(source)
