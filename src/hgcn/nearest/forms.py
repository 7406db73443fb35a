r"""Points in the form that compiled searches take: a direction and four numbers each.

A squared distance in hyperbolic space is an increasing function of
:math:`H = \sinh^2((\rho_i - \rho_j)/2) + \sinh\rho_i \sinh\rho_j |u_i - u_j|^2/4`, the height of
a pair, which needs no exponential once each point has its own. A point of flat space has the
numbers ``FLAT``, with which H is the squared Euclidean distance. So one search serves both.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import torch
from torch import Tensor

from hgcn.geometry.normal import saturate
from hgcn.nn.spaces import Euclidean, Hyperbolic, Space

FLAT = (0.0, 2.0, 1.0, 1.0)
"""The values of (rho, sinh(rho), exp(rho/2), exp(-rho/2)) that make H the flat distance."""

Form = tuple[np.ndarray, np.ndarray]
"""Directions ``[n, d]``, and (rho, sinh(rho), exp(rho/2), exp(-rho/2)) of each point."""


@singledispatch
def search_form(space: Space, z: Tensor) -> Form | None:
    """Points in the form of the compiled searches; None for a space that they do not know."""
    return None


@singledispatch
def squared_distance_at(space: Space, height: np.ndarray) -> np.ndarray:
    """Squared distances, from the heights H that a search compares."""
    return height


@search_form.register
def _(space: Euclidean, z: Tensor) -> Form:
    v = z.detach().cpu().double().contiguous()
    return v.numpy(), np.tile(FLAT, (len(v), 1))


@search_form.register
def _(space: Hyperbolic, z: Tensor) -> Form:
    v = z.detach().cpu().double().contiguous()
    _, rho = saturate(v, torch.tensor(space.curvatures[0] ** 0.5, dtype=v.dtype))
    length = v.norm(dim=1, keepdim=True)
    unit = v / torch.where(length > 0, length, 1.0)
    radial = torch.stack((rho, rho.sinh(), (rho / 2).exp(), (-rho / 2).exp()), dim=1)
    return unit.numpy(), radial.numpy()


@squared_distance_at.register
def _(space: Hyperbolic, height: np.ndarray) -> np.ndarray:
    squared: np.ndarray = 4 / space.curvatures[0] * np.arcsinh(np.sqrt(height)) ** 2
    return squared
