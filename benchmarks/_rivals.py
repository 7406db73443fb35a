"""The distance of other packages and of the textbook, each from points in its own coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import _textbook as textbook
import torch
from torch import Tensor

from hgcn import geometry

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # geoopt scripts its functions, which torch deprecates
    import geoopt
from hypll.manifolds.poincare_ball import Curvature, PoincareBall
from hypll.tensors import ManifoldTensor, TangentTensor


class Rival(NamedTuple):
    """``convert(v, c)`` gives own coordinates of the points v, ``distance(x, y, c)`` takes them."""

    name: str
    coordinates: str  # "normal", "hyperboloid" or "ball"
    convert: Callable[[Tensor, float], Tensor]
    distance: Callable[[Tensor, Tensor, float], Tensor]


def _textbook_convert(v: Tensor, c: float) -> Tensor:
    return textbook.exp0(c**0.5 * v) / c**0.5


def _textbook_distance(x: Tensor, y: Tensor, c: float) -> Tensor:
    return textbook.arccosh(-c * textbook.inner(x, y)).squeeze(-1) / c**0.5


def geoopt_lorentz(like: Tensor, c: float) -> geoopt.Lorentz:
    # The parameter k of this class is the square of the curvature radius.
    return geoopt.Lorentz(k=torch.tensor(1 / c, dtype=like.dtype))


def geoopt_ball(like: Tensor, c: float) -> geoopt.Stereographic:
    # The class PoincareBall(c) is this one with k = -softplus(log(exp(c) - 1)), which is infinite
    # from c = 89 in float32. Given k itself, the same formulas run at every c.
    return geoopt.Stereographic(k=torch.tensor(-c, dtype=like.dtype))


def hypll_ball(like: Tensor, c: float) -> PoincareBall:
    # Without a strategy of one's own, Curvature(1.0) is softplus(1) = 1.313; and it holds float32.
    curvature = Curvature(c, constraining_strategy=lambda value: value)
    curvature.value.data = torch.tensor(c, dtype=like.dtype)
    return PoincareBall(curvature)


def _geoopt_lorentz_convert(v: Tensor, c: float) -> Tensor:
    tangent = torch.cat((torch.zeros_like(v[..., :1]), v), dim=-1)
    return geoopt_lorentz(v, c).expmap0(tangent)


# In both ball packages the metric at the origin is four times the Euclidean one, so that
# expmap0(u) lies at distance 2|u|: normal coordinates are halved first.
def _hypll_convert(v: Tensor, c: float) -> Tensor:
    manifold = hypll_ball(v, c)
    return manifold.expmap(TangentTensor(v / 2, manifold=manifold)).tensor


def _hypll_distance(x: Tensor, y: Tensor, c: float) -> Tensor:
    manifold = hypll_ball(x, c)
    return manifold.dist(ManifoldTensor(x, manifold), ManifoldTensor(y, manifold))


OURS = Rival("hgcn", "normal", lambda v, c: v, lambda x, y, c: geometry.distance(x, y, c=c))
RIVALS = (
    OURS,
    Rival("textbook arccosh", "hyperboloid", _textbook_convert, _textbook_distance),
    Rival(
        "geoopt Lorentz",
        "hyperboloid",
        _geoopt_lorentz_convert,
        lambda x, y, c: geoopt_lorentz(x, c).dist(x, y),
    ),
    Rival(
        "geoopt ball",
        "ball",
        lambda v, c: geoopt_ball(v, c).expmap0(v / 2),
        lambda x, y, c: geoopt_ball(x, c).dist(x, y),
    ),
    Rival("hypll ball", "ball", _hypll_convert, _hypll_distance),
)


def check() -> None:
    """Every rival agrees where all are good: radius 1, float64, a curvature that is not 1."""
    generator = torch.Generator().manual_seed(0)
    v, w = torch.randn(2, 100, 3, dtype=torch.float64, generator=generator)
    for c in (1.0, 0.5):
        expected = geometry.distance(v, w, c=c)
        for rival in RIVALS:
            got = rival.distance(rival.convert(v, c), rival.convert(w, c), c)
            torch.testing.assert_close(got, expected, rtol=1e-9, atol=0.0, msg=rival.name)
