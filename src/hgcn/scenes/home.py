"""Where a picture is seen from at first: the place of its root, or the mean of its nodes."""

from __future__ import annotations

from torch import Tensor

from hgcn import geometry


def from_home(points: Tensor, c: float | None, *, rooted: bool = False) -> Tensor:
    """Points moved by an isometry that takes home to the origin.

    Args:
        points: normal coordinates ``[n, 2]``, float64.
        c: the space has sectional curvature ``-c``; None for a flat one.
        rooted: whether the origin is the place of a root, and so is home already.
    """
    if rooted or not len(points):
        return points
    if c is None:
        return points - points.mean(0)
    return geometry.translate(-geometry.frechet_mean(points, c=c), points, c=c)
