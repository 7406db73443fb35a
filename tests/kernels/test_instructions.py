"""Operations on rows: to the bit in the order that they promise, and in place."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from hgcn.kernels.numba_cpu import instructions as on
from hgcn.kernels.numba_cpu.lanes import BLOCK, LANES, STRIDE

MANY = [0, 1, 3, 4, 7, 8, 9, 16, 21, 24]
KINDS = [("f4", "f4"), ("f4", "f8"), ("f8", "f8")]


def rows(d: int, kind: Any, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(5, d)).astype(kind)


def fused(a: Any, b: Any, c: Any) -> Any:
    """``a b + c``, rounded once, for numbers or lists of them."""
    if np.ndim(a):
        return np.array([fused(*each) for each in zip(a, b, c, strict=True)], a.dtype)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if np.asarray(a).dtype == np.float32:  # a float of Python first would be rounded twice
        near = np.float32(float(exact))
        every = [near, np.nextafter(near, np.float32(-9e9)), np.nextafter(near, np.float32(9e9))]
        return min(every, key=lambda x: abs(Fraction(float(x)) - exact))
    return np.float64(float(exact))


def in_order(a: Any, b: Any) -> Any:
    """Lane by lane, what is left over by itself, and lanes folded in halves."""
    whole = len(a) // LANES * LANES
    sums, rest = np.zeros(LANES, a.dtype), a.dtype.type(0)
    for k in range(0, whole, LANES):
        sums = fused(a[k : k + LANES], b[k : k + LANES], sums)
    for k in range(whole, len(a)):
        rest = fused(a[k], b[k], rest)
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return sums[0] + rest


@njit
def wide(x: Any, i: int, y: Any, j: int) -> float:
    return on.dot(x, i, y, j)


@njit
def narrow(x: Any, i: int, y: Any, j: int) -> float:
    return on.dot_narrow(x, i, y, j)


@njit
def apart(x: Any, i: int, y: Any, j: int) -> float:
    return on.square_between(x, i, y, j)


@pytest.mark.parametrize("d", MANY)
@pytest.mark.parametrize("kinds", KINDS)
def test_sums_are_in_eight_lanes_of_doubles(d: int, kinds: tuple[str, str]) -> None:
    x, y = rows(d, kinds[0], 0), rows(d, kinds[1], 1)
    a, b = x[2].astype("f8"), y[4].astype("f8")
    assert wide(x, 2, y, 4) == in_order(a, b)
    assert apart(x, 2, y, 4) == apart(y, 4, x, 2) == in_order(a - b, a - b)


@pytest.mark.parametrize("d", MANY)
def test_dot_narrow_is_a_sum_in_eight_lanes_of_singles(d: int) -> None:
    x, y = rows(d, "f4", 0), rows(d, "f4", 1)
    value = narrow(x, 2, y, 4)
    assert np.float32(value) == value == in_order(x[2], y[4])


def test_dot_narrow_of_doubles_is_dot() -> None:
    x, y = rows(13, "f8", 0), rows(13, "f4", 1)
    assert narrow(x, 1, y, 3) == wide(x, 1, y, 3)


@njit
def differences(y: Any, x: Any, p: Any, scale: float, unit: Any) -> Any:
    on.scale_row(unit, 1, x, 2, scale)
    alone = on.square(y, 3, scale, unit, 1)
    whole, product = on.square_and_product(y, 3, scale, unit, 1, p, 4)
    return alone, whole, product


@pytest.mark.parametrize("d", MANY)
@pytest.mark.parametrize("kinds", KINDS)
def test_differences_of_scaled_rows(d: int, kinds: tuple[str, str]) -> None:
    y, x, p, unit = (
        rows(d, kinds[0], 0),
        rows(d, kinds[0], 1),
        rows(d, kinds[1], 2),
        rows(d, "f8", 3),
    )
    scale = 0.1
    expected = y[3].astype("f8") * scale - x[2].astype("f8") * scale
    alone, whole, product = differences(y, x, p, scale, unit)
    assert alone == whole == in_order(expected, expected)
    assert product == in_order(expected, p[4].astype("f8"))


@pytest.mark.parametrize("d", MANY)
def test_the_difference_of_equal_rows_is_exactly_zero(d: int) -> None:
    """A product that is not rounded before it is subtracted would leave a rest."""
    y = rows(d, "f4", 0)
    assert differences(y, np.ascontiguousarray(y[1:]), y, 0.1, rows(d, "f8", 1)) == (0, 0, 0)


@njit
def combined(out: Any, x: Any, y: Any) -> None:
    on.combine(out, 1, ((2.0, x, 0), (0.3, y, 3)))
    on.combine(out, 2, ((1.0, out, 2), (-1.5, x, 1), (0.5, out, 1)))


@pytest.mark.parametrize("d", MANY)
@pytest.mark.parametrize("kinds", KINDS)
def test_combinations_of_rows(d: int, kinds: tuple[str, str]) -> None:
    x, y, out = rows(d, kinds[0], 0), rows(d, kinds[1], 1), rows(d, kinds[0], 2)
    expected = out.copy()
    expected[1] = 2.0 * x[0].astype("f8") + 0.3 * y[3].astype("f8")
    expected[2] = out[2].astype("f8") - 1.5 * x[1].astype("f8") + 0.5 * expected[1].astype("f8")
    combined(out, x, y)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if kinds[0] == "f4" else 1e-14)


@njit
def add_three(total: Any, y: Any, others: Any, block: Any) -> None:
    on.add_rows(total, 0, y, others, 1, 3, block, 2, 5)


@njit
def add_three_differences(total: Any, y: Any, others: Any, block: Any, unit: Any) -> None:
    on.add_differences(total, 0, y, others, 1, 3, block, 2, 5, 0, unit, 4)


OTHERS = np.array([0, 4, 2, 4, 1], np.int32)


@pytest.mark.parametrize("d", MANY)
@pytest.mark.parametrize("kinds", KINDS)
def test_sums_over_rows(d: int, kinds: tuple[str, str]) -> None:
    """The others from number 1 on, with number 2 of items 5 to 7 as factors, and 0 as scales."""
    y, total, unit = rows(d, kinds[0], 0), rows(d, kinds[1], 1), rows(d, "f8", 2)
    block = np.random.default_rng(3).normal(size=3 * STRIDE).astype(kinds[1])
    factors, scales = block[2 * STRIDE + 5 : 2 * STRIDE + 8], block[5:8]
    each = list(zip(OTHERS[1:4], factors, scales, strict=True))
    plain = total[0] + sum(f * y[j] for j, f, _ in each)
    add_three(total, y, OTHERS, block)
    tolerance = {"rtol": 2e-5, "atol": 1e-6} if "f4" in kinds else {"rtol": 1e-13}
    np.testing.assert_allclose(total[0], plain, **tolerance)
    if kinds[1] == "f8":
        expected = total[0] + sum(f * (s * y[j] - unit[4]) for j, f, s in each)
        add_three_differences(total, y, OTHERS, block, unit)
        np.testing.assert_allclose(total[0], expected, **tolerance)


@njit
def units(total: Any, mine: Any, y: Any, others: Any, block: Any, vector: Any) -> float:
    on.add_where_positive(total, 0, y, others, 0, 3, block, 0, 1, 2, mine, 1)
    return on.leaky_product(mine, 1, y, 3, 2, vector, 0, 0.2)


@pytest.mark.parametrize("d", MANY)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_hidden_units(d: int, kind: str) -> None:
    """Those of y begin at column 2."""
    y, mine, vector, total = rows(d + 3, kind, 0), *(rows(d, kind, k) for k in (1, 2, 3))
    others, block = np.array([4, 0, 2], np.int32), rows(STRIDE, kind, 4)[0]
    expected = total.copy()
    for n, j in enumerate(others):
        expected[0] += block[1 + n] * (mine[1] + y[j, 2 : 2 + d] > 0)
    sums = mine[1] + y[3, 2 : 2 + d]
    product = float((vector[0] * np.where(sums > 0, sums, 0.2 * sums)).sum())
    tolerance = 1e-5 if kind == "f4" else 1e-13
    assert units(total, mine, y, others, block, vector) == pytest.approx(product, abs=tolerance)
    np.testing.assert_allclose(total, expected, rtol=tolerance, atol=tolerance)


@njit
def numbered(block: Any, count: int) -> float:
    on.spread(block, 1, 3, 3 + count, 7.0)
    on.note(block, 2, 4, 5.0)
    on.put(block, 0, on.number(block, 2, 4) + on.at(block, STRIDE + 3))
    return on.multiply_add(0.1, 10.0, -1.0)


@pytest.mark.parametrize("count", [0, 1, 8, 13, BLOCK - 3])
def test_numbers_of_a_block(count: int) -> None:
    block = np.zeros(3 * STRIDE)
    rest = numbered(block, count)
    assert rest == fused(0.1, 10.0, -1.0) != 0.1 * 10.0 - 1.0
    first, second, third = block.reshape(3, STRIDE)
    assert first[0] == 5 + 7 * (count > 0)
    assert not first[1:].any()
    assert not second[:3].any()
    assert (second[3 : 3 + count] == 7).all()
    assert not second[3 + math.ceil(count / LANES) * LANES :].any()
    assert third[4] == 5
    assert third.sum() == 5


def test_rows_must_be_contiguous() -> None:
    x = rows(8, "f8", 0)
    with pytest.raises(TypingError, match="contiguous"):
        wide(x[:, ::2], 0, x, 0)
