"""From ids to numbers of nodes, for edges that come in blocks.

What a column of ids holds, whole numbers or text, is known only when all of it was seen. So all
blocks are looked at once; then each is numbered by itself. The rules are those of
:mod:`hgcn.data.reading.ids`, and memory is needed for the distinct ids, not for all edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hgcn.data.mapped.blocks import Blocks
from hgcn.data.neighbours import short
from hgcn.data.pairs import Ints
from hgcn.data.reading.edges import refuse_first_row, refuse_negative
from hgcn.data.reading.ids import as_text, as_whole, has_points, positions, tidy
from hgcn.data.reading.tables import Frame, check_type, refuse_length, too_long

if TYPE_CHECKING:
    import polars as pl

PLAIN, POINTS, TEXT = "numbers", "numbers with points", "text"
"""What ids may be: whole numbers; such of which some have a point, as in 3.0; or text."""
DENSE = 1 << 28
"""Numbers below this are noted in a table of all of them."""


@dataclass
class Distinct:
    """The distinct ones of many whole numbers, each 0 or more."""

    seen: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    large: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    pending: list[Ints] = field(default_factory=list)

    def add(self, numbers: Ints) -> None:
        """Take in some numbers."""
        high = int(numbers.max(initial=-1))
        if high < DENSE:
            if high >= len(self.seen):
                grown = np.zeros(min(DENSE, max(2 * len(self.seen), high + 1)), bool)
                grown[: len(self.seen)] = self.seen
                self.seen = grown
            self.seen[numbers] = True
            return
        self.add(numbers[numbers < DENSE])
        self.pending.append(np.unique(numbers[numbers >= DENSE]))
        if sum(map(len, self.pending)) > len(self.large) + (1 << 22):
            self._merge()

    def _merge(self) -> None:
        self.large = np.unique(np.concatenate([self.large, *self.pending]))
        self.pending = []

    def result(self) -> Ints:
        """All of them, in order."""
        self._merge()
        return np.concatenate((np.flatnonzero(self.seen), self.large))


@dataclass(frozen=True)
class EdgeIds:
    """The ids at both ends of edges that come in blocks.

    Attributes:
        frame: the table of edges, whose data are :class:`Blocks`.
        source, target: the names of the columns.
        kind: what the ids are.
    """

    frame: Frame
    source: str
    target: str
    kind: str = PLAIN

    @property
    def blocks(self) -> Blocks:
        """The blocks of the table."""
        return self.frame.data  # type: ignore[return-value]

    def ends(self, block: int) -> tuple[pl.Series, pl.Series]:
        """The two columns of a block."""
        data = self.blocks.read(block, [self.source, self.target])
        return data.get_column(self.source), data.get_column(self.target)

    def location(self, block: int) -> Callable[[int], str]:
        """The location of a row of a block, or of an end: all sources, then all targets."""
        rows, start = self.blocks.sizes[block], self.blocks.starts[block]
        return lambda at: self.frame.location(start + at % rows)

    def ids(self, block: int) -> pl.Series:
        """The ids of a block: all sources, then all targets; int64 or text."""
        import polars as pl

        ends, location = self.ends(block), self.location(block)
        if self.kind == POINTS:
            whole = [as_whole(column) for column in ends]
            return tidy(_joined(whole[0], whole[1]), location)  # type: ignore[arg-type]
        both = _joined(*ends)
        return (
            tidy(both, location) if self.kind == PLAIN else as_text(both, location).cast(pl.String)
        )

    def find(self, wanted: Any) -> str:
        """The location of the first edge with an id."""
        for block, rows in enumerate(self.blocks.sizes):
            ids = self.ids(block)
            at = np.flatnonzero((ids == wanted).to_numpy())
            if len(at):
                return self.location(block)(int(np.min(at % rows)))
        return self.frame.path


def _joined(source: pl.Series, target: pl.Series) -> pl.Series:
    import polars as pl

    if source.dtype != target.dtype:
        source, target = source.cast(pl.String), target.cast(pl.String)
    return pl.concat([source.alias("id"), target.alias("id")])


def survey(edges: EdgeIds) -> tuple[str, Ints | None]:
    """What the ids are, and the distinct ones if they are plain numbers; faults are refused."""
    for name in (edges.source, edges.target):
        check_type(name, edges.blocks.schema[name], edges.frame.path)
    seen = _Seen(edges)
    for block in range(len(edges.blocks.sizes)):
        seen.add(block)
    seen.check_first_row()
    for name, length in zip((edges.source, edges.target), seen.lengths, strict=True):
        if too_long(length.longest, edges.blocks.height, length.total):
            refuse_length(name, length.longest, edges.frame.location(length.row))
    kind = POINTS if seen.points and seen.whole else PLAIN if seen.plain else TEXT
    if kind == PLAIN and seen.negative is not None:
        refuse_negative(seen.negative[2], edges.frame.location(seen.negative[1]))
    return kind, seen.distinct.result() if kind == PLAIN else None


@dataclass
class _Seen:
    """What blocks of edges have shown.

    Attributes:
        points: whether some ids have a point.
        whole: whether all are whole numbers, with or without one.
        plain: whether all are whole numbers without one.
        negative: of the first id below zero: whether it is a target, its row, and itself.
        first: the ids of the first row, if they may be a header; else nothing.
        again: whether these occur in another row.
    """

    edges: EdgeIds
    points: bool = False
    whole: bool = True
    plain: bool = True
    negative: tuple[bool, int, int] | None = None
    first: list[Any] = field(default_factory=list)
    again: bool = False
    distinct: Distinct = field(default_factory=Distinct)
    lengths: tuple[_Lengths, _Lengths] = field(default_factory=lambda: (_Lengths(), _Lengths()))

    def add(self, block: int) -> None:
        """Look at a block."""
        import polars as pl

        ends, start = self.edges.ends(block), self.edges.blocks.starts[block]
        others = ends
        if not start and self.edges.frame.header is None:
            self.first = [column[0] for column in ends]
            others = (ends[0].slice(1), ends[1].slice(1))
        if self.first and not self.again:
            self.again = None in self.first or any(o.is_in(self.first).any() for o in others)
        for column, length in zip(ends, self.lengths, strict=True):
            if column.dtype == pl.String:
                length.add(column, start)
        self.whole = self.whole and all(as_whole(column) is not None for column in ends)
        if self.whole and not self.points:  # else points mean nothing
            self.points = any(map(has_points, ends))
        if self.plain:
            ids = tidy(_joined(*ends), self.edges.location(block))
            self.plain = ids.dtype == pl.Int64
            if self.plain:
                self._add_numbers(ids.to_numpy(), start)

    def _add_numbers(self, numbers: Ints, start: int) -> None:
        below = np.flatnonzero(numbers < 0)
        if not len(below):
            self.distinct.add(numbers)
            return
        at, rows = int(below[0]), len(numbers) // 2
        found = (at >= rows, start + at % rows, int(numbers[at]))
        self.negative = min(self.negative or found, found)

    def check_first_row(self) -> None:
        """Refuse to guess where the first line may be an edge or a header."""
        if self.first and not self.again:
            refuse_first_row(self.edges.frame, self.first)


@dataclass
class _Lengths:
    """The longest text of a column, its row, and the bytes of all."""

    longest: int = 0
    row: int = 0
    total: int = 0

    def add(self, column: pl.Series, start: int) -> None:
        sizes = column.str.len_bytes()
        self.total += int(sizes.sum())
        longest = int(sizes.max() or 0)  # type: ignore[arg-type]
        if longest > self.longest:
            self.longest, self.row = longest, start + int(sizes.arg_max() or 0)


def distinct_ids(edges: EdgeIds) -> pl.Series:
    """The distinct ids in order, if they are not plain numbers."""
    import polars as pl

    if edges.kind == POINTS:
        numbers = Distinct()
        for block in range(len(edges.blocks.sizes)):
            numbers.add(edges.ids(block).to_numpy())
        return pl.Series("id", numbers.result())
    known, pending = pl.Series("id", [], pl.String), []
    for block in range(len(edges.blocks.sizes)):
        pending.append(edges.ids(block).unique())
        if sum(map(len, pending)) > len(known) + (1 << 22):
            known, pending = pl.concat([known, *pending]).unique(), []
    return pl.concat([known, *pending]).unique().sort()


@dataclass(frozen=True)
class Numbering:
    """The number of the node for each distinct id.

    Args:
        ids: the distinct ids, in order.
        numbers: the number of the node that each stands for.
    """

    ids: pl.Series
    numbers: NDArray[Any]

    def __post_init__(self) -> None:
        table = None
        if self.ids.dtype.is_integer() and len(self.ids):
            values = self.ids.to_numpy()
            low, high = int(values[0]), int(values[-1])
            if high - low < 4 * len(values) + 1000:
                table = np.zeros(high - low + 1, short(len(self.numbers)))
                table[values - low] = self.numbers
        object.__setattr__(self, "_table", table)

    def __call__(self, ids: pl.Series) -> Ints:
        """The numbers of the nodes with these ids."""
        table: NDArray[Any] | None = self._table  # type: ignore[attr-defined]
        if table is not None:
            return table[ids.to_numpy() - int(self.ids[0])].astype(np.int64)
        if self.ids.dtype.is_integer():
            asked, back = np.unique(ids.to_numpy(), return_inverse=True)
            return self.numbers[np.searchsorted(self.ids.to_numpy(), asked)][back]
        return self.numbers[positions(ids, self.ids)]
