"""Packages that only a part of hgcn needs: where one is missing, the error says how to get it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hgcn.errors import PackageError

EXTRAS = {
    "geoopt": "baselines",
    "matplotlib": "figures",
    "mlflow": "mlflow",
    "networkx": "io",
    "optuna": "search",
    "tensorboard": "tensorboard",
    "torch_geometric": "baselines",
    "wandb": "wandb",
}
"""The extra of pyproject.toml that brings each of them."""


def require(module: str, what: str) -> Any:
    """Import a module of such a package.

    Example:
        >>> require("matplotlib.figure", "a figure").__name__
        'matplotlib.figure'

    Args:
        module: its name.
        what: who needs it, as an error message says it.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            reason = "is not installed"
        else:
            reason = f"cannot be imported ({error})"
        raise PackageError(
            f"Expected the package {package}, which {what} needs, but it {reason}. Install it "
            f"with: pip install 'hgcn[{EXTRAS[package]}]'"
        ) from error
