"""What a training step consists of: operators of torch, our kernels, products, the optimiser."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from _graphs import Problem
from _measure import Samples, take_turns
from _models import HIDDEN, Epoch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from hgcn import kernels
from hgcn.kernels import numba_cpu

PRODUCTS = {"aten::mm", "aten::addmm", "aten::_sparse_mm", "aten::_sparse_addmm"}
# Views, room for results, and what hands a tensor over to numpy.
BOOKKEEPING = {
    *("as_strided", "expand", "expand_as", "flatten", "permute", "reshape", "select", "slice"),
    *("squeeze", "t", "transpose", "unsqueeze", "view", "alias", "detach", "detach_", "contiguous"),
    *("empty", "empty_like", "new_empty", "item", "lift_fresh"),
    *("resolve_conj", "resolve_neg", "to"),
}
KERNELS = {
    "LocalSum": "`local_sum`",
    "Attention": "`attention`",
    "Translate": "`translate`",
    "WeightedSum": "`weighted_sum`",
}


def record(epoch: Epoch, epochs: int) -> list[FunctionEvent]:
    for _ in range(3):
        epoch()
    with _silence(), profile(activities=[ProfilerActivity.CPU]) as trace:
        for _ in range(epochs):
            with record_function("epoch"):
                epoch()
    return list(trace.events())


@contextmanager
def _silence() -> Iterator[None]:
    """The profiler announces its start and stop from C++, whatever its log level."""
    error = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(error, 2)
        os.close(error)
        os.close(nothing)


def operators(epoch: Epoch) -> tuple[int, int]:
    """Operators of torch in one training step, nested ones apart: that compute, and all."""
    names = [
        e.name.removeprefix("aten::")
        for e in record(epoch, 1)
        if e.name.startswith("aten::")
        and (e.cpu_parent is None or not e.cpu_parent.name.startswith("aten::"))
    ]
    return sum(name not in BOOKKEEPING for name in names), len(names)


def shares(epoch: Epoch, epochs: int) -> dict[str, float]:
    """Which part of an epoch's time goes where, from the profiler; adds up to one."""
    events = record(epoch, epochs)
    total = sum(e.cpu_time_total for e in events if e.name == "epoch")
    parts: dict[str, float] = {}
    for name, function in inspect.getmembers(numba_cpu, inspect.isclass):
        if issubclass(function, torch.autograd.Function):
            label = KERNELS.get(name, name)
            for suffix, way in (("", "forward"), ("Backward", "backward")):
                spent = sum(e.cpu_time_total for e in events if e.name == name + suffix)
                if spent:
                    parts[f"{label} {way}"] = spent / total
    parts["matrix products"] = sum(
        e.cpu_time_total
        for e in events
        if e.name in PRODUCTS and (e.cpu_parent is None or e.cpu_parent.name not in PRODUCTS)
    ) / total  # fmt: skip
    parts["Adam"] = sum(
        e.cpu_time_total for e in events if e.name.startswith("Optimizer.step")
    ) / total  # fmt: skip
    parts["everything else"] = 1 - sum(parts.values())
    return parts


def kernel_times(problem: Problem, *, seconds: float) -> dict[str, Samples]:
    """Forward passes over all edges, self-loops included, beside one sparse product of torch."""
    n, generator = len(problem.x), torch.Generator().manual_seed(0)
    v = torch.randn(n, HIDDEN, generator=generator) / HIDDEN**0.5
    hidden = HIDDEN // 2
    both = torch.randn(n, 2 * hidden, generator=generator)
    bias, vector = torch.zeros(hidden), torch.randn(1, hidden, generator=generator)
    c = torch.tensor(1.0)

    def sort(edge_index: torch.Tensor) -> kernels.Neighbourhoods:
        graph = kernels.neighbourhoods(
            edge_index, num_sources=n, num_targets=n, add_self_loops=True
        )
        _ = graph.by_target.bounds, graph.by_source.bounds, graph.shares(torch.float32)
        return graph

    graph = sort(problem.edge_index)
    weight = graph.shares(torch.float32)
    ones = graph.ones(torch.float32)
    start = torch.from_numpy(graph.by_target.start)
    matrix = torch.sparse_csr_tensor(start, graph.source, weight, size=(n, n))
    calls: dict[str, Callable[[], Any]] = {
        "sparse product of torch": lambda: matrix @ v,
        "`weighted_sum`": lambda: kernels.weighted_sum(v, weight, graph),
        "`attention`": lambda: kernels.attention(
            both, None, bias, vector, ones, graph, negative_slope=0.2
        ),
        "`local_sum`": lambda: kernels.local_sum(v, v, weight, c, graph),
        "sorting the edges, once": lambda: sort(problem.edge_index.clone()),
    }
    torch.testing.assert_close(calls["`weighted_sum`"](), matrix @ v, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        return take_turns(calls, seconds=seconds)
