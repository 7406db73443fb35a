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
from hgcn.kernels.csr import Neighbourhoods, parts, sparse_rows
from hgcn.kernels.notice import announce_compilation

announce_compilation()

# Numba starts its threads at this first question and sets OpenMP's number to all cores on the way,
# which is torch's number too: put that back.
_threads = torch.get_num_threads()
_MAX_THREADS: int = numba.get_num_threads()
torch.set_num_threads(_threads)

FEW = 8
"""Entries for each column and part from which on it pays to sum parts by themselves."""


def translate(v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
    """``geometry.translate(v, bias, c=c)``, fused for points ``[n, d]``, a bias ``[d]`` or many."""
    if _fused(v) and v.dim() == 2 and bias.shape in (v.shape, v.shape[1:]):
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


def ends(z: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """``z[pairs[0]], z[pairs[1]]``, with the faster of torch's ways in each pass on the CPU."""
    if not _fused(z):
        return z[pairs[0]], z[pairs[1]]
    i, j = _apply(_Rows, z, pairs.flatten()).chunk(2)
    return i, j


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
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    prior: Tensor,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Tensor:
    """Softmax over the neighbours j of i of ``vector . leaky_relu(left_i + right_j + bias)``.

    Args:
        left: shape ``[num_targets, heads * hidden]``.
        right: shape ``[num_sources, heads * hidden]``. Without it, targets and sources are one set
            of nodes, and ``left`` has both side by side, ``[num_nodes, 2 * heads * hidden]``.
        bias: shape ``[heads * hidden]``.
        vector: shape ``[heads, hidden]``.
        prior: a non-negative factor for each edge, before normalisation.
        graph: the edges.
        negative_slope: of the leaky ReLU.

    Returns:
        Shares that add up to one over each neighbourhood, shape ``[E, heads]``.
    """
    if _fused(left):
        return _apply(_Attention, left, right, bias, vector, prior, graph, negative_slope)
    if right is None:
        left, right = left.chunk(2, dim=-1)
    hidden = (left[graph.target] + right[graph.source] + bias).reshape(-1, *vector.shape)
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
    apply: Any = function.apply
    if torch.compiler.is_compiling():
        # The compiler leaves these calls alone: there is nothing in them for it to see.
        apply = torch.compiler.disable(apply)  # type: ignore[no-untyped-call]
    result: Tensor = apply(*arguments)
    return result


def _scatter(messages: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    zero = messages.new_zeros(graph.num_targets, messages.shape[-1])
    return zero.index_add(0, graph.target, weight.unsqueeze(-1) * messages)


def _array(x: Tensor) -> np.ndarray[Any, Any]:
    return x.detach().contiguous().numpy()


def _empty(like: Tensor) -> Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format)


@functools.lru_cache(maxsize=64)
def _chunks(rows: int) -> np.ndarray[Any, Any]:
    return np.linspace(0, rows, parts(4 * rows) + 1).astype(np.int64)


def _curvature_gradient(moment: np.ndarray[Any, Any], c: Tensor) -> Tensor:
    """All lengths scale when c scales inversely to their square, so Euler's theorem gives this.

    ``moment`` adds up to the sum of each input times its gradient, minus that of the outputs times
    the power of a length with which they scale.
    """
    return c.new_tensor(float(moment.sum()) / (2 * c.item()))


class _Translate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
        _follow_torch()
        out = _empty(v)
        root = math.sqrt(c.item())
        rows = _array(bias).reshape(-1, v.shape[1])
        _hyperbolic.translate_forward(_array(v), rows, root, _chunks(len(v)), out.numpy())
        ctx.save_for_backward(v, bias, c)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        v, bias, c = ctx.saved_tensors
        grad_v, chunks = _empty(v), _chunks(len(v))
        rows, moment = _array(bias).reshape(-1, v.shape[1]), np.empty(len(chunks) - 1)
        grad_rows = np.zeros((len(chunks) - 1 if len(rows) == 1 else len(rows), v.shape[1]))
        _hyperbolic.translate_backward(
            _array(v), rows, math.sqrt(c.item()), chunks, _array(grad_out),
            grad_v.numpy(), grad_rows, moment,
        )  # fmt: skip
        grad_bias = grad_rows.sum(0) if len(rows) == 1 else grad_rows
        grad = torch.from_numpy(grad_bias).to(bias.dtype).view_as(bias)
        return grad_v, grad, _curvature_gradient(moment, c)


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
        grad_v, grad_w, chunks = _empty(v), _empty(w), _chunks(len(v))
        moment = np.empty(len(chunks) - 1)
        _hyperbolic.distance_backward(
            _array(v), _array(w), math.sqrt(c.item()), chunks, _array(out),
            _array(grad_out), grad_v.numpy(), grad_w.numpy(), moment,
        )  # fmt: skip
        return grad_v, grad_w, _curvature_gradient(moment, c)


class _LocalSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
    ) -> Tensor:
        _follow_torch()
        root, rows, same = math.sqrt(c.item()), graph.by_target, source is target
        points = _array(target), _array(source)
        polar = _hyperbolic.polar(points[0], root)
        polars = polar, polar if same else _hyperbolic.polar(points[1], root)
        out, step = _empty(target), np.empty(target.shape)
        _hyperbolic.local_forward(
            *points, polars[0][0], polars[1][0], rows.start, graph.target.numpy(), rows.other,
            _array(weight), root, same, rows.bounds, step, out.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(target, source, weight, c)
        ctx.graph, ctx.kept, ctx.same = graph, (polars, step), same
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        target, source, weight, c = ctx.saved_tensors
        (at, at_radius), (to, to_radius) = ctx.kept[0]
        root, rows, columns = math.sqrt(c.item()), ctx.graph.by_target, ctx.graph.by_source
        points = _array(target), _array(source)
        grad_target, grad_weight, pull = _empty(target), _empty(weight), _empty(target)
        grad_source = grad_target if ctx.same else _empty(source)
        numbers = weight.new_empty(len(weight), 3)
        moment = np.empty(len(rows.bounds) + len(columns.bounds) - 2)
        _hyperbolic.local_backward_rows(
            *points, at, to, at_radius, rows.start, ctx.graph.target.numpy(), rows.other,
            _array(weight), root, ctx.same, rows.bounds, ctx.kept[1], _array(grad_out),
            grad_target.numpy(), pull.numpy(), grad_weight.numpy(),
            numbers.numpy(), moment[: len(rows.bounds) - 1],
        )  # fmt: skip
        _hyperbolic.local_backward_columns(
            *points, to, to_radius, columns.start, columns.other, columns.edge, root, ctx.same,
            columns.bounds, pull.numpy(), numbers.numpy(), grad_source.numpy(),
            moment[len(rows.bounds) - 1 :],
        )  # fmt: skip
        grad_c = _curvature_gradient(moment, c)
        return grad_target, None if ctx.same else grad_source, grad_weight, grad_c, None


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape = z.shape
        return z.index_select(0, ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        (ids,) = ctx.saved_tensors
        return grad_out.new_zeros(ctx.shape).index_put_((ids,), grad_out, accumulate=True), None


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
        rows = ctx.graph.by_target
        grad = _array(grad_out)
        parts = len(rows.bounds) - 1
        if FEW * parts * len(x) <= len(weight):
            # Many entries of few columns, such as words of documents: a sum for each part.
            sums = x.new_empty(parts, *x.shape)
            _attention.sum_into_few(
                grad, _array(weight), rows.start, rows.other, rows.bounds, sums.numpy()
            )
            grad_x = sums.sum(0)
        else:
            columns = ctx.graph.by_source
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
        right: Tensor | None,
        bias: Tensor,
        vector: Tensor,
        prior: Tensor,
        graph: Neighbourhoods,
        slope: float,
    ) -> Tensor:
        _follow_torch()
        rows = graph.by_target
        share = left.new_empty(len(graph.source), len(vector))
        other, shift = (left, vector.numel()) if right is None else (right, 0)
        _attention.attention_forward(
            _array(left), _array(other), shift, _array(bias), _array(vector), _array(prior), slope,
            rows.start, rows.other, rows.bounds, share.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(left, right, bias, vector, prior, share)
        ctx.graph, ctx.slope, ctx.shift = graph, slope, shift
        return share

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_share: Tensor) -> tuple[Tensor | None, ...]:
        _follow_torch()
        left, right, bias, vector, prior, share = ctx.saved_tensors
        rows, columns = ctx.graph.by_target, ctx.graph.by_source
        parts = len(rows.bounds) - 1
        grad_left, grad_score = _empty(left), _empty(share)
        grad_right = None if right is None else _empty(right)
        grad_bias = np.empty((parts, len(bias)))
        grad_vector = np.empty((parts + len(columns.bounds) - 1, *vector.shape))
        other = left if right is None else right
        arrays = _array(left), _array(other), ctx.shift, _array(bias), _array(vector), ctx.slope
        _attention.attention_backward_rows(
            *arrays, rows.start, rows.other, rows.bounds, share.numpy(), _array(grad_share),
            grad_score.numpy(), grad_left.numpy(), grad_bias, grad_vector[:parts],
        )  # fmt: skip
        _attention.attention_backward_columns(
            *arrays, columns.start, columns.other, columns.edge, columns.bounds,
            grad_score.numpy(), (grad_left if grad_right is None else grad_right).numpy(),
            grad_vector[parts:],
        )  # fmt: skip
        grad_prior = None
        if ctx.needs_input_grad[4]:
            grad_prior = torch.where(prior > 0, grad_score.sum(-1) / prior, 0.0)
        by_bias, by_vector = (
            bias.new_tensor(grad_bias.sum(0)),
            vector.new_tensor(grad_vector.sum(0)),
        )
        return grad_left, grad_right, by_bias, by_vector, grad_prior, None, None
