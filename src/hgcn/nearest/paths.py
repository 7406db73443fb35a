"""The points along the way from one point to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hgcn import geometry
from hgcn.errors import ConfigError
from hgcn.nearest.points import Points
from hgcn.nn.spaces import Euclidean, Hyperbolic

if TYPE_CHECKING:
    import polars as pl

STEPS = 200
"""Places on the geodesic, evenly apart, whose nearest points make a path."""


def path_between(points: Points, first: Any, last: Any) -> pl.DataFrame:
    """The points nearest to the geodesic between two, in their order on the way.

    Each place on the geodesic has a nearest point; the table has those points once each, where they
    are nearest to the geodesic: ``position`` says where, as a share of the way, and ``distance``
    how far off. The two ends are the first and the last row. In a good embedding of a tree the way
    leads up to the nearest common ancestor and down again.

    Args:
        points: the points.
        first, last: ids of the two ends.
    """
    import polars as pl

    i, j = points.find([first, last])
    if i == j:
        raise ConfigError(f"Expected two different ends of a path, got {first!r} twice.")
    z, space = points.z.double(), points.space
    share = torch.linspace(0, 1, STEPS + 1, dtype=torch.float64)
    if isinstance(space, Hyperbolic):
        places = geometry.geodesic(z[i], z[j], share, c=space.curvatures[0])
    elif isinstance(space, Euclidean):
        places = torch.lerp(z[i], z[j], share[:, None])
    else:
        raise ConfigError(f"Expected a flat or hyperbolic space, got {type(space).__name__}.")
    numbers, distances = (found[:, 0] for found in points.nearest.to(places, 1))
    ends = {int(i): (0.0, 0.0), int(j): (1.0, 0.0)}
    best: dict[int, tuple[float, float]] = dict(ends)
    for at, (number, distance) in enumerate(zip(numbers.tolist(), distances.tolist(), strict=True)):
        if number not in ends and distance < best.get(number, (0.0, np.inf))[1]:
            best[number] = float(share[at]), distance
    inner = sorted((n for n in best if n not in ends), key=lambda n: (best[n], n))
    order = [int(i), *inner, int(j)]
    return pl.DataFrame(
        {
            "id": pl.Series(points.ids[order].tolist(), strict=False),
            "position": [best[n][0] for n in order],
            "distance": [best[n][1] for n in order],
        }
    )
