"""Helpers of the hyperboloid and the ball: precision, staying inside, and checks."""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry.normal import square_root
from hgcn.geometry.scalars import norm, wide


def widen(c: float | Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Square root of the curvature, and the tensors, in float64 where the device has it."""
    first = tensors[0]
    for other in tensors[1:]:
        if other.shape[-1:] != first.shape[-1:] or other.dtype != first.dtype:
            raise GeometryError(
                "Expected tensors of the same dtype and last dimension, got "
                f"{first.dtype} {list(first.shape)} and {other.dtype} {list(other.shape)}."
            )
    single = first.dtype == torch.float32
    widened = tuple(wide(tensor) if single else tensor for tensor in tensors)
    return square_root(c, widened[0]), *widened


def times(t: float | Tensor, v: Tensor) -> Tensor:
    """Vectors times a number, or a tensor of the leading dimensions."""
    return t.to(v.dtype).unsqueeze(-1) * v if isinstance(t, Tensor) else t * v


def radius_inside(x: Tensor, root: Tensor, dtype: torch.dtype) -> Tensor:
    """``sqrt(c)|x|``, at most the last number below 1 that ``dtype`` has."""
    return (root * norm(x)).clamp_max(1 - torch.finfo(dtype).eps / 2)


def room_of(x: Tensor, root: Tensor, dtype: torch.dtype) -> Tensor:
    """``1 - c|x|²``, always positive."""
    radius = radius_inside(x, root, dtype)
    return (1 - radius) * (1 + radius)


def inside(x: Tensor, root: Tensor, dtype: torch.dtype) -> Tensor:
    """Points rounded to ``dtype`` so that they stay strictly inside the ball."""
    radius = root * norm(x)
    # Rounding the coordinates moves the radius by eps/2. Without a wider dtype to measure it in,
    # the radius itself is off by 2 eps in 1000 dimensions. Drawn back by twice the margin, a point
    # is not drawn back again.
    margin = torch.finfo(dtype).eps * (4 if x.dtype == dtype else 1)
    beyond = radius > 1 - margin
    factor = torch.where(beyond, (1 - 2 * margin) / torch.where(beyond, radius, 1.0), 1.0)
    return (factor.unsqueeze(-1) * x).to(dtype)


def check_coordinates(x: Tensor, *, at_least: int) -> None:
    """Raise unless there are enough coordinates and all are finite."""
    if x.ndim == 0 or x.shape[-1] < at_least:
        raise GeometryError(
            f"Expected points with at least {at_least} coordinate{'s' * (at_least > 1)} in the "
            f"last dimension, got a tensor of shape {list(x.shape)}."
        )
    bad = (~x.isfinite()).nonzero()
    if len(bad):
        index = bad[0].tolist()
        raise GeometryError(
            f"Expected finite coordinates, got {float(x[tuple(index)])} at index {index}. "
            "No function of hgcn.geometry makes one from valid points: see where x comes from."
        )


def first_bad(bad: Tensor, x: Tensor, root: Tensor) -> tuple[str, Tensor, Tensor] | None:
    """The first row marked as bad: its position in words, its coordinates, and its root of c."""
    found = bad.nonzero()
    if not len(found):
        return None
    index = tuple(found[0].tolist())
    where = f" at index {list(index)}" if index else ""
    return where, x.expand(*bad.shape, -1)[index], root.expand(bad.shape)[index]
