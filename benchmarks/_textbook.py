"""The formulas of the literature on the hyperboloid of curvature -1, from normal coordinates.

Written as they usually are, with a clamp wherever rounding would leave a domain.
"""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1e-15


def inner(x: Tensor, y: Tensor) -> Tensor:
    product = x * y
    return product[..., 1:].sum(-1, keepdim=True) - product[..., :1]


def length(u: Tensor) -> Tensor:
    return inner(u, u).clamp_min(TINY).sqrt()


def arccosh(x: Tensor) -> Tensor:
    return x.clamp_min(1 + torch.finfo(x.dtype).eps).acosh()


def exp0(v: Tensor) -> Tensor:
    radius = v.norm(dim=-1, keepdim=True).clamp_min(TINY)
    return torch.cat((radius.cosh(), radius.sinh() / radius * v), dim=-1)


def log0(x: Tensor) -> Tensor:
    space = x[..., 1:]
    return arccosh(x[..., :1]) / space.norm(dim=-1, keepdim=True).clamp_min(TINY) * space


def exp(x: Tensor, u: Tensor) -> Tensor:
    r = length(u)
    return r.cosh() * x + r.sinh() / r * u


def log(x: Tensor, y: Tensor) -> Tensor:
    product = inner(x, y)
    u = y + product * x
    return arccosh(-product) / length(u) * u


def transport(x: Tensor, y: Tensor, u: Tensor) -> Tensor:
    return u + inner(y, u) / (1 - inner(x, y)) * (x + y)


def origin(x: Tensor) -> Tensor:
    o = torch.zeros_like(x)
    o[..., 0] = 1
    return o


def distance(v: Tensor, w: Tensor) -> Tensor:
    return arccosh(-inner(exp0(v), exp0(w))).squeeze(-1)


def squared_distance(v: Tensor, w: Tensor) -> Tensor:
    return distance(v, w).square()


def translate(v: Tensor, t: Tensor) -> Tensor:
    x = exp0(v)
    tangent = torch.cat((torch.zeros_like(t[..., :1]), t), dim=-1)
    return log0(exp(x, transport(origin(x), x, tangent)))


def local_log(v: Tensor, w: Tensor) -> Tensor:
    x, y = exp0(v), exp0(w)
    return transport(x, origin(x), log(x, y))[..., 1:]


def geodesic(v: Tensor, w: Tensor, s: float) -> Tensor:
    x, y = exp0(v), exp0(w)
    return log0(exp(x, s * log(x, y)))


def centroid_on_hyperboloid(x: Tensor) -> Tensor:
    mean = x.mean(-2)
    return mean / (-inner(mean, mean)).clamp_min(TINY).sqrt()


def centroid(points: Tensor) -> Tensor:
    return log0(centroid_on_hyperboloid(exp0(points)))


def karcher_flow(points: Tensor, steps: int) -> Tensor:
    x = exp0(points)
    at = centroid_on_hyperboloid(x)
    for _ in range(steps):
        at = exp(at, log(at.unsqueeze(-2), x).mean(-2))
    return log0(at)
