"""Old pickles and raw files. Their text is written here by hand, as their authors' tools did."""

import gzip
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hgcn.data.datasets.released import parse, undirected
from hgcn.data.datasets.unpickle import ADMITTED, load_pickle
from hgcn.errors import DataError


def text(value: str | bytes) -> bytes:
    """A string of Python 2."""
    raw = value.encode() if isinstance(value, str) else value
    return b"T" + struct.pack("<i", len(raw)) + raw


def array(values: Any, module: bytes = b"numpy.core.multiarray") -> bytes:
    """An array as NumPy on Python 2 pickled it with protocol 2."""
    values = np.asarray(values)
    order = b"|" if values.dtype.itemsize == 1 else b"<"
    kind = values.dtype.str[1:].encode()
    sizes = b"(" + b"".join(b"J" + struct.pack("<i", size) for size in values.shape) + b"t"
    return (
        b"c" + module + b"\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01" + sizes
        + b"cnumpy\ndtype\nU\x02" + kind + b"K\x00K\x01\x87R(K\x03U\x01" + order
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        + (b"\x88" if values.flags.f_contiguous and values.ndim > 1 else b"\x89")
        + text(values.tobytes(order="A")) + b"tb"
    )  # fmt: skip


def matrix(values: np.ndarray, module: bytes = b"scipy.sparse.csr") -> bytes:
    """A sparse matrix as SciPy on Python 2 pickled it."""
    made = sparse.csr_matrix(values)
    shape = b"(" + b"".join(b"J" + struct.pack("<i", size) for size in made.shape) + b"t"
    parts = {"indptr": made.indptr, "indices": made.indices, "data": made.data}
    state = b"".join(text(name) + array(part) for name, part in parts.items())
    return (
        b"c" + module + b"\ncsr_matrix\n)\x81}(" + text("_shape") + shape + state + b"ub"
    )  # fmt: skip


def saved(path: Path, body: bytes) -> Path:
    path.write_bytes(b"\x80\x02" + body + b".")
    return path


@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f4", "<i4", "<i8", "|b1", "|u1"])
@pytest.mark.parametrize("protocol", range(5))
def test_reads_the_arrays_of_todays_numpy(tmp_path: Path, dtype: str, protocol: int) -> None:
    values = np.array([[0, 1, 2], [200, 0, 7]]).astype(dtype)
    (tmp_path / "a").write_bytes(pickle.dumps([values, values.T], protocol))
    found = load_pickle(tmp_path / "a")
    np.testing.assert_array_equal(found[0], values)
    np.testing.assert_array_equal(found[1], values.T)


def test_reads_the_arrays_of_python_2(tmp_path: Path) -> None:
    values = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(load_pickle(saved(tmp_path / "a", array(values))), values)
    by_columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    found = load_pickle(saved(tmp_path / "a", array(by_columns, b"numpy._core.multiarray")))
    np.testing.assert_array_equal(found, by_columns)


@pytest.mark.parametrize("module", [b"scipy.sparse.csr", b"scipy.sparse._csr", b"scipy.sparse"])
def test_reads_sparse_matrices_of_old_and_new_scipy(tmp_path: Path, module: bytes) -> None:
    values = np.array([[0, 2.5, 0], [0, 0, 0], [1, 0, -3]])
    found = load_pickle(saved(tmp_path / "m", matrix(values, module)))
    made = sparse.csr_matrix((found["data"], found["indices"], found["indptr"]), found["_shape"])
    np.testing.assert_array_equal(made.toarray(), values)


def test_reads_the_matrix_of_todays_scipy(tmp_path: Path) -> None:
    values = sparse.csr_matrix(np.eye(3))
    (tmp_path / "m").write_bytes(pickle.dumps(values))
    np.testing.assert_array_equal(load_pickle(tmp_path / "m")["indices"], values.indices)


class Malicious:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, call: Callable[..., Any], *args: object) -> None:
        self.call, self.args = call, args

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self.call, self.args


@pytest.mark.parametrize("protocol", range(6))
def test_runs_nothing(tmp_path: Path, protocol: int) -> None:
    import os

    mark = tmp_path / "mark"
    body = pickle.dumps([1, {"x": Malicious(os.mkdir, str(mark))}], protocol)
    pickle.loads(body)  # the pickle works: an ordinary load runs it
    mark.rmdir()
    (tmp_path / "bad").write_bytes(body)
    with pytest.raises(DataError, match=r"bad: .*reference to `(posix|nt)\.mkdir`. Nothing"):
        load_pickle(tmp_path / "bad")
    assert not mark.exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval", "builtins getattr", "builtins __import__", "__builtin__ eval",
        "os system", "subprocess Popen", "numpy load", "numpy.f2py.crackfortran myeval",
        "numpy.testing._private.utils runstring", "numpy.core.multiarray scalar",
        "collections defaultdict.__init__", "numpy ndarray.tofile", "pickle loads",
        "hgcn.data.datasets.unpickle pickle", "functools partial", "operator attrgetter",
    ],
)  # fmt: skip
def test_admits_no_other_name(tmp_path: Path, name: str) -> None:
    module, attribute = name.split(" ")
    old = saved(tmp_path / "old", f"c{module}\n{attribute}\n".encode())
    short = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, attribute)]
    new = tmp_path / "new"
    new.write_bytes(b"\x80\x04" + b"".join(short) + b"\x93.")  # STACK_GLOBAL
    for path in (old, new):
        with pytest.raises(DataError, match="only arrays and plain containers"):
            load_pickle(path)


def test_a_pickle_cannot_change_the_classes_that_read_it(tmp_path: Path) -> None:
    for module, name in ADMITTED:
        # BUILD on the class itself, with attributes to set on it
        body = f"c{module}\n{name}\n".encode() + b"N}" + text("marked") + b"K\x01s\x86b"
        with pytest.raises(DataError, match="cannot be read"):
            load_pickle(saved(tmp_path / "bad", body))
    assert not any(hasattr(stand_in, "marked") for stand_in in ADMITTED.values())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (array(np.arange(4))[:-10], "EOFError|truncated|Unpickling"),
        (array(np.arange(4)).replace(b"U\x02i8", b"U\x02O8"), "array of numbers, got .* 'O8'"),
        (array(np.arange(4)).replace(b"J\x04", b"J\x05"), "reshape"),
        (b"c__builtin__\nlist\n)R", "got a call of it"),
        (b"]q\x00h\x00a", "RecursionError"),
        (b"c_codecs\nencode\nU\x01aU\x06rot_13\x86R", "bytes in latin1"),
        (b"P1\n", "persistent|UnpicklingError"),
    ],
    ids=["cut", "objects", "shape", "call", "cycle", "codec", "persistent"],
)
def test_a_damaged_pickle_is_an_error_of_ours(tmp_path: Path, body: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_pickle(saved(tmp_path / "bad", body))


def test_undirected_pairs_are_canonical() -> None:
    pairs = [[3, 1], [1, 3], [2, 2], [0, 3], [1, 3]]
    assert undirected(np.array(pairs)).tolist() == [[0, 3], [1, 3]]
    assert undirected(np.empty((0, 2))).shape == (0, 2)


def test_planetoid_puts_test_rows_where_the_index_says(tmp_path: Path) -> None:
    # Seven nodes: 0..3 known, 4..6 for the test; 5 is missing, as some are in citeseer.
    full = np.array([[1, 0], [0, 1], [0, 0], [2, 0], [0, 4], [0, 0], [6, 6]], np.float32)
    classes = np.eye(3, dtype=np.int32)[[2, 0, 1, 1, 0, 0, 2]]
    order = [6, 4]
    for suffix, body in {
        "y": array(classes[:2]), "ally": array(classes[:4]), "ty": array(classes[order]),
        "allx": matrix(full[:4]), "tx": matrix(full[order]),
    }.items():  # fmt: skip
        saved(tmp_path / f"ind.cora.{suffix}", body)
    lists = {0: [1, 1, 6], 1: [0, 0], 2: [2], 3: [], 6: [0, 4], 4: [6]}
    body = b"".join(
        b"K" + bytes([node]) + b"](" + b"".join(b"K" + bytes([end]) for end in ends) + b"e"
        for node, ends in lists.items()
    )
    head = b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R("
    saved(tmp_path / "ind.cora.graph", head + body + b"u")
    (tmp_path / "ind.cora.test.index").write_text("6\n4\n")

    files = parse("cora", tmp_path)
    np.testing.assert_array_equal(files["features.npz"].toarray(), full)
    assert files["labels.npy"].tolist() == [2, 0, 1, 1, 0, -1, 2]
    assert files["edges.csv"].tolist() == [[0, 1], [0, 6], [4, 6]]
    split = files["split.json"]
    assert (split["train"], split["test"]) == ([0, 1], [4, 6])
    assert split["val"] == list(range(2, 502))


def test_wordnet_finds_the_direct_hypernyms(tmp_path: Path) -> None:
    # d is under b and c, both under a; each thing is also paired with itself.
    pairs = ["b a", "c a", "d b", "d c", "d a", "a a", "d d"]
    (tmp_path / "mammal_closure.tsv").write_text("\n".join(pairs).replace(" ", "\t") + "\n")
    files = parse("wordnet_mammal", tmp_path)
    assert files["edges.csv"].tolist() == [[1, 0], [2, 0], [3, 1], [3, 2]]
    assert files["closure.csv"].tolist() == [[1, 0], [2, 0], [3, 0], [3, 1], [3, 2]]
    assert files["nodes.csv"]["synset"] == ["a", "b", "c", "d"]
    assert files["nodes.csv"]["depth"] == ["0", "1", "1", "2"]


def test_enron_numbers_the_ids_in_order(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "email-Enron.txt.gz", "wt") as file:
        file.write("# comment\n5\t9\n9\t5\n5\t20\n")
    assert parse("email_enron", tmp_path)["edges.csv"].tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize("name", ["cora", "airport", "twitch", "email_enron", "wordnet_mammal"])
def test_missing_raw_files_are_an_error_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError):
        parse(name, tmp_path)
