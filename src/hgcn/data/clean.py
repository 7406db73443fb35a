"""Rules that make an edge list simple: no self-loops, no repeats, both directions where needed."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hgcn.data.pairs import Ints, distinct, keys, pairs_at, starts
from hgcn.text import count

Floats = NDArray[np.float64]


def clean_edges(
    source: Ints, target: Ints, weight: Floats | None, *, num_nodes: int, directed: bool
) -> tuple[Tensor, Tensor | None, tuple[str, ...]]:
    """Edges sorted by source and target, their weights, and a note on what was left out.

    Self-loops are removed. Repeated edges are merged and their weights summed. In an undirected
    graph ``(a, b)`` and ``(b, a)`` are the same edge; a list that has every edge in both directions
    with equal weights means each of them once, so there nothing is summed.
    """
    rows = len(source)
    proper = source != target
    loops = rows - int(np.count_nonzero(proper))
    if loops:
        source, target = source[proper], target[proper]
        weight = None if weight is None else weight[proper]
    key, weight = _merge(keys((source, target), num_nodes), weight)
    left = len(key)
    if not directed and not is_symmetric(key, weight, num_nodes):
        key, weight = _merge(keys(pairs_at(key, num_nodes), num_nodes, unordered=True), weight)
        left = len(key)
        key = np.concatenate((key, _reverse(key, num_nodes)))
        key, weight = _merge(key, None if weight is None else np.concatenate((weight, weight)))
    edge_index = torch.from_numpy(pairs_at(key, num_nodes))
    edge_weight = None if weight is None else torch.from_numpy(weight.astype(np.float32))
    return (
        edge_index,
        edge_weight,
        cleaning_notes(loops, rows - loops - left, edge_weight is not None),
    )


def _reverse(key: Ints, num_nodes: int) -> Ints:
    """The keys of the same edges in the other direction."""
    return keys(pairs_at(key, num_nodes)[::-1], num_nodes)


def is_symmetric(key: Ints, weight: Floats | None, num_nodes: int) -> bool:
    """Whether each edge is there in both directions with one weight; keys sorted and distinct."""
    first, second = pairs_at(key, num_nodes)
    if np.count_nonzero(first < second) * 2 != len(key):  # cheap, and mostly the answer
        return False
    back = keys((second, first), num_nodes)
    if weight is None:
        back.sort()
        return np.array_equal(back, key)
    order = np.argsort(back)
    return np.array_equal(back[order], key) and np.array_equal(weight[order], weight)


def _merge(key: Ints, weight: Floats | None) -> tuple[Ints, Floats | None]:
    """Distinct keys in order, weights of equal ones summed."""
    if weight is None:
        return distinct(key), None
    order = np.argsort(key, kind="stable")  # so that sums are those of the list from its top
    key = key[order]
    first = np.flatnonzero(starts(key))
    if len(first) == len(key):
        return key, weight[order]
    return key[first], np.add.reduceat(weight[order], first)


def cleaning_notes(loops: int, repeats: int, weighted: bool) -> tuple[str, ...]:
    """A note on what was left out of a list of edges, if something was."""
    done = []
    if loops:
        done.append(f"removed {count(loops, 'self-loop')}")
    if repeats:
        summed = ", weights summed" if weighted else ""
        done.append(f"merged {count(repeats, 'repeated edge')}{summed}")
    return (f"Edges: {'; '.join(done)}.",) if done else ()
