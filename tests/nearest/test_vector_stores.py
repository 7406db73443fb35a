"""The examples of docs/neighbours.md, run as they stand there, in processes of their own."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

import hgcn
from hgcn.nn.spaces import Hyperbolic

PAGE = Path(__file__).parents[2] / "docs" / "neighbours.md"
N = 400


def snippets():
    """The blocks of Python on the page."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Points as `hgcn embed --coordinates mips` writes them, and their nearest by distance."""
    folder = tmp_path_factory.mktemp("store")
    v = np.random.default_rng(0).normal(size=(N, 4))
    numbers, distance = hgcn.neighbours(v, k=11)
    np.savez(folder / "exact.npz", numbers=numbers, distance=distance)
    vectors = Hyperbolic(1.0).coordinates(torch.from_numpy(v), "mips")
    table = {f"z{k}": column.tolist() for k, column in enumerate(vectors.T)}
    pl.DataFrame({"id": list(range(N)), **table}).write_parquet(folder / "index.parquet")
    return folder


def run(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_the_first_example_runs(folder):
    first, *_ = snippets()
    assert "hgcn.neighbours" in first
    found = run(first + "\nfor row in numbers: print(*row)", folder)
    assert found == [[1], [0], [1], [0]]


@pytest.mark.parametrize("package", ["faiss", "qdrant_client"])
def test_a_store_finds_the_nearest_by_distance(folder, package):
    if find_spec(package) is None:
        pytest.skip(f"needs {package}")
    _, load, *stores = snippets()
    (code,) = [text for text in stores if package in text]
    rows = "nearest" if package == "faiss" else "[nearest]"
    check(run(f"{load}\n{code}\nfor row in {rows}: print(*row)", folder), folder)


def check(found, folder):
    """The node itself, then its ten nearest; a few within the rounding of float32 may swap."""
    exact = np.load(folder / "exact.npz")
    for node, (own, *others) in enumerate(found):
        assert own == node
        assert len(others) == 10
        last = exact["distance"][node, 10] + 1e-2
        near = exact["numbers"][node][exact["distance"][node] <= last].tolist()
        assert set(others) <= set(near)
        assert len(set(others) & set(exact["numbers"][node][:10].tolist())) >= 9
