"""From embeddings to logits: of links and of classes."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from hgcn import geometry
from hgcn.errors import ModelError
from hgcn.geometry import Curvature
from hgcn.geometry.scalars import asinh, dot, norm, sinhc
from hgcn.nn.precision import full_precision


class FermiDirac(nn.Module):
    r"""Fermi-Dirac decoder of the paper (Eq. 14), as logits.

    .. math::
        p_{ij} = \big(e^{(d_{ij}^2 - r)/t} + 1\big)^{-1} = \mathrm{sigmoid}((r - d_{ij}^2)/t)

    Train the logits with :class:`torch.nn.BCEWithLogitsLoss`; their sigmoid is the probability.

    Args:
        r: squared distance at which a link is as likely as not.
        t: temperature; the smaller, the sharper.
        trainable: whether both are learnt; t stays positive.

    Example:
        >>> decoder = FermiDirac()
        >>> decoder(torch.tensor([0.0, 2.0, 5.0]))  # of squared distances
        tensor([ 2.,  0., -3.])
    """

    no_weight_decay = True

    start: Tensor

    def __init__(self, r: float = 2.0, t: float = 1.0, trainable: bool = False) -> None:
        super().__init__()
        if not t > 0:
            raise ModelError(f"Expected the temperature `t` to be positive, got {t}.")
        self.register_buffer("start", torch.tensor([float(r), float(t)]))
        self.raw = nn.Parameter(torch.zeros(2)) if trainable else None

    @property
    def r(self) -> Tensor:
        """Squared distance of even odds."""
        return self.start[0] if self.raw is None else self.start[0] + self.raw[0]

    @property
    def t(self) -> Tensor:
        """Temperature."""
        return self.start[1] if self.raw is None else self.start[1] * self.raw[1].exp()

    def forward(self, squared_distance: Tensor) -> Tensor:
        """Logits of links between pairs, given their squared distances."""
        return (self.r - squared_distance) / self.t

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return f"r={self.r.item():.4g}, t={self.t.item():.4g}, trainable={self.raw is not None}"


class TangentClassifier(nn.Linear):
    r"""Multinomial logistic regression in the tangent space of the origin, as in the paper.

    The logarithm at the origin is the point itself in normal coordinates, so this is a linear
    layer; the name says where it acts.

    Args:
        in_channels: size of each point.
        num_classes: number of logits.

    Example:
        >>> TangentClassifier(4, 3)(torch.randn(5, 4)).shape
        torch.Size([5, 3])
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__(in_channels, num_classes)

    @classmethod
    def of(cls, in_channels: int, num_classes: int, curvature: Curvature | None) -> Self:
        """The classifier of embeddings with this curvature, flat ones included."""
        return cls(in_channels, num_classes)


class HyperbolicMLR(nn.Module):
    r"""Hyperbolic multinomial logistic regression of Ganea et al. (2018).

    The logit of a class is the signed distance to a geodesic hyperplane, through a point
    :math:`p_k` and normal to :math:`a_k`, times the length of :math:`a_k`. With the local logarithm
    :math:`L = P_{p_k \to o} \log_{p_k}(x)` it is

    .. math::
        \frac{|a_k|}{\sqrt{c}} \operatorname{arsinh}\Big(\sqrt{c}\,
        \frac{\sinh(\sqrt{c}|L|)}{\sqrt{c}|L|} \Big\langle L, \frac{a_k}{|a_k|} \Big\rangle\Big),

    which is :math:`\langle x - p_k, a_k \rangle` in flat space.

    Args:
        in_channels: size of each point.
        num_classes: number of logits.
        c: curvature, a number or a :class:`~hgcn.geometry.Curvature` shared with other modules.
        trainable_c: whether a curvature given as a number is trained.

    Shapes:
        - **input:** points :math:`(*, F)`.
        - **output:** logits :math:`(*, C)`.

    Example:
        >>> HyperbolicMLR(4, 3)(torch.randn(5, 4)).shape
        torch.Size([5, 3])
    """

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        *,
        c: float | Curvature = 1.0,
        trainable_c: bool = True,
    ) -> None:
        super().__init__()
        self.curvature = c if isinstance(c, Curvature) else Curvature(c, trainable_c)
        self.normal = nn.Parameter(torch.empty(num_classes, in_channels))
        self.point = nn.Parameter(torch.empty(num_classes, in_channels))
        self.reset_parameters()

    @classmethod
    def of(cls, in_channels: int, num_classes: int, curvature: Curvature | None) -> Self:
        """The classifier of embeddings with this curvature, which must not be None."""
        if curvature is None:
            raise ModelError(
                "Expected a hyperbolic model for the classifier 'mlr', got a Euclidean one. Use "
                "the classifier 'tangent', which is plain logistic regression there."
            )
        return cls(in_channels, num_classes, c=curvature)

    def reset_parameters(self) -> None:
        """Hyperplanes through the origin, with Glorot's uniform normals."""
        nn.init.xavier_uniform_(self.normal)
        nn.init.zeros_(self.point)

    @full_precision
    def forward(self, v: Tensor) -> Tensor:
        """Logits ``[..., num_classes]`` of points ``[..., in_channels]``."""
        c = self.curvature()
        root = c.sqrt()
        log = geometry.local_log(self.point, v.unsqueeze(-2), c=c)
        length = norm(self.normal)
        unit = self.normal / torch.where(length > 0, length, 1.0).unsqueeze(-1)
        height = sinhc(root * norm(log)) * dot(log, unit)
        sign = torch.where(height < 0, -1.0, 1.0)
        return sign * asinh(root * (sign * height)) * length / root
