"""Rules that make an edge list simple: no self-loops, no repeats, both directions where needed."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hgcn.data.graph import count

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def clean_edges(
    source: Ints, target: Ints, weight: Floats | None, *, num_nodes: int, directed: bool
) -> tuple[Tensor, Tensor | None, tuple[str, ...]]:
    """Edges sorted by source and target, their weights, and a note on what was left out.

    Self-loops are removed. Repeated edges are merged and their weights summed. In an undirected
    graph ``(a, b)`` and ``(b, a)`` are the same edge; a list that has every edge in both directions
    with equal weights says each of them once, so there nothing is summed.
    """
    rows = len(source)
    proper = source != target
    loops = rows - int(np.count_nonzero(proper))
    if loops:
        source, target = source[proper], target[proper]
        weight = None if weight is None else weight[proper]
    key, weight = _merge(source * num_nodes + target, weight)
    left = len(key)
    if not directed and not is_symmetric(key, weight, num_nodes):
        first, second = np.divmod(key, num_nodes)
        low, high = np.minimum(first, second), np.maximum(first, second)
        key, weight = _merge(low * num_nodes + high, weight)
        left = len(key)
        key = np.concatenate((key, _reverse(key, num_nodes)))
        key, weight = _merge(key, None if weight is None else np.concatenate((weight, weight)))
    edge_index = torch.from_numpy(np.stack(np.divmod(key, num_nodes)))
    edge_weight = None if weight is None else torch.from_numpy(weight.astype(np.float32))
    return edge_index, edge_weight, _notes(loops, rows - loops - left, edge_weight is not None)


def _reverse(key: Ints, num_nodes: int) -> Ints:
    """The keys of the same edges in the other direction."""
    first, second = np.divmod(key, num_nodes)
    return second * num_nodes + first


def is_symmetric(key: Ints, weight: Floats | None, num_nodes: int) -> bool:
    """Whether each edge is there in both directions with one weight; keys sorted and distinct."""
    first, second = np.divmod(key, num_nodes)
    if np.count_nonzero(first < second) * 2 != len(key):  # cheap, and mostly the answer
        return False
    back = second * num_nodes + first
    if weight is None:
        back.sort()
        return np.array_equal(back, key)
    order = np.argsort(back)
    return np.array_equal(back[order], key) and np.array_equal(weight[order], weight)


def _merge(key: Ints, weight: Floats | None) -> tuple[Ints, Floats | None]:
    """Distinct keys in order, weights of equal ones summed."""
    # Not np.unique: its hash table takes half a minute for 20 million keys.
    if weight is None:
        key = np.sort(key)
        return key[_starts(key)], None
    order = np.argsort(key)
    key = key[order]
    starts = np.flatnonzero(_starts(key))
    if len(starts) == len(key):
        return key, weight[order]
    return key[starts], np.add.reduceat(weight[order], starts)


def _starts(key: Ints) -> NDArray[np.bool_]:
    return np.concatenate((np.ones(min(len(key), 1), bool), key[1:] != key[:-1]))


def _notes(loops: int, repeats: int, weighted: bool) -> tuple[str, ...]:
    done = []
    if loops:
        done.append(f"removed {count(loops, 'self-loop')}")
    if repeats:
        summed = ", weights summed" if weighted else ""
        done.append(f"merged {count(repeats, 'repeated edge')}{summed}")
    return (f"Edges: {'; '.join(done)}.",) if done else ()
