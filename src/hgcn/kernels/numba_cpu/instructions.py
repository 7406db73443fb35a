"""Operations on rows that Numba lacks, or makes slow; :mod:`.lanes` has the means.

A row is an array and a number, which is not negative. Sums over columns have a fixed order: a
compiler that is free to reorder them does so differently where the same loop stands in another
function. A product that is added to a sum is not rounded before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from hgcn.kernels.numba_cpu.lanes import (
    DOUBLE,
    LANES,
    SINGLE,
    WORD,
    Code,
    Row,
    constant,
    tools,
)

Written = tuple[Any, Callable[[Any, Any, Any, Any], Any]]
"""What Numba asks of an intrinsic: its signature, and a function that writes it."""


def _written(signature: Any, write: Callable[[Code], Any]) -> Written:
    """An intrinsic whose code a function writes."""
    for array in signature.args:
        if isinstance(array, types.Array) and array.layout != "C":
            raise TypingError(f"Expected a contiguous array, got {array}.")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        result = write(Code(context, builder, signature.args, arguments))
        return context.get_dummy_value() if result is None else result

    return signature, generate


@intrinsic
def _prefetch(typing: Any, x: Any, i: Any) -> Written:
    def write(code: Code) -> None:
        address, word = code.row(0).address, ir.IntType(32)
        call = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        function = tools.get_or_insert_function(code.builder.module, call, "llvm.prefetch.p0")
        # Arguments of llvm.prefetch: to read, keep in all caches, data rather than code.
        code.builder.call(function, [address, *(ir.Constant(word, n) for n in (0, 3, 1))])

    return _written(types.void(x, i), write)


@intrinsic
def _at(typing: Any, x: Any, k: Any) -> Written:
    def write(code: Code) -> Any:
        entries = code.array(0).entries
        return entries.load(code.whole(1), 1, entries.entry)

    return _written(x.dtype(x, k), write)


@intrinsic
def _put(typing: Any, x: Any, k: Any, value: Any) -> Written:
    def write(code: Code) -> None:
        code.array(0).entries.store(code.double(2), code.whole(1), 1)

    return _written(types.void(x, k, value), write)


@intrinsic
def _multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Written:
    def write(code: Code) -> Any:
        return code.multiply_add(*(code.double(k) for k in range(3)))

    return _written(types.float64(a, b, c), write)


@intrinsic
def _number(typing: Any, block: Any, k: Any, b: Any) -> Written:
    def write(code: Code) -> Any:
        return code.array(0).entries.load(code.place(1, 2), 1)

    return _written(types.float64(block, k, b), write)


@intrinsic
def _note(typing: Any, block: Any, k: Any, b: Any, value: Any) -> Written:
    def write(code: Code) -> None:
        code.array(0).entries.store(code.double(3), code.place(1, 2), 1)

    return _written(types.void(block, k, b, value), write)


@intrinsic
def _spread(typing: Any, block: Any, k: Any, b: Any, end: Any, value: Any) -> Written:
    def write(code: Code) -> None:
        builder, entries = code.builder, code.array(0).entries
        value, first = code.spread(code.double(4), LANES), code.place(1, 2)
        end = builder.add(first, builder.sub(code.whole(3), code.whole(2)))
        with code.loop(first, end, LANES) as at:
            entries.store(value, at, LANES)

    return _written(types.void(block, k, b, end, value), write)


def _sum_over_columns(factors: Callable[..., tuple[Any, Any]], *, wide: bool) -> Any:
    """A function of (x, i, y, j): the sum over columns of products of two factors.

    The sum is in double precision; if not ``wide``, in single precision where both arrays are.
    """

    @intrinsic
    def total(typing: Any, x: Any, i: Any, y: Any, j: Any) -> Written:
        single = not wide and x.dtype == y.dtype == types.float32
        number, result = (SINGLE, types.float32) if single else (DOUBLE, types.float64)

        def write(code: Code) -> Any:
            rows = code.row(0), code.row(2)

            def terms(at: Any, lanes: int) -> list[tuple[Any, Any]]:
                return [factors(code.builder, *(row.load(at, lanes, number) for row in rows))]

            return code.sums(code.array(0).size(1), terms, 1, number)[0]

        return _written(result(x, i, y, j), write)

    return total


def _both(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return a, b


def _difference_twice(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    difference = builder.fsub(a, b)
    return difference, difference


@intrinsic
def _square_and_product(
    typing: Any, y: Any, j: Any, scale: Any, unit: Any, i: Any, p: Any, k: Any
) -> Written:
    def write(code: Code) -> Any:
        builder, other, unit, p = code.builder, code.row(0), code.row(3), code.row(5)
        scale = code.double(2)

        def terms(at: Any, lanes: int) -> list[tuple[Any, Any]]:
            difference = _scaled_difference(code, other, scale, unit, at, lanes)
            return [(difference, difference), (difference, p.load(at, lanes))]

        sums = code.sums(code.array(0).size(1), terms, 2)
        return tools.pack_array(builder, sums)

    result = types.UniTuple(types.float64, 2)  # type: ignore[no-untyped-call]
    return _written(result(y, j, scale, unit, i, p, k), write)


@intrinsic
def _square(typing: Any, y: Any, j: Any, scale: Any, unit: Any, i: Any) -> Written:
    def write(code: Code) -> Any:
        other, unit, scale = code.row(0), code.row(3), code.double(2)

        def terms(at: Any, lanes: int) -> list[tuple[Any, Any]]:
            return [(_scaled_difference(code, other, scale, unit, at, lanes),) * 2]

        return code.sums(code.array(0).size(1), terms, 1)[0]

    return _written(types.float64(y, j, scale, unit, i), write)


def _scaled_difference(code: Code, other: Row, scale: Any, unit: Row, at: Any, lanes: int) -> Any:
    """``scale * other - unit``: rounded twice, so that it is zero where the two are equal."""
    product = code.builder.fmul(other.load(at, lanes), code.spread(scale, lanes))
    return code.builder.fsub(product, unit.load(at, lanes))


@intrinsic
def _scale_row(typing: Any, out: Any, r: Any, x: Any, i: Any, factor: Any) -> Written:
    def write(code: Code) -> None:
        target, row, factor = code.row(0), code.row(2), code.double(4)

        def scale(places: list[Any], lanes: int) -> None:
            for at in places:
                value = code.builder.fmul(row.load(at, lanes), code.spread(factor, lanes))
                target.store(value, at, lanes)

        code.over_columns(code.array(0).size(1), scale)

    return _written(types.void(out, r, x, i, factor), write)


@intrinsic
def _combine(typing: Any, out: Any, r: Any, terms: Any) -> Written:
    """Numba passes the terms as a tuple of triples: a factor, an array and the number of a row."""

    def write(code: Code) -> None:
        builder, (kind, given) = code.builder, code.arguments[2]
        parts = []
        for position, term in enumerate(kind):
            values = tools.unpack_tuple(builder, builder.extract_value(given, position))
            inner = Code(code.context, builder, [*term], values)
            parts.append((inner.double(0), inner.row(1)))
        target = code.row(0)

        def add(places: list[Any], lanes: int) -> None:
            for at in places:
                total = None
                for factor, row in parts:
                    factors = row.load(at, lanes), code.spread(factor, lanes)
                    total = (
                        builder.fmul(*factors) if total is None
                        else code.multiply_add(*factors, total)
                    )  # fmt: skip
                target.store(total, at, lanes)

        code.over_columns(code.array(0).size(1), add)

    return _written(types.void(out, r, terms), write)


@intrinsic
def _add_rows(
    typing: Any, total: Any, r: Any, y: Any, others: Any, first: Any, count: Any, factors: Any,
    k: Any, b: Any,
) -> Written:  # fmt: skip
    def write(code: Code) -> None:
        number = code.array(0).entry
        columns = code.array(0).size(1)
        _accumulate(code, 6, lambda row, _, at, lanes: row.load(at, lanes, number), columns)

    return _written(types.void(total, r, y, others, first, count, factors, k, b), write)


@intrinsic
def _add_differences(
    typing: Any, total: Any, r: Any, y: Any, others: Any, first: Any, count: Any, block: Any,
    k: Any, b: Any, scale: Any, unit: Any, i: Any,
) -> Written:  # fmt: skip
    def write(code: Code) -> None:
        scales, unit = code.array(6).entries, code.row(10)
        begin = code.place(9, 8)

        def value(row: Row, edge: Any, at: Any, lanes: int) -> Any:
            scale = scales.load(code.builder.add(begin, edge), 1)
            return _scaled_difference(code, row, scale, unit, at, lanes)

        _accumulate(code, 6, value, code.array(0).size(1))

    given = total, r, y, others, first, count, block, k, b, scale, unit, i
    return _written(types.void(*given), write)


def _accumulate(
    code: Code, block: int, value: Callable[[Row, Any, Any, int], Any], columns: Any
) -> None:
    """Add to a row a factor times a vector for each of the others, which are rows of y."""
    builder, total, y, others = code.builder, code.row(0), code.array(2), code.array(3)
    factors, begin = code.array(block).entries, code.place(block + 1, block + 2)
    first, count = code.whole(4), code.whole(5)

    def add(places: list[Any], lanes: int) -> None:
        number = total.entry
        sums = [code.variable(total.load(at, lanes, number)) for at in places]
        with code.loop(ir.Constant(WORD, 0), count, 1) as edge:
            row = y.row(others.number(builder.add(first, edge)))
            factor = factors.load(builder.add(begin, edge), 1, number)
            for at, variable in zip(places, sums, strict=True):
                vector = value(row, edge, at, lanes)
                more = code.multiply_add(vector, code.spread(factor, lanes), builder.load(variable))
                builder.store(more, variable)
        for at, variable in zip(places, sums, strict=True):
            total.store(builder.load(variable), at, lanes)

    code.over_columns(columns, add)


@intrinsic
def _leaky_product(
    typing: Any, mine: Any, r: Any, y: Any, j: Any, shift: Any, vector: Any, h: Any, slope: Any
) -> Written:
    def write(code: Code) -> Any:
        mine, theirs, vector = code.row(0), code.row(2).after(code.whole(4)), code.row(5)
        number, builder = mine.entry, code.builder
        slope = builder.fptrunc(code.double(7), number) if number != DOUBLE else code.double(7)

        def terms(at: Any, lanes: int) -> list[tuple[Any, Any]]:
            value = builder.fadd(*(row.load(at, lanes, number) for row in (mine, theirs)))
            low = builder.fmul(value, code.spread(slope, lanes))
            unit = builder.select(builder.fcmp_ordered(">", value, low), value, low)
            return [(unit, vector.load(at, lanes, number))]

        return code.sums(code.array(0).size(1), terms, 1, number)[0]

    return _written(mine.dtype(mine, r, y, j, shift, vector, h, slope), write)


@intrinsic
def _add_where_positive(
    typing: Any, total: Any, r: Any, y: Any, others: Any, first: Any, count: Any, factors: Any,
    k: Any, b: Any, shift: Any, mine: Any, m: Any,
) -> Written:  # fmt: skip
    def write(code: Code) -> None:
        number, shift, mine = code.array(0).entry, code.whole(9), code.row(10)

        def value(row: Row, _: Any, at: Any, lanes: int) -> Any:
            theirs = row.after(shift).load(at, lanes, number)
            value = code.builder.fadd(mine.load(at, lanes, number), theirs)
            zero, one = constant(number, lanes, 0.0), constant(number, lanes, 1.0)
            return code.builder.select(code.builder.fcmp_ordered(">", value, zero), one, zero)

        _accumulate(code, 6, value, code.array(0).size(1))

    given = total, r, y, others, first, count, factors, k, b, shift, mine, m
    return _written(types.void(*given), write)


# The functions as kernels call them: Numba passes the typing context.

prefetch: Any = _prefetch
"""``prefetch(x, i)``: have the processor fetch the start of a row, without waiting for it.

Rows of neighbours are anywhere in memory, and a processor left alone asks for them late.
"""
at: Any = _at
"""``at(x, k)``: an entry of a list, whose number is not counted from the end if negative."""
put: Any = _put
"""``put(x, k, value)``: set an entry of a list."""
multiply_add: Any = _multiply_add
"""``multiply_add(a, b, c)``: ``a b + c``, rounded once."""
number: Any = _number
"""``number(block, k, b)``: number k of item b. The numbers of a block of edges or points are in one
list, so that the compiler knows that they do not overlap; each has ``STRIDE`` places."""
note: Any = _note
"""``note(block, k, b, value)``: set number k of item b."""
spread: Any = _spread
"""``spread(block, k, b, end, value)``: set number k of items b to end, and spoil some after these.
"""
dot = _sum_over_columns(_both, wide=True)
"""``dot(x, i, y, j)``: the product of row i of x and row j of y, in double precision."""
dot_narrow = _sum_over_columns(_both, wide=False)
"""The same as ``dot``, in single precision where both arrays are."""
square_between = _sum_over_columns(_difference_twice, wide=True)
"""``square_between(x, i, y, j)``: the square of the distance of the two rows."""
square: Any = _square
"""``square(y, j, scale, unit, i)``: that of ``difference = scale y_j - unit_i``."""
square_and_product: Any = _square_and_product
"""``square_and_product(y, j, scale, unit, i, p, k)``: also the product of it and row k of p."""
scale_row: Any = _scale_row
"""``scale_row(out, r, x, i, factor)``: set row r of ``out`` to ``factor x_i``."""
combine: Any = _combine
"""``combine(out, r, ((f, x, i), (g, y, j)))``: set a row to ``f x_i + g y_j``, or more terms."""
add_rows: Any = _add_rows
"""``add_rows(total, r, y, others, first, count, block, k, b)``: add rows of y to row r of total.

For each n below ``count`` the row ``others[first + n]`` times number k of item b + n, in this order
and in the precision of ``total``. Where lists are sliced, Numba counts who uses them, which takes
longer than to add a row; hence the positions.
"""
add_differences: Any = _add_differences
"""``add_differences(total, r, y, others, first, count, block, k, b, scale, unit, i)``.

The same for ``number(block, scale, b + n) y_j - unit_i`` in place of the row y_j.
"""
leaky_product: Any = _leaky_product
"""``leaky_product(mine, r, y, j, shift, vector, h, slope)``: the product of row h of ``vector`` and
the leaky ReLU of ``mine_r + y_j``, where y_j begins at column ``shift``."""
add_where_positive: Any = _add_where_positive
"""``add_where_positive(total, r, y, others, first, count, block, k, b, shift, mine, m)``.

As ``add_rows``, with 1 in place of the entries of y_j for which ``mine_m + y_j`` is positive, and 0
for the others, where y_j begins at column ``shift``.
"""
