"""Counts of many short lists of pairs on the same edges, beside other work of the process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.counts_of_pairs import (
    Scratch,
    Visible,
    count_pair,
    scratch_of,
    visible,
)
from hgcn.kernels.numba_cpu.tensors import array
from hgcn.kernels.rows import Doubles, Ints

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


class PairCounter:
    """:func:`hgcn.kernels.pair_counts` for edges that stay the same, by the thread that calls it.

    What takes time or memory for each node or edge of the graph is made once, and counting lets
    other threads run. Several threads may count at a time.

    Args:
        weight, direction, graph: as :func:`hgcn.kernels.pair_counts` takes them.
    """

    def __init__(self, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> None:
        self._visible = visible(weight, direction, graph)
        self._local = threading.local()

    def __call__(self, pairs: Tensor) -> Tensor:
        """The counts of pairs ``[2, M]``, shape ``[M, 10]``, float64."""
        local = self._local
        if not hasattr(local, "scratch"):
            local.scratch, local.used = scratch_of(len(self._visible[0]) - 1), 0
        out = torch.zeros(pairs.shape[1], 10, dtype=torch.float64)
        _count(array(pairs), self._visible, local.scratch, local.used, out.numpy())
        local.used += pairs.shape[1]
        return out


@compiled(nogil=True, error_model="numpy")
def _count(pairs: Ints, graph: Visible, scratch: Scratch, used: int, out: Doubles) -> None:
    for m in range(pairs.shape[1]):
        count_pair(pairs[0, m], pairs[1, m], graph, scratch, used + m, out[m])
