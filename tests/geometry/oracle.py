"""The paper's formulas in mpmath, evaluated at the numbers a tensor really holds."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import mpmath as mp
import torch
from torch import Tensor

mp.mp.dps = 80

Vector = list[mp.mpf]


def exact(values: Tensor) -> Vector:
    return [mp.mpf(value) for value in values.tolist()]


def length(vector: Sequence[mp.mpf]) -> mp.mpf:
    return mp.sqrt(sum(a * a for a in vector))


def translate(v: Vector, t: Vector, c: mp.mpf) -> Vector:
    """log_o exp_x P_{o->x} t, on the hyperboloid."""
    root = mp.sqrt(c)
    rho, tau = root * length(v), root * length(t)
    if rho == 0 or tau == 0:
        return [a + b for a, b in zip(v, t, strict=True)]
    u = [root * a / rho for a in v]
    t_par = root * sum(a * b for a, b in zip(u, t, strict=True))
    along = mp.cosh(tau) * mp.sinh(rho) + mp.sinh(tau) / tau * (mp.cosh(rho) - 1) * t_par
    z = [along * a + mp.sinh(tau) / tau * root * b for a, b in zip(u, t, strict=True)]
    radius = length(z)
    return [mp.asinh(radius) / radius / root * a for a in z] if radius else z


def local_log(v: Vector, w: Vector, c: mp.mpf) -> Vector:
    return translate([-a for a in v], w, c)


def distance(v: Vector, w: Vector, c: mp.mpf) -> mp.mpf:
    """The paper's d_L = sqrt(K) arcosh(-<x, y>/K)."""
    root = mp.sqrt(c)
    rho, tau = root * length(v), root * length(w)
    if rho == 0 or tau == 0:
        return (rho + tau) / root
    cosine = sum(a * b for a, b in zip(v, w, strict=True)) * c / rho / tau
    inner = mp.cosh(rho) * mp.cosh(tau) - mp.sinh(rho) * mp.sinh(tau) * cosine
    return mp.acosh(inner) / root


def gradient(function: Callable[[Vector], mp.mpf], at: Vector) -> Vector:
    result = []
    for i, value in enumerate(at):
        step = mp.mpf(10) ** -25 * (abs(value) or 1)
        ends = [function([*at[:i], value + sign * step, *at[i + 1 :]]) for sign in (1, -1)]
        result.append((ends[0] - ends[1]) / (2 * step))
    return result


def relative_error(got: Tensor, expected: Vector, scale: mp.mpf | None = None) -> float:
    difference = length([a - b for a, b in zip(exact(got.reshape(-1)), expected, strict=True)])
    error = difference / (length(expected) if scale is None else scale)
    return float(error) if mp.isfinite(error) else math.inf


@dataclass(frozen=True)
class Pairs:
    """Pairs of points in one plane each, with radii and angle drawn over many decades."""

    v: Tensor
    w: Tensor
    c: Tensor

    def __iter__(self) -> Iterator[tuple[Vector, Vector, mp.mpf]]:
        for v, w, c in zip(self.v, self.w, self.c, strict=True):
            yield exact(v), exact(w), mp.mpf(c.item())


def pairs(count: int, *, dtype: torch.dtype, d: int, min_angle: float, seed: int = 0) -> Pairs:
    """Radii 1e-6..40, angles min_angle..pi, c 1e-3..1e3; near, equal and unrelated radii."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float) -> Tensor:
        drawn = torch.rand(count, generator=generator, dtype=torch.float64)
        return low + (high - low) * drawn

    def radius() -> Tensor:
        wide = 10 ** uniform(-6, math.log10(40))
        return torch.where(torch.arange(count) % 2 == 0, wide, uniform(0, 40))

    c = (10 ** uniform(-3, 3)).to(dtype)
    first = radius()
    kind = torch.arange(count) // 2 % 4
    near = first * (1 + 10 ** uniform(-7, -0.5) * uniform(-1, 1).sign())
    second = torch.where(kind == 0, near, torch.where(kind == 1, first, radius())).clamp_max(40)
    angle = 10 ** uniform(math.log10(min_angle), math.log10(math.pi))

    u, side = torch.randn(2, count, d, generator=generator, dtype=torch.float64)
    u = u / u.norm(dim=-1, keepdim=True)
    side = side - (side * u).sum(-1, keepdim=True) * u
    side = side / side.norm(dim=-1, keepdim=True)
    turned = angle.cos()[:, None] * u + angle.sin()[:, None] * side
    root = c.double().sqrt()
    v = (first / root)[:, None] * u
    w = (second / root)[:, None] * turned
    return Pairs(v.to(dtype), w.to(dtype), c)
