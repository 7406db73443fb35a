"""The kernels of GPUs, by Triton's interpreter: hubs, types, far points, and what never happens."""

import itertools
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import networkx as nx
import pytest
import torch
from test_backends import compare
from test_counts_of_pairs import all_pairs, shown
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

pytest.importorskip("triton", reason="needs Triton, of the extra gpu")

import triton
import triton.language as tl
from triton.runtime import interpreter

from hgcn import kernels
from hgcn.kernels import backends, csr, triton_gpu
from hgcn.kernels.numba_cpu import counts_of_pairs as counts_on_cpu
from hgcn.kernels.triton_gpu import (
    counts_of_pairs,
    local_aggregation,
    points,
    rows,
    scalars,
    softmax,
    sums,
)


@pytest.fixture
def _on_triton():
    with backends.using("triton"):
        yield


@pytest.fixture
def _short_segments(monkeypatch):
    """Segments of four edges, so that a small graph has hubs."""
    for module in (rows, sums, softmax, local_aggregation):
        monkeypatch.setattr(module, "SEGMENT", 4)


def hubs(n: int = 4, dtype: torch.dtype = torch.int64) -> kernels.Neighbourhoods:
    """Node 0 has 11 neighbours, among them itself, node 1 has 5, node 2 one and node 3 none."""
    target = torch.tensor([0] * 11 + [1] * 5 + [2])
    source = torch.arange(len(target)) % n
    edge_index = torch.stack((source, target)).to(dtype)
    return kernels.neighbourhoods(edge_index, num_sources=n, num_targets=n, add_self_loops=False)


def attend(*inputs: Tensor | None, graph: kernels.Neighbourhoods) -> Tensor:
    return kernels.attention(*inputs, graph, negative_slope=0.2)


@pytest.mark.usefixtures("_on_triton", "_short_segments")
def test_rows_of_hubs_are_divided_among_programs():
    g, c = hubs(), torch.tensor(0.7).double()
    assert rows.by_target(g).owner.tolist() == [0, 0, 1, 4]
    v, w = torch.randn(4, 3).double(), torch.rand(17).double()
    compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), [v, w, c], 1e-9)
    compare(lambda x, w: kernels.weighted_sum(x, w, g), [torch.randn(4, 70).double(), w], 1e-11)
    both, bias, vector = torch.randn(4, 8).double(), torch.randn(4).double(), torch.randn(2, 2)
    inputs = [both, bias, vector.double(), w]
    compare(lambda b, *rest: attend(b, None, *rest, graph=g), inputs, 1e-9)
    # The largest score is in another segment than the first, and far from those there.
    steep = torch.arange(12.0).mul(1000)[:, None].expand(12, 2)
    rest = torch.zeros(1), torch.ones(1, 1), torch.ones(17)
    share = attend(steep, None, *rest, graph=hubs(12))[:11, 0]
    assert share.tolist() == [0.0] * 10 + [1.0]


@pytest.mark.usefixtures("_on_triton")
def test_empty_graphs_and_lists():
    g = kernels.neighbourhoods(
        torch.zeros(2, 0, dtype=torch.int64), num_sources=3, num_targets=3, add_self_loops=False
    )
    v, c, none = torch.randn(3, 2).double(), torch.tensor(1.0).double(), torch.zeros(0).double()
    torch.testing.assert_close(kernels.local_sum(v, v, none, c, g), v)
    assert not kernels.weighted_sum(v, none, g).any()
    assert attend(v, v, v[0], v[:1], none, graph=g).shape == (0, 1)
    assert kernels.translate(v[:0], v[0], c).shape == (0, 2)
    assert kernels.squared_distance(v[:0], v[:0], c).shape == (0,)
    pairs = torch.zeros(2, 0, dtype=torch.int64)
    assert kernels.pair_counts(pairs, none, none.to(torch.int8), g).shape == (0, 10)


@pytest.mark.usefixtures("_on_triton")
def test_float32_far_from_the_origin():
    """Rounding an input moves a point at radius r by 1e-7 e^r, so that is the tolerance."""
    g, c = hubs(), torch.tensor(1.0)
    direction = torch.nn.functional.normalize(torch.randn(4, 3), dim=1)
    w = torch.rand(17) / 17
    for radius in (1e-20, 3.0, 8.0):
        v = radius * direction
        tolerance = 3e-6 * max(1.0, torch.tensor(radius).exp().item() / radius)
        compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), [v, w, c], tolerance)
    for radius in (40.0, 1e9, 1e30):
        v, w = (radius * direction).requires_grad_(), w.detach().requires_grad_()
        out = kernels.local_sum(v, v, w, c, g)
        distance = kernels.squared_distance(v, v.flip(0), c)
        moved = kernels.translate(v, -v.detach().flip(0), c)
        total = out.sum() + distance.sum() + moved.sum()
        for x in (out, distance, moved, *torch.autograd.grad(total, (v, w))):
            assert x.isfinite().all()


def test_float64_at_radius_40_is_that_of_the_cpu():
    """There torch's formulas have no digits left; those of the CPU are held to 50 of them."""
    g, c = hubs(), torch.tensor(1.0).double()
    v = 40 * torch.nn.functional.normalize(torch.randn(4, 3).double(), dim=1)
    v[3] = 0
    w = torch.rand(17).double() / 17
    calls = {
        "local_sum": (lambda v, w, c: kernels.local_sum(v, v, w, c, g), [v, w, c]),
        "squared_distance": (kernels.squared_distance, [v, v.roll(1, 0), c]),
        "inwards": (kernels.translate, [v, -v.roll(1, 0), c]),
    }
    for name, (call, inputs) in calls.items():
        results = []
        for backend in ("triton", "numba"):
            leaves = [x.clone().requires_grad_() for x in inputs]
            with backends.using(backend):
                out = call(*leaves)
            probe = torch.arange(1.0, 1 + out.numel()).view_as(out)
            results.append((out, *torch.autograd.grad((out * probe).sum(), leaves)))
        for ours, theirs in zip(*results, strict=True):
            size = float(theirs.detach().abs().max())
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9 * size, msg=name)


class Largest(TorchDispatchMode):
    """Notes the size of the largest tensor of real numbers that there is within it."""

    size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        made = [x for x in tree_leaves(out) if isinstance(x, Tensor) and x.is_floating_point()]
        self.size = max([self.size, *(x.numel() for x in made)])
        return out


@pytest.mark.parametrize("name", ["local_sum", "weighted_sum", "attention"])
def test_no_edge_has_a_vector_in_memory(name):
    """Ten million edges of 64 dimensions would be 2.6 GB for each; plain torch has many."""
    edges, d = 300, 24
    g = kernels.neighbourhoods(
        torch.arange(edges).remainder(4).expand(2, -1),
        num_sources=4,
        num_targets=4,
        add_self_loops=False,
    )
    bias, vector = torch.randn(d), torch.randn(1, d)
    call = {
        "local_sum": lambda v, w: kernels.local_sum(v, v, w, torch.tensor(0.7), g),
        "weighted_sum": lambda v, w: kernels.weighted_sum(v, w, g),
        "attention": lambda v, w: kernels.attention(v, v, bias, vector, w, g, negative_slope=0.2),
    }[name]
    largest = {}
    for backend in ("triton", "torch"):
        leaves = [x.requires_grad_() for x in (torch.randn(4, d), torch.rand(edges))]
        with backends.using(backend), Largest() as seen:
            out = call(*leaves)
            torch.autograd.grad(out.square().sum(), leaves)
        largest[backend] = seen.size
    assert largest["triton"] <= 3 * edges  # numbers of an edge that its source needs
    assert largest["torch"] >= edges * d


@triton.jit
def _numbers(width, first, stride, out, N: tl.constexpr):
    at = tl.arange(0, N)
    found = counts_of_pairs._number(tl.load(first + at), tl.load(stride + at), tl.load(width + at))
    tl.store(out + at, found)


def test_samples_of_a_row_are_in_the_row():
    """However the quotients are rounded that say how many there are."""
    width = torch.arange(1, 4097).double()
    number = 1 + torch.arange(4096) % 7
    stride = 1 + width / 3
    # Steps that end at the first place behind the row, but for rounding.
    first = width - number * stride
    first, found = torch.where(first < 0, 0.3 * stride, first), torch.empty(4096).long()
    _numbers[1,](width, first, stride, found, N=4096)
    assert (number * stride + first <= width).any()
    assert (first + (found - 1) * stride < width).all()
    assert (first + (found + 1) * stride >= width).all()
    quotient = ((width - first) / stride).ceil()
    assert (first + (quotient - 1) * stride >= width).any()  # rounding does matter


@triton.jit
def _functions(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    number = tl.load(x + at)
    kappa = scalars.kappa_of(number)
    tl.store(out + at, kappa)
    tl.store(out + N + at, scalars.kappa_slope(number, kappa, kappa))
    tl.store(out + 2 * N + at, scalars.asinh(number))
    tl.store(out + 3 * N + at, scalars.expm1(tl.minimum(number, 20.0)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_one_number_have_the_digits_of_their_type(dtype):
    h = torch.logspace(-8, 8, 128, dtype=torch.float64).to(dtype)
    out = h.new_empty(4, 128)
    _functions[1,](h, out, N=128)
    x = h.double()
    kappa = x.sqrt().asinh() / (x * (1 + x)).sqrt()
    slope = (1 - (1 + 2 * x) * kappa) / (2 * x * (1 + x))
    slope = torch.where(x < 1e-3, -2 / 3 + 16 / 15 * x - 48 / 35 * x**2 + 512 / 315 * x**3, slope)
    expected = torch.stack((kappa, slope, x.asinh(), x.clamp_max(20).expm1()))
    error = (out.double() / expected - 1).abs().amax(1) / torch.finfo(dtype).eps
    # The slope cancels a little where its series ends; in float64 the formula above does, too.
    limits = torch.tensor([8.0, 40.0 if dtype == torch.float32 else 1e5, 8.0, 8.0])
    assert (error < limits).all(), error


@pytest.mark.usefixtures("_on_triton")
@pytest.mark.parametrize("d", [16, 17, 256])
def test_any_dimension_up_to_256(d):
    """Points go in parts of 16 columns in float32, 8 or 4 in float64; edges in whole vectors."""
    g = kernels.neighbourhoods(
        torch.tensor([[0, 1, 2, 1], [1, 0, 1, 1]]),
        num_sources=3,
        num_targets=3,
        add_self_loops=False,
    )
    c, v, w = (
        torch.tensor(0.7).double(),
        torch.randn(3, d).double() / d**0.5,
        torch.rand(4).double(),
    )
    compare(kernels.translate, [v, torch.randn(d).double() / d**0.5, c], 1e-9)
    compare(kernels.squared_distance, [v, v.roll(1, 0), c], 1e-9)
    compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), [v, w, c], 1e-9)
    single = [x.float() for x in (v, v.roll(1, 0), c)]
    compare(kernels.translate, single, 1e-4)
    wide = torch.randn(3, 257).double()
    with pytest.raises(NotImplementedError, match="`translate`"):  # then plain torch is asked
        kernels.translate(wide, wide[0], c)


@pytest.mark.usefixtures("_on_triton")
def test_indices_of_32_bits_give_the_same_bits():
    v, w, c = torch.randn(4, 3), torch.rand(17), torch.tensor(1.0)
    results = []
    for dtype in (torch.int64, torch.int32):
        g = hubs()
        g = kernels.Neighbourhoods(g.source.to(dtype), g.target.to(dtype), g.order, 4, 4, 17)
        leaves = [x.clone().requires_grad_() for x in (v, w)]
        out = kernels.local_sum(leaves[0], *leaves, c, g)
        results.append((out, *torch.autograd.grad(out.square().sum(), leaves)))
    for one, two in zip(*results, strict=True):
        assert torch.equal(one, two)


@pytest.mark.usefixtures("_on_triton")
def test_kernels_run_where_their_tensors_are(monkeypatch):
    """Triton launches on the current GPU, which is another one where there are several."""
    current, launched = [], []

    class Current:
        def __init__(self, tensor):
            self.tensor = tensor

        def __enter__(self):
            current.append(self.tensor.data_ptr())

        def __exit__(self, *_):
            current.pop()

    launch = interpreter.GridExecutor.__call__

    def noted(self, *args, **kwargs):
        launched.append(current[-1:])
        return launch(self, *args, **kwargs)

    monkeypatch.setattr(torch.cuda, "device_of", Current)
    monkeypatch.setattr(interpreter.GridExecutor, "__call__", noted)
    g, v, w = hubs(), torch.randn(4, 2), torch.rand(17)
    c, pairs = torch.tensor(1.0), torch.tensor([[0], [1]])
    for first, call in (
        (v, lambda: kernels.translate(v, v[0], c)),
        (v, lambda: kernels.squared_distance(v, v, c)),
        (v, lambda: kernels.local_sum(v, v, w, c, g)),
        (v, lambda: kernels.weighted_sum(v, w, g)),
        (v, lambda: attend(v, v, v[0], v[:1], w, graph=g)),
        (pairs, lambda: kernels.pair_counts(pairs, w.double(), torch.zeros(17).char(), g)),
    ):
        launched.clear()
        call()
        assert launched
        assert all(at == [first.data_ptr()] for at in launched)


@pytest.mark.usefixtures("_on_triton")
def test_tensors_of_two_devices_are_left_to_torch():
    """It knows what a number on the CPU among them means, or that this is an error."""
    v = torch.randn(4, 2)
    with pytest.raises(NotImplementedError, match="`translate`"):
        kernels.translate(v, v[0], torch.tensor(1.0, device="meta"))


def test_a_gpu_without_kernels_is_told_of_once(monkeypatch, caplog):
    """Triton may be missing, or lack a compiler: then plain torch computes, and a line says so."""
    monkeypatch.setattr(triton_gpu, "_works", triton_gpu._works.__wrapped__)
    device = torch.device("cpu")  # which has no driver, as the first kernel finds out
    monkeypatch.setattr(points, "_polar", triton.runtime.JITFunction(points._polar.fn))
    with caplog.at_level("WARNING", logger="hgcn"):
        assert not triton_gpu._works(device)
    assert "plain torch" in caplog.text
    caplog.clear()
    with monkeypatch.context() as old, caplog.at_level("WARNING", logger="hgcn"):
        old.setattr(triton, "__version__", "3.2.0")  # that of torch 2.6
        assert not triton_gpu._works(device)
    assert "3.7 or newer is needed, not 3.2.0" in caplog.text
    caplog.clear()
    monkeypatch.setitem(sys.modules, "hgcn.kernels.triton_gpu.points", None)
    with caplog.at_level("WARNING", logger="hgcn"):
        assert not triton_gpu._works(device)
    assert "hgcn[gpu]" in caplog.text


GRAPHS = {
    "sparse": nx.gnm_random_graph(30, 40, seed=0),
    "directed": nx.gnm_random_graph(18, 60, seed=2, directed=True),
    "path": nx.path_graph(12),
    "no edges": nx.empty_graph(4),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_counts_of_pairs_are_those_of_the_cpu(name):
    pairs, edges = all_pairs(GRAPHS[name].number_of_nodes()), shown(GRAPHS[name])
    some = pairs[:, torch.randperm(pairs.shape[1])[:6]]
    given = (some, torch.rand(len(edges.weight)).double(), edges.direction, edges.graph)
    torch.testing.assert_close(counts_of_pairs.counts(*given), counts_on_cpu.counts(*given))


def test_sampled_counts_have_the_right_mean(monkeypatch):
    monkeypatch.setattr(counts_of_pairs, "MOST_SHARED", 3)
    monkeypatch.setattr(counts_of_pairs, "MOST_PATHS", 7)
    graph = nx.complete_bipartite_graph(6, 5)  # two of the six have 5 neighbours in common
    graph.add_edge(6, 7)
    edges, pairs = shown(graph), torch.tensor(list(itertools.combinations(range(6), 2))).T
    found = counts_of_pairs.counts(pairs, edges.weight, edges.direction, edges.graph)
    exact = counts_on_cpu.counts(pairs, edges.weight, edges.direction, edges.graph)
    for column in (0, 3):
        error = found[:, column] - exact[:, column]
        assert abs(error.mean()) <= 3 * error.std() / len(error) ** 0.5 + 1e-12
    assert (found[:, 3] != exact[:, 3]).any()


def test_rows_built_on_the_device_are_the_same_neighbourhoods():
    """A self-loop that is there already is not counted twice."""
    edge_index = torch.tensor([[2, 0, 1, 1, 3], [1, 1, 1, 0, 3]])
    edge_weight = torch.tensor([2.0, 3.0, 4.0, 5.0, 6.0])
    x = torch.randn(4, 2)
    for loops in (False, True):
        one = csr._build(edge_index, 4, 4, loops)
        two = csr._build_on_device(edge_index, 4, 4, loops)
        degree = csr._degree_on_device(two.target, two.counts, 4)
        assert degree.tolist() == one.degree.tolist()
        for given in (None, edge_weight):
            sums = [kernels.weighted_sum(x, g.weights(given, torch.float32), g) for g in (one, two)]
            torch.testing.assert_close(*sums)


def test_every_kernel_compiles_for_cards_that_are_not_here(tmp_path):
    """What only the interpreter accepts is found without a GPU, and what needs too many registers.

    Both types are compiled, a dimension that is one and the widest, for one card each.
    """
    child = Path(__file__).with_name("ptx_child.py")
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path)}
    del environment["TRITON_INTERPRET"]
    made = subprocess.run(
        [sys.executable, child, "80:float64:1", "90:float32:256"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    written = {
        name
        for source in Path(rows.__file__).parent.glob("*.py")
        for name in re.findall(r"^ +(\w+)\[[\w., ()-]+\]\(", source.read_text(), re.MULTILINE)
    }
    done = defaultdict(set)
    for line in made.stdout.splitlines():
        name, card, dtype, _, _, stack = line.split()
        done[card, dtype].add(name)
        assert int(stack) < 64 or dtype == "float64", line
    assert done == {("80", "float64"): written, ("90", "float32"): written}
