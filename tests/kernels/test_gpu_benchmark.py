"""The benchmark of GPUs runs, and its bytes of an edge are what kernels load and store."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch

from hgcn import kernels
from hgcn.kernels import backends

interpreter = pytest.importorskip("triton.runtime.interpreter", reason="needs the extra gpu")

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("gpu_benchmark", ROOT / "benchmarks/gpu.py")
benchmark = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)


def test_it_prints_a_row_for_each_operation(capsys):
    benchmark.main(["--device", "cpu", "--nodes", "6", "--degree", "2", "--dimensions", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert "times mean nothing" in lines[0]
    times = {line.split("`")[1]: re.findall(r"[\d.]+", line.split("`")[2]) for line in lines[4:]}
    assert times.keys() == {*benchmark.costs(3), "pair_counts"}
    assert all(float(row[1]) > 0 for row in times.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_it_says_that_there_is_no_gpu():
    with pytest.raises(SystemExit, match="got none"):
        benchmark.main([])


def test_the_page_has_its_bounds(capsys):
    benchmark.main(["--bounds"])
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    page = (ROOT / "docs/gpu.md").read_text()
    assert len(table) == 2 * len(benchmark.costs(1))
    assert all(line in page for line in table)


@pytest.fixture
def moved(monkeypatch):
    """Bytes that kernels have loaded and stored."""
    bytes_ = []
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def size(pointers, mask):
        bytes_.append(int(mask.data.sum()) * pointers.get_element_ty().primitive_bitwidth // 8)

    def noted_load(self, pointers, mask, *args, **kwargs):
        size(pointers, mask)
        return load(self, pointers, mask, *args, **kwargs)

    def noted_store(self, pointers, value, mask, *args, **kwargs):
        size(pointers, mask)
        return store(self, pointers, value, mask, *args, **kwargs)

    monkeypatch.setattr(builder, "create_masked_load", noted_load)
    monkeypatch.setattr(builder, "create_masked_store", noted_store)
    return bytes_


def graph(n, edges):
    """One with so many edges for each node, and numbers of 64 bits as on a GPU."""
    ends = torch.arange(edges).remainder(n)
    return kernels.Neighbourhoods(ends, ends.sort()[0], torch.arange(edges), n, n, edges)


def call(name, g, d):
    v, other = torch.randn(2, g.num_targets, d).requires_grad_()
    w = torch.rand(g.num_given, requires_grad=name != "attention")
    if name == "local_sum":
        return kernels.local_sum(v, v, w, torch.tensor(1.0), g)
    if name == "weighted_sum":
        return kernels.weighted_sum(v, w, g)
    bias, vector = torch.zeros(d), torch.ones(1, d)
    return kernels.attention(v, other, bias, vector, w, g, negative_slope=0.2)


@pytest.mark.parametrize("name", ["local_sum", "weighted_sum", "attention"])
def test_bytes_of_an_edge_are_counted_right(name, moved):
    """What more edges of the same nodes load and store."""
    d, few, more = 8, 16, 48
    totals = []
    for edges in (few, more):
        with backends.using("triton"):
            moved.clear()
            out = call(name, graph(4, edges), d)
            forward = sum(moved)
            moved.clear()
            out.sum().backward()
            totals.append((forward, sum(moved)))
    forward, backward = ((b - a) / (more - few) for a, b in zip(*totals, strict=True))
    # Torch divides the shares by their sum: it reads an index, and reads or writes four numbers.
    forward += (8 + 4 * 4) * (name == "attention")
    # The gradient by the weight reads the row of the target for each edge, from a cache.
    backward -= 4 * d * (name == "weighted_sum")
    _, *counted = benchmark.costs(d)[name]
    assert (forward, backward) == (counted[0], counted[2])
