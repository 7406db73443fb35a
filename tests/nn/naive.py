"""The paper's layer on the hyperboloid, equation by equation, one node at a time, in float64.

Only textbook formulas: distance, exp, log and transport as the paper writes them.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


def inner(x: Tensor, y: Tensor) -> Tensor:
    return -x[0] * y[0] + (x[1:] * y[1:]).sum()


def norm(v: Tensor) -> Tensor:
    return inner(v, v).clamp_min(1e-300).sqrt()


@dataclass
class Hyperboloid:
    """H^{d,K}."""

    k: Tensor

    def origin(self, d: int) -> Tensor:
        return torch.cat((self.k.sqrt().reshape(1), self.k.new_zeros(d)))

    def exp(self, x: Tensor, v: Tensor) -> Tensor:
        length = norm(v)
        if length.item() < 1e-100:
            return x + v
        root = self.k.sqrt()
        return (length / root).cosh() * x + root * (length / root).sinh() * v / length

    def distance(self, x: Tensor, y: Tensor) -> Tensor:
        """sqrt(K) arcosh(-<x, y>/K), by the half-angle identity: arcosh loses near points."""
        return 2 * self.k.sqrt() * (norm(x - y) / (2 * self.k.sqrt())).asinh()

    def log(self, x: Tensor, y: Tensor) -> Tensor:
        if bool((x == y).all()):
            return torch.zeros_like(x)
        direction = y + inner(x, y) / self.k * x
        return self.distance(x, y) * direction / norm(direction)

    def transport(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        if bool((x == y).all()):
            return v
        there, back = self.log(x, y), self.log(y, x)
        return v - inner(there, v) / self.distance(x, y) ** 2 * (there + back)

    def exp0(self, v: Tensor) -> Tensor:
        return self.exp(self.origin(len(v)), torch.cat((v.new_zeros(1), v)))

    def log0(self, x: Tensor) -> Tensor:
        return self.log(self.origin(len(x) - 1), x)[1:]

    def linear(self, weight: Tensor, x: Tensor) -> Tensor:
        """Eq. 6."""
        return self.exp0(weight @ self.log0(x))

    def add_bias(self, x: Tensor, b: Tensor) -> Tensor:
        """Eq. 7."""
        b = torch.cat((b.new_zeros(1), b))
        return self.exp(x, self.transport(self.origin(len(x) - 1), x, b))

    def aggregate(self, kind: str, x: Tensor, others: list[Tensor], weights: Tensor) -> Tensor:
        """Eq. 9, and its variants."""
        if kind == "local":
            return self.exp(
                x, sum(w * self.log(x, y) for w, y in zip(weights, others, strict=True))
            )
        if kind == "origin":
            return self.exp0(sum(w * self.log0(y) for w, y in zip(weights, others, strict=True)))
        if kind == "centroid":
            total = sum(w * y for w, y in zip(weights, others, strict=True))
            return self.k.sqrt() * total / (-inner(total, total)).sqrt()
        if len(others) == 1:
            return others[0]
        mean = x
        for _ in range(100):
            pull = sum(w * self.log(mean, y) for w, y in zip(weights, others, strict=True))
            space = self.exp(mean, 0.5 * pull)[1:]
            # Back onto the hyperboloid: a hundred roundings would leave it.
            mean = torch.cat(((self.k + space.square().sum()).sqrt().reshape(1), space))
        return mean


def layer(
    conv: torch.nn.Module, features: Tensor, edge_index: Tensor, *, next_k: float
) -> list[Tensor]:
    """One HGCN layer; returns points on H^{d,next_k}."""
    space = Hyperboloid(1 / conv.curvature())
    linear, attention = conv.linear, conv.attention
    hidden = [
        space.add_bias(space.linear(linear.weight, space.exp0(x)), linear.bias) for x in features
    ]
    tangent = [space.log0(h) for h in hidden]
    result = []
    for i in range(len(features)):
        neighbours = [j for j, t in edge_index.t().tolist() if t == i]
        if i not in neighbours:
            neighbours.append(i)
        if attention is None:
            weights = torch.full((len(neighbours),), 1 / len(neighbours), dtype=features.dtype)
        else:
            scores = []
            for j in neighbours:
                both = attention.left(tangent[i]) + attention.right(tangent[j])
                active = torch.nn.functional.leaky_relu(both, attention.negative_slope)
                scores.append((active.reshape(attention.vector.shape) * attention.vector).sum(-1))
            weights = torch.stack(scores).softmax(0).mean(-1)
        y = space.aggregate(conv.aggregation, hidden[i], [hidden[j] for j in neighbours], weights)
        result.append(Hyperboloid(torch.tensor(next_k).double()).exp0(conv.act(space.log0(y))))
    return result
