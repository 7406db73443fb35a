"""One model of hyperbolic space as the contract sees it: its points, its formulas, its errors.

Lengths and radii are in units of 1/sqrt(c) throughout.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import mpmath as mp
import oracle
import pytest
import torch
from torch import Tensor

from hgcn.geometry import hyperboloid

SINGLE, DOUBLE = torch.float32, torch.float64
EPS = torch.finfo(DOUBLE).eps

each_dtype = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
each_curvature = pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])
each_radius = pytest.mark.parametrize("radius", [1e-6, 1e-2, 1.0, 4.0, 8.0, 12.0])

Function = Callable[..., Tensor]
Errors = dict[str, tuple[mp.mpf, mp.mpf | None]]

PLACES = {
    "unrelated": lambda v, w: (2 * v, 1.5 * w),
    "same": lambda v, w: (2 * v, 2 * v),
    "nearly the same": lambda v, w: (2 * v, 2 * v + 1e-7 * w),
    "same, near the origin": lambda v, w: (0.3 * v, 0.3 * v),
    "opposite": lambda v, w: (1.5 * v, -1.5 * v),
    "nearly opposite": lambda v, w: (1.5 * v, -1.5 * v + 1e-7 * w),
    "one line": lambda v, w: (2 * v, 0.5 * v),
    "from the origin": lambda v, w: (0 * v, w),
    "to the origin": lambda v, w: (v, 0 * v),
    "origin twice": lambda v, w: (0 * v, 0 * v),
    "tiny": lambda v, w: (1e-9 * v, 1e-9 * w),
    "change of formula": lambda v, w: (math.asinh(1.0) * v, 2 * w),
}
"""Two points in a special position to each other, in normal coordinates, from two unit vectors."""


def directions(count: int, d: int = 3) -> Tensor:
    u = torch.randn(count, d, dtype=DOUBLE)
    return u / u.norm(dim=-1, keepdim=True)


def eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


def inner(model: ModuleType, u: Tensor, v: Tensor, *, at: Tensor, c: float | Tensor) -> Tensor:
    """Riemannian inner product of tangent vectors at a point."""
    return model.inner(u, v) if model is hyperboloid else model.inner(u, v, at=at, c=c)


@dataclass(frozen=True)
class Sample:
    """What a bound on the errors may depend on: two points, a step from one to the other, ..."""

    x: oracle.Vector
    y: oracle.Vector
    step: oracle.Vector
    end: oracle.Vector
    tangent: oracle.Vector
    c: mp.mpf
    radius: float
    rounding: float


class ModelCase(ABC):
    """What a model supplies, and what can be built from it."""

    model: ClassVar[ModuleType]
    other: ClassVar[ModuleType]
    to_other: ClassVar[Function]
    from_other: ClassVar[Function]
    extra: ClassVar[int]
    """How many coordinates a point has beyond the dimension of the space."""
    radius: ClassVar[float]
    precision: ClassVar[float]
    """Up to that radius, exp, log and transport are undone to so many units in the last place."""
    makes_points: ClassVar[frozenset[str]] = frozenset(
        {"exp0", "exp", "far exp", "geodesic", "project"}
    )
    may_overflow: ClassVar[frozenset[str]]
    """Functions whose result, or its gradient, float32 cannot always hold."""
    longest_step: ClassVar[float]
    """Power of ten of the longest tangent vector that float32 can hold at the farthest point."""

    @abstractmethod
    def at_origin(self, v: Tensor) -> Tensor:
        """The tangent vector at the origin that normal coordinates ``v`` stand for."""

    @abstractmethod
    def gradient(self, derivative: Tensor, *, at: Tensor) -> tuple[Tensor, Tensor]:
        """Riemannian gradient for c = 1, and how much an error in its coordinates weighs."""

    @abstractmethod
    def more_functions(self) -> dict[str, Function]:
        """Functions that only this model has; see :meth:`functions`."""

    @abstractmethod
    def exact_point(self, x: Tensor, c: mp.mpf) -> oracle.Vector: ...

    @abstractmethod
    def exact_tangent(self, v: Tensor, x: oracle.Vector) -> oracle.Vector: ...

    @abstractmethod
    def exact_distance(self, x: oracle.Vector, y: oracle.Vector, c: mp.mpf) -> mp.mpf: ...

    @abstractmethod
    def exact_exp(self, v: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector: ...

    @abstractmethod
    def exact_log(self, y: oracle.Vector, x: oracle.Vector, c: mp.mpf) -> oracle.Vector: ...

    @abstractmethod
    def exact_transport(
        self, v: oracle.Vector, x: oracle.Vector, y: oracle.Vector, c: mp.mpf
    ) -> oracle.Vector: ...

    @abstractmethod
    def errors(self, at: Sample) -> Errors:
        """Bounds for distance, log, exp and transport, and what they are relative to."""

    def functions(self) -> dict[str, Function]:
        """Every function of the model, of two points, a tangent vector at the first, and c."""
        model, extra, to_other = self.model, self.extra, self.to_other
        return {
            "exp0": lambda x, y, v, c: model.exp0(x[..., extra:], c=c),
            "log0": lambda x, y, v, c: model.log0(x, c=c),
            "distance": lambda x, y, v, c: model.distance(x, y, c=c),
            "exp": lambda x, y, v, c: model.exp(v, at=x, c=c),
            "log": lambda x, y, v, c: model.log(y, at=x, c=c),
            "transport": lambda x, y, v, c: model.transport(v, start=x, end=y, c=c),
            "geodesic": lambda x, y, v, c: model.geodesic(0.3, at=x, direction=v, c=c),
            "project": lambda x, y, v, c: model.project(x, c=c),
            "to_other": lambda x, y, v, c: to_other(x, c=c),
            "inner": lambda x, y, v, c: inner(self.model, v, y, at=x, c=c),
            **self.more_functions(),
        }

    def points(self, count: int, *, dtype: torch.dtype, c: float, radius: float) -> Tensor:
        """Points of a three-dimensional space at radii up to ``radius``."""
        r = radius * torch.rand(count, 1, dtype=DOUBLE) / math.sqrt(c)
        return self.model.exp0((r * directions(count)).to(dtype), c=c)

    def origin(self, like: Tensor, c: float | Tensor) -> Tensor:
        return self.model.exp0(torch.zeros_like(like[..., self.extra :]), c=c)

    def carry(self, v: Tensor, *, to: Tensor, c: float | Tensor) -> Tensor:
        """Tangent vectors at points, of the lengths of ``v``."""
        return self.model.transport(self.at_origin(v), start=self.origin(to, c), end=to, c=c)

    def tangents(self, x: Tensor, *, c: float) -> Tensor:
        """Tangent vectors of length about 1, one at each point."""
        return self.carry(torch.randn_like(x[..., self.extra :]) / math.sqrt(c), to=x, c=c)

    def pairs(self, radius: float, *, dtype: torch.dtype, c: float) -> tuple[Tensor, Tensor]:
        """Pairs of every kind, the first point at ``radius``."""
        u, other = directions(4), directions(4)
        v = radius * u
        kinds = [
            radius * other,
            0.7 * v,
            -v * (1 + 1e-6),
            1e-3 * other,
            v + 1e-2 * min(radius, 1) * math.exp(-radius) * other,
        ]
        v, w = torch.cat([v] * len(kinds)), torch.cat(kinds)
        x, y = (self.model.exp0((a / math.sqrt(c)).to(dtype), c=c) for a in (v, w))
        apart = (x != y)[:, self.extra :].any(-1)
        assert apart.sum() >= 16
        return x[apart], y[apart]

    def special(self, place: str, *, c: float | Tensor) -> tuple[Tensor, Tensor]:
        root = torch.as_tensor(c, dtype=DOUBLE).sqrt().reshape(-1, 1)
        v, w = PLACES[place](directions(2) / root, directions(2) / root)
        return self.model.exp0(v, c=c), self.model.exp0(w, c=c)

    def extreme_tangents(self, t: Tensor, x: Tensor, c: Tensor) -> Tensor:
        return self.carry(t, to=x, c=c)

    def everything(self) -> Callable[..., tuple[Tensor, ...]]:
        functions = list(self.functions().values())
        return lambda x, y, v, c: tuple(function(x, y, v, c) for function in functions)
