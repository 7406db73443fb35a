r"""The ranking loss of a hierarchy, forward and backward in one pass.

Each of B nodes u has the distances :math:`D_{uj}` to the same K candidates, of which its own known
ancestors are left out. For an ancestor v it has the loss of Nickel and Kiela (2017)

.. math:: \log\Big(1 + \sum_j e^{D_{uv} - D_{uj}}\Big),

a softmax of v and all candidates, in which :math:`e^{-D} = (\sqrt H + \sqrt{1+H})^{-2}` needs
neither exponential nor logarithm. With H as in :mod:`hgcn.kernels.numba_cpu.distance`,
:math:`dD/dH = (H (1 + H))^{-1/2}`. Directions have length one, so of the gradient by a direction
only :math:`\sum_j b_{uj} u_j` counts, where :math:`b_{uj} = -\tfrac12 \sinh\rho_u \sinh\rho_j\,
\partial L/\partial H_{uj}`: what is along the direction itself drops out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.instructions import dot
from hgcn.kernels.numba_cpu.tensors import array, root_of
from hgcn.kernels.rows import Doubles, Ints

CHUNKS = 8
"""Nodes are divided into so many lists, however many threads there are: sums keep their order."""
SHARE, RADIAL, ONE = range(3)
"""Rows of the numbers of candidates: e^-D, then the number b; gradients by the radius; ones."""
Numbers = Callable[[Doubles, float], tuple[Doubles, Doubles]]
NEAREST = 1e-12
"""The least H: the gradient of a distance at zero is as large as one at this H."""


@compiled(inside=True, error_model="numpy", forceinline=True)
def _slope(h: float, by_d: float) -> float:
    """The gradient by H, given that by D."""
    h = max(h, NEAREST)
    return by_d / math.sqrt(h * (1.0 + h))


@compiled(error_model="numpy", nogil=True)
def rank_chunks(
    first_chunk: int, last_chunk: int, unit: Doubles, columns: Doubles, at: Doubles, of: Doubles,
    nodes: Ints, start: Ints, above: Ints, out_start: Ints, out: Ints, weight: Doubles,
    losses: Doubles, grad: Doubles, grad_of: Doubles, by_above: Doubles, turn: Doubles,
) -> None:  # fmt: skip
    """Losses of some lists of nodes, and gradients by radius and direction.

    Args:
        unit, at: directions ``[N, d]`` and (rho, sinh, cosh, e^(rho/2), e^(-rho/2)) of all nodes.
        columns, of: those of the candidates, ``[d, K]`` and ``[5, K]``.
        nodes: the nodes u, ``[B]``.
        start, above: the ancestors of each of them.
        out_start, out: the positions of the candidates to leave out for each of them.
        weight: the weight of the loss of each node.
        losses: the sum of losses of each chunk.
        grad: gradients by u: radius, then direction, ``[B, 1 + d]``.
        grad_of: gradients by candidates for each chunk, ``[chunks, 1 + d, K]``.
        by_above: the gradient by the radius of each ancestor.
        turn: the number b of each ancestor; its direction has the gradient ``b u``.
    """
    d, count = columns.shape
    for chunk in range(first_chunk, last_chunk):
        h, room = np.empty(count), np.ones((3, count))
        share, radial = room[SHARE], room[RADIAL]
        total = 0.0
        for b in range(len(nodes) * chunk // CHUNKS, len(nodes) * (chunk + 1) // CHUNKS):
            u = nodes[b]
            sinh, cosh, grow, decay = at[u, 1], at[u, 2], at[u, 3], at[u, 4]
            h[:] = 0.0
            for k in range(d):
                x, column = unit[u, k], columns[k]
                for j in range(count):
                    h[j] += (column[j] - x) * (column[j] - x)
            sinh_of, cosh_of, grow_of, decay_of = of[1], of[2], of[3], of[4]
            for j in range(count):
                gap = 0.5 * (grow * decay_of[j] - grow_of[j] * decay)
                h[j] = gap * gap + 0.25 * sinh * sinh_of[j] * h[j]
                grown = math.sqrt(h[j]) + math.sqrt(1.0 + h[j])  # e^(D/2)
                share[j] = 1.0 / (grown * grown)
            for position in range(out_start[b], out_start[b + 1]):
                share[out[position]] = 0.0
            mass = max(dot(room, SHARE, room, ONE), 1e-300)
            level = math.log(mass)
            own, pull = 0.0, 0.0
            for k in range(1 + d):
                grad[b, k] = 0.0
            for position in range(start[b], start[b + 1]):
                v = above[position]
                square = 0.0
                for k in range(d):
                    square += (unit[v, k] - unit[u, k]) ** 2
                gap = 0.5 * (grow * at[v, 4] - at[v, 3] * decay)
                height = gap * gap + 0.25 * sinh * at[v, 1] * square
                x = level + 2.0 * math.log(math.sqrt(height) + math.sqrt(1.0 + height))
                own += max(x, 0.0) + math.log1p(math.exp(-abs(x)))
                chance = 1.0 / (1.0 + math.exp(-x))
                pull += chance
                by_h = _slope(height, weight[b] * chance)
                half = gap * math.sqrt(1.0 + gap * gap)
                grad[b, 0] += by_h * (half + 0.25 * cosh * at[v, 1] * square)
                by_above[position] = by_h * (0.25 * at[v, 2] * sinh * square - half)
                turn[position] = -0.5 * by_h * sinh * at[v, 1]
                for k in range(d):
                    grad[b, 1 + k] += turn[position] * unit[v, k]
            total += weight[b] * own
            scale = -weight[b] * pull / mass
            into = grad_of[chunk, 0]
            for j in range(count):
                gap = 0.5 * (grow * decay_of[j] - grow_of[j] * decay)
                by_h = _slope(h[j], scale * share[j])
                half = gap * math.sqrt(1.0 + gap * gap)
                rest = h[j] - gap * gap  # sinh sinh s
                radial[j] = by_h * (half + cosh / max(sinh, 1e-300) * rest)
                into[j] += by_h * (cosh_of[j] / max(sinh_of[j], 1e-300) * rest - half)
                share[j] = -0.5 * by_h * sinh * sinh_of[j]
            grad[b, 0] += dot(room, RADIAL, room, ONE)
            for k in range(d):
                x, into = unit[u, k], grad_of[chunk, 1 + k]
                for j in range(count):
                    into[j] += share[j] * x
                grad[b, 1 + k] += dot(room, SHARE, columns, k)
        losses[chunk] = total


def polar_numbers(z: Doubles, root: float) -> tuple[Doubles, Doubles]:
    """Directions ``[N, d]`` of points, and (rho, sinh, cosh, e^(rho/2), e^(-rho/2)) of each."""
    length = np.sqrt((z * z).sum(1))
    rho = np.minimum(root * length, 40.0)
    unit = z / np.where(length > 0, length, 1.0)[:, None]
    return unit, np.stack(
        (rho, np.sinh(rho), np.cosh(rho), np.exp(rho / 2), np.exp(-rho / 2)), axis=1
    )


def ranking_gradient(
    z: Doubles, root: float, nodes: Ints, start: Ints, above: Ints, candidates: Ints,
    out_start: Ints, out: Ints, weight: Doubles, *, kernel: Any = rank_chunks,
    numbers: Numbers = polar_numbers, more: tuple[Any, ...] = (),
) -> tuple[float, Doubles]:  # fmt: skip
    """The loss of a batch, and its gradient by all points.

    Args:
        z: points in normal coordinates, ``[N, d]``.
        root: sqrt(c).
        nodes: the nodes whose ancestors are to be found.
        start, above: the ancestors of the b-th node are ``above[start[b] : start[b + 1]]``.
        candidates: nodes to be told from them.
        out_start, out: positions in ``candidates`` that are left out for each node.
        weight: the weight of the loss of each node.
        kernel: the function that computes some lists of nodes.
        numbers: what it needs of each point, directions first.
        more: what else it is given.
    """
    unit, at = numbers(z, root)
    d = z.shape[1]
    columns = np.ascontiguousarray(unit[candidates].T)
    losses, grad = np.zeros(CHUNKS), np.empty((len(nodes), 1 + d))
    grad_of = np.zeros((CHUNKS, 1 + d, len(candidates)))
    by_above, turn = np.empty((2, len(above)))
    of = np.ascontiguousarray(at[candidates].T)
    in_chunks(
        kernel, CHUNKS, unit, columns, at, of, nodes, start, above, out_start, out, weight,
        losses, grad, grad_of, by_above, turn, *more,
    )  # fmt: skip
    whole = np.zeros((len(z), 1 + d))
    _add_up(whole, unit, nodes, grad, candidates, grad_of.sum(0), start, above, by_above, turn)
    by_unit = whole[:, 1:]
    across = by_unit - (by_unit * unit).sum(1)[:, None] * unit
    inverse = np.where(at[:, 0] > 0, root / np.maximum(at[:, 0], 1e-300), 0.0)
    by_radius = np.where(at[:, 0] < 40.0, root * whole[:, 0], 0.0)
    return float(losses.sum()), by_radius[:, None] * unit + inverse[:, None] * across


@compiled(error_model="numpy")
def _add_up(
    whole: Doubles, unit: Doubles, nodes: Ints, grad: Doubles, candidates: Ints, grad_of: Doubles,
    start: Ints, above: Ints, by_above: Doubles, turn: Doubles,
) -> None:  # fmt: skip
    """Add the gradients of nodes, ancestors and candidates to those of all points, in order."""
    d = unit.shape[1]
    for b in range(len(nodes)):
        u = nodes[b]
        for k in range(1 + d):
            whole[u, k] += grad[b, k]
        for position in range(start[b], start[b + 1]):
            v = above[position]
            whole[v, 0] += by_above[position]
            for k in range(d):
                whole[v, 1 + k] += turn[position] * unit[u, k]
    for j in range(len(candidates)):
        for k in range(1 + d):
            whole[candidates[j], k] += grad_of[k, j]


def keep_gradient(ctx: Any, z: Tensor, c: Tensor, batch: Any, **how: Any) -> Tensor:
    """Keep the gradient by z; that by c follows from it, as the loss depends on sqrt(c) z.

    Of many points a batch has few, and only these are computed with.
    """
    nodes, start, above, candidates, *others = batch
    used, place = np.unique(np.concatenate((nodes, above, candidates)), return_inverse=True)
    own, upper, rest = np.split(place, np.cumsum((len(nodes), len(above))))
    points, root = array(z)[used].astype(np.float64), root_of(c)
    loss, gradient = ranking_gradient(points, root, own, start, upper, rest, *others, **how)
    moment = float((points * gradient).sum()) / (2.0 * root**2)
    ctx.save_for_backward(torch.from_numpy(used), torch.from_numpy(gradient).to(z.dtype), c)
    ctx.size, ctx.moment = z.shape, moment
    return z.new_tensor(loss)


def kept_gradient(ctx: Any, grad_out: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients by z and c."""
    used, gradient, c = ctx.saved_tensors
    whole = gradient.new_zeros(ctx.size)
    whole[used] = grad_out * gradient
    return whole, grad_out * c.new_tensor(ctx.moment)


class RankingLoss(torch.autograd.Function):
    """The loss of a batch; its gradient is computed with it."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, c: Tensor, *batch: Any) -> Tensor:
        """The loss."""
        return keep_gradient(ctx, z, c, batch)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by z and c."""
        return (*kept_gradient(ctx, grad_out), *[None] * 7)
