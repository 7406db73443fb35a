"""Hyperbolic graph convolutional networks (Chami et al., 2019) for PyTorch.

A point of hyperbolic space is stored as its logarithm at the origin: an ordinary tensor.

Example:
    >>> import torch
    >>> from hgcn import geometry
    >>> v, w = torch.randn(2, 5, 3)  # two sets of five points
    >>> geometry.distance(v, w, c=1.0).shape
    torch.Size([5])
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hgcn import errors, geometry, models, nn

__all__ = ["__version__", "errors", "geometry", "models", "nn"]

__version__ = "0.1.0"


# Parts are loaded on first use: importing torch takes seconds, and not every command needs it.
def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
