"""Scalar functions of hyperbolic trigonometry that are right at zero and at large arguments.

Each takes a tensor of non-negative radii and is analytic there, in value and in gradient: the
quotients switch to a power series near zero, and nothing overflows below radius 84 in float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

NARROW = {"mps"}
"""Types of devices that have no float64."""

_SERIES_BELOW = 0.5
_SINHC = (1 / 6, 1 / 20, 1 / 42, 1 / 72, 1 / 110, 1 / 156, 1 / 210)


def widest(x: Tensor) -> torch.dtype:
    """The type of the most digits on the device of a tensor: float64, if it has that."""
    return torch.float32 if x.device.type in NARROW else torch.float64


def wide(x: Tensor) -> Tensor:
    """The tensor in the type of the most digits on its device."""
    return x.to(widest(x))


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Inner product over the last dimension, without a temporary of the inputs' size."""
    return torch.einsum("...i,...i->...", a, b)


def norm(v: Tensor) -> Tensor:
    """Euclidean norm over the last dimension; its gradient at zero is zero.

    The squares are summed in float64, so that float32 vectors of norm 1e-40 to 1e38 neither
    vanish nor overflow. A device without float64 sums in float32.
    """
    return torch.linalg.vector_norm(v, dim=-1, dtype=widest(v)).to(v.dtype)


def sinhc_minus_1(x: Tensor) -> Tensor:
    """``sinh(x)/x - 1`` without the loss of digits near zero."""
    near = x < _SERIES_BELOW
    square = torch.where(near, x, 0.0).square()
    series = torch.ones_like(square)
    for factor in reversed(_SINHC[1:]):
        series = 1 + square * factor * series
    far = torch.where(near, 1.0, x)
    return torch.where(near, square * _SINHC[0] * series, far.sinh() / far - 1)


def sinhc(x: Tensor) -> Tensor:
    """``sinh(x)/x``, 1 at zero."""
    return 1 + sinhc_minus_1(x)


def asinh(x: Tensor) -> Tensor:
    """``asinh(x)`` whose gradient does not vanish where the square of ``x`` overflows."""
    huge = x > 1e8
    return torch.where(huge, torch.where(huge, 2 * x, 1.0).log(), torch.where(huge, 0.0, x).asinh())


def asinhc(x: Tensor) -> Tensor:
    """``asinh(x)/x``, 1 at zero."""
    near = x < 1e-2
    square = torch.where(near, x, 0.0).square()
    far = torch.where(near, 1.0, x)
    series = 1 - square * (1 / 6 - square * (3 / 40 - square * (15 / 336)))
    return torch.where(near, series, asinh(far) / far)


def atanhc(x: Tensor) -> Tensor:
    """``atanh(x)/x``, 1 at zero."""
    near = x < 1e-2
    square = torch.where(near, x, 0.0).square()
    far = torch.where(near, 0.5, x)
    return torch.where(
        near, 1 + square * (1 / 3 + square * (1 / 5 + square / 7)), far.atanh() / far
    )


def tanhc(x: Tensor) -> Tensor:
    """``tanh(x)/x``, 1 at zero."""
    near = x < 1e-2
    square = torch.where(near, x, 0.0).square()
    far = torch.where(near, 1.0, x)
    series = 1 - square * (1 / 3 - square * (2 / 15 - square * (17 / 315)))
    return torch.where(near, series, far.tanh() / far)
