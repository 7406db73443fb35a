"""Keys of pairs against dictionaries of pairs, in both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hgcn.data.pairs import MOST_NODES, distinct, find, keys, pairs_at
from hgcn.errors import GraphError

LIBRARIES = ("torch", "numpy")


def make(values: Any, library: str) -> Any:
    array = np.array(values, dtype=np.int64)
    return torch.from_numpy(array) if library == "torch" else array


@st.composite
def graphs_with_pairs(draw: Any) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]]]:
    n = draw(st.integers(1, 6) | st.integers(1, MOST_NODES))
    node = st.integers(0, n - 1)
    pair = st.tuples(node, node)
    return n, draw(st.lists(pair, max_size=12)), draw(st.lists(pair, max_size=12))


def rows(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


@pytest.mark.parametrize("unordered", [False, True])
@pytest.mark.parametrize("library", LIBRARIES)
@given(case=graphs_with_pairs())
def test_find_agrees_with_a_dictionary(
    library: str, unordered: bool, case: tuple[int, list[tuple[int, int]], list[tuple[int, int]]]
) -> None:
    n, known, asked = case

    def canonical(pair: tuple[int, int]) -> tuple[int, int]:
        return (min(pair), max(pair)) if unordered else pair

    expected = {pair: at for at, pair in enumerate(sorted({canonical(pair) for pair in known}))}
    found = distinct(keys(make(rows(known), library), n, unordered=unordered))
    assert pairs_at(found, n).tolist() == rows(list(expected)).tolist()

    position, there = find(found, keys(make(rows(asked), library), n, unordered=unordered))
    assert isinstance(position, torch.Tensor if library == "torch" else np.ndarray)
    found_at = zip(position.tolist(), there.tolist(), strict=True)
    answers = [at if is_there else None for at, is_there in found_at]
    assert answers == [expected.get(canonical(pair)) for pair in asked]
    if expected:
        assert all(0 <= at < len(expected) for at in position.tolist())


@pytest.mark.parametrize("library", LIBRARIES)
def test_empty_lists(library: str) -> None:
    none = keys(make(np.empty((2, 0)), library), 5)
    assert none.tolist() == []
    assert list(pairs_at(none, 5).shape) == [2, 0]
    assert distinct(none).tolist() == []
    some = make([3, 4], library)
    assert [part.tolist() for part in find(none, some)] == [[0, 0], [False, False]]
    assert [part.tolist() for part in find(some, none)] == [[], []]


def test_libraries_agree_on_what_they_are_given() -> None:
    pairs = np.array([[3, 0, 2], [1, 4, 2]])
    for unordered in (False, True):
        of_numpy = keys(pairs, 5, unordered=unordered)
        of_torch = keys(torch.from_numpy(pairs), 5, unordered=unordered)
        assert of_numpy.tolist() == of_torch.tolist()
        assert keys((pairs[0], pairs[1]), 5, unordered=unordered).tolist() == of_numpy.tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_narrow_integers_do_not_overflow(library: str) -> None:
    narrow = np.array([[2**31 - 2], [2**31 - 1]], dtype=np.int32)
    pairs = torch.from_numpy(narrow) if library == "torch" else narrow
    assert keys(pairs, 2**31).tolist() == [(2**31 - 2) * 2**31 + 2**31 - 1]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_largest_graph_fits_and_the_next_is_refused(library: str) -> None:
    last = make([[MOST_NODES - 1], [MOST_NODES - 1]], library)
    key = keys(last, MOST_NODES)
    assert key.tolist() == [MOST_NODES**2 - 1]
    assert pairs_at(key, MOST_NODES).tolist() == last.tolist()
    for wrong in (MOST_NODES + 1, 0, -1):
        with pytest.raises(GraphError, match="3,037,000,499"):
            keys(last, wrong)
        with pytest.raises(GraphError, match="3,037,000,499"):
            pairs_at(key, wrong)


def test_keys_of_a_view_and_of_reversed_pairs() -> None:
    pairs = torch.tensor([[0, 1], [1, 2], [2, 0]]).t()
    assert keys(pairs.flip(0), 3).tolist() == [3, 7, 2]
    assert find(torch.arange(20)[::2], keys(pairs, 3)[::2])[1].tolist() == [False, True]
