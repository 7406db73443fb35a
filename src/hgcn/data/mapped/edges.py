"""The edges of a graph, cleaned and sorted on the disk.

The rules are those of :func:`hgcn.data.clean.clean_edges`. There each step looks at all edges at
once; here it looks at ranges of them, so that memory does not grow with their number:

1. each block of the source becomes a sorted run of keys;
2. ranges of keys are merged, which brings repeats, and an edge and its reverse, together;
3. both directions of all edges are sorted by source, and written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgcn.data.clean import cleaning_notes
from hgcn.data.mapped.arrays import ArrayFile, forget, pieces
from hgcn.data.mapped.journal import Journal
from hgcn.data.mapped.sorting import RANGE, Keys, Runs, in_order, write_run
from hgcn.data.neighbours import short
from hgcn.data.pairs import Ints, keys, pairs_at, starts
from hgcn.errors import GraphError

Block = Callable[[int], tuple[Ints, Ints, NDArray[np.float64] | None]]


@dataclass(frozen=True)
class EdgeSorter:
    """Edges of a source that comes in blocks, on their way to arrays.

    Args:
        journal: the work, in whose folder runs are kept.
        folder: where the arrays go.
        num_nodes: the number of nodes.
        directed: whether direction means something.
        weighted: whether edges have weights.
    """

    journal: Journal
    folder: Path
    num_nodes: int
    directed: bool
    weighted: bool

    @property
    def _dtype(self) -> Any:
        return np.float64 if self.weighted else None

    def run(self, num_blocks: int, block: Block) -> tuple[str, ...]:
        """Sort and write all edges; returns notes on what was cleaned.

        Args:
            num_blocks: the number of blocks.
            block: a function from the number of a block to sources, targets and weights.
        """
        read = [
            self.journal.step(f"sort {k}", self._sort_block, k, block) for k in range(num_blocks)
        ]
        names = tuple(f"block-{k}" for k in range(num_blocks))
        runs = Runs(self.journal, "blocks", names, self._dtype, even=not self.directed)
        merged = [self.journal.step(f"merge {r}", self._merge, r, runs) for r in range(len(runs))]
        self.journal.step("merged", runs.remove)
        symmetric = not self.directed and all(one["symmetric"] for one in merged)
        both = ("edges",) if self.directed else ("edges", "back")
        names = tuple(f"{name}-{r}" for name in both for r in range(len(merged)))
        runs = Runs(self.journal, "merged", names, self._dtype)
        for r in range(len(runs)):
            self.journal.step(f"write {r}", self._write, r, runs, symmetric)
        self.journal.step("written", runs.remove)
        self.journal.step("starts", self._write_starts)
        if self.directed:
            self._write_incoming()
        rows, loops = (sum(one[what] for one in read) for what in ("rows", "loops"))
        kept = "edges" if self.directed or symmetric else "pairs"
        repeats = rows - loops - sum(one[kept] for one in merged)
        return cleaning_notes(loops, repeats, self.weighted)

    def _sort_block(self, k: int, block: Block) -> dict[str, int]:
        source, target, weight = block(k)
        rows = len(source)
        proper = source != target
        source, target = source[proper], target[proper]
        weight = None if weight is None else weight[proper]
        key = keys((source, target), self.num_nodes, unordered=not self.directed).view(np.uint64)
        if not self.directed:  # the last bit says which way the edge goes
            key = 2 * key + (source > target)
        key, weight = in_order(key, weight)
        if weight is None:
            key = key[starts(key)]  # type: ignore[arg-type]
        write_run(self.journal.folder, f"block-{k}", key, weight)
        return {"rows": rows, "loops": rows - int(np.count_nonzero(proper))}

    def _merge(self, r: int, runs: Runs) -> dict[str, Any]:
        """Merge repeats; in an undirected graph also an edge and its reverse."""
        key, weight = _merged(*runs.read(r))
        edges = len(key)
        if self.directed:
            write_run(self.journal.folder, f"edges-{r}", key, weight)
            return {"edges": edges, "pairs": edges, "symmetric": False}
        symmetric = _is_symmetric(key, weight)
        pair, weight = _merged(key >> np.uint64(1), weight)
        write_run(self.journal.folder, f"edges-{r}", pair, weight)
        first, second = pairs_at(pair.view(np.int64), self.num_nodes)
        back = keys((second, first), self.num_nodes).view(np.uint64)
        write_run(self.journal.folder, f"back-{r}", *in_order(back, weight))
        return {"edges": edges, "pairs": len(pair), "symmetric": symmetric}

    def _write(self, r: int, runs: Runs, symmetric: bool) -> None:
        start, total = runs.starts[r], runs.starts[-1]
        key, weight = runs.read(r)
        source, target = pairs_at(key.view(np.int64), self.num_nodes)
        with ArrayFile(self.folder / "edge_index.npy", np.int64, (2, total)) as file:
            file.write_flat(start, source)
            file.write_flat(total + start, target)
        with ArrayFile(self.folder / "out-node.npy", short(self.num_nodes), (total,)) as file:
            file.write(start, target)
        if weight is not None:
            # Where every edge came in both directions, the sum counts each twice.
            with np.errstate(over="ignore"):
                weight = (weight / 2 if symmetric else weight).astype(np.float32)
            if not np.isfinite(weight).all():
                raise GraphError(
                    "Expected `edge_weight` to be positive and finite, got other values."
                )
            with ArrayFile(self.folder / "edge_weight.npy", np.float32, (total,)) as file:
                file.write(start, weight)

    def _write_starts(self) -> None:
        edges = np.load(self.folder / "edge_index.npy", mmap_mode="r")
        counts = Counts(self.num_nodes)
        for piece in pieces(edges.shape[1], RANGE):
            counts.add(edges[0, piece])
            forget(edges)
        counts.write(self.folder / "out-start.npy")

    def _write_incoming(self) -> None:
        """The edges once more, by target."""
        n, journal = self.num_nodes, self.journal
        edges = np.load(self.folder / "edge_index.npy", mmap_mode="r")
        parts = list(pieces(edges.shape[1], RANGE)) or [slice(0, 0)]

        def sort(k: int) -> None:
            source, target = edges[:, parts[k]]
            key = keys((target, source), n).view(np.uint64)
            at = np.arange(parts[k].start, parts[k].stop)
            write_run(journal.folder, f"turned-{k}", *in_order(key, at))
            forget(edges)

        for k in range(len(parts)):
            journal.step(f"turn {k}", sort, k)
        names = tuple(f"turned-{k}" for k in range(len(parts)))
        runs = Runs(journal, "turned", names, np.int64)
        total = runs.starts[-1]

        def write(r: int) -> None:
            key, at = runs.read(r)
            _, source = pairs_at(key.view(np.int64), n)
            with ArrayFile(self.folder / "in-node.npy", short(n), (total,)) as file:
                file.write(runs.starts[r], source)
            with ArrayFile(self.folder / "in-edge.npy", short(total), (total,)) as file:
                file.write(runs.starts[r], at)  # type: ignore[arg-type]

        for r in range(len(runs)):
            journal.step(f"write turned {r}", write, r)

        def write_starts() -> None:
            counts = Counts(n)
            for part in parts:
                counts.add(edges[1, part])
                forget(edges)
            counts.write(self.folder / "in-start.npy")

        journal.step("turned starts", write_starts)
        journal.step("turned", runs.remove)


class Counts:
    """How often each node occurs in arrays that come one by one."""

    def __init__(self, num_nodes: int) -> None:
        self._start = np.zeros(num_nodes + 1, np.int64)

    def add(self, nodes: NDArray[Any]) -> None:
        """Count the nodes of an array."""
        if len(nodes):
            low = int(nodes.min())
            found = np.bincount(nodes - low)
            self._start[low + 1 : low + 1 + len(found)] += found

    def write(self, path: Path) -> None:
        """Write the sum of the counts before each node, and at last that of all."""
        total = np.cumsum(self._start)
        with ArrayFile(path, short(int(total[-1])), total.shape) as file:
            file.write(0, total)


def _merged(key: Keys, weight: NDArray[Any] | None) -> tuple[Keys, NDArray[Any] | None]:
    """Distinct keys of sorted ones, the weights of equal ones summed."""
    first = starts(key)  # type: ignore[arg-type]
    if first.all():
        return key, weight
    summed = None if weight is None else np.add.reduceat(weight, np.flatnonzero(first))
    return key[first], summed


def _is_symmetric(key: Keys, weight: NDArray[Any] | None) -> bool:
    """Whether each edge of distinct, sorted keys is there both ways, with one weight."""
    if len(key) % 2 or (key[::2] % np.uint64(2)).any() or (key[1::2] != key[::2] + 1).any():
        return False
    return weight is None or np.array_equal(weight[::2], weight[1::2])
