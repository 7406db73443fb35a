"""The fused CPU kernels against plain torch, in values and gradients."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numba
import pytest
import torch
from torch import Tensor

from hgcn import geometry, kernels
from hgcn.kernels import functions

NODES, EDGES, D = 40, 250, 5


def graph(*, loops: bool = True, seed: int = 0) -> kernels.Neighbourhoods:
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, NODES, (2, EDGES), generator=generator)
    edge_index[edge_index == 4] = 5  # node 4 is isolated
    edge_index[:, 1] = edge_index[:, 0]  # an edge given twice
    return kernels.neighbourhoods(
        edge_index, num_sources=NODES, num_targets=NODES, add_self_loops=loops
    )


def points(scale: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Among them the origin, a repeat, antipodes and a point next to the origin."""
    v = scale * torch.randn(NODES, D, dtype=dtype) / D**0.5
    v[3] = v[6] = 0
    v[7], v[9] = v[8], -v[10]
    v[11] *= 1e-9
    return v


def shares(g: kernels.Neighbourhoods, dtype: torch.dtype = torch.float64) -> Tensor:
    weight = torch.rand(len(g.source), dtype=dtype)
    total = weight.new_zeros(NODES).index_add(0, g.target, weight)
    return weight / total[g.target]


def twin(call: Callable[[], Tensor]) -> Tensor:
    """The same call as another device would do it, with plain torch on the CPU."""
    with mock.patch.object(functions, "_fused", return_value=False):
        return call()


def compare(call: Callable[..., Tensor], inputs: list[Tensor], tolerance: float) -> None:
    results = []
    for run in (lambda f: f(), twin):
        leaves = [x.detach().clone().requires_grad_() for x in inputs]
        out = run(lambda leaves=leaves: call(*leaves))
        probe = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(1))
        results.append((out, *torch.autograd.grad((out * probe).sum(), leaves)))
    # Where space is nearly flat the gradient by c is a rounding error of the size of the result.
    size = float((results[0][0] * probe).detach().abs().sum())
    for ours, theirs in zip(*results, strict=True):
        scale = size if theirs.dim() == 0 else float(theirs.detach().abs().max()) + 1e-30
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 0.05, 1.0, 4.0, 10.0])
@pytest.mark.parametrize("c", [0.3, 1.0])
def test_local_sum(scale: float, c: float, loops: bool) -> None:
    """Up to radius 20, where rounding one coordinate moves a point by 1e-16 e^20."""
    g = graph(loops=loops)
    inputs = [points(scale), shares(g), torch.tensor(c, dtype=torch.float64)]
    compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), inputs, 1e-9 if scale < 5 else 1e-5)


def test_local_sum_between_two_sets_of_nodes() -> None:
    edge_index = torch.stack((torch.randint(0, 30, (99,)), torch.randint(0, 8, (99,))))
    g = kernels.neighbourhoods(edge_index, num_sources=30, num_targets=8, add_self_loops=False)
    inputs = [torch.randn(n, D, dtype=torch.float64) for n in (8, 30)]
    inputs += [torch.rand(99, dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64)]
    compare(lambda t, s, w, c: kernels.local_sum(t, s, w, c, g), inputs, 1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 10.0, 50.0])
def test_translate(scale: float) -> None:
    bias = torch.randn(D, dtype=torch.float64)
    many = points(1.0).flip(0)
    for b in (bias, torch.zeros_like(bias), 20 * bias, many, points(scale), -points(scale)):
        inputs = [points(scale), b, torch.tensor(0.7, dtype=torch.float64)]
        compare(kernels.translate, inputs, 1e-7)


@pytest.mark.parametrize("rows", [1, 129, 2500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_translate_in_blocks_and_parts(rows: int, dtype: torch.dtype) -> None:
    v, c = torch.randn(rows, D, dtype=dtype), torch.tensor(0.7, dtype=dtype)
    for bias in (torch.randn(D, dtype=dtype), torch.randn(rows, D, dtype=dtype)):
        compare(kernels.translate, [v, bias, c], 1e-9 if dtype == torch.float64 else 1e-4)


def test_ends_of_pairs() -> None:
    z, pairs = points(1.0), torch.randint(NODES, (2, 90))
    pairs[:, 1] = pairs[:, 0]
    compare(lambda z: torch.cat(kernels.ends(z, pairs), dim=-1), [z], 1e-12)
    i, j = kernels.ends(z, pairs[:, :0])
    assert i.shape == j.shape == (0, D)


@pytest.mark.parametrize("scale", [1e-6, 0.05, 1.0, 10.0, 50.0])
def test_squared_distance(scale: float) -> None:
    v = points(scale)
    w = points(scale).roll(1, 0)
    w[0], w[1], w[3] = v[0], -v[1], 0
    inputs = [v, w, torch.tensor(0.7, dtype=torch.float64)]
    compare(kernels.squared_distance, inputs, 1e-9)
    if scale <= 1:
        assert torch.autograd.gradcheck(
            kernels.squared_distance, [x.requires_grad_() for x in inputs], atol=1e-6, rtol=1e-4
        )


def test_weighted_sum() -> None:
    g = graph()
    compare(lambda x, w: kernels.weighted_sum(x, w, g), [points(1.0), shares(g)], 1e-12)


@pytest.mark.parametrize("heads", [1, 3])
def test_attention(heads: int) -> None:
    g = graph()
    left, right = torch.randn(2, NODES, heads * 4, dtype=torch.float64)
    bias, vector = torch.randn(heads * 4).double(), torch.randn(heads, 4).double()
    prior = torch.rand(len(g.source), dtype=torch.float64) + 0.1
    rest = [bias, vector, prior]

    def attend(*inputs: Tensor | None) -> Tensor:
        return kernels.attention(*inputs, g, negative_slope=0.2)

    def attend_both(both: Tensor, *inputs: Tensor) -> Tensor:
        return attend(both, None, *inputs)

    compare(attend, [left, right, *rest], 1e-11)
    both = torch.cat((left, right), dim=1)
    compare(attend_both, [both, *rest], 1e-11)
    share = attend(left, right, *rest)
    torch.testing.assert_close(attend_both(both, *rest), share, rtol=0, atol=0)
    total = share.new_zeros(NODES, heads).index_add(0, g.target, share)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_attention_survives_huge_scores_and_zero_priors() -> None:
    g = graph(loops=False)
    both, bias, vector = 1e4 * torch.randn(NODES, 8), torch.randn(4), torch.randn(1, 4)
    prior = torch.zeros(len(g.source))
    for p in (prior, prior + 1):
        share = kernels.attention(both, None, bias, vector, p, g, negative_slope=0.2)
        assert share.isfinite().all()


@pytest.mark.parametrize(("rows", "columns", "share"), [(20, 30, 0.1), (5000, 9, 0.5)])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_sparse_product(rows: int, columns: int, share: float) -> None:
    """Both ways to the gradient: by columns, and where these are few, by parts of the rows."""
    dense = torch.randn(rows, columns, dtype=torch.float64) * (torch.rand(rows, columns) < share)
    weight = torch.randn(4, columns, dtype=torch.float64, requires_grad=True)
    probe = torch.randn(rows, 4, dtype=torch.float64)
    (expected,) = torch.autograd.grad((probe * (dense @ weight.T)).sum(), weight)
    for x in (dense.to_sparse_coo(), dense.to_sparse_csr()):
        torch.testing.assert_close(kernels.sparse_product(x, weight), dense @ weight.T)
        (gradient,) = torch.autograd.grad((probe * kernels.sparse_product(x, weight)).sum(), weight)
        torch.testing.assert_close(gradient, expected)


def test_gradcheck() -> None:
    g = graph()
    v = points(1.0).requires_grad_()
    w, c = shares(g).requires_grad_(), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(D, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v, w, c: kernels.local_sum(v, v, w, c, g), (v, w, c))
    assert torch.autograd.gradcheck(kernels.translate, (v, bias, c))
    assert torch.autograd.gradcheck(kernels.translate, (v, v.detach().flip(0).requires_grad_(), c))
    assert torch.autograd.gradcheck(lambda v, w: kernels.weighted_sum(v, w, g), (v, w))


def test_float32_keeps_its_digits() -> None:
    """Relative to float64 at the same rounded input."""
    g = graph()
    for scale in (1e-3, 1.0, 10.0):
        v, w = points(scale, torch.float32), shares(g, torch.float32)
        c = torch.tensor(0.7)
        exact = kernels.local_sum(v.double(), v.double(), w.double(), c.double(), g)
        out = kernels.local_sum(v, v, w, c, g)
        error = (out - exact).norm(dim=-1) / exact.norm(dim=-1).clamp_min(1e-12)
        assert error.max() < 1e-6


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    g = graph()
    v, w, c = points(1.0, torch.float32), shares(g, torch.float32), torch.tensor(1.0)
    before = torch.get_num_threads()
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        torch.set_num_threads(threads)
        leaves = [x.clone().requires_grad_() for x in (v, w, c)]
        out = kernels.local_sum(leaves[0], leaves[0], leaves[1], leaves[2], g)
        results.append((out, *torch.autograd.grad(out.square().sum(), leaves)))
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    torch.set_num_threads(before)
    for one, many in zip(*results, strict=True):
        torch.testing.assert_close(one, many, rtol=0, atol=0)


def test_torch_keeps_its_number_of_threads() -> None:
    script = """if True:
        import numba, torch
        torch.set_num_threads(1)
        from hgcn.nn import HGCNConv
        conv = HGCNConv(2, 2)
        conv(torch.ones(2, 2), torch.tensor([[0], [1]])).sum().backward()
        assert torch.get_num_threads() == numba.get_num_threads() == 1
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def test_extreme_points_give_no_nan() -> None:
    g = graph()
    for scale in (0.0, 1e-30, 1e6, 1e30):
        v = (points(1.0) * scale).float().requires_grad_()
        w = shares(g, torch.float32).requires_grad_()
        c = torch.tensor(1.0, requires_grad=True)
        bias = torch.ones(D, requires_grad=True)
        h = kernels.translate(v, bias, c)
        out = kernels.local_sum(h, h, w, c, g)
        for x in (out, *torch.autograd.grad(out.sum(), (v, w, c, bias))):
            assert x.isfinite().all()


def test_neighbourhoods_are_sorted_and_kept() -> None:
    edge_index = torch.tensor([[2, 0, 1, 1], [1, 1, 1, 0]])
    call = {"num_sources": 3, "num_targets": 3}
    g = kernels.neighbourhoods(edge_index, **call, add_self_loops=False)
    assert g.target.tolist() == [0, 1, 1, 1]
    assert g.source.tolist() == [1, 2, 0, 1]
    assert g.order.tolist() == [3, 0, 1, 2]
    assert kernels.neighbourhoods(edge_index, **call, add_self_loops=False) is g
    looped = kernels.neighbourhoods(edge_index, **call, add_self_loops=True)
    # The loop at node 1 was there already.
    assert sorted(zip(looped.source.tolist(), looped.target.tolist(), strict=True)) == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (2, 2),
    ]  # fmt: skip
    edge_index[0, 0] = 0
    assert kernels.neighbourhoods(edge_index, **call, add_self_loops=True) is not looped


def test_local_sum_is_what_the_geometry_says() -> None:
    """One node with three neighbours, written out."""
    v = torch.randn(4, 3, dtype=torch.float64)
    edge_index = torch.tensor([[1, 2, 3], [0, 0, 0]])
    w = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    c = torch.tensor(0.6, dtype=torch.float64)
    g = kernels.neighbourhoods(edge_index, num_sources=4, num_targets=4, add_self_loops=False)
    out = kernels.local_sum(v, v, w, c, g)
    step = sum(w[k] * geometry.local_log(v[0], v[k + 1], c=c) for k in range(3))
    torch.testing.assert_close(out[0], geometry.translate(v[0], step, c=c))
    torch.testing.assert_close(out[1:], v[1:])


def test_the_process_that_compiles_says_so_and_gives_the_same(tmp_path: Path) -> None:
    """With an empty cache one line on standard error, with a full one none; results to the bit."""
    script = """if True:
        import torch
        from hgcn import kernels
        from hgcn.kernels import hyperbolic
        v = torch.randn(700, 16, generator=torch.Generator().manual_seed(0))
        kernels.translate(v, v[0], torch.tensor(1.0))
        for numbers in hyperbolic.polar(v.numpy(), 0.8):
            print(numbers.tobytes().hex())
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script], check=True, env=environment, capture_output=True
        )
        for _ in range(2)
    )
    assert first.stderr.decode().count("compiling kernels") == 1
    assert b"compiling kernels" not in second.stderr
    assert first.stdout == second.stdout


def test_float32_gradients_keep_their_digits() -> None:
    """Far out, large terms cancel in the gradient; float32 only rounds the result."""
    g = graph()
    for scale in (1.0, 10.0):
        inputs = [points(scale, torch.float32), shares(g, torch.float32), torch.tensor(1.0)]
        probe = torch.randn(NODES, D)
        gradients = []
        for dtype in (torch.float32, torch.float64):
            leaves = [x.to(dtype).requires_grad_() for x in inputs]
            out = kernels.local_sum(leaves[0], *leaves, g)
            gradients.append(torch.autograd.grad((out * probe.to(dtype)).sum(), leaves))
        for single, double in zip(*gradients, strict=True):
            # That by c is a sum of products of this size.
            size = double.abs().max() if double.dim() else (out * probe).abs().sum().detach()
            assert (single - double).abs().max() < 1e-6 * size


def test_rows_longer_than_a_block() -> None:
    """A hub with a thousand neighbours, among them itself, beside nodes with none."""
    source = torch.randint(0, 50, (1000,))
    edge_index = torch.stack((source, torch.zeros_like(source)))
    g = kernels.neighbourhoods(edge_index, num_sources=50, num_targets=50, add_self_loops=True)
    weight = torch.rand(len(g.source), dtype=torch.float64) / 500
    inputs = [torch.randn(50, 3, dtype=torch.float64), weight, torch.tensor(0.7).double()]
    compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), inputs, 1e-9)


@pytest.mark.parametrize("dimensions", [1, 16, 33])
def test_any_number_of_dimensions(dimensions: int) -> None:
    g = graph()
    v, c = torch.randn(NODES, dimensions).double(), torch.tensor(0.7).double()
    compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), [v, shares(g), c], 1e-9)
    compare(kernels.translate, [v, torch.randn(dimensions).double(), c], 1e-9)
    compare(kernels.squared_distance, [v, v.roll(1, 0), c], 1e-9)
