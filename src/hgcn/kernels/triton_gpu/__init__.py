"""The backend of GPUs: kernels in Triton, with the backward passes of the CPU's.

Each function has the name and the arguments of the one in :mod:`hgcn.kernels.operations`. It
returns ``NotImplemented`` for shapes that its kernels do not cover, and everywhere if Triton is
missing (the extra ``gpu``) or does not run. The formulas are in ``docs/kernels.md``, the costs in
``docs/gpu.md``.

Nothing here waits for the device, and no sum depends on the order in which programs finish. The
numbers of edges have the type of the tensors, those of points are in float64.

With ``TRITON_INTERPRET=1`` in the environment when the first kernel runs, Triton interprets the
kernels, on tensors of the CPU. That is slow, and how they are tested without a GPU.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hgcn.kernels.derivatives import one_set

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

__all__ = [
    "attention",
    "local_sum",
    "pair_counts",
    "squared_distance",
    "translate",
    "weighted_sum",
]

OLDEST = (3, 7)
"""The oldest Triton that the kernels were tested with; older builds of torch bring older ones."""
WIDEST = 256
"""The largest dimension: a tile of vectors must fit into the registers of a program."""


@functools.cache
def _works(device: torch.device) -> bool:
    """Whether kernels run on a device; where they do not, a line says so, once."""
    try:
        from importlib import import_module

        version = import_module("triton").__version__
        if tuple(int(word) for word in version.split(".")[:2]) < OLDEST:
            raise ImportError(f"3.7 or newer is needed, not {version}")
        from hgcn.kernels.triton_gpu.points import polar_form

        polar_form(torch.zeros(1, 1, device=device), torch.ones((), device=device))
    except Exception as error:  # of Triton, of the compiler that it calls, of the driver
        reason = str(error).partition("\n")[0]
        hint = " Install the extra: hgcn[gpu]." if isinstance(error, ImportError) else ""
        logging.getLogger("hgcn").warning(
            "Triton's kernels do not run on %s (%s: %s), so plain torch computes there: slower, "
            "and with more memory.%s", device, type(error).__name__, reason, hint
        )  # fmt: skip
        return False
    return True


def _can(*tensors: Tensor, width: int = 1) -> bool:
    """Whether the kernels can run on tensors of these devices and types, of that dimension.

    A number on the CPU among tensors of a GPU, as torch allows it, has no address there.
    """
    device = tensors[0].device
    return (
        1 <= width <= WIDEST
        and all(x.dtype in (torch.float32, torch.float64) for x in tensors)
        and all(x.device == device for x in tensors)
        and (device.type != "cpu" or os.environ.get("TRITON_INTERPRET") == "1")
        and _works(device)
    )


def _where_it_is(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Run an operation with the GPU of its first tensor as the current one.

    Triton launches on the current GPU of CUDA, which is the first unless somebody has chosen. In a
    backward pass autograd does this by itself.
    """

    @functools.wraps(operation)
    def run(first: Tensor, *rest: Any, **options: Any) -> Any:
        with torch.cuda.device_of(first):  # type: ignore[no-untyped-call]
            return operation(first, *rest, **options)

    return run


@_where_it_is
def translate(v: Tensor, bias: Tensor, c: Tensor) -> Any:
    """Points ``[n, d]``, translated by a bias ``[d]`` or ``[n, d]``."""
    fits = v.dim() == 2 and bias.shape in (v.shape, v.shape[1:]) and c.dim() == 0
    if not (fits and _can(v, bias, c, width=v.shape[1])):
        return NotImplemented
    from hgcn.kernels.triton_gpu.translation import Translate

    return Translate.apply(v, bias.to(v.dtype), c)  # type: ignore[no-untyped-call]


@_where_it_is
def squared_distance(v: Tensor, w: Tensor, c: Tensor) -> Any:
    """Squared distances of two lists of points ``[n, d]``, with one curvature for all."""
    fits = v.dim() == 2 and v.shape == w.shape and c.dim() == 0
    if not (fits and _can(v, w, c, width=v.shape[1])):
        return NotImplemented
    from hgcn.kernels.triton_gpu.distance import SquaredDistance

    return SquaredDistance.apply(v, w.to(v.dtype), c)  # type: ignore[no-untyped-call]


@_where_it_is
def local_sum(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Any:
    """Local aggregation; a target that is a source, or the first of them, has no self-loops."""
    if not _can(target, source, weight, c, width=target.shape[1]):
        return NotImplemented
    from hgcn.kernels.triton_gpu.local_aggregation import LocalSum

    same, source = one_set(target, source), source.to(target.dtype)
    return LocalSum.apply(target, source, weight.to(target.dtype), c, graph, same)  # type: ignore[no-untyped-call]


@_where_it_is
def weighted_sum(x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Any:
    """Weighted sums over neighbourhoods, of any dimension."""
    if not _can(x, weight):
        return NotImplemented
    from hgcn.kernels.triton_gpu.sums import WeightedSum

    return WeightedSum.apply(x, weight.to(x.dtype), graph)  # type: ignore[no-untyped-call]


@_where_it_is
def attention(
    left: Tensor,
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    prior: Tensor | None,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Any:
    """Attention shares of edges."""
    prior = graph.ones(left.dtype) if prior is None else prior
    rest = [x for x in (right, bias, vector, prior) if x is not None]
    if not _can(left, *rest, width=vector.shape[1]):
        return NotImplemented
    from hgcn.kernels.triton_gpu.softmax import Attention

    right = None if right is None else right.to(left.dtype)
    bias, vector, prior = (x.to(left.dtype) for x in (bias, vector, prior))
    return Attention.apply(left, right, bias, vector, prior, graph, negative_slope)  # type: ignore[no-untyped-call]


@_where_it_is
def pair_counts(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Any:
    """Counts of what pairs have in common, with bounded work for each."""
    if not _can(weight):
        return NotImplemented
    from hgcn.kernels.triton_gpu.counts_of_pairs import counts

    return counts(pairs, weight, direction, graph)
