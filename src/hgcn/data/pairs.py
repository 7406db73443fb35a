"""Pairs of nodes as single integers, which can be sorted, compared and searched.

The pair ``(i, j)`` of a graph of ``n`` nodes has the key ``i * n + j``. Keys are in the order of
their pairs: first by ``i``, then by ``j``. All functions take tensors or NumPy arrays, and return
the same type.
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hgcn.errors import GraphError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_NODES = math.isqrt(2**63 - 1)
"""The largest number of nodes whose keys fit in int64: 3,037,000,499."""


@overload
def keys(pairs: Tensor, num_nodes: int, *, unordered: bool = False) -> Tensor: ...
@overload
def keys(
    pairs: NDArray[Any] | tuple[NDArray[Any], NDArray[Any]],
    num_nodes: int,
    *,
    unordered: bool = False,
) -> Ints: ...
def keys(pairs: Any, num_nodes: int, *, unordered: bool = False) -> Any:
    """One integer for each pair of nodes.

    Example:
        >>> import torch
        >>> keys(torch.tensor([[0, 2], [1, 0]]), 3)
        tensor([1, 6])
        >>> keys(torch.tensor([[0, 2], [1, 0]]), 3, unordered=True)
        tensor([1, 2])

    Args:
        pairs: nodes in ``0..num_nodes - 1``, shape ``[2, M]``, or two rows of length ``M``.
        num_nodes: number of nodes of the graph, at most :data:`MOST_NODES`.
        unordered: give ``(i, j)`` and ``(j, i)`` one key, that of the pair with the smaller first.
    """
    _check(num_nodes)
    first, second = pairs
    if isinstance(first, Tensor):
        first, second = first.long(), second.long()
        if unordered:
            first, second = torch.minimum(first, second), torch.maximum(first, second)
    else:
        first, second = first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)
        if unordered:
            first, second = np.minimum(first, second), np.maximum(first, second)
    return first * num_nodes + second


@overload
def pairs_at(keys: Tensor, num_nodes: int) -> Tensor: ...
@overload
def pairs_at(keys: Ints, num_nodes: int) -> Ints: ...
def pairs_at(keys: Any, num_nodes: int) -> Any:
    """The pairs of these keys, shape ``[2, M]``: the inverse of :func:`keys`.

    Example:
        >>> import torch
        >>> pairs_at(torch.tensor([1, 6]), 3).tolist()
        [[0, 2], [1, 0]]
    """
    _check(num_nodes)
    if isinstance(keys, Tensor):
        return torch.stack((keys // num_nodes, keys % num_nodes))
    return np.stack(np.divmod(keys, num_nodes))


@overload
def distinct(keys: Tensor) -> Tensor: ...
@overload
def distinct(keys: Ints) -> Ints: ...
def distinct(keys: Any) -> Any:
    """The keys in order, each once."""
    if isinstance(keys, Tensor):
        # NumPy sorts integers ten times as fast as torch does, but knows no other devices.
        return (
            torch.from_numpy(distinct(keys.detach().numpy())) if keys.is_cpu else torch.unique(keys)
        )
    # Not np.unique: its hash table takes half a minute for 20 million keys.
    ordered = np.sort(keys)
    return ordered[starts(ordered)]


def starts(sorted_keys: Ints) -> Bools:
    """A mask of the sorted keys that differ from the one before; the first one counts as such."""
    differs = np.ones(len(sorted_keys), bool)
    np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=differs[1:])
    return differs


@overload
def find(sorted_keys: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]: ...
@overload
def find(sorted_keys: Ints, asked: Ints) -> tuple[Ints, Bools]: ...
def find(sorted_keys: Any, asked: Any) -> Any:
    """The position of each key among sorted ones, and whether it is there at all.

    Example:
        >>> import torch
        >>> find(torch.tensor([1, 4, 6]), torch.tensor([6, 5, 1]))
        (tensor([2, 2, 0]), tensor([ True, False,  True]))

    Args:
        sorted_keys: keys in order; of equal ones the first is found.
        asked: keys in any order.

    Returns:
        ``(position, found)``. Where ``found`` is False the position means nothing, but may be used
        as an index unless there are no ``sorted_keys``.
    """
    last = max(len(sorted_keys) - 1, 0)
    if isinstance(sorted_keys, Tensor):
        position = torch.searchsorted(sorted_keys.contiguous(), asked.contiguous()).clamp_(max=last)
        if not len(sorted_keys):
            return position, torch.zeros_like(asked, dtype=torch.bool)
        return position, sorted_keys[position] == asked
    position = np.minimum(np.searchsorted(sorted_keys, asked), last)
    if not len(sorted_keys):
        return position, np.zeros(asked.shape, bool)
    return position, sorted_keys[position] == asked


def _check(num_nodes: int) -> None:
    if not 0 < num_nodes <= MOST_NODES:
        raise GraphError(
            f"Expected 1 to {MOST_NODES:,} nodes, so that each pair has a number of its own in "
            f"64 bits, got {num_nodes:,}."
        )
