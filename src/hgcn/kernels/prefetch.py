"""Ask for memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def _prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    """Have the processor fetch the start of a row of an array, without waiting for it.

    Rows of neighbours are anywhere in memory, and a processor left alone asks for them late.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, index = signature.args
        values = context.make_array(kind)(context, builder, arguments[0])
        number = context.cast(builder, arguments[1], index, types.intp)
        offset = builder.mul(builder.extract_value(values.strides, 0), number)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.gep(builder.bitcast(values.data, byte), [offset])
        call = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, call, "llvm.prefetch.p0"
        )
        # To read, keep in all caches, data.
        builder.call(function, [address, *(ir.Constant(word, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, row), generate


prefetch: Any = _prefetch
"""Without the typing context, which Numba passes."""
