"""The legacy protocol: splits of the reference implementation, to compare with its scores.

They have its faults. With the same edges in the same order of nodes, and the same seed, they are
the same splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.pairs import distinct, keys, pairs_at
from hgcn.data.splits.links import LinkPart, LinkSplit
from hgcn.data.splits.negatives import NonEdges
from hgcn.data.splits.nodes import NodeSplit
from hgcn.errors import GraphError, LegacyWarning

MOST_PAIRS = 500_000_000
"""The reference shuffles a list of all pairs without an edge; so its order needs that list."""


def legacy_links(graph: Graph, shares: Sequence[float], seed: int) -> LinkSplit:
    """The legacy split of edges, from the upper triangle; a node and itself count as a pair.

    Args:
        graph: one undirected graph.
        shares: shares of validation and test, rounded down.
        seed: seed of NumPy's old generator, as the reference has it.
    """
    if graph.directed or graph.num_graphs > 1:
        raise GraphError("Expected one undirected graph: the legacy protocol knows no others.")
    upper = graph.edge_index[:, graph.edge_index[0] <= graph.edge_index[1]]
    edges = pairs_at(distinct(keys(upper, graph.num_nodes)), graph.num_nodes)
    free = NonEdges(edges, graph.num_nodes, self_pairs=True)
    sizes = [int(edges.shape[1] * share) for share in shares]
    if edges.shape[1] - sum(sizes) < 1 or min(sizes) < 1 or len(free) < sum(sizes):
        raise GraphError(
            f"Expected edges and non-edges for each part of the legacy split, got {edges.shape[1]} "
            f"edges and {len(free)} non-edges for shares of {shares[0]:g} and {shares[1]:g}."
        )
    if len(free) > MOST_PAIRS:
        raise GraphError(
            f"Expected at most {MOST_PAIRS:,} pairs without an edge for the legacy protocol, which "
            f"lists them all, got {len(free):,}. The clean protocol has no such limit."
        )
    warnings.warn(
        "The legacy protocol draws negatives as the reference implementation does: a node and "
        "itself can be one, and training may draw those of validation and test.",
        LegacyWarning,
        stacklevel=3,
    )
    generator = np.random.RandomState(seed)
    val, test, train = _shuffled(edges.shape[1], generator, sizes)
    val_free, test_free, _ = _shuffled(len(free), generator, sizes)
    messages = torch.cat((edges[:, train], edges[:, train].flip(0)), dim=1)
    return LinkSplit(
        train=LinkPart(messages, None, edges[:, train], None),
        val=LinkPart(messages, None, edges[:, val], free.pairs(val_free)),
        test=LinkPart(messages, None, edges[:, test], free.pairs(test_free)),
        protocol="legacy",
        inductive=False,
        non_edges=NonEdges(edges[:, train], graph.num_nodes, self_pairs=True),
    )


def legacy_nodes(graph: Graph, shares: Sequence[float], seed: int) -> NodeSplit:
    """The legacy split of nodes, drawn from each of the two classes "not 0" and "not 1".

    Shares are those of the smaller class. With more than two classes these two overlap, and nodes
    are in several parts.

    Args:
        graph: a graph with a label for each node.
        shares: shares of validation and test; training has the rest.
        seed: seed of NumPy's old generator, as the reference has it.
    """
    if graph.y is None or bool((graph.y < 0).any()):
        raise GraphError("Expected a label for each node: the legacy protocol knows no others.")
    generator = np.random.RandomState(seed)
    classes = [(graph.y != label).nonzero()[:, 0].numpy() for label in (0, 1)]
    for nodes in classes:
        generator.shuffle(nodes)
    smaller = min(map(len, classes))
    cuts = np.cumsum([round(share * smaller) for share in shares])
    val, test, train = (
        torch.from_numpy(np.concatenate(parts))
        for parts in zip(*(np.split(nodes, cuts) for nodes in classes), strict=True)
    )
    both = int(torch.isin(torch.unique(test), train).sum())
    warnings.warn(
        "The legacy protocol splits nodes as the reference implementation does: "
        f"{both:,} of {len(torch.unique(test)):,} test nodes are also training nodes, and "
        f"{len(train):,}/{len(val):,}/{len(test):,} nodes are not the shares of the paper.",
        LegacyWarning,
        stacklevel=3,
    )
    return NodeSplit(train, val, test, protocol="legacy", inductive=False)


def _shuffled(count: int, generator: np.random.RandomState, sizes: Sequence[int]) -> list[Tensor]:
    """Numbers below ``count`` in random order, cut into lists of these sizes and the rest."""
    order = np.arange(count, dtype=np.int64 if count > 2**31 else np.int32)
    generator.shuffle(order)
    parts = np.split(order, np.cumsum(sizes))
    return [torch.from_numpy(part.astype(np.int64)) for part in parts]
