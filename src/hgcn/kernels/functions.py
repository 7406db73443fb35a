"""Differentiable operations on neighbourhoods: Numba on the CPU, plain torch everywhere else.

Weights and other values of edges are in the order of :class:`~hgcn.kernels.csr.Neighbourhoods`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hgcn import geometry
from hgcn.kernels import attention as _attention
from hgcn.kernels import hyperbolic as _hyperbolic
from hgcn.kernels.csr import CHUNKS, Neighbourhoods, sparse_rows

# Numba starts its threads at this first question and sets OpenMP's number to all cores on the way,
# which is torch's number too: put that back.
_threads = torch.get_num_threads()
_MAX_THREADS: int = numba.get_num_threads()
torch.set_num_threads(_threads)


def translate(v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
    """``geometry.translate(v, bias, c=c)`` for points ``[n, d]`` and one bias ``[d]``."""
    if _fused(v) and v.dim() == 2:
        return _apply(_Translate, v, bias, c)
    return geometry.translate(v, bias, c=c)


def squared_distance(v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    """``geometry.squared_distance(v, w, c=c)``, fused for two lists of points ``[n, d]``."""
    if _fused(v) and v.dim() == 2 and v.shape == w.shape and c.dim() == 0:
        return _apply(_SquaredDistance, v, w, c)
    return geometry.squared_distance(v, w, c=c)


def local_sum(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """The paper's aggregation: translate v_i by the sum of ``w_ij local_log(v_i, v_j)``.

    Args:
        target: points v_i, shape ``[num_targets, d]``.
        source: points v_j, shape ``[num_sources, d]``.
        weight: one number for each edge.
        c: scalar; the space has sectional curvature ``-c``.
        graph: the edges.
    """
    if _fused(target):
        return _apply(_LocalSum, target, source, weight, c, graph)
    logs = geometry.local_log(target[graph.target], source[graph.source], c=c)
    return geometry.translate(target, _scatter(logs, weight, graph), c=c)


def weighted_sum(x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    """Sum of ``w_ij x_j`` over the neighbours of each target."""
    if _fused(x):
        return _apply(_WeightedSum, x, weight, graph)
    return _scatter(x[graph.source], weight, graph)


def sparse_product(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight.T`` for a sparse ``x``, without a dense copy of it in either pass."""
    graph, values = sparse_rows(x)
    return weighted_sum(weight.t(), values.to(weight.dtype), graph)


def attention(
    left: Tensor,
    right: Tensor,
    vector: Tensor,
    prior: Tensor,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Tensor:
    """Softmax over the neighbours j of i of ``vector . leaky_relu(left_i + right_j)``.

    Args:
        left, right: shapes ``[num_targets, heads * hidden]`` and ``[num_sources, heads * hidden]``.
        vector: shape ``[heads, hidden]``.
        prior: a non-negative factor for each edge, before normalisation.
        graph: the edges.
        negative_slope: of the leaky ReLU.

    Returns:
        Shares that add up to one over each neighbourhood, shape ``[E, heads]``.
    """
    if _fused(left):
        return _apply(_Attention, left, right, vector, prior, graph, negative_slope)
    hidden = (left[graph.target] + right[graph.source]).reshape(-1, *vector.shape)
    score = (torch.nn.functional.leaky_relu(hidden, negative_slope) * vector).sum(-1)
    index = graph.target.unsqueeze(-1).expand_as(score)
    low = score.new_full((graph.num_targets, score.shape[-1]), -math.inf)
    top = low.scatter_reduce(0, index, score.detach(), "amax", include_self=True)
    share = prior.unsqueeze(-1) * (score - top[graph.target]).exp()
    total = torch.zeros_like(low).index_add(0, graph.target, share)
    return share / torch.where(total > 0, total, 1.0)[graph.target]


def _fused(x: Tensor) -> bool:
    return x.device.type == "cpu"


def _follow_torch() -> None:
    """Use as many threads as torch does: more would fight with other workers for the cores."""
    numba.set_num_threads(min(torch.get_num_threads(), _MAX_THREADS))


def _apply(function: type[torch.autograd.Function], *arguments: object) -> Tensor:
    # The compiler leaves these calls alone: there is nothing in them for it to see.
    return torch.compiler.disable(function.apply)(*arguments)  # type: ignore[no-untyped-call]


def _scatter(messages: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    zero = messages.new_zeros(graph.num_targets, messages.shape[-1])
    return zero.index_add(0, graph.target, weight.unsqueeze(-1) * messages)


def _array(x: Tensor) -> np.ndarray[Any, Any]:
    return x.detach().contiguous().numpy()


def _empty(like: Tensor) -> Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format)


@functools.lru_cache(maxsize=64)
def _chunks(rows: int) -> np.ndarray[Any, Any]:
    return np.linspace(0, rows, CHUNKS + 1).astype(np.int64)


def _curvature_gradient(
    moment: float, out: Tensor, grad_out: Tensor, c: Tensor, degree: int = 1
) -> Tensor:
    """All lengths scale when c scales inversely to their square, so Euler's theorem gives this.

    ``moment`` is the sum of each input times its gradient; ``degree`` says that the output scales
    with that power of a length.
    """
    product = degree * torch.dot(out.double().flatten(), grad_out.double().flatten()).item()
    return torch.as_tensor((moment - product) / (2 * c.item()), dtype=c.dtype).reshape(c.shape)


class _Translate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
        _follow_torch()
        out = _empty(v)
        root = math.sqrt(c.item())
        _hyperbolic.translate_forward(_array(v), _array(bias), root, _chunks(len(v)), out.numpy())
        ctx.save_for_backward(v, bias, c, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        v, bias, c, out = ctx.saved_tensors
        grad_v = _empty(v)
        parts, moment = np.empty((CHUNKS, len(bias))), np.empty(len(v))
        _hyperbolic.translate_backward(
            _array(v), _array(bias), math.sqrt(c.item()), _chunks(len(v)), _array(grad_out),
            grad_v.numpy(), parts, moment,
        )  # fmt: skip
        total = parts.sum(0)
        grad_c = None
        if ctx.needs_input_grad[2]:
            scaled = moment.sum() + float(total @ _array(bias))
            grad_c = _curvature_gradient(scaled, out, grad_out, c)
        return grad_v, torch.as_tensor(total, dtype=bias.dtype), grad_c


class _SquaredDistance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
        _follow_torch()
        out, root = v.new_empty(len(v)), math.sqrt(c.item())
        _hyperbolic.distance_forward(_array(v), _array(w), root, _chunks(len(v)), out.numpy())
        ctx.save_for_backward(v, w, c, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        v, w, c, out = ctx.saved_tensors
        grad_v, grad_w, moment = _empty(v), _empty(w), np.empty(len(v))
        _hyperbolic.distance_backward(
            _array(v), _array(w), math.sqrt(c.item()), _chunks(len(v)), _array(grad_out),
            grad_v.numpy(), grad_w.numpy(), moment,
        )  # fmt: skip
        grad_c = None
        if ctx.needs_input_grad[2]:
            grad_c = _curvature_gradient(float(moment.sum()), out, grad_out, c, degree=2)
        return grad_v, grad_w, grad_c


class _LocalSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
    ) -> Tensor:
        _follow_torch()
        root, rows = math.sqrt(c.item()), graph.by_target
        at = _hyperbolic.polar(_array(target), root)
        to = at if source is target else _hyperbolic.polar(_array(source), root)
        out = _empty(target)
        step, stretched = np.empty(target.shape), np.empty(len(weight))
        _hyperbolic.local_forward(
            _array(target), _array(source), at, to, rows.start, rows.other, _array(weight), root,
            source is target, rows.bounds, step, stretched, out.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(target, source, weight, c, out)
        ctx.graph, ctx.kept, ctx.same = graph, (at, to, step, stretched), source is target
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        target, source, weight, c, out = ctx.saved_tensors
        at, to, step, stretched = ctx.kept
        root, rows, columns = math.sqrt(c.item()), ctx.graph.by_target, ctx.graph.by_source
        points = _array(target), _array(source)
        grads = [_empty(x) for x in (target, source, weight)]
        pull, parts = torch.empty_like(grads[0]), weight.new_empty(len(weight), 3)
        moments = np.empty(len(target)), np.empty(len(source))
        _hyperbolic.local_backward_rows(
            *points, at, to, rows.start, rows.other, _array(weight), root, ctx.same,
            rows.bounds, step, stretched, _array(grad_out), grads[0].numpy(), pull.numpy(),
            grads[2].numpy(), parts.numpy(), moments[0],
        )  # fmt: skip
        _hyperbolic.local_backward_columns(
            *points, at, to, columns.start, columns.other, columns.edge, root, ctx.same,
            columns.bounds, pull.numpy(), parts.numpy(), grads[1].numpy(), moments[1],
        )  # fmt: skip
        grad_c = None
        if ctx.needs_input_grad[3]:
            scaled = float(moments[0].sum() + moments[1].sum())
            grad_c = _curvature_gradient(scaled, out, grad_out, c)
        return grads[0], grads[1], grads[2], grad_c, None


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
        _follow_torch()
        rows = graph.by_target
        out = x.new_empty(graph.num_targets, x.shape[1])
        _attention.sum_forward(
            _array(x), _array(weight), rows.start, rows.other, graph.in_order,
            rows.bounds, out.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(x, weight)
        ctx.graph = graph
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        x, weight = ctx.saved_tensors
        rows, columns = ctx.graph.by_target, ctx.graph.by_source
        grad = _array(grad_out)
        grad_x = _empty(x)
        _attention.sum_forward(
            grad, _array(weight), columns.start, columns.other, columns.edge, columns.bounds,
            grad_x.numpy(),
        )  # fmt: skip
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = _empty(weight)
            _attention.edge_dots(
                grad, _array(x), rows.start, rows.other, rows.bounds, grad_weight.numpy()
            )
        return grad_x, grad_weight, None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor,
        vector: Tensor,
        prior: Tensor,
        graph: Neighbourhoods,
        slope: float,
    ) -> Tensor:
        _follow_torch()
        rows = graph.by_target
        share = left.new_empty(len(graph.source), len(vector))
        _attention.attention_forward(
            _array(left), _array(right), _array(vector), _array(prior), slope, rows.start,
            rows.other, rows.bounds, share.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(left, right, vector, prior, share)
        ctx.graph, ctx.slope = graph, slope
        return share

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_share: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        left, right, vector, prior, share = ctx.saved_tensors
        rows, columns = ctx.graph.by_target, ctx.graph.by_source
        grad_left, grad_right, grad_score = (_empty(x) for x in (left, right, share))
        parts = np.empty((CHUNKS, *vector.shape))
        arrays = _array(left), _array(right), _array(vector)
        _attention.attention_backward_rows(
            *arrays, ctx.slope, rows.start, rows.other, rows.bounds, share.numpy(),
            _array(grad_share), grad_score.numpy(), grad_left.numpy(), parts,
        )  # fmt: skip
        _attention.attention_backward_columns(
            *arrays, ctx.slope, columns.start, columns.other, columns.edge, columns.bounds,
            grad_score.numpy(), grad_right.numpy(),
        )  # fmt: skip
        grad_vector = torch.as_tensor(parts.sum(0), dtype=vector.dtype)
        grad_prior = None
        if ctx.needs_input_grad[3]:
            grad_prior = torch.where(prior > 0, grad_score.sum(-1) / prior, 0.0)
        return grad_left, grad_right, grad_vector, grad_prior, None, None
