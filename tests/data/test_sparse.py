"""Matrices in both layouts against dense ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from hgcn.data.sparse import (
    append_columns,
    as_features,
    csr_matrix,
    entry_rows,
    has_sorted_rows,
    is_csr,
    last_entries,
    select_rows,
    stack_rows,
    stored_values,
    with_values,
)
from hgcn.errors import DataError

WIDTH = 4
matrices = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.just(WIDTH)),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5]),
)
layouts = pytest.mark.parametrize("make", [torch.from_numpy, sparse.csr_array])


def both(x: np.ndarray, make: object) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix in the layout of ``make``, and dense."""
    return as_features(make(x)), torch.from_numpy(x)  # type: ignore[operator]


def same(found: torch.Tensor, like: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.layout is like.layout
    assert has_sorted_rows(found)
    torch.testing.assert_close(found.to_dense(), expected, rtol=0, atol=0)


@layouts
@given(array=matrices, data=st.data())
def test_rows_can_be_selected_again_and_again(
    make: object, array: np.ndarray, data: st.DataObject
) -> None:
    x, dense = both(array, make)
    row = st.integers(0, max(len(array) - 1, 0))
    rows = torch.tensor(data.draw(st.lists(row, max_size=9 * bool(len(array)))), dtype=torch.int64)
    same(select_rows(x, rows), x, dense[rows])


@layouts
@given(arrays=st.lists(matrices, min_size=1, max_size=4))
def test_matrices_are_stacked(make: object, arrays: list[np.ndarray]) -> None:
    parts = [as_features(make(array)) for array in arrays]  # type: ignore[operator]
    same(stack_rows(parts), parts[0], torch.from_numpy(np.concatenate(arrays)))


@given(array=matrices)
def test_a_mixture_of_layouts_is_stacked_to_a_dense_matrix(array: np.ndarray) -> None:
    x, dense = both(array, sparse.csr_array)
    same(stack_rows([x, dense]), dense, torch.cat((dense, dense)))


@layouts
@given(array=matrices, width=st.integers(1, 3))
def test_columns_are_appended_and_found_again(make: object, array: np.ndarray, width: int) -> None:
    x, dense = both(array, make)
    more = torch.arange(float(len(array) * width)).view(len(array), width)  # a zero is stored too
    wide = append_columns(x, more)
    same(wide, x, torch.cat((dense, more), dim=1))
    if is_csr(wide):
        last = last_entries(wide.crow_indices(), width)
        torch.testing.assert_close(wide.values()[last], more, rtol=0, atol=0)
        columns = torch.arange(WIDTH, WIDTH + width).expand(len(array), width)
        assert torch.equal(wide.col_indices()[last], columns)


@layouts
@given(array=matrices)
def test_values_are_changed_where_they_are_stored(make: object, array: np.ndarray) -> None:
    x, dense = both(array, make)
    same(with_values(x, stored_values(x) * 3), x, dense * 3)
    if is_csr(x):
        assert torch.equal(entry_rows(x), dense.nonzero()[:, 0])


@pytest.mark.parametrize("convert", [torch.tensor, np.array, sparse.csr_array, sparse.coo_array])
def test_features_from_anything(convert: object) -> None:
    values = [[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]
    x = as_features(convert(values))  # type: ignore[operator]
    assert x.dtype == torch.float32
    assert x.to_dense().tolist() == values
    coo = as_features(torch.tensor(values, dtype=torch.float64).to_sparse_coo())
    assert is_csr(coo)
    assert coo.to_dense().tolist() == values


def test_entries_of_scipy_are_sorted_and_summed() -> None:
    matrix = sparse.csr_array(
        (np.array([1.0, 2, 3, 4]), np.array([3, 1, 3, 0]), np.array([0, 3, 4])), (2, 4)
    )
    x = as_features(matrix)
    assert has_sorted_rows(x)
    assert x.to_dense().tolist() == [[0, 2, 0, 4], [4, 0, 0, 0]]


def test_the_caller_may_change_the_matrix_afterwards() -> None:
    matrix = sparse.csr_array(np.eye(3, dtype=np.float32))
    x = as_features(matrix)
    matrix.data[:] = 9
    assert x.values().tolist() == [1, 1, 1]


def test_where_a_sparse_matrix_is_not_finite() -> None:
    matrix = sparse.csr_array(np.array([[0, 1], [2, np.inf]]))
    with pytest.raises(DataError, match=r"got inf at row 1, column 1 \(x\.npz\)"):
        as_features(matrix, "x.npz")


def test_no_remark_on_the_layout() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        csr_matrix(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 1))
