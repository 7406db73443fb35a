"""Vector instructions for the columns of rows, written out for LLVM.

Numba leaves a loop over columns to LLVM, which knows neither how many there are nor that rows do
not overlap, and checks both each time. For sixteen columns the checks take longer than the work.
Here the loop is written in lanes from the start, and eight and sixteen columns have code without
a loop. Sums are in the order that is written here, in whatever function they stand.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

LANES = 8
BLOCK = 128
"""Number of rows or edges in a block: their numbers stay near the processor."""
STRIDE = BLOCK + LANES
"""Places for a number of each item of a block; the last ones are only ever spoilt."""

WORD = ir.IntType(64)
SINGLE, DOUBLE = ir.FloatType(), ir.DoubleType()
_BYTES = ir.IntType(8).as_pointer()
_INDEX = ir.IntType(32)

tools: Any = cgutils  # it has no type declarations


class Code:
    """The function that is being written: where instructions go, and its arguments.

    An argument is a pair of its Numba type and its LLVM value.
    """

    def __init__(self, context: Any, builder: Any, kinds: Sequence[Any], values: Any) -> None:
        self.context, self.builder = context, builder
        self.arguments = list(zip(kinds, values, strict=True))

    def array(self, argument: int) -> Array:
        """The array at this position."""
        return Array(self, *self.arguments[argument])

    def row(self, argument: int) -> Row:
        """The row of the array at this position, whose number is the argument after it."""
        return self.array(argument).row(self.whole(argument + 1))

    def whole(self, argument: int) -> Any:
        """The whole number at this position."""
        return self._cast(argument, types.intp)

    def place(self, number: int, item: int) -> Any:
        """Where in the list of a block a number of an item stands, both of them arguments."""
        begin = self.builder.mul(self.whole(number), ir.Constant(WORD, STRIDE))
        return self.builder.add(begin, self.whole(item))

    def double(self, argument: int) -> Any:
        """The number at this position."""
        return self._cast(argument, types.float64)

    def _cast(self, argument: int, wanted: Any) -> Any:
        kind, value = self.arguments[argument]
        return self.context.cast(self.builder, value, kind, wanted)

    def variable(self, value: Any) -> Any:
        """A variable that starts with this value."""
        return tools.alloca_once_value(self.builder, value)

    def spread(self, value: Any, lanes: int) -> Any:
        """A vector with the same value in each lane."""
        if lanes == 1:
            return value
        nothing = ir.Constant(_vector(value.type, lanes), ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(_INDEX, 0))
        zeros = ir.Constant(ir.VectorType(_INDEX, lanes), [0] * lanes)
        return self.builder.shuffle_vector(first, nothing, zeros)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, rounded once."""
        double = a.type in (DOUBLE, _vector(DOUBLE, LANES))
        number = "f64" if double else "f32"
        name = f"llvm.fma.{number if a.type in (SINGLE, DOUBLE) else f'v{LANES}{number}'}"
        function = tools.get_or_insert_function(
            self.builder.module, ir.FunctionType(a.type, [a.type] * 3), name
        )
        return self.builder.call(function, [a, b, c])

    def fold(self, value: Any) -> Any:
        """The sum of all lanes: the one half is added to the other, until one is left."""
        lanes = LANES
        while lanes > 1:
            lanes //= 2
            nothing = ir.Constant(value.type, ir.Undefined)
            halves = [
                self.builder.shuffle_vector(
                    value, nothing,
                    ir.Constant(ir.VectorType(_INDEX, lanes), [*range(first, first + lanes)]),
                )
                for first in (0, lanes)
            ]  # fmt: skip
            value = self.builder.fadd(*halves)
        return self.builder.extract_element(value, ir.Constant(_INDEX, 0))

    @contextlib.contextmanager
    def loop(self, start: Any, end: Any, step: int) -> Iterator[Any]:
        """A loop that LLVM leaves as it is: it would write most of them out several times."""
        builder = self.builder
        before, head = builder.basic_block, builder.append_basic_block("head")
        inside, after = builder.append_basic_block("inside"), builder.append_basic_block("after")
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(WORD)
        at.add_incoming(start, before)
        builder.cbranch(builder.icmp_signed("<", at, end), inside, after)
        builder.position_at_end(inside)
        yield at
        following = builder.add(at, ir.Constant(WORD, step))
        at.add_incoming(following, builder.basic_block)
        builder.branch(head).set_metadata("llvm.loop", self._as_it_is())
        builder.position_at_end(after)

    def _as_it_is(self) -> Any:
        module = self.builder.module
        off = module.add_metadata(["llvm.loop.unroll.disable"])
        plain = module.add_metadata(["llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0)])
        # A loop is known by a node that names itself.
        node = ir.values.MDValue(module, [], name=str(len(module.metadata)))
        node.operands = (node, off, plain)
        return node

    def over_columns(self, columns: Any, body: Callable[[list[Any], int], None]) -> None:
        """Call ``body(places, lanes)`` for vectors at these places that cover all columns."""
        with self._otherwise(columns, LANES, body), self._otherwise(columns, 2 * LANES, body):
            even = self.builder.and_(columns, ir.Constant(WORD, -LANES))
            for lanes, *ends in ((LANES, ir.Constant(WORD, 0), even), (1, even, columns)):
                with self.loop(ends[0], ends[1], lanes) as at:
                    body([at], lanes)

    @contextlib.contextmanager
    def _otherwise(
        self, columns: Any, usual: int, body: Callable[[list[Any], int], None]
    ) -> Iterator[None]:
        """Code without a loop for so many columns; for others what stands in the context."""
        same = self.builder.icmp_signed("==", columns, ir.Constant(WORD, usual))
        with self.builder.if_else(same) as (yes, no):
            with yes:
                body([ir.Constant(WORD, at) for at in range(0, usual, LANES)], LANES)
            with no:
                yield

    def sums(
        self, columns: Any, terms: Callable[[Any, int], Sequence[tuple[Any, Any]]], count: int,
        number: Any = DOUBLE,
    ) -> list[Any]:  # fmt: skip
        """So many sums over columns of products of two factors, which ``terms`` computes."""
        totals = {
            lanes: [self.variable(constant(number, lanes, 0.0)) for _ in range(count)]
            for lanes in (LANES, 1)
        }

        def add(places: list[Any], lanes: int) -> None:
            for at in places:
                for total, (a, b) in zip(totals[lanes], terms(at, lanes), strict=True):
                    value = self.multiply_add(a, b, self.builder.load(total))
                    self.builder.store(value, total)

        self.over_columns(columns, add)
        return [
            self.builder.fadd(self.fold(self.builder.load(sums)), self.builder.load(rest))
            for sums, rest in zip(totals[LANES], totals[1], strict=True)
        ]


class Array:
    """A contiguous matrix or list among the arguments."""

    def __init__(self, code: Code, kind: Any, value: Any) -> None:
        made = code.context.make_array(kind)(code.context, code.builder, value)
        self.code, self.kind = code, kind.dtype
        self.entry = code.context.get_data_type(kind.dtype)
        self.data = code.builder.bitcast(made.data, _BYTES)
        self.shape, self.strides = made.shape, made.strides

    def size(self, axis: int) -> Any:
        """The number of rows or entries, or that of columns."""
        return self.code.builder.extract_value(self.shape, axis)

    def row(self, number: Any) -> Row:
        """A row by its number, which is not negative."""
        builder = self.code.builder
        stride = builder.extract_value(self.strides, 0)
        return self._row(builder.gep(self.data, [builder.mul(stride, number)]))

    @property
    def entries(self) -> Row:
        """All entries of a list."""
        return self._row(self.data)

    def _row(self, address: Any) -> Row:
        return Row(self.code, address, self.entry, self.kind.bitwidth // 8)

    def number(self, at: Any) -> Any:
        """An entry of a list of row numbers."""
        value = self.entries.load(at, 1, self.entry)
        return self.code.context.cast(self.code.builder, value, self.kind, types.intp)


class Row:
    """A row of numbers in memory."""

    def __init__(self, code: Code, address: Any, entry: Any, size: int) -> None:
        self.code, self.address, self.entry, self.size = code, address, entry, size

    def _at(self, at: Any, lanes: int) -> Any:
        builder = self.code.builder
        address = builder.gep(builder.bitcast(self.address, self.entry.as_pointer()), [at])
        return builder.bitcast(address, _vector(self.entry, lanes).as_pointer())

    def after(self, shift: Any) -> Row:
        """The rest of the row, from this column on."""
        builder = self.code.builder
        address = builder.gep(builder.bitcast(self.address, self.entry.as_pointer()), [shift])
        return Row(self.code, builder.bitcast(address, _BYTES), self.entry, self.size)

    def load(self, at: Any, lanes: int, number: Any = DOUBLE) -> Any:
        """So many entries, as numbers of this type."""
        value = self.code.builder.load(self._at(at, lanes), align=self.size)
        if self.entry == number:
            return value
        return self.code.builder.fpext(value, _vector(number, lanes))

    def store(self, value: Any, at: Any, lanes: int) -> None:
        """Set entries to a vector, rounded to the type that they have."""
        kind = _vector(self.entry, lanes)
        if value.type != kind:
            value = self.code.builder.fptrunc(value, kind)
        self.code.builder.store(value, self._at(at, lanes), align=self.size)


def constant(number: Any, lanes: int, value: float) -> Any:
    """A vector with the same value in each lane."""
    return ir.Constant(_vector(number, lanes), [value] * lanes if lanes > 1 else value)


def _vector(number: Any, lanes: int) -> Any:
    return number if lanes == 1 else ir.VectorType(number, lanes)
