"""Neighbourhoods of a graph as sorted rows, built once and kept as long as the edge list lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from hgcn.errors import GraphError
from hgcn.geometry.scalars import wide
from hgcn.kernels import backends
from hgcn.kernels.kept import keep_with, kept_with
from hgcn.kernels.rows import Ints, Rows, divided_rows, sort_edges, sorted_rows

Made = TypeVar("Made")

TOLD_LATER = {"cuda"}
"""Types of devices that check by themselves, and stop, so that the processor need not wait."""


@dataclass(frozen=True)
class Neighbourhoods:
    """The edges of a graph in the order of their targets.

    Attributes:
        source: the node j of each edge; in 32 bits if these are enough.
        ends: the node i of each edge, sorted; not needed if ``start`` is given.
        order: the number of each edge in the list given; added self-loops are numbered after it.
        num_sources, num_targets: numbers of nodes.
        num_given: number of edges of the list given.
        counts: 1 for an edge that is there and 0 for one that only fills a place; None if all are
            there. Within ``torch.compile``, and on a GPU, which the processor does not wait for,
            the number of edges must not depend on which there are.
        start: the number of the first edge of each target, and at last the number of edges.
    """

    source: Tensor
    ends: Tensor | None
    order: Tensor
    num_sources: int
    num_targets: int
    num_given: int
    counts: Tensor | None = None
    start: Ints | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def target(self) -> Tensor:
        """The node i of each edge, sorted; made of ``start`` when it is first asked for."""
        if self.ends is not None:
            return self.ends

        def make() -> Tensor:
            nodes = torch.arange(self.num_targets, dtype=self.source.dtype)
            return nodes.repeat_interleave(self.degree)

        return self.keep("target", make)

    @cached_property
    def degree(self) -> Tensor:
        """Number of edges that end at each target."""
        with torch.inference_mode(False):
            if self.start is not None:
                return torch.from_numpy(np.diff(self.start))
            if self.target.device.type != "cpu":
                return _degree_on_device(self.target, self.counts, self.num_targets)
            return torch.bincount(self.target, minlength=self.num_targets)

    def shares(self, dtype: torch.dtype) -> Tensor:
        """The weights of a plain mean: for each edge one over the degree of its target."""
        if self.counts is not None and torch.compiler.is_compiling():
            ones = self.ones(dtype)
            total = ones.new_zeros(self.num_targets).index_add(0, self.target, ones)
            return ones / total.clamp_min(1)[self.target]

        def make() -> Tensor:
            share = wide(self.degree).reciprocal().to(dtype)
            if self.counts is None and self.ends is None:
                return share.repeat_interleave(self.degree)
            share = share[self.target]
            return share if self.counts is None else share * self.counts.to(dtype)

        return self.keep(("shares", dtype), make)

    def ones(self, dtype: torch.dtype) -> Tensor:
        """A weight of one for each edge."""
        if self.counts is not None:
            return self.counts.to(dtype)
        return self.keep(("ones", dtype), lambda: torch.ones_like(self.target, dtype=dtype))

    def weights(self, given: Tensor | None, dtype: torch.dtype) -> Tensor:
        """The weights of an edge list, brought to the order of the targets; ones if not given.

        A self-loop that was added weighs one.
        """
        if given is None:
            return self.ones(dtype)
        if given.shape != (self.num_given,):
            raise GraphError(
                f"Expected one weight for each of the {self.num_given} edges, got `edge_weight` of "
                f"shape {list(given.shape)}."
            )
        loops = given.new_ones(len(self.source) - self.num_given)
        weight = torch.cat((given, loops))[self.order].to(dtype)
        return weight if self.counts is None else weight * self.counts.to(dtype)

    def symmetric(self, weight: Tensor, totals: Tensor | None = None) -> Tensor:
        """Kipf and Welling's weights: each edge's divided by the root of both its ends' totals.

        Args:
            weight: those of the edges, in the order of the targets.
            totals: for each source, the weight of all edges that end at it; by default that of
                these edges, whose sources and targets must then be the same nodes.
        """
        if totals is None and (weight.is_cpu or torch.compiler.is_compiling()):
            totals = weight.new_zeros(self.num_targets).index_add(0, self.target, weight)
        elif totals is None:  # on a GPU torch adds in any order
            ones = weight.new_ones(self.num_sources, 1)
            totals = backends.call("weighted_sum", ones, ones, weight, self)[:, 0]
        root = torch.where(totals > 0, totals.rsqrt(), 0.0).to(weight.dtype)
        return weight * root[self.source] * root[self.target]

    def keep(self, key: Any, make: Callable[[], Made]) -> Made:
        """What is made of these edges, made once; a backend may keep what it needs as well."""
        if key not in self._kept:
            with torch.inference_mode(False):
                self._kept[key] = make()
        made: Made = self._kept[key]
        return made

    @cached_property
    def by_target(self) -> Rows:
        """Rows of targets, for the forward pass. ``edge`` counts in the order of the list given."""
        start = self.start
        if start is None:
            start = np.zeros(self.num_targets + 1, np.int64)
            np.cumsum(self.degree.numpy(), out=start[1:])
        return divided_rows(start, self.source.numpy(), self.order.numpy())

    @cached_property
    def by_source(self) -> Rows:
        """Rows of sources, for the backward pass. ``edge`` counts in the order of the targets.

        Where all edges are there in both directions, only ``edge`` takes memory of its own.
        """
        rows = sorted_rows(self.source.numpy(), self.target.numpy(), self.num_sources)
        mine = self.by_target
        self._kept.pop("target", None)  # few ask for it again
        if np.array_equal(rows.start, mine.start) and np.array_equal(rows.other, mine.other):
            return mine._replace(edge=rows.edge)
        return rows


def neighbourhoods(
    edge_index: Tensor, *, num_sources: int, num_targets: int, add_self_loops: bool
) -> Neighbourhoods:
    """Sorted neighbourhoods of an edge list ``[2, E]``: row 0 the sources j, row 1 the targets i.

    The result is kept with the tensor, and made anew when the tensor was changed in place. Edges
    from a node to itself are left as they are; ``add_self_loops`` adds one to each node without.
    """
    wanted = (num_sources, num_targets, add_self_loops)
    if torch.compiler.is_compiling():
        return _unsorted(edge_index, *wanted)

    def make(edges: Tensor) -> Neighbourhoods:
        _check(edges, num_sources, num_targets)
        return _build(edges, *wanted)

    found: Neighbourhoods = kept_with(edge_index, wanted, make)
    return found


def sparse_rows(x: Tensor) -> tuple[Neighbourhoods, Tensor]:
    """A sparse matrix as a graph from columns to rows, and its values; kept with the tensor."""

    def make(x: Tensor) -> tuple[Neighbourhoods, Tensor]:
        entries = x.detach().to_sparse(2).coalesce()
        row, column = entries.indices()
        most = max(*x.shape, len(row))
        kind = torch.int32 if row.device.type == "cpu" and most < 2**31 else torch.int64
        order = torch.arange(len(row), device=row.device, dtype=kind)
        graph = Neighbourhoods(
            column.to(kind).contiguous(), row.to(kind).contiguous(), order, x.shape[1], x.shape[0],
            len(row),
        )  # fmt: skip
        return graph, entries.values()

    found: tuple[Neighbourhoods, Tensor] = kept_with(x, (), make)
    return found


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """A sparse matrix with other values in the order of its rows: nothing is sorted again."""
    graph, _ = sparse_rows(x)
    start = torch.cat((graph.degree.new_zeros(1), graph.degree.cumsum(0)))
    out = torch.sparse_csr_tensor(start, graph.source, values, x.shape, check_invariants=False)
    keep_with(out, (), (graph, values))
    return out


def dropout_sparse(x: Tensor, p: float) -> Tensor:
    """Zero entries of a sparse matrix at random and scale the others, as dropout does."""
    return with_values(x, dropout(sparse_rows(x)[1], p))


def scale_rows(x: Tensor, factor: Tensor) -> Tensor:
    """Multiply each row of a matrix, dense or sparse, by a number of its own."""
    if x.layout is torch.strided:
        return x * factor.to(x.dtype).unsqueeze(-1)
    graph, values = sparse_rows(x)
    return with_values(x, values * factor.to(values.dtype)[graph.target])


def dropout(values: Tensor, p: float) -> Tensor:
    """Zero values at random and scale the others; values are constants, without a gradient."""
    if p == 0:
        return values
    out: Tensor = backends.call("dropout", values, values, p)
    return out


def _check(edge_index: Tensor, num_sources: int, num_targets: int) -> None:
    if edge_index.dim() != 2 or len(edge_index) != 2 or edge_index.is_floating_point():
        raise GraphError(
            "Expected `edge_index` to be an integer tensor of shape [2, number of edges], got "
            f"{edge_index.dtype} {list(edge_index.shape)}."
        )
    for name, ids, count in zip(
        ("sources", "targets"), edge_index, (num_sources, num_targets), strict=True
    ):
        if ids.device.type in TOLD_LATER:
            # The processor does not wait: the device stops at a wrong id, as at a wrong index.
            message = f"Expected the {name} in `edge_index` to be ids in 0..{count - 1}."
            torch._assert_async(((ids >= 0) & (ids < count)).all(), message)
        elif ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < count:
            column = int(((ids < 0) | (ids >= count)).nonzero()[0])
            hint = " Are the ids 1-based?" if int(ids.max()) == count and int(ids.min()) > 0 else ""
            raise GraphError(
                f"Expected the {name} in `edge_index` to be ids in 0..{count - 1}, got "
                f"{int(ids[column])} at column {column}.{hint}"
            )


def _build(
    edge_index: Tensor, num_sources: int, num_targets: int, add_self_loops: bool
) -> Neighbourhoods:
    if edge_index.device.type != "cpu":
        return _build_on_device(edge_index, num_sources, num_targets, add_self_loops)
    most = max(num_sources, num_targets, edge_index.shape[1] + min(num_sources, num_targets))
    kind = torch.int32 if most < 2**31 else torch.int64
    source, target = edge_index.detach().to(kind).contiguous()
    if add_self_loops:
        missing = torch.ones(min(num_sources, num_targets), dtype=torch.bool)
        missing[source.masked_select(source == target)] = False
        loops = missing.nonzero()[:, 0].to(source.dtype)
        source, target = torch.cat((source, loops)), torch.cat((target, loops))
    start, *sorted_ends = sort_edges(target.numpy(), source.numpy(), num_targets)
    source, order = map(torch.from_numpy, sorted_ends)
    sizes = num_sources, num_targets, edge_index.shape[1]
    return Neighbourhoods(source, None, order, *sizes, start=start)


def _build_on_device(
    edge_index: Tensor, num_sources: int, num_targets: int, add_self_loops: bool
) -> Neighbourhoods:
    """The same without waiting for the device, so no size depends on the edges.

    Every node gets a self-loop; it counts as nothing where the edges have one already.
    """
    plain = _unsorted(edge_index.detach(), num_sources, num_targets, add_self_loops)
    target, order = plain.target.sort(stable=True)
    counts = plain.counts[order] if add_self_loops and plain.counts is not None else None
    return replace(plain, source=plain.source[order], ends=target, order=order, counts=counts)


def _degree_on_device(target: Tensor, counts: Tensor | None, num_targets: int) -> Tensor:
    """Numbers of edges by their sorted targets; to count them, the device would be waited for."""
    nodes = torch.arange(num_targets + 1, device=target.device, dtype=target.dtype)
    start = torch.searchsorted(target, nodes)
    if counts is None:
        return start.diff()
    return torch.cat((counts.new_zeros(1), counts.cumsum(0)))[start].diff()


def _unsorted(
    edge_index: Tensor, num_sources: int, num_targets: int, add_self_loops: bool
) -> Neighbourhoods:
    """What plain torch needs, made of operations that can be traced: ids are not checked."""
    source, target = edge_index.long()
    counts = torch.ones_like(source)
    if add_self_loops:
        nodes = torch.arange(min(num_sources, num_targets), device=source.device)
        own = torch.where(source == target, source, len(nodes))
        missing = torch.ones(len(nodes) + 1, dtype=torch.long, device=source.device)
        missing = missing.scatter(0, own, 0)
        source, target = torch.cat((source, nodes)), torch.cat((target, nodes))
        counts = torch.cat((counts, missing[:-1]))
    order = torch.arange(len(source), device=source.device)
    given = edge_index.shape[1]
    return Neighbourhoods(source, target, order, num_sources, num_targets, given, counts)
