"""From numbers of pairs without an edge to the pairs: the compiled code of ``negatives.py``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled

Ints = NDArray[np.int64]


def guide(values: Ints, bound: int) -> tuple[Ints, int]:
    """Buckets that narrow the search for a number below ``bound`` among sorted values.

    A plain binary search of a few thousand values takes four times as long.

    Returns:
        For each bucket of ``2 ** shift`` numbers the count of values below it, and the shift.
    """
    shift = max(0, (bound // (len(values) + 1)).bit_length() + 1)
    sizes = np.bincount(values >> shift, minlength=(bound >> shift) + 1)
    return np.concatenate(([0], np.cumsum(sizes))), shift


@compiled(inside=True)
def _count_up_to(value: int, values: Ints, buckets: Ints, shift: int) -> int:
    """How many of the sorted values are at most ``value``."""
    low = buckets[value >> shift]
    high = buckets[(value >> shift) + 1]
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def numbered_pairs(
    numbers: Ints,
    before: Ints,
    before_guide: tuple[Ints, int],
    row: Ints,
    row_guide: tuple[Ints, int],
    first: Ints,
    nodes: Ints,
    directed: bool,
) -> Ints:
    """The pairs of ``NonEdges`` (``negatives.py``) with these numbers, shape ``[2, count]``."""
    out = np.empty((2, numbers.shape[0]), np.int64)
    for at in range(numbers.shape[0]):
        k = numbers[at]
        number = k + _count_up_to(k, before, before_guide[0], before_guide[1])
        i = _count_up_to(number, row, row_guide[0], row_guide[1]) - 1
        j = number - row[i] + first[i]
        if directed and j >= i:
            j += 1
        out[0, at] = nodes[i]
        out[1, at] = nodes[j]
    return out
