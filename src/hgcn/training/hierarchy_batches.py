"""Batches of a hierarchy: nodes, their ancestors, and the candidates that these are told from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from hgcn.data.neighbours import neighbours
from hgcn.data.splits.hierarchy import HierarchySplit
from hgcn.training.task import Input

POPULAR = 0.25
"""Share of the candidates that are drawn by the number of their descendants."""


@dataclass(frozen=True, eq=False)
class HierarchyBatch:
    """The nodes of one step, their ancestors, and the candidates that these are told from.

    ``start`` and ``above`` are the ancestors of each node, ``out_start`` and ``out`` the positions
    of candidates that are right for it.
    """

    seen: Input
    nodes: np.ndarray
    start: np.ndarray
    above: np.ndarray
    candidates: np.ndarray
    out_start: np.ndarray
    out: np.ndarray


class HierarchyDraws:
    """Draws candidates, the same ones for all nodes of a batch.

    Args:
        split: the parts; only the pairs for training are learnt.
        num_nodes: number of nodes of the graph.
        count: number of candidates of a batch.
    """

    def __init__(self, split: HierarchySplit, num_nodes: int, count: int) -> None:
        self.num_nodes, self.count = num_nodes, count
        rows = [
            neighbours(part[0].numpy(), part[1].numpy(), num_nodes)
            for part in (split.train, split.known)
        ]
        self._train, self._known = ((row.start.astype(np.int64), row.node) for row in rows)
        self.learners = np.unique(split.train[0].numpy())
        below = np.bincount(split.train[1].numpy(), minlength=num_nodes)
        self._often = np.cumsum((below + 1e-9) ** 0.75)

    def batch(self, seen: Input, nodes: np.ndarray, generator: torch.Generator) -> HierarchyBatch:
        """The batch of some nodes that have ancestors."""
        candidates = self._candidates(generator)
        place = np.full(self.num_nodes, -1)
        place[candidates] = np.arange(len(candidates))
        start, above = _lists(*self._train, nodes)
        known_start, known = _lists(*self._known, nodes)
        row = np.repeat(np.arange(len(nodes)), np.diff(known_start))
        row = np.concatenate((row, np.arange(len(nodes))))
        out = place[np.concatenate((known, nodes))]
        row, out = row[out >= 0], out[out >= 0]
        order = np.argsort(row, kind="stable")
        out_start = np.append(0, np.cumsum(np.bincount(row, minlength=len(nodes))))
        return HierarchyBatch(seen, nodes, start, above, candidates, out_start, out[order])

    def _candidates(self, generator: torch.Generator) -> np.ndarray:
        """Nodes to be told from ancestors, each once: some of them from those often above."""
        n, count = self.num_nodes, self.count
        if count >= n:
            return np.arange(n)
        drawn = torch.rand(count, generator=generator, dtype=torch.float64).numpy()
        evenly, often = np.split(drawn, [round((1 - POPULAR) * count)])
        often = np.searchsorted(self._often, often * self._often[-1])
        return np.unique(np.concatenate(((evenly * n).astype(np.int64), often)).clip(0, n - 1))


def _lists(start: np.ndarray, node: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lists of some nodes, one after the other, and where each begins."""
    sizes = start[asked + 1] - start[asked]
    begin = np.append(0, np.cumsum(sizes))
    index = np.repeat(start[asked] - begin[:-1], sizes) + np.arange(begin[-1])
    return begin, node[index].astype(np.int64)
