import errno
import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from hgcn import files
from hgcn.errors import RunError
from hgcn.locks import share
from hgcn.runs import trees

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=("Cs",)))
    | st.sampled_from([torch.float32, torch.int64, torch.uint8]).map(
        lambda dtype: torch.arange(6, dtype=dtype).reshape(2, 3)
    )
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.integers(0, 9) | st.text("ab/.", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def equal(one, two):
    if isinstance(one, torch.Tensor):
        return isinstance(two, torch.Tensor) and one.dtype == two.dtype and torch.equal(one, two)
    if isinstance(one, dict):
        return list(one) == list(two) and all(equal(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(equal, one, two))
    return type(one) is type(two) and one == two


@given(tree=TREES)
def test_a_tree_is_read_back_as_it_was(tree, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "tree.safetensors"
    trees.write_tree(path, tree)
    assert equal(trees.read_tree(path), tree)


def test_tensors_that_share_memory_are_stored_each(tmp_path):
    whole = torch.arange(12.0).reshape(3, 4)
    tree = {"whole": whole, "part": whole[1:], "turned": whole.t(), "again": [whole]}
    trees.write_tree(tmp_path / "t", tree)
    assert equal(trees.read_tree(tmp_path / "t"), tree)


@pytest.mark.parametrize("dtype", trees.DTYPES, ids=str)
def test_other_programs_read_a_tree_as_safetensors(dtype, tmp_path):
    numbers = torch.arange(6).to(dtype)
    tree = {"b": numbers[1:4], "a": numbers.reshape(2, 3).t(), "c": numbers[1], "d": numbers[:0]}
    tree |= {"x": torch.ones(3, dtype=torch.bool), "y": torch.zeros(1, dtype=torch.float64)}
    trees.write_tree(tmp_path / "t", tree, sealed=True)
    found = safetensors.torch.load_file(tmp_path / "t")
    assert equal({name: found[f"/{name}"] for name in tree}, tree)
    assert equal(trees.read_tree(tmp_path / "t", sealed=True), tree)


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


WRITERS = {
    "text": lambda path: files.write_text(path, "new"),
    "json": lambda path: files.write_json(path, {"new": 1}),
    "tree": lambda path: trees.write_tree(path, {"new": torch.ones(3)}),
    "table": lambda path: files.write_table(path, pl.DataFrame({"new": [1]})),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", ["os.fsync", "pathlib.Path.open", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(writer, place, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(place, full_disk)
        with pytest.raises(RunError, match=r"write .*file, but: No space left on device.*unchang"):
            WRITERS[writer](path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    WRITERS[writer](path)
    assert path.read_bytes() != b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("writer", WRITERS)
def test_an_interruption_leaves_the_old_file(writer, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        WRITERS[writer](path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_files_have_the_rights_that_any_new_file_has(tmp_path):
    (tmp_path / "usual").write_text("")
    files.write_text(tmp_path / "ours", "")
    usual, ours = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "ours"))
    assert ours == usual


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"create the folder .*below, but: Not a directory"):
        files.make_folder(tmp_path / "file" / "below")
    with pytest.raises(RunError, match=r"create the folder .*file, but: File exists"):
        files.make_folder(tmp_path / "file")
    with pytest.raises(RunError, match="No such file or directory"):
        files.write_text(tmp_path / "absent" / "file", "")


def test_a_read_only_folder_is_named(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(RunError, match="Permission denied"):
        files.write_text(folder / "file", "")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "tree"
    trees.write_tree(path, {"a": torch.arange(5), "b": [1, "two"]})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(RunError, match="truncated or foreign"):
            trees.read_tree(path)


@pytest.mark.parametrize(
    "outline",
    ["[]", "3", "{", '{"dict": 3}', '{"dict": [[1]]}', '{"tensor": "none"}', '{"a": 1, "b": 2}',
     '{"list": [4]}', '{"dict": [[[], {"value": 1}]]}'],
)  # fmt: skip
def test_a_foreign_file_is_refused(outline, tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(1)}, tmp_path / "foreign", metadata={"tree": outline})
    with pytest.raises(RunError, match="truncated or foreign"):
        trees.read_tree(tmp_path / "foreign")
    save_file({"a": torch.ones(1)}, tmp_path / "plain")
    with pytest.raises(RunError, match="truncated or foreign"):
        trees.read_tree(tmp_path / "plain")


def test_json_says_which_file_is_wrong(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(RunError, match=r"a\.json to be JSON"):
        files.read_json(tmp_path / "a.json")
    with pytest.raises(RunError, match=r"read .*b\.json, but: No such file"):
        files.read_json(tmp_path / "b.json")
    files.write_json(tmp_path / "c.json", {"é": [1.5]})
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8")) == {"é": [1.5]}


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.parquet"])
def test_tables_are_written_by_their_ending(name, tmp_path):
    table = pl.DataFrame({"id": ["a", "b"], "z": [0.1, 1 / 3]})
    path = Path(tmp_path / name)
    files.write_table(path, table)
    read = pl.read_parquet if name == "t.parquet" else pl.read_csv
    assert read(path).equals(table)


def test_what_a_killed_process_left_goes_with_the_next_writing(tmp_path):
    path = tmp_path / "file.csv"
    left, other, used = (
        tmp_path / name
        for name in (".file.csv.abcdefgh.tmp", ".file.csv.backup", ".file.csv.12345678.tmp")
    )
    for name in (left, other, used):
        name.touch()
    handle = os.open(used, os.O_RDWR)
    share(handle)  # as a process does that writes the file at this moment
    files.write_text(path, "new")
    assert not left.exists()
    assert other.exists()
    assert used.exists()
    os.close(handle)
    files.remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "file"
    with files.replacing(path) as first:
        first.write_text("first")
        files.write_text(path, "second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_json_that_is_nested_too_deep_is_refused(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(RunError, match=r"deep\.json to be JSON"):
        files.read_json(tmp_path / "deep.json")
