r"""The ranking loss with entailment cones, forward and backward in one pass.

As :mod:`hgcn.kernels.numba_cpu.ranking`, with the score :math:`t(\psi_v - \Xi_{uv})` of
:class:`hgcn.nn.is_a.ConeScore` in place of minus the distance. With s a quarter of the squared
distance of the two directions, :math:`\Xi = \operatorname{atan2}(C, A)` where

.. math:: A = \sinh(\rho_u - \rho_v) - 2 \cosh\rho_v \sinh\rho_u\, s, \qquad
    C = 2 \sinh\rho_u \sqrt{s (1 - s)}, \qquad d\Xi = (A\, dC - C\, dA) / (A^2 + C^2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.instructions import dot
from hgcn.kernels.numba_cpu.ranking import CHUNKS, keep_gradient, kept_gradient, polar_numbers
from hgcn.kernels.numba_cpu.scalars import arc, expm1
from hgcn.kernels.rows import Doubles, Ints

APERTURE = 0.1
"""The number K of Ganea et al.: cones of points nearer than sinh(rho) = 2 K are half spaces."""
SHARE, RADIAL, ONE, INSIDE = range(4)
"""Rows of the numbers of candidates: e^score, then the number b; gradients by the radius; ones; how
far inside the cone u is."""
FLAT = 1e-14
"""Added to s (1 - s), whose root has no gradient at zero; as in ``cone_angles``."""


@compiled(inside=True, error_model="numpy", forceinline=True)
def _slopes(
    by_score: float, scale: float, gap: float, s: float, sinh: float, cosh: float, sinh_of: float,
    cosh_of: float, slope_of: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Gradients by the two radii and by s, given that by the score of a pair."""
    chord = math.sqrt(s * (1.0 - s) + FLAT)
    along = 2.0 * (gap * math.sqrt(1.0 + gap * gap) - cosh_of * sinh * s)
    across = 2.0 * sinh * chord
    by_angle = -scale * by_score / (along * along + across * across + 1e-30)
    by_along, by_across = -by_angle * across, by_angle * along
    cosh_gap = 1.0 + 2.0 * gap * gap
    by_lower = by_along * (cosh_gap - 2.0 * cosh_of * cosh * s) + 2.0 * by_across * cosh * chord
    by_upper = scale * by_score * slope_of - by_along * (cosh_gap + 2.0 * sinh_of * sinh * s)
    by_s = by_across * sinh * (1.0 - 2.0 * s) / chord - 2.0 * by_along * cosh_of * sinh
    return by_lower, by_upper, by_s


@compiled(error_model="numpy", nogil=True)
def cone_chunks(
    first_chunk: int, last_chunk: int, unit: Doubles, columns: Doubles, at: Doubles, of: Doubles,
    nodes: Ints, start: Ints, above: Ints, out_start: Ints, out: Ints, weight: Doubles,
    losses: Doubles, grad: Doubles, grad_of: Doubles, by_above: Doubles, turn: Doubles,
    scale: float, by_scale: Doubles,
) -> None:  # fmt: skip
    """Losses of some lists of nodes, and gradients by radius and direction.

    Args:
        at, of: as those of ``rank_chunks``, and two more numbers: half the aperture of the cone of
            a node, and its derivative by the radius.
        scale: the number t.
        by_scale: the gradient by t of each chunk.

    All others are those of :func:`hgcn.kernels.numba_cpu.ranking.rank_chunks`.
    """
    d, count = columns.shape
    for chunk in range(first_chunk, last_chunk):
        s, room = np.empty(count), np.ones((4, count))
        share, radial, inside = room[SHARE], room[RADIAL], room[INSIDE]
        total, moved = 0.0, 0.0
        for b in range(len(nodes) * chunk // CHUNKS, len(nodes) * (chunk + 1) // CHUNKS):
            u = nodes[b]
            sinh, cosh, grow, decay = at[u, 1], at[u, 2], at[u, 3], at[u, 4]
            s[:] = 0.0
            for k in range(d):
                x, column = unit[u, k], columns[k]
                for j in range(count):
                    s[j] += (column[j] - x) * (column[j] - x)
            sinh_of, cosh_of, grow_of, decay_of = of[1], of[2], of[3], of[4]
            aperture_of, slope_of = of[5], of[6]
            for j in range(count):
                s[j] = min(0.25 * s[j], 1.0)
                gap = 0.5 * (grow * decay_of[j] - grow_of[j] * decay)
                along = 2.0 * (gap * math.sqrt(1.0 + gap * gap) - cosh_of[j] * sinh * s[j])
                across = 2.0 * sinh * math.sqrt(s[j] * (1.0 - s[j]) + FLAT)
                inside[j] = aperture_of[j] - arc(across, along)
            for j in range(count):
                share[j] = 1.0 + expm1(max(scale * inside[j], -600.0))
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
                square = min(0.25 * square, 1.0)
                gap = 0.5 * (grow * at[v, 4] - at[v, 3] * decay)
                along = 2.0 * (gap * math.sqrt(1.0 + gap * gap) - at[v, 2] * sinh * square)
                across = 2.0 * sinh * math.sqrt(square * (1.0 - square) + FLAT)
                deep = at[v, 5] - math.atan2(across, along)
                x = level - scale * deep
                own += max(x, 0.0) + math.log1p(math.exp(-abs(x)))
                chance = 1.0 / (1.0 + math.exp(-x))
                pull += chance
                moved -= weight[b] * chance * deep
                by_lower, by_upper, by_s = _slopes(
                    -weight[b] * chance, scale, gap, square, sinh, cosh, at[v, 1], at[v, 2],
                    at[v, 6],
                )  # fmt: skip
                grad[b, 0] += by_lower
                by_above[position] = by_upper
                turn[position] = -0.5 * by_s
                for k in range(d):
                    grad[b, 1 + k] += turn[position] * unit[v, k]
            total += weight[b] * own
            factor = weight[b] * pull / mass
            moved += factor * dot(room, SHARE, room, INSIDE)
            into = grad_of[chunk, 0]
            for j in range(count):
                gap = 0.5 * (grow * decay_of[j] - grow_of[j] * decay)
                by_lower, by_upper, by_s = _slopes(
                    factor * share[j], scale, gap, s[j], sinh, cosh, sinh_of[j], cosh_of[j],
                    slope_of[j],
                )  # fmt: skip
                radial[j] = by_lower
                into[j] += by_upper
                share[j] = -0.5 * by_s
            grad[b, 0] += dot(room, RADIAL, room, ONE)
            for k in range(d):
                x, into = unit[u, k], grad_of[chunk, 1 + k]
                for j in range(count):
                    into[j] += share[j] * x
                grad[b, 1 + k] += dot(room, SHARE, columns, k)
        losses[chunk], by_scale[chunk] = total, moved


def cone_numbers(z: Doubles, root: float) -> tuple[Doubles, Doubles]:
    """Those of ``polar_numbers``, half the aperture of the cone, its derivative by the radius."""
    unit, at = polar_numbers(z, root)
    sinh, cosh = at[:, 1], at[:, 2]
    least = 2 * APERTURE * (1 + 1e-6)
    narrow = np.arcsin(2 * APERTURE / np.maximum(sinh, least))
    slope = np.where(sinh > least, -np.tan(narrow) * cosh / np.maximum(sinh, least), 0.0)
    return unit, np.column_stack((at, narrow, slope))


class ConeRankingLoss(torch.autograd.Function):
    """The loss of a batch; its gradient is computed with it."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, c: Tensor, scale: Tensor, *batch: Any) -> Tensor:
        """The loss, given the number t."""
        by_scale = np.zeros(CHUNKS)
        how = {
            "kernel": cone_chunks,
            "numbers": cone_numbers,
            "more": (float(scale.detach()), by_scale),
        }
        loss = keep_gradient(ctx, z, c, batch, **how)
        ctx.by_scale = scale.new_tensor(by_scale.sum())
        return loss

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by z, c and the scale."""
        return (*kept_gradient(ctx, grad_out), grad_out * ctx.by_scale, *[None] * 7)
