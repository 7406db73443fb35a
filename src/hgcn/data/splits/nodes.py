"""The part of each node, and of each graph where there are many, for node classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.errors import GraphError
from hgcn.names import PARTS

TRAIN, VAL, TEST, UNUSED = 0, 1, 2, 3
FAULT = "This is a fault of hgcn: please report it with the graph and the seed."


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """Nodes for training, validation and test; made by :func:`hgcn.data.splits.draw.split_nodes`.

    Attributes:
        train, val, test: numbers of nodes, sorted.
        protocol: "clean" or "legacy".
        inductive: whether no graph has nodes in two parts.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    protocol: str
    inductive: bool


def part_sizes(total: int, shares: Sequence[float], what: str, hint: str = "") -> list[int]:
    """How many of ``total`` go into each part; the first part, for training, has the first share.

    Rounded, but at least one in each part whose share is not zero. What is missing to 1 in the
    shares is left out.
    """
    sizes = [max(1, round(total * share)) if share > 0 else 0 for share in shares]
    if sum(shares) > 1 - 1e-9:
        sizes[0] = max(1, total - sum(sizes[1:]))
    while sum(sizes) > total and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    if sum(sizes) > total:
        raise GraphError(
            f"Expected at least {sum(sizes)} {what}, one for each part, got {total}.{hint}"
        )
    return sizes


def draw_parts(
    members: Tensor, sizes: Sequence[int], part: Tensor, generator: np.random.Generator
) -> None:
    """Write the part of each member, drawn at random, into ``part``."""
    order = members[torch.from_numpy(generator.permutation(len(members)))]
    start = 0
    for code, size in enumerate(sizes):
        part[order[start : start + size]] = code
        start += size


def draw_graphs(graph: Graph, shares: Sequence[float], generator: np.random.Generator) -> Tensor:
    """The part of each graph."""
    part = torch.full((graph.num_graphs,), UNUSED)
    sizes = part_sizes(graph.num_graphs, shares, "graphs")
    draw_parts(torch.arange(graph.num_graphs), sizes, part, generator)
    return part


def draw_nodes(
    graph: Graph, shares: Sequence[float], generator: np.random.Generator, *, stratify: bool
) -> Tensor:
    """The part of each node; nodes without a label are in none."""
    part = torch.full((graph.num_nodes,), UNUSED)
    y = graph.y
    if y is None and stratify:
        raise GraphError(
            "Expected a graph with labels to split class by class, got one without. "
            "`stratify=False` splits without them."
        )
    if y is None or not stratify:
        nodes = torch.arange(graph.num_nodes) if y is None else (y >= 0).nonzero()[:, 0]
        draw_parts(nodes, part_sizes(len(nodes), shares, "labelled nodes"), part, generator)
        return part
    hint = " Merge small classes, or use `stratify=False`."
    for label in torch.unique(y[y >= 0]).tolist():
        name = label if graph.class_names is None else repr(graph.class_names[label])
        nodes = (y == label).nonzero()[:, 0]
        sizes = part_sizes(len(nodes), shares, f"nodes of class {name}", hint)
        draw_parts(nodes, sizes, part, generator)
    return part


def own_parts(graph: Graph) -> Tensor:
    """The part of each node in the split that came with the graph."""
    part = torch.full((graph.num_nodes,), UNUSED)
    for name, nodes in (graph.split or {}).items():
        taken = nodes[part[nodes] != UNUSED]
        if len(taken):
            raise GraphError(
                f"Expected the parts of the graph's own split to share no node, got node "
                f"{int(taken[0])} in {name!r} and in {PARTS[int(part[taken[0]])]!r}."
            )
        part[nodes] = PARTS.index(name)
    return part


def parts_of_graphs(graph: Graph, part: Tensor) -> Tensor | None:
    """The part of each graph, or None where some graph has nodes in several parts."""
    if graph.graph_ids is None:
        return None
    used = part != UNUSED
    of_graph = torch.full((graph.num_graphs,), UNUSED)
    of_graph[graph.graph_ids[used]] = part[used]
    return of_graph if bool((of_graph[graph.graph_ids[used]] == part[used]).all()) else None


def check_nodes(split: NodeSplit, num_nodes: int) -> None:
    """Refuse a split in which a node is in two parts, or twice in one."""
    every = torch.cat((split.train, split.val, split.test))
    if bool((torch.bincount(every, minlength=num_nodes) > 1).any()):
        raise GraphError(f"A node is in two parts of the split. {FAULT}")
