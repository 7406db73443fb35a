"""Scores of "u is a v", which are higher the likelier it is that v is above u in a hierarchy."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hgcn.errors import ModelError
from hgcn.geometry.scalars import norm
from hgcn.kernels.numba_cpu.cone_ranking import APERTURE
from hgcn.nn.precision import full_precision
from hgcn.nn.spaces import Euclidean, Hyperbolic, Space

NOT_CHOSEN = -1.0
TOLL, LEAN = 16.0, 0.1
"""The toll and the lean by which epochs are compared during training."""


class DistanceScore(nn.Module):
    r"""Minus the distance, less what an upper node pays for its radius.

    .. math:: s(u, v) = -\big(D(u, v) + a\, \rho_v + t \max(0, \rho_v - \rho_u)\big)

    in units of the curvature radius. Training is with the distance alone, the score of Nickel and
    Kiela (2017), which does not tell up from down: children and siblings of u are as near to u as
    its parent. In a trained embedding what is above is nearer to the origin. The *toll* t is for a
    node that is farther out than u, as children are. The *lean* a is a preference for general
    nodes: of two that are equally far from u, the one nearer to the origin is likelier to be above
    it. Both are chosen on validation after training.

    Args:
        space: the space of the points.

    Shapes:
        - **input:** lower and upper points :math:`(*, d)`.
        - **output:** scores :math:`(*)`.
    """

    chosen: Tensor

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space
        self.register_buffer("chosen", torch.full((2,), NOT_CHOSEN))

    @property
    def is_chosen(self) -> bool:
        """Whether the toll and the lean are chosen."""
        return float(self.chosen[0]) != NOT_CHOSEN

    @property
    def toll(self) -> float:
        """The number t; :data:`TOLL` as long as none is chosen."""
        return float(self.chosen[0]) if self.is_chosen else TOLL

    @property
    def lean(self) -> float:
        """The number a; :data:`LEAN` as long as none is chosen."""
        return float(self.chosen[1]) if self.is_chosen else LEAN

    def choose(self, toll: float, lean: float) -> None:
        """Set the numbers t and a."""
        self.chosen.copy_(torch.tensor([toll, lean]))

    @full_precision
    def forward(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Scores of pairs of points."""
        root = _root(self.space, lower)
        # The square root has no gradient at zero.
        far = root * (self.space.squared_distance(lower, upper) + 1e-15).sqrt()
        if self.training:
            return -far
        rho = root * norm(upper)
        return -far - self.lean * rho - self.toll * (rho - root * norm(lower)).clamp(min=0)


class ConeScore(nn.Module):
    r"""How far inside the entailment cone of v the point u lies (Ganea et al. 2018), as an angle.

    .. math:: s(u, v) = t\, (\psi(v) - \Xi(v, u)), \qquad
        \psi(v) = \arcsin \frac{2 K}{\sinh \rho_v}, \qquad
        \Xi(v, u) = \operatorname{atan2}\big(\sinh\rho_u \sin\theta,\;
        \sinh(\rho_u - \rho_v) - 2 \cosh\rho_v \sinh\rho_u \sin^2(\theta/2)\big)

    Here :math:`\theta` is the angle of u and v at the origin, and :math:`\Xi` that at v between the
    ray from the origin and the geodesic to u. In the ball of radius :math:`1/\sqrt c` these are
    the formulas of the paper: :math:`K (1 - |x|^2)/|x|` is :math:`2 K/\sinh\rho`.

    Args:
        space: the space of the points, which must be hyperbolic.

    Shapes:
        - **input:** lower and upper points :math:`(*, d)`.
        - **output:** scores :math:`(*)`.
    """

    def __init__(self, space: Space) -> None:
        super().__init__()
        if not isinstance(space, Hyperbolic):
            raise ModelError("Expected a hyperbolic model for cones, got another one.")
        self.space = space
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    @full_precision
    def forward(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Scores of pairs of points."""
        aperture, angle = cone_angles(lower, upper, _root(self.space, lower))
        return self.log_scale.exp().to(lower.device) * (aperture - angle)


class Anchors(nn.Module):
    """Free points of the nodes of a hierarchy as upper nodes, beside an encoder of lower ones.

    What is above a node is always a node of the hierarchy, but what a text says of "mammal" does
    not tell how much is below it. So upper nodes have points of their own.

    Args:
        num_nodes: number of nodes of the hierarchy.
        dim: size of each point.
        std: standard deviation of each coordinate at the start.
    """

    no_weight_decay = True

    def __init__(self, num_nodes: int, dim: int, std: float = 0.1) -> None:
        super().__init__()
        self.point = nn.Parameter(std * torch.randn(num_nodes, dim))

    def forward(self) -> Tensor:
        """The points ``[N, dim]``."""
        return self.point.clone()


def cone_angles(lower: Tensor, upper: Tensor, root: Tensor | float) -> tuple[Tensor, Tensor]:
    """Half the aperture of the cone at ``upper``, and the angle at which ``lower`` is seen there.

    Args:
        lower, upper: points in normal coordinates ``[..., d]``.
        root: the square root of c.
    """
    rho_u, rho_v = root * norm(lower), root * norm(upper)
    tiny = torch.finfo(lower.dtype).tiny
    way = lower / (norm(lower) + tiny).unsqueeze(-1) - upper / (norm(upper) + tiny).unsqueeze(-1)
    s = (way.square().sum(-1) / 4).clamp(0, 1)
    along = (rho_u - rho_v).sinh() - 2 * rho_v.cosh() * rho_u.sinh() * s
    across = 2 * rho_u.sinh() * (s * (1 - s) + 1e-14).sqrt()
    narrow = 2 * APERTURE / rho_v.sinh().clamp(min=2 * APERTURE * (1 + 1e-6))
    return narrow.arcsin(), torch.atan2(across, along)


def _root(space: Space, points: Tensor) -> Tensor | float:
    if isinstance(space, Hyperbolic):
        # Points that were brought to the CPU are scored there.
        return space.number(points).sqrt()
    if isinstance(space, Euclidean):
        return 1.0
    raise ModelError(f"Expected a flat or hyperbolic space, got {type(space).__name__}.")
