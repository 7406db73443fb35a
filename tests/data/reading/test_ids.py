"""Ids: which text is a number and which is only text."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hgcn.data import read
from hgcn.data.reading.ids import tidy

LIMIT = 2**63


def tidied(texts: list[str]) -> list[int] | list[str]:
    return tidy(pl.Series(texts, dtype=pl.String), lambda row: f"row {row}").to_list()


def is_plain(text: str) -> bool:
    try:
        return str(int(text)) == text and -LIMIT <= int(text) < LIMIT
    except ValueError:
        return False


texts = st.text("0123456789+-._e", min_size=1, max_size=8) | st.integers().map(str)
numbers = st.integers(-LIMIT, LIMIT - 1).map(str) | st.integers(-101, 101).map(str)


@given(st.lists(texts | numbers, min_size=1, max_size=3) | st.lists(numbers, min_size=1))
def test_ids_are_numbers_if_all_are_written_as_numbers_are(ids: list[str]) -> None:
    assert tidied(ids) == (list(map(int, ids)) if all(map(is_plain, ids)) else ids)


@pytest.mark.parametrize("text", ["007", "+7", "-0", "00", "7.0", "1e3", "1_000", "٣"])
def test_text_that_looks_like_a_number_stays_text(text: str) -> None:
    assert tidied(["1", text]) == ["1", text]


@pytest.mark.parametrize("number", [0, -1, 9, 10, 99, 100, -9, -10, LIMIT - 1, -LIMIT])
def test_numbers_of_every_length(number: int) -> None:
    assert tidied([str(number)]) == [number]


@pytest.mark.parametrize(
    ("source", "target", "nodes"),
    [
        ([f"{k}.0" for k in range(30)], [str((k + 1) % 30) for k in range(30)], 30),
        ([float(k) for k in range(30)], [(k + 1) % 30 for k in range(30)], 30),
        ([f" {k}.00" for k in range(30)], [f"{(k + 1) % 30}.0" for k in range(30)], 30),
        ([f"{k}.5" for k in range(30)], [str((k + 1) % 30) for k in range(30)], 60),
        ([f"v{k}.0" for k in range(30)], [str(k) for k in range(30)], 60),
        ([f"00{k}" for k in range(30)], [str(k) for k in range(30)], 60),
    ],
)
def test_numbers_with_and_without_a_point_are_the_same_nodes(source, target, nodes, tmp_path):
    """As pandas writes a column of whole numbers with a missing value, beside one without."""
    graph = read((source, target))
    assert graph.num_nodes == nodes
    file = tmp_path / "edges.csv"
    rows = [f"{a},{b}" for a, b in zip(source, target, strict=True)]
    file.write_text("\n".join(["source,target", *rows]) + "\n")
    assert read(file).num_nodes == nodes
