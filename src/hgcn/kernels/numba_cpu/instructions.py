"""Instructions that Numba lacks: prefetching of memory, and sums in a fixed order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_BYTE = ir.IntType(8).as_pointer()


def _row(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Address of a row, from the types and values of an array and a row number."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    number = context.cast(builder, values[1], kinds[1], types.intp)
    offset = builder.mul(builder.extract_value(array.strides, 0), number)
    return builder.gep(builder.bitcast(array.data, _BYTE), [offset])


@intrinsic
def _prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    """Have the processor fetch the start of a row of an array, without waiting for it.

    Rows of neighbours are anywhere in memory, and a processor left alone asks for them late.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        call = ir.FunctionType(ir.VoidType(), [_BYTE, word, word, word])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, call, "llvm.prefetch.p0"
        )
        # Arguments of llvm.prefetch: to read, keep in all caches, data rather than code.
        address = _row(context, builder, signature.args, arguments)
        builder.call(function, [address, *(ir.Constant(word, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, row), generate


def _sum_over_columns(term: Callable[[Any, Any, Any], Any], *, wide: bool) -> Any:
    """A function of (x, i, y, j): the sum of a term over the entries of row i of x and j of y.

    The sum is taken in a fixed order, in lanes as wide as a vector register: a compiler that is
    free to reorder sums does so differently when the same loop stands in another function. The sum
    is in double precision; if not ``wide``, in single precision where both arrays are.
    """

    @intrinsic
    def total(typing_context: Any, x: Any, i: Any, y: Any, j: Any) -> Any:
        for array in (x, y):
            if not isinstance(array, types.Array) or (array.ndim, array.layout) != (2, "C"):
                raise TypingError(f"Expected a contiguous matrix, got {array}.")
        single = not wide and x.dtype == y.dtype == types.float32
        result, lanes = (types.float32, 8) if single else (types.float64, 4)
        return result(x, i, y, j), partial(_generate_sum, term=term, lanes=lanes)

    return total


def _generate_sum(
    context: Any,
    builder: Any,
    signature: Any,
    arguments: Any,
    *,
    term: Callable[[Any, Any, Any], Any],
    lanes: int,
) -> Any:
    """A loop over as many lanes of both rows as fit, one over what is left, and the sum."""
    number, word = context.get_data_type(signature.return_type), ir.IntType(64)
    sides = (slice(0, 2), slice(2, 4))
    rows = [_row(context, builder, signature.args[side], arguments[side]) for side in sides]

    def terms(at: Any, lanes: int) -> Any:
        entries = []
        for row, array in zip(rows, signature.args[::2], strict=True):
            entry, size = context.get_data_type(array.dtype), array.dtype.bitwidth // 8
            address = builder.gep(builder.bitcast(row, entry.as_pointer()), [at])
            kind, wide = (ir.VectorType(t, lanes) if lanes > 1 else t for t in (entry, number))
            value = builder.load(builder.bitcast(address, kind.as_pointer()), align=size)
            entries.append(value if entry == number else builder.fpext(value, wide))
        return term(builder, *entries)

    columns = builder.extract_value(
        context.make_array(signature.args[0])(context, builder, arguments[0]).shape, 1
    )
    whole = builder.and_(columns, ir.Constant(word, -lanes))
    zeros = ir.Constant(ir.VectorType(number, lanes), [0.0] * lanes), ir.Constant(number, 0.0)
    tools: Any = cgutils  # it has no type declarations
    totals = [tools.alloca_once_value(builder, zero) for zero in zeros]
    for total, count, *ends in (
        (totals[0], lanes, ir.Constant(word, 0), whole),
        (totals[1], 1, whole, columns),
    ):
        with tools.for_range_slice(builder, *ends, ir.Constant(word, count)) as (at, _):
            builder.store(builder.fadd(builder.load(total), terms(at, count)), total)
    sums, rest = map(builder.load, totals)
    lane = [builder.extract_element(sums, ir.Constant(ir.IntType(32), k)) for k in range(lanes)]
    while len(lane) > 1:
        half = len(lane) // 2
        lane = [builder.fadd(a, b) for a, b in zip(lane[:half], lane[half:], strict=True)]
    return builder.fadd(lane[0], rest)


def _product(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b)


def _square(builder: Any, a: Any, b: Any) -> Any:
    difference = builder.fsub(a, b)
    return builder.fmul(difference, difference)


prefetch: Any = _prefetch
"""The function as kernels call it: Numba passes the typing context."""
dot = _sum_over_columns(_product, wide=True)
"""``dot(x, i, y, j)``: the product of row i of x and row j of y, in double precision."""
dot_narrow = _sum_over_columns(_product, wide=False)
"""The same as ``dot``, in single precision where both arrays are."""
square_between = _sum_over_columns(_square, wide=True)
"""``square_between(x, i, y, j)``: the square of the distance of the two rows."""
