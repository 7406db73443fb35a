"""Products of rows: to the bit in the order that they promise."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from hgcn.kernels.numba_cpu.instructions import dot, dot_narrow, square_between

MANY = [0, 1, 3, 4, 7, 8, 16, 21]


@njit
def wide(x: Any, i: int, y: Any, j: int) -> float:
    return dot(x, i, y, j)


@njit
def narrow(x: Any, i: int, y: Any, j: int) -> float:
    return dot_narrow(x, i, y, j)


@njit
def apart(x: Any, i: int, y: Any, j: int) -> float:
    return square_between(x, i, y, j)


def in_order(a: Any, b: Any, lanes: int) -> Any:
    """Lane by lane, what is left over by itself, and lanes folded in halves."""
    whole = len(a) // lanes * lanes
    sums, rest = np.zeros(lanes, a.dtype), a.dtype.type(0)
    for k in range(0, whole, lanes):
        sums += a[k : k + lanes] * b[k : k + lanes]
    for k in range(whole, len(a)):
        rest += a[k] * b[k]
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return sums[0] + rest


def rows(d: int, kind: Any, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(5, d)).astype(kind)


@pytest.mark.parametrize("d", MANY)
@pytest.mark.parametrize("kinds", [("f4", "f4"), ("f4", "f8"), ("f8", "f8")])
def test_sums_are_in_four_lanes_of_doubles(d: int, kinds: tuple[str, str]) -> None:
    x, y = rows(d, kinds[0], 0), rows(d, kinds[1], 1)
    a, b = x[2].astype("f8"), y[4].astype("f8")
    assert wide(x, 2, y, 4) == in_order(a, b, 4)
    assert apart(x, 2, y, 4) == apart(y, 4, x, 2) == in_order(a - b, a - b, 4)


@pytest.mark.parametrize("d", MANY)
def test_dot_narrow_is_a_sum_in_eight_lanes_of_singles(d: int) -> None:
    x, y = rows(d, "f4", 0), rows(d, "f4", 1)
    value = narrow(x, 2, y, 4)
    assert np.float32(value) == value == in_order(x[2], y[4], 8)


def test_dot_narrow_of_doubles_is_dot() -> None:
    x, y = rows(13, "f8", 0), rows(13, "f4", 1)
    assert narrow(x, 1, y, 3) == wide(x, 1, y, 3)


def test_rows_must_be_contiguous() -> None:
    x = rows(8, "f8", 0)
    with pytest.raises(TypingError, match="contiguous matrix"):
        wide(x[:, ::2], 0, x, 0)
