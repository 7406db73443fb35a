import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from hgcn.data.encoding import Encoding
from hgcn.data.table import FeatureTable
from hgcn.errors import DataError
from hgcn.runs.trees import read_tree, write_tree

PEOPLE = pl.DataFrame(
    {
        "age": [20, 40, None, 60],
        "city": ["Rome", "Bern", "Rome", None],
        "joined": ["2020-01-01", "2020-01-03", None, "2021-06-30 12:00:00"],
    }
)


def table(data: Any, **options: Any) -> FeatureTable:
    return FeatureTable(pl.DataFrame(data), "people.csv", **options)


def column(encoding: Encoding, x: torch.Tensor, name: str) -> list[float]:
    return x[:, encoding.names.index(name)].tolist()


def test_numbers_fill_gaps_with_the_mean_of_the_rows_fitted_on() -> None:
    people = table(PEOPLE)
    encoding = Encoding.fit(people, torch.tensor([0, 2, 3]))
    x = encoding(people)
    assert column(encoding, x, "age") == [20, 40, 40, 60]
    assert column(encoding, x, "age missing") == [0, 0, 1, 0]


def test_categories_are_those_of_the_rows_fitted_on() -> None:
    people = table(PEOPLE)
    encoding = Encoding.fit(people, torch.tensor([0, 2]))
    assert [name for name in encoding.names if "city" in name] == ["city = Rome"]
    assert column(encoding, encoding(people), "city = Rome") == [1, 0, 1, 0]


def test_dates_are_days_and_on_request_parts() -> None:
    encoding = Encoding.fit(table(PEOPLE, date_parts=True))
    x = encoding(table(PEOPLE))
    start = (np.datetime64("2020-01-01") - np.datetime64("1970-01-01")).astype(int)
    assert column(encoding, x, "joined")[:2] == [start, start + 2]
    assert column(encoding, x, "joined")[3] == pytest.approx(start + 366 + 180.5)
    assert column(encoding, x, "joined year")[3] == 2021
    assert column(encoding, x, "joined hour") == [0, 0, pytest.approx(x[2, -1].item()), 12]
    assert column(encoding, x, "joined weekday")[0] == 3  # a Wednesday
    assert not any("year" in name for name in Encoding.fit(table(PEOPLE)).names)


@pytest.mark.parametrize(
    ("text", "day"),
    [("1970-01-02", 1.0), ("1970-01-01T12:00:00", 0.5), ("1970-01-01 02:00:00+02:00", 0.0)],
)
def test_dates_in_their_forms(text: str, day: float) -> None:
    data = table({"at": [text, "1970-01-05"]})
    assert Encoding.fit(data)(data)[0, 0].item() == day


def test_words_are_hashed_and_numbers_beside_them_centred() -> None:
    people = table(
        {"bio": ["likes trees", "likes cats", None], "age": [1000, 1002, 1004]}, text=("bio",)
    )
    encoding = Encoding.fit(people)
    x = encoding(people)
    assert x.layout == torch.sparse_csr
    dense = x.to_dense()
    words = dense[:, :-1]
    assert words[2].sum() == 0
    assert (words[0] * words[1]).sum() > 0  # a word in common
    torch.testing.assert_close(dense[:, -1], torch.tensor([-2.0, 0.0, 2.0]))
    other = encoding(table({"age": [1002], "bio": ["cats likes"]}))
    torch.testing.assert_close(other.to_dense()[0], dense[1])


def test_what_comes_later_is_encoded_alike_whatever_else_is_in_the_table() -> None:
    encoding = Encoding.fit(table(PEOPLE))
    alone = encoding(table({"joined": ["2020-01-03"], "more": [1], "city": ["Bern"], "age": [40]}))
    torch.testing.assert_close(alone, encoding(table(PEOPLE))[1:2])


def test_unseen_values_are_counted() -> None:
    encoding = Encoding.fit(table({"city": ["Rome", "Bern"], "age": [1, 2]}))
    new = table({"city": ["Oslo", "Oslo", "Rome", None], "age": [None, 1, 2, 3]})
    assert encoding(new)[:, :2].tolist() == [[0, 0], [0, 0], [0, 1], [0, 0]]
    city, gap, age = encoding.strange(new)
    assert "2 values of 'city'" in city
    assert "'Oslo'" in city
    assert "1 value of 'city' missing" in gap
    assert "1 value of 'age' missing" in age
    assert not encoding.strange(table({"city": ["Rome"], "age": [5]}))


def test_a_kind_is_kept_whatever_a_later_column_looks_like() -> None:
    encoding = Encoding.fit(table({"code": ["A1", "B2", "12"], "size": ["1", "2", "3"]}))
    x = encoding(table({"code": [12, 13], "size": [1.5, 2.0]}))
    assert x.tolist() == [[1, 0, 0, 1.5], [0, 0, 0, 2.0]]
    with pytest.raises(DataError, match=r"numbers in the column 'size', got 'big' .*row 2"):
        encoding(table({"code": ["A1", "A1"], "size": ["1", "big"]}))


@pytest.mark.parametrize("missing", [["age"], ["age", "city"]])
def test_a_missing_column_is_named(missing: list[str]) -> None:
    encoding = Encoding.fit(table(PEOPLE))
    with pytest.raises(DataError, match=", ".join(f"'{name}'" for name in missing)):
        encoding(table(PEOPLE.drop(missing)))


def test_mixtures_are_refused_with_their_place() -> None:
    with pytest.raises(
        DataError, match=r"numbers in the column 'a', got 'x' \(people.csv, row 3\)"
    ):
        Encoding.fit(table({"a": ["1", "2", "x"]}))
    with pytest.raises(DataError, match=r"dates in the column 'a', got '2020-06-31'"):
        Encoding.fit(table({"a": ["2020-01-01", "2020-06-31"]}))


def test_storage_gives_the_same_encoding_back(tmp_path: Any) -> None:
    people = table({**PEOPLE.to_dict(as_series=False), "bio": list("abcd")}, text=("bio",))
    encoding = Encoding.fit(people)
    write_tree(tmp_path / "tree", encoding.to_tree())
    again = Encoding.from_tree(read_tree(tmp_path / "tree"))
    assert again == encoding
    assert pickle.loads(pickle.dumps(encoding)) == encoding
