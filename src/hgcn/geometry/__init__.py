"""Hyperbolic geometry that stays exact at every radius.

A point is stored as its logarithm at the origin, an ordinary tensor ``[..., d]`` (normal
coordinates). The hyperboloid and the Poincaré ball, with the formulas of the literature, are the
modules :mod:`hgcn.geometry.hyperboloid` and :mod:`hgcn.geometry.ball`.
"""

from hgcn.geometry import ball, hyperboloid
from hgcn.geometry.ball import exp0 as to_ball
from hgcn.geometry.ball import log0 as from_ball
from hgcn.geometry.curvature import Curvature, parameter_groups
from hgcn.geometry.means import centroid, frechet_mean
from hgcn.geometry.normal import (
    distance,
    from_hyperboloid,
    geodesic,
    local_log,
    squared_distance,
    to_hyperboloid,
    translate,
)

__all__ = [
    "Curvature",
    "ball",
    "centroid",
    "distance",
    "frechet_mean",
    "from_ball",
    "from_hyperboloid",
    "geodesic",
    "hyperboloid",
    "local_log",
    "parameter_groups",
    "squared_distance",
    "to_ball",
    "to_hyperboloid",
    "translate",
]
