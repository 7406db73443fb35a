"""Squared distances of two lists of points, forward and backward.

With ``s = |u_w - u_v|²/4`` and ``H = sinh²((rho_w - rho_v)/2) + sinh(rho_v) sinh(rho_w) s`` the
distance is ``D/sqrt(c)``, where ``H = sinh²(D/2)``. See ``docs/kernels.md``, section 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.instructions import combine, number, scale_row, square
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.points import (
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    RADIUS,
    SINH,
    SINHC,
    find_polar,
    gradient_by_vector,
)
from hgcn.kernels.numba_cpu.scalars import asinhc, kappa_of
from hgcn.kernels.numba_cpu.tensors import array, bounds_of, curvature_gradient, empty, root_of
from hgcn.kernels.rows import Doubles, Floats, Ints


@compiled(error_model="numpy", nogil=True)
def distance_forward(
    first_chunk: int, last_chunk: int, v: Floats, w: Floats, root: float, bounds: Ints, out: Floats
) -> None:
    """out_i = squared distance of v_i and w_i."""
    d = v.shape[1]
    for chunk in range(first_chunk, last_chunk):
        of_v, of_w = np.empty(2 * COLUMNS * STRIDE), np.empty(2 * COLUMNS * STRIDE)
        s, unit = np.empty(BLOCK), np.empty((1, d))
        for lo in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[chunk + 1])
            find_polar(v[lo:hi], root, of_v)
            find_polar(w[lo:hi], root, of_w)
            for b in range(hi - lo):
                scale_row(unit, 0, v, lo + b, number(of_v, INVERSE_LENGTH, b))
                s[b] = 0.25 * square(w, lo + b, number(of_w, INVERSE_LENGTH, b), unit, 0)
            for b in range(hi - lo):
                growth = number(of_w, GROWTH, b) - number(of_v, GROWTH, b)
                sinh_half_gap = 0.5 * growth * (number(of_v, DECAY, b) + number(of_w, DECAY, b))
                angular = number(of_v, SINH, b) * number(of_w, SINH, b) * s[b]
                root_h = math.sqrt(sinh_half_gap * sinh_half_gap + angular)
                length = 2.0 * asinhc(root_h)[0] * root_h / root
                out[lo + b] = length * length


@compiled(error_model="numpy", nogil=True)
def distance_backward(
    first_chunk: int,
    last_chunk: int,
    v: Floats,
    w: Floats,
    root: float,
    bounds: Ints,
    out: Floats,
    grad_out: Floats,
    grad_v: Floats,
    grad_w: Floats,
    moment: Doubles,
) -> None:
    """Gradients of :func:`distance_forward`; the one by H is 4 kappa/c.

    ``moment`` gets for each chunk the sum of inputs times their gradients, minus twice that of the
    outputs times theirs.
    """
    d = v.shape[1]
    for chunk in range(first_chunk, last_chunk):
        of_v, of_w = np.empty(2 * COLUMNS * STRIDE), np.empty(2 * COLUMNS * STRIDE)
        s, unit, difference = np.empty(BLOCK), np.empty((1, d)), np.empty((1, d))
        by_h, by_rho_v, by_rho_w = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        total = 0.0
        for lo in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[chunk + 1])
            find_polar(v[lo:hi], root, of_v)
            find_polar(w[lo:hi], root, of_w)
            for b in range(hi - lo):
                scale_row(unit, 0, v, lo + b, number(of_v, INVERSE_LENGTH, b))
                s[b] = 0.25 * square(w, lo + b, number(of_w, INVERSE_LENGTH, b), unit, 0)
            for b in range(hi - lo):
                p_v, f_v = number(of_v, GROWTH, b), number(of_v, DECAY, b)
                p_w, f_w = number(of_w, GROWTH, b), number(of_w, DECAY, b)
                sinh_v, sinh_w = number(of_v, SINH, b), number(of_w, SINH, b)
                half_v, half_w = p_v * (1.0 + f_v), p_w * (1.0 + f_w)  # 2 sinh(rho/2)
                sinh_half_gap = 0.5 * (p_w - p_v) * (f_v + f_w)
                cosh_half_gap = 0.5 * ((1.0 + p_w) * f_v + (1.0 + p_v) * f_w)
                kappa, _ = kappa_of(sinh_half_gap * sinh_half_gap + sinh_v * sinh_w * s[b])
                slope = 4.0 * kappa * grad_out[lo + b] / (root * root)
                half_sinh_gap = sinh_half_gap * cosh_half_gap
                by_h[b] = slope
                cosh_v, cosh_w = 1.0 + 0.5 * half_v * half_v, 1.0 + 0.5 * half_w * half_w
                by_rho_v[b] = slope * (cosh_v * sinh_w * s[b] - half_sinh_gap)
                by_rho_w[b] = slope * (cosh_w * sinh_v * s[b] + half_sinh_gap)
            for b in range(hi - lo):
                total -= 2.0 * out[lo + b] * grad_out[lo + b]
                # The gradients by u_v and u_w are rho times these numbers times the difference.
                turn_v = -0.5 * by_h[b] * number(of_v, SINHC, b) * number(of_w, SINH, b)
                turn_w = 0.5 * by_h[b] * number(of_w, SINHC, b) * number(of_v, SINH, b)
                # The product of the difference with u_v is -2 s, and with u_w it is 2 s.
                turn_u_v = -2.0 * s[b] * turn_v if number(of_v, RADIUS, b) > 0.0 else 0.0
                turn_u_w = 2.0 * s[b] * turn_w if number(of_w, RADIUS, b) > 0.0 else 0.0
                by_v, by_turn_v, moment_v = gradient_by_vector(of_v, b, root, by_rho_v[b], turn_u_v)
                by_w, by_turn_w, moment_w = gradient_by_vector(of_w, b, root, by_rho_w[b], turn_u_w)
                total += moment_v + moment_w
                scale_row(unit, 0, v, lo + b, number(of_v, INVERSE_LENGTH, b))
                scale_row(difference, 0, w, lo + b, number(of_w, INVERSE_LENGTH, b))
                combine(difference, 0, ((1.0, difference, 0), (-1.0, unit, 0)))
                terms = (by_v, v, lo + b), (by_turn_v * turn_v, difference, 0)
                combine(grad_v, lo + b, terms)
                combine(grad_w, lo + b, ((by_w, w, lo + b), (by_turn_w * turn_w, difference, 0)))
        moment[chunk] = total


class SquaredDistance(torch.autograd.Function):
    """Squared distances of points ``[n, d]`` and as many others."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
        """Keep inputs and result: Euler's theorem needs the latter."""
        out = v.new_empty(len(v))
        bounds = bounds_of(len(v))
        in_chunks(
            distance_forward, len(bounds) - 1, array(v), array(w), root_of(c), bounds, out.numpy()
        )
        ctx.save_for_backward(v, w, c, out)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by v, w and c."""
        v, w, c, out = ctx.saved_tensors
        grad_v, grad_w, bounds = empty(v), empty(w), bounds_of(len(v))
        moment = np.empty(len(bounds) - 1)
        in_chunks(
            distance_backward, len(moment), array(v), array(w), root_of(c), bounds,
            array(out), array(grad_out), grad_v.numpy(), grad_w.numpy(), moment,
        )  # fmt: skip
        return grad_v, grad_w, curvature_gradient(moment, c)
