"""Hyperbolic graph convolutional networks (Chami et al., 2019) for PyTorch.

Example:
    >>> import hgcn
    >>> graph = hgcn.load("disease")
    >>> run = hgcn.fit(graph, task="node", epochs=20)
    >>> run.embeddings().shape
    torch.Size([1044, 16])

A point of hyperbolic space is stored as its logarithm at the origin: an ordinary tensor.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hgcn import data, errors, figures, geometry, models, nn, viewer
    from hgcn.config import Config
    from hgcn.data import Graph, hyperbolicity, load
    from hgcn.data.mapped.build import convert
    from hgcn.estimators import HGCNClassifier, HGCNLinkPredictor
    from hgcn.nearest.points import neighbours
    from hgcn.runs.fit import fit, resume
    from hgcn.runs.folder import load_run
    from hgcn.runs.run import Run
    from hgcn.tuning.search import search

__all__ = [
    "Config",
    "Graph",
    "HGCNClassifier",
    "HGCNLinkPredictor",
    "Run",
    "__version__",
    "convert",
    "data",
    "errors",
    "figures",
    "fit",
    "geometry",
    "hyperbolicity",
    "load",
    "load_run",
    "models",
    "neighbours",
    "nn",
    "resume",
    "search",
    "viewer",
]

__version__ = "0.2.0"

_HOMES = {
    "Config": "config",
    "Graph": "data",
    "HGCNClassifier": "estimators",
    "HGCNLinkPredictor": "estimators",
    "Run": "runs.run",
    "convert": "data.mapped.build",
    "fit": "runs.fit",
    "hyperbolicity": "data",
    "load": "data",
    "load_run": "runs.folder",
    "neighbours": "nearest.points",
    "resume": "runs.fit",
    "search": "tuning.search",
}


# Modules are loaded on first use: importing torch takes seconds, and not every command needs it.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOMES:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
