"""The spaces that embeddings lie in, flat and hyperbolic, behind one contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import torch
from torch import Tensor

from hgcn import geometry, kernels
from hgcn.errors import ConfigError
from hgcn.geometry import Curvature
from hgcn.names import COORDINATES
from hgcn.text import one_of


@runtime_checkable
class Space(Protocol):
    """The contract of a space: all that a task, a search for links or a picture needs.

    A point is a tensor ``[..., d]``, in hyperbolic space its normal coordinates. A further space,
    such as a product of several, has to offer no more than this.
    """

    @property
    def curvatures(self) -> tuple[float, ...]:
        """The number c of each factor of sectional curvature ``-c``; empty for a flat space."""

    def squared_distance(self, v: Tensor, w: Tensor) -> Tensor:
        """Squared distances ``[...]`` between points ``[..., d]``."""

    def translate(self, v: Tensor, t: Tensor) -> Tensor:
        """The points reached from ``v`` along ``t``, a tangent vector at the origin."""

    def coordinates(self, v: Tensor, name: str) -> Tensor:
        """Points in the coordinates "normal", "hyperboloid" or "ball", or as "mips" vectors."""

    def plane(self, v: Tensor) -> tuple[Tensor, float | None]:
        """The points in a plane that can be drawn, ``[n, 2]``, each at its own radius.

        With them comes the number c of that plane; None for a flat one.
        """


@final
@dataclass(frozen=True)
class Euclidean:
    """Flat space: points are plain vectors."""

    @property
    def curvatures(self) -> tuple[float, ...]:
        """An empty tuple: flat space has no curvature."""
        return ()

    def squared_distance(self, v: Tensor, w: Tensor) -> Tensor:
        """The sum of the squared differences."""
        return (v - w).square().sum(-1)

    def translate(self, v: Tensor, t: Tensor) -> Tensor:
        """The sum of both vectors."""
        return v + t

    def coordinates(self, v: Tensor, name: str) -> Tensor:
        """The vectors themselves, which have no other coordinates."""
        _check_coordinates(name)
        if name != "normal":
            raise ConfigError(
                f"Expected coordinates 'normal' for embeddings that are Euclidean, got {name!r}."
            )
        return v

    def plane(self, v: Tensor) -> tuple[Tensor, float | None]:
        """The two principal directions at the origin."""
        return principal_plane(v), None


@final
@dataclass(frozen=True)
class Hyperbolic:
    """Hyperbolic space of sectional curvature ``-c``, in normal coordinates.

    Args:
        curvature: the number c, or the module of which it is the value.
    """

    curvature: Curvature | float

    @property
    def curvatures(self) -> tuple[float, ...]:
        """The one number c."""
        with torch.no_grad():
            return (float(self.number()),)

    def squared_distance(self, v: Tensor, w: Tensor) -> Tensor:
        """The squared distance of the paper (Eq. 4), exact at every radius."""
        return kernels.squared_distance(v, w, self.number(v))

    def translate(self, v: Tensor, t: Tensor) -> Tensor:
        """The exponential map at v of t, carried there from the origin."""
        return kernels.translate(v, t, self.number(v))

    def coordinates(self, v: Tensor, name: str) -> Tensor:
        """Points in other coordinates, in float64: far out they need every digit."""
        _check_coordinates(name)
        if name == "normal":
            return v
        to = geometry.to_ball if name == "ball" else geometry.to_hyperboloid
        x = to(v.double(), c=self.number().detach().to(v.device).double())
        if name == "mips":
            # The inner product with a point of the hyperboloid is then that of Lorentz, which is
            # -cosh(sqrt(c) d)/c: the larger it is, the nearer the points.
            x[..., 0].neg_()
        return x

    def plane(self, v: Tensor) -> tuple[Tensor, float | None]:
        """The two principal directions at the origin, with each radius as it was."""
        return principal_plane(v), self.curvatures[0]

    def number(self, like: Tensor | None = None) -> Tensor:
        """The number c as a tensor, on the device of another one; if it is fixed, of its type."""
        if isinstance(self.curvature, Curvature):
            c = self.curvature()
            # Embeddings that were brought to the CPU are compared there.
            return c if like is None else c.to(like.device)
        dtype = torch.float64 if like is None else like.dtype
        device = None if like is None else like.device
        return torch.tensor(self.curvature, dtype=dtype, device=device)


def space_of(curvature: Curvature | float | None) -> Space:
    """The space of a curvature ``-c``; None stands for a flat one."""
    return Euclidean() if curvature is None else Hyperbolic(curvature)


def principal_plane(points: Tensor) -> Tensor:
    """The two directions of largest variation at the origin, with each radius as it was.

    The origin stays the origin, so columns are not centred: depth in a hierarchy is radius.
    """
    _, vectors = torch.linalg.eigh(points.T @ points)
    # A sign rule makes the picture the same on every machine.
    axes = vectors[:, -2:].flip(1)
    axes = axes * axes.gather(0, axes.abs().argmax(0, keepdim=True)).sign()
    flat = points @ axes
    length = flat.norm(dim=1, keepdim=True)
    radius = points.norm(dim=1, keepdim=True)
    return torch.where(length > 0, flat / length.clamp(min=1e-300) * radius, 0.0)


def _check_coordinates(name: str) -> None:
    if name not in COORDINATES:
        raise ConfigError(one_of("coordinates", name, COORDINATES))
