"""Sorting of more pairs than fit into memory: sorted runs on the disk, read by ranges of keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgcn.data.mapped.journal import Journal

RANGE = 1 << 24
"""Keys that are sorted in memory at a time."""
SAMPLES = 1 << 12
"""Keys of each run that tell where ranges end."""

Keys = NDArray[np.uint64]


def in_order(key: Keys, value: NDArray[Any] | None) -> tuple[Keys, NDArray[Any] | None]:
    """Keys in order, and the values with them; equal keys keep the order they have."""
    if value is None:
        return np.sort(key, kind="stable"), None
    order = np.argsort(key, kind="stable")
    return key[order], value[order]


def write_run(folder: Path, name: str, key: Keys, value: NDArray[Any] | None) -> None:
    """Write keys that are in order, and perhaps a value for each."""
    key.tofile(folder / f"{name}.key")
    if value is not None:
        value.tofile(folder / f"{name}.value")


@dataclass(frozen=True)
class Runs:
    """Runs, each sorted, as ranges of keys that fit into memory one at a time.

    Args:
        journal: the work that this is a part of, in whose folder the runs are.
        stem: a name for all of them.
        names: their names, in the order that equal keys are to have.
        dtype: the type of the values; None if there are none.
        even: whether a key and the one after it, if the first is even, stay in one range.
    """

    journal: Journal
    stem: str
    names: tuple[str, ...]
    dtype: Any = None
    even: bool = False

    @cached_property
    def _positions(self) -> NDArray[np.int64]:
        """The position in each run where each range begins, and at last the lengths of the runs."""
        path = self.journal.folder / f"{self.stem}-ranges.npy"
        self.journal.step(f"{self.stem} ranges", self._write_ranges, path)
        positions: NDArray[np.int64] = np.load(path, allow_pickle=False)
        return positions

    def _write_ranges(self, path: Path) -> None:
        np.save(path, self._ranges())

    def _ranges(self) -> NDArray[np.int64]:
        keys = [self._keys(name) for name in self.names]
        lengths = np.array([len(key) for key in keys], np.int64)
        count = -(-int(lengths.sum()) // RANGE)
        steps = [max(1, len(key) // SAMPLES) for key in keys]
        samples = [key[::step] for key, step in zip(keys, steps, strict=True)]
        sample = np.concatenate([np.zeros(0, np.uint64), *samples])
        weight = np.repeat(steps, [len(some) for some in samples]).astype(np.int64)
        order = np.argsort(sample, kind="stable")
        aims = np.searchsorted(np.cumsum(weight[order]), np.arange(1, count) * RANGE)
        bounds = sample[order][np.minimum(aims, len(order) - 1)]
        if self.even:
            bounds -= bounds % np.uint64(2)
        bounds = np.unique(bounds)
        inner = [np.searchsorted(key, bounds) for key in keys]
        table = [np.concatenate(([0], at, [n])) for at, n in zip(inner, lengths, strict=True)]
        return np.array(table, np.int64).reshape(len(keys), len(bounds) + 2)

    def _keys(self, name: str) -> Keys:
        path = self.journal.folder / f"{name}.key"
        if not path.stat().st_size:
            return np.zeros(0, np.uint64)
        return np.memmap(path, np.uint64, "r")

    def __len__(self) -> int:
        return self._positions.shape[1] - 1

    @property
    def starts(self) -> list[int]:
        """The number of keys before each range, and at last that of all."""
        return [int(n) for n in self._positions.sum(axis=0)]

    def read(self, at: int) -> tuple[Keys, NDArray[Any] | None]:
        """The keys of a range, sorted, and their values."""
        spans = list(zip(self.names, self._positions[:, at : at + 2].tolist(), strict=True))
        key = np.concatenate([self._part(f"{name}.key", span, np.uint64) for name, span in spans])
        if self.dtype is None:
            return in_order(key, None)
        value = np.concatenate([self._part(f"{name}.value", s, self.dtype) for name, s in spans])
        return in_order(key, value)

    def _part(self, file: str, span: Iterable[int], dtype: Any) -> NDArray[Any]:
        start, end = span
        size = np.dtype(dtype).itemsize
        return np.fromfile(self.journal.folder / file, dtype, end - start, offset=start * size)

    def remove(self) -> None:
        """Remove the files, which are not needed any more."""
        _ = self._positions
        for name in self.names:
            for ending in ("key", "value"):
                (self.journal.folder / f"{name}.{ending}").unlink(missing_ok=True)
