"""Pairs "u is a v" of a hierarchy: the transitive closure of its edges, and its three parts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.neighbours import neighbours
from hgcn.data.pairs import Ints, distinct, find, keys, pairs_at
from hgcn.errors import GraphError

SHARE = 0.05
"""Share of what is held out in the validation part, and in the test part."""
MOST_PAIRS = 200_000_000
"""More pairs of a closure would not fit into the memory of most machines."""


@dataclass(frozen=True, eq=False)
class HierarchySplit:
    """The pairs of a hierarchy in each part; made by :func:`split_hierarchy`.

    Attributes:
        train, val, test: pairs ``[2, M]``, a node and one of its ancestors, sorted.
        edges: the edges of the graph that training may see, child and parent, ``[2, E]``.
        known: all pairs that follow from the training pairs: none of them is a negative.
        closure: all pairs of the hierarchy; none of them is a wrong answer.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    edges: Tensor
    known: Tensor
    closure: Tensor


def closure(pairs: Tensor, num_nodes: int, ids: np.ndarray | None = None) -> Tensor:
    """All pairs of a node and an ancestor, sorted: the transitive closure of child-parent pairs.

    Example:
        >>> closure(torch.tensor([[2, 1], [1, 0]]), 3).tolist()
        [[1, 2, 2], [0, 0, 1]]

    Args:
        pairs: children and their parents, ``[2, M]``, without self-loops.
        num_nodes: number of nodes.
        ids: what the nodes are called, for an error.
    """
    child, parent = pairs.numpy()
    up, down = neighbours(child, parent, num_nodes), neighbours(parent, child, num_nodes)
    waiting = np.diff(up.start)
    ready = deque(np.flatnonzero(waiting == 0).tolist())
    found: list[Ints] = [np.empty(0, np.int64)] * num_nodes
    done = total = 0
    while ready:
        node = ready.popleft()
        done += 1
        parents = up.node[up.start[node] : up.start[node + 1]]
        if len(parents):
            found[node] = np.unique(np.concatenate([parents, *(found[p] for p in parents)]))
            total += len(found[node])
            if total > MOST_PAIRS:
                raise GraphError(
                    f"Expected at most {MOST_PAIRS:,} pairs of a node and an ancestor, got more: "
                    "the hierarchy is too deep for its size."
                )
        for below in down.node[down.start[node] : down.start[node + 1]].tolist():
            waiting[below] -= 1
            if not waiting[below]:
                ready.append(below)
    if done < num_nodes:
        names = [str(i if ids is None else ids[i]) for i in _cycle(up.start, up.node, waiting)]
        raise GraphError(
            "Expected a hierarchy, in which no node is above itself, got a cycle: "
            f"{' -> '.join(names)}. Edges go from child to parent."
        )
    sizes = np.array([len(one) for one in found])
    whole = np.stack((np.repeat(np.arange(num_nodes), sizes), np.concatenate(found)))
    return torch.from_numpy(whole)


def _cycle(start: Ints, above: Ints, waiting: Ints) -> list[int]:
    """The nodes of a cycle, the first of them also at the end; long ones are cut short."""
    node = int(np.flatnonzero(waiting)[0])
    path: list[int] = []
    while node not in path:
        path.append(node)
        parents = above[start[node] : start[node + 1]]
        node = int(parents[waiting[parents] > 0][0])
    path = [*path[path.index(node) :], node]
    return path if len(path) < 8 else [*path[:4], *path[-3:]]


def split_hierarchy(
    graph: Graph,
    *,
    hold_out: str = "pairs",
    val: float | None = None,
    test: float | None = None,
    seed: int = 0,
) -> HierarchySplit:
    """Pairs for training, validation and test.

    - ``"pairs"``, as Nickel and Kiela (2017): random pairs of the closure whose lower node has a
      child and whose upper node has a parent. Most of them follow from others by transitivity.
    - ``"edges"``: random edges, each with all pairs that do not follow from the edges left. The
      pairs of validation follow from edges of training and validation, those of the test need an
      edge of the test: nothing that is asked for follows from what was shown.
    - ``"nothing"``: all three parts are the whole closure, to measure how well it is reconstructed.

    Args:
        graph: a directed graph; edges go from child to parent.
        hold_out: what is held out.
        val, test: shares of pairs or edges in these parts; by default 0.05.
        seed: seed of the draw.
    """
    n, edges = graph.num_nodes, graph.pairs()
    whole = closure(edges, n, graph.ids)
    if not whole.shape[1]:
        raise GraphError("Expected a hierarchy with edges, got none.")
    if hold_out == "nothing":
        return HierarchySplit(whole, whole, whole, edges, whole, whole)
    shares = SHARE if val is None else val, SHARE if test is None else test
    generator = np.random.default_rng(seed)
    if hold_out == "edges":
        drawn = _draw(edges.shape[1], shares, generator, "edges")
        parts = torch.from_numpy(drawn)
        seen = edges[:, parts == 0]
        train = closure(seen, n)
        both = closure(edges[:, parts < 2], n)
        return HierarchySplit(
            train, _without(both, train, n), _without(whole, both, n), seen, train, whole
        )
    lower, upper = np.zeros((2, n), bool)
    lower[edges[1].numpy()], upper[edges[0].numpy()] = True, True
    fit = np.flatnonzero(lower[whole[0].numpy()] & upper[whole[1].numpy()])
    part = np.zeros(whole.shape[1], np.int64)
    part[fit] = _draw(len(fit), shares, generator, "pairs between inner nodes")
    train, held_val, held_test = (whole[:, torch.from_numpy(part == k)] for k in range(3))
    seen = edges[:, find(keys(train, n), keys(edges, n))[1]]
    return HierarchySplit(train, held_val, held_test, seen, closure(train, n), whole)


def _draw(
    size: int, shares: tuple[float, float], generator: np.random.Generator, what: str
) -> Ints:
    """The part of each of some things: 0 for training, 1 for validation, 2 for the test."""
    val, test = (max(1, round(share * size)) for share in shares)
    if size < 4 or val + test >= size:
        raise GraphError(
            f"Expected enough {what} for three parts, got {size}. Try --hold-out nothing, which "
            "trains and evaluates on the whole hierarchy."
        )
    part = np.zeros(size, np.int64)
    order = generator.permutation(size)
    part[order[:val]], part[order[val : val + test]] = 1, 2
    return part


def _without(pairs: Tensor, others: Tensor, n: int) -> Tensor:
    """Pairs that are not among others; both sorted."""
    asked = keys(pairs, n)
    return pairs_at(distinct(asked[~find(keys(others, n), asked)[1]]), n)
