"""The structural term of a link: what two nodes have in common in the graph."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn import kernels
from hgcn.data.pairs import distinct, find, keys, pairs_at
from hgcn.errors import GraphError
from hgcn.geometry.scalars import wide, widest

HIDDEN = 32
FACTS = 9 + (kernels.FARTHEST - 1) + 8
"""Number of facts of a pair: counts and degrees, one for each distance from 2, directions."""


class Shown(NamedTuple):
    """Visible edges, each in the rows of both its nodes.

    Attributes:
        graph: the edges in both directions, without self-loops, neighbours in order.
        weight: the mean weight of both directions, in the order of ``graph``; float64, where the
            device has that.
        direction: which directions there are (:func:`hgcn.kernels.pair_counts`), in the same order.
        undirected: whether all edges are there in both directions.
    """

    graph: kernels.Neighbourhoods
    weight: Tensor
    direction: Tensor
    undirected: bool

    def within(self, numbers: Tensor) -> Shown:
        """Some of the edges alone: those of these numbers, in order, each in both its rows."""
        graph, size = self.graph, len(numbers)
        order = torch.arange(size, dtype=graph.order.dtype, device=numbers.device)
        source, target, weight, direction = (
            x.index_select(0, numbers)
            for x in (graph.source, graph.target, self.weight, self.direction)
        )
        n = graph.num_targets
        some = kernels.Neighbourhoods(source, target, order, n, n, size)
        return Shown(some, weight, direction, self.undirected)


def _is_mirrored(edge_index: Tensor, n: int) -> bool:
    """Whether edges are in order, each once and in both directions, without self-loops.

    So are those of an undirected graph of ours, and so they stay if both directions are removed.
    """
    source, target = edge_index
    graph = _rows(edge_index, n)
    mirrored = (graph.target == source).all() & (graph.source == target).all()
    return bool(mirrored & (keys(edge_index, n).diff() > 0).all() & (source != target).all())


def both_ways(edge_index: Tensor, edge_weight: Tensor | None, n: int) -> Shown:
    """Edges as :func:`hgcn.kernels.pair_counts` takes them; a GPU is waited for.

    Args:
        edge_index: the edges that are visible, shape ``[2, E]``.
        edge_weight: their weights.
        n: number of nodes.
    """
    if _is_mirrored(edge_index, n):
        graph = _rows(edge_index, n)
        weight = graph.weights(edge_weight, widest(edge_index))
        if edge_weight is not None:
            weight = 0.5 * (weight + edge_weight)
        direction = torch.full_like(edge_index[1], 3, dtype=torch.int8)
        return Shown(graph, weight, direction, undirected=True)
    proper = edge_index[0] != edge_index[1]
    given = keys(edge_index[:, proper], n)
    back = keys(edge_index.flip(0)[:, proper], n)
    known = distinct(torch.cat((given, back)))
    graph = _rows(pairs_at(known, n).flip(0), n)  # rows are in the order of the keys
    there, reverse = torch.searchsorted(known, given), torch.searchsorted(known, back)
    direction = torch.zeros(len(known), dtype=torch.int8, device=known.device)
    direction[there] += 1
    direction[reverse] += 2
    weight = graph.weights(None, widest(edge_index))
    if edge_weight is not None:
        half = 0.5 * wide(edge_weight[proper])
        weight = torch.zeros_like(weight).index_add(0, there, half).index_add(0, reverse, half)
    return Shown(graph, weight, direction, undirected=bool((direction == 3).all()))


def _rows(edge_index: Tensor, n: int) -> kernels.Neighbourhoods:
    return kernels.neighbourhoods(edge_index, num_sources=n, num_targets=n, add_self_loops=False)


def pair_facts(pairs: Tensor, edge_index: Tensor, edge_weight: Tensor | None, n: int) -> Tensor:
    """Facts of pairs of nodes ``[M, FACTS]``, all zero where two nodes have nothing in common.

    They are counted on the edges given, without the edge between the two nodes themselves: roots
    and logarithms of the numbers of :func:`hgcn.kernels.pair_counts`, degrees, and the distance.
    The last eight are how much the numbers of one direction differ from those of both, in
    logarithms: of the common neighbours, and of the degrees out of and into each node. They are
    zero in an undirected graph.

    Args:
        pairs: nodes, shape ``[2, M]``.
        edge_index: the edges that are visible, shape ``[2, E]``.
        edge_weight: their weights.
        n: number of nodes.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
        >>> facts = pair_facts(torch.tensor([[0], [2]]), edges, None, 3)
        >>> facts.shape[0], bool(facts.any())  # its ends have a neighbour in common
        (1, True)
    """
    return facts_on(pairs, both_ways(edge_index, edge_weight, n))


def facts_on(pairs: Tensor, shown: Shown) -> Tensor:
    """:func:`pair_facts` on edges that are in the rows of both their nodes already."""
    counts = kernels.pair_counts(pairs, shown.weight, shown.direction, shown.graph)
    return _facts(pairs, counts, _Degrees(shown))


class PairFacts:
    """:func:`pair_facts` of many lists of pairs on the same edges, by the thread that calls it.

    Args:
        edge_index: the edges that are visible, shape ``[2, E]``, on the CPU.
        edge_weight: their weights.
        n: number of nodes.
    """

    def __init__(self, edge_index: Tensor, edge_weight: Tensor | None, n: int) -> None:
        from hgcn.kernels.numba_cpu.pair_counter import PairCounter

        shown = both_ways(edge_index, edge_weight, n)
        self._count = PairCounter(shown.weight, shown.direction, shown.graph)
        self._degrees = _Degrees(shown)

    def __call__(self, pairs: Tensor) -> Tensor:
        """Facts of pairs of nodes ``[2, M]``, shape ``[M, FACTS]``."""
        return _facts(pairs, self._count(pairs), self._degrees)


def _facts(pairs: Tensor, counts: Tensor, degrees: _Degrees) -> Tensor:
    distance = counts[:, 5].long()
    linked = (distance > 0).to(counts.dtype).unsqueeze(1)
    steps = torch.arange(2, kernels.FARTHEST + 1, device=pairs.device)
    degree, parts = degrees(pairs)
    low, high = degree.sort(0)[0]
    return torch.cat(
        (
            linked,
            # Slices: a list of columns would be copied to the device, which waits for it.
            torch.cat((counts[:, :1], counts[:, 3:4]), dim=1).log1p(),
            torch.cat((counts[:, 1:3], counts[:, 4:5]), dim=1).sqrt(),
            (distance.unsqueeze(1) == steps).to(counts.dtype),
            linked * torch.stack((low + high, high - low, low), dim=1),
            counts[:, 6:].log1p() - counts[:, :1].log1p(),
            linked * torch.cat([part - degree for part in parts]).T,
        ),
        dim=1,
    )


class _Degrees:
    """Degrees of the ends of pairs, without the edge between the two."""

    def __init__(self, shown: Shown) -> None:
        graph, n = shown.graph, shown.graph.num_targets
        self.keys = graph.target.long() * n + graph.source
        self.direction = shown.direction
        self.degree = wide(graph.degree)
        self.parts: list[Tensor] = []  # out and in, where they differ
        if not shown.undirected:
            zero = torch.zeros_like(self.degree)
            ways = (self.direction & 1, self.direction >> 1)
            self.parts = [zero.index_add(0, graph.target, wide(way)) for way in ways]

    def __call__(self, pairs: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Logarithms of degrees of both ends ``[2, M]``, and of those out of and into each."""
        at, own = find(self.keys, keys(pairs, len(self.degree)))
        degree = (self.degree[pairs] - wide(own)).log1p()
        if not self.parts:
            return degree, (degree, degree)
        way = torch.where(own, self.direction[at], 0)
        leaving, coming = torch.stack((way & 1, way >> 1)), torch.stack((way >> 1, way & 1))
        out, into = (
            (count[pairs] - wide(between)).log1p()
            for count, between in zip(self.parts, (leaving, coming), strict=True)
        )
        return degree, (out, into)


class StructureTerm(nn.Module):
    r"""A number for each pair of nodes, made of what the two have in common.

    It is added to the logit of a link, :math:`(r - d^2)/t + s`, and is a small network of
    :func:`pair_facts` without biases: **zero where the two nodes have nothing in common**, so that
    there the embedding alone says how likely the link is.

    Example:
        >>> import torch
        >>> from hgcn.nn import StructureTerm, pair_facts
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> facts = pair_facts(torch.tensor([[0, 0], [2, 3]]), path, None, 4)
        >>> facts.any(1)  # 0 and 2 share a neighbour, 0 and 3 nothing
        tensor([ True, False])
        >>> StructureTerm()(facts.float()).shape
        torch.Size([2])

    Shapes:
        - **input:** facts :math:`(M, F)`.
        - **output:** numbers :math:`(M)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(FACTS, HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, 1, bias=False)
        self.direct = nn.Linear(FACTS, 1, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights; the direct ones are zero."""
        nn.init.xavier_uniform_(self.hidden.weight)
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.direct.weight)

    def forward(self, facts: Tensor) -> Tensor:
        """Numbers to be added to logits."""
        if facts.shape[-1] != FACTS:
            raise GraphError(f"Expected {FACTS} facts of each pair, got {facts.shape[-1]}.")
        total = self.out(functional.relu(self.hidden(facts))) + self.direct(facts)
        return total.squeeze(-1)
