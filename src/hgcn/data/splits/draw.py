"""Training, validation and test parts: of the edges, of the nodes, or of whole graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hgcn.data.convert import as_graph
from hgcn.data.splits.links import (
    LinkPart,
    LinkSplit,
    check_links,
    links_by_graph,
    links_of_one_graph,
    own_links,
)
from hgcn.data.splits.nodes import (
    TEST,
    TRAIN,
    UNUSED,
    VAL,
    NodeSplit,
    check_nodes,
    draw_graphs,
    draw_nodes,
    own_parts,
    parts_of_graphs,
)
from hgcn.data.splits.reference import legacy_links, legacy_nodes
from hgcn.errors import GraphError
from hgcn.names import PROTOCOLS
from hgcn.text import one_of

__all__ = ["LinkPart", "LinkSplit", "NodeSplit", "split_links", "split_nodes"]

RATIOS = (0.70, 0.15, 0.15)
"""The shares of training, validation and test, where neither caller nor graph has others."""


LINK_SHARES = (0.05, 0.10)
"""The usual shares of the edges for validation and test."""


def split_links(
    graph: Any,
    *,
    val: float | None = None,
    test: float | None = None,
    seed: int = 0,
    protocol: str = "clean",
    val_as_input: bool = False,
) -> LinkSplit:
    """Split edges for link prediction.

    Without shares the graph's own split is taken, if it has one (``graph.links``).

    In one graph, edges are drawn at random: a share ``val`` for validation, a share ``test`` for
    the test, and the rest both for training and for messages in all three parts. An edge and its
    reverse are always in the same part.

    Of many graphs (``graph_ids``), whole graphs are kept for validation and test: those of
    ``graph.split``, or shares ``val`` and ``test`` of them at random. In these graphs a share
    ``test`` of the edges is to be predicted from the others.

    Validation and test have as many negatives as positives: different pairs, never an edge of any
    part, never a node and itself, none in both parts.

    Example:
        >>> import torch
        >>> from hgcn.data import Graph
        >>> ring = torch.stack((torch.arange(100), torch.arange(1, 101) % 100))
        >>> graph = Graph(torch.cat((ring, ring.flip(0)), dim=1), num_nodes=100)
        >>> split = split_links(graph, seed=1)
        >>> [part.positives.shape[1] for part in (split.train, split.val, split.test)]
        [85, 5, 10]
        >>> split.sample_negatives(4, torch.Generator().manual_seed(0)).shape
        torch.Size([2, 4])

    Args:
        graph: a graph, or anything that :func:`hgcn.data.as_graph` takes.
        val, test: shares of the edges; 5 % and 10 % if one is given, or the graph has no split.
        seed: equal seeds give equal splits.
        protocol: ``"clean"``, or ``"legacy"`` for the split of the reference implementation.
        val_as_input: show the edges of validation in the test, as PyG's ``RandomLinkSplit`` does;
            for one graph that is split at random.
    """
    graph = as_graph(graph)
    own = graph.links is not None and val is None and test is None
    val, test = (
        usual if share is None else share
        for share, usual in zip((val, test), LINK_SHARES, strict=True)
    )
    shares = (1 - val - test, val, test)
    _check_request(protocol, shares, "`val` and `test`")
    if val_as_input and (own or protocol == "legacy" or graph.num_graphs > 1):
        raise GraphError(
            "Expected one graph that is split at random for `val_as_input`, got a split of its "
            "own, the legacy protocol, or many graphs."
        )
    if own:
        split = own_links(graph, np.random.default_rng(seed))
        check_links(split, graph.num_nodes)
        return split
    if protocol == "legacy":
        return legacy_links(graph, shares[1:], seed)
    generator = np.random.default_rng(seed)
    if graph.num_graphs > 1:
        split = links_by_graph(graph, shares, generator)
    else:
        split = links_of_one_graph(graph, shares, generator, val_as_input=val_as_input)
    check_links(split, graph.num_nodes)
    return split


def split_nodes(
    graph: Any,
    *,
    ratios: Sequence[float] | None = None,
    seed: int = 0,
    protocol: str = "clean",
    stratify: bool = True,
) -> NodeSplit:
    """Split labelled nodes for node classification.

    Without ``ratios`` the graph's own split is taken. If it has none, the shares are its
    ``ratios``, else 70/15/15 %. Of many graphs, whole graphs are drawn. Nodes without a label are
    in no part.

    Args:
        graph: a graph, or anything that :func:`hgcn.data.as_graph` takes.
        ratios: shares of training, validation and test; what is missing to 1 is left out.
        seed: equal seeds give equal splits.
        protocol: ``"clean"``, or ``"legacy"`` for the split of the reference implementation.
        stratify: draw each class by itself, so that each part has all classes in equal shares.

    Example:
        >>> from hgcn.data import disease_spread
        >>> parts = split_nodes(disease_spread(100, seed=3))
        >>> len(parts.train) + len(parts.val) + len(parts.test)
        100
    """
    graph = as_graph(graph)
    shares = (graph.ratios or RATIOS) if ratios is None else tuple(ratios)
    _check_request(protocol, shares, "`ratios`")
    own = ratios is None and graph.split is not None
    if protocol == "legacy" and not own:
        return legacy_nodes(graph, shares[1:], seed)
    generator = np.random.default_rng(seed)
    if own:
        part = own_parts(graph)
    elif graph.num_graphs > 1 and graph.graph_ids is not None:
        part = draw_graphs(graph, shares, generator)[graph.graph_ids]
    else:
        part = draw_nodes(graph, shares, generator, stratify=stratify)
    if graph.y is not None:
        part[graph.y < 0] = UNUSED
    train, val, test = ((part == code).nonzero()[:, 0] for code in (TRAIN, VAL, TEST))
    inductive = graph.num_graphs > 1 and parts_of_graphs(graph, part) is not None
    split = NodeSplit(train, val, test, protocol, inductive)
    check_nodes(split, graph.num_nodes)
    return split


def _check_request(protocol: str, shares: Sequence[float], name: str) -> None:
    if protocol not in PROTOCOLS:
        raise GraphError(one_of("protocol", protocol, PROTOCOLS))
    inside = all(0 <= share <= 1 for share in shares) and sum(shares) < 1 + 1e-9
    if len(shares) != 3 or not inside or shares[0] < 1e-9:
        raise GraphError(
            f"Expected {name} to be shares in 0..1 that add up to 1 at most and leave something to "
            f"train on, got {', '.join(f'{share:g}' for share in shares)} for train, val, test."
        )
