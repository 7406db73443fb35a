"""Points with ids: the nodes of a run, or any embedding that somebody already has."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.pairs import Ints
from hgcn.errors import ConfigError, DataError
from hgcn.geometry import ball, from_ball, from_hyperboloid, hyperboloid
from hgcn.names import POINT_COORDINATES
from hgcn.nearest.search import Nearest, check_points
from hgcn.nn.spaces import Space, space_of
from hgcn.text import near_miss, one_of

if TYPE_CHECKING:
    import polars as pl

VISIBLE = 0.1
"""A distance that single precision should tell, in units of the curvature radius."""
BLOCK = 1 << 13
"""Points whose neighbours are a block of a table."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points of a space, each with an id.

    Attributes:
        z: the points ``[n, d]``; in hyperbolic space normal coordinates.
        space: what they lie in.
        ids: an id for each point.
        name: what errors call them.
    """

    z: Tensor
    space: Space
    ids: np.ndarray
    name: str = "the points"

    @cached_property
    def nearest(self) -> Nearest:
        """The search for the nearest of these points."""
        return Nearest(self.z, self.space)

    def find(self, ids: Sequence[Any] | np.ndarray) -> Ints:
        """The numbers of the points with these ids; unknown ones are refused."""
        import polars as pl

        from hgcn.data.reading.ids import positions

        asked = pl.Series(np.asarray(ids).tolist(), strict=False)
        numbers = positions(asked, self._id_series)
        if (numbers < 0).any():
            unknown = [str(asked[int(at)]) for at in np.flatnonzero(numbers < 0)]
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            raise DataError(
                f"Expected ids of {self.name}, got {', '.join(map(repr, unknown[:3]))}{more}."
                + near_miss(unknown[0], map(str, self.ids.tolist()))
            )
        return numbers

    @cached_property
    def _id_series(self) -> pl.Series:
        import polars as pl

        return pl.Series(self.ids.tolist(), strict=False)

    def neighbour_blocks(self, ids: Sequence[Any] | None, k: int) -> Iterator[pl.DataFrame]:
        """Tables of the k nearest of some points, or of all: id, rank, neighbour and distance."""
        rows = np.arange(len(self.z)) if ids is None else self.find(ids)
        self.nearest.check(k, others=len(self.z) - 1)  # before the first block is written
        return self._blocks(rows, k)

    def _blocks(self, rows: Ints, k: int) -> Iterator[pl.DataFrame]:
        import polars as pl

        for low in range(0, len(rows), BLOCK):
            some = rows[low : low + BLOCK]
            numbers, distance = self.nearest.of(some, k)
            yield pl.DataFrame(
                {
                    "id": pl.Series(self.ids[np.repeat(some, k)].tolist(), strict=False),
                    "rank": np.tile(np.arange(1, k + 1), len(some)),
                    "neighbour": pl.Series(self.ids[numbers.ravel()].tolist(), strict=False),
                    "distance": distance.ravel(),
                }
            )


def neighbours(
    points: Any,
    queries: Any = None,
    k: int = 10,
    *,
    coordinates: str = "normal",
    c: float | None = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of many points, exactly, in hyperbolic or flat distance.

    Example:
        >>> import numpy as np
        >>> import hgcn
        >>> points = np.array([[0.0, 0.0], [0.5, 0.0], [0.9, 0.0], [0.0, 0.9]])
        >>> numbers, distance = hgcn.neighbours(points, k=1, coordinates="ball")
        >>> numbers.ravel().tolist()
        [1, 0, 1, 0]

    Args:
        points: an array or tensor with a row for each point.
        queries: other points, in the same coordinates, whose nearest among ``points`` are asked
            for. Without, those of all points among the others.
        k: how many of each.
        coordinates: "normal" (logarithms at the origin), "hyperboloid" or "ball".
        c: the space has sectional curvature ``-c``; None or 0 for a flat one.

    Returns:
        The numbers ``[m, k]`` of the nearest points, counted from 0, nearest first, and their
        distances ``[m, k]``.
    """
    z, space = normal_points(points, coordinates=coordinates, c=c)
    nearest = Nearest(z, space)
    if queries is None:
        return nearest.of(np.arange(len(z)), k)
    return nearest.to(normal_points(queries, coordinates=coordinates, c=c)[0], k)


def normal_points(
    points: Any, *, coordinates: str = "normal", c: float | None = 1.0
) -> tuple[Tensor, Space]:
    """Points in any coordinates as normal ones, in float64 and checked; and their space."""
    if coordinates not in POINT_COORDINATES:
        raise ConfigError(one_of("coordinates", coordinates, POINT_COORDINATES))
    if c is not None and not (isinstance(c, int | float) and 0 <= c < float("inf")):
        raise ConfigError(f"Expected `c` to be a number of at least 0, got {c!r}.")
    try:
        array = points if isinstance(points, Tensor) else np.asarray(points, dtype=np.float64)
        x = torch.as_tensor(array)
    except (TypeError, ValueError) as error:
        raise DataError(f"Expected points as a matrix of numbers, got: {error}.") from error
    x = x.detach().cpu()
    check_points(x)
    if not c:
        if coordinates != "normal":
            raise ConfigError(
                f"Expected coordinates 'normal' in flat space (c = 0), got {coordinates!r}."
            )
        return x.double(), space_of(None)
    if coordinates == "ball":
        ball.check(x.double(), c=c)
        return from_ball(x.double(), c=c), space_of(float(c))
    if coordinates == "hyperboloid":
        # Files have six digits as often as sixteen; the spatial part alone is used.
        hyperboloid.check(x.float(), c=c)
        return from_hyperboloid(x.double(), c=c), space_of(float(c))
    return x.double(), space_of(float(c))


def told_apart(radius: float) -> float:
    """From which distance on single precision tells two "mips" vectors at a radius from one.

    The product of two of them is a sum of numbers of the size cosh(radius)², whose last digit is
    lost, and is -cosh(distance). All lengths are in units of the curvature radius.
    """
    lost = math.cosh(min(radius, 300.0)) ** 2 * 2.0**-23
    return math.acosh(1.0 + lost)


def tell_of_single_precision(points: Points) -> None:
    """Warn if a store of single precision cannot hold the order of "mips" vectors."""
    if not points.space.curvatures:
        return  # refused elsewhere
    root = points.space.curvatures[0] ** 0.5
    radius = root * float(points.z.norm(dim=1).max())
    apart = told_apart(radius)
    if apart > VISIBLE:
        warnings.warn(
            f"The points reach a radius of {radius:.1f}. In float32, which most vector stores use, "
            f"inner products there tell points apart from a distance of {apart:.2g} on. The file "
            "is in float64; `hgcn neighbours` is exact.",
            stacklevel=2,
        )
