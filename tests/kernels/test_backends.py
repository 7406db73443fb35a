"""The contract of every backend: values and gradients are those of plain torch in float64."""

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import kernel_inputs
import numpy as np
import pytest
import torch
from kernel_inputs import D, graph, points, shares
from torch import Tensor

from hgcn import geometry, kernels
from hgcn.kernels import backends


@pytest.fixture(autouse=True, params=list(backends.BACKENDS))
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test of this file runs on every backend, that of GPUs by Triton's interpreter."""
    if request.param == "triton":
        interpreter = pytest.importorskip(
            "triton.runtime.interpreter", reason="needs the extra gpu"
        )
        # A GPU takes the number of a number and of none, where NumPy takes none.
        for name, function in (("create_maxnumf", np.fmax), ("create_minnumf", np.fmin)):
            call = functools.partialmethod(interpreter.InterpreterBuilder.binary_op, op=function)
            monkeypatch.setattr(interpreter.InterpreterBuilder, name, call)
        monkeypatch.setattr(kernel_inputs, "NODES", 12)
        monkeypatch.setattr(kernel_inputs, "EDGES", 24)
    with backends.using(request.param):
        yield request.param


def compare(call: Callable[..., Tensor], inputs: list[Tensor], tolerance: float) -> None:
    """Hold a call on the backend against the same call on plain torch in float64."""
    results = []
    for name, dtype in ((None, inputs[0].dtype), ("torch", torch.float64)):
        leaves = [x.detach().to(dtype, copy=True).requires_grad_() for x in inputs]
        with backends.using(name) if name else nullcontext():
            out = call(*leaves)
        generator = torch.Generator().manual_seed(1)
        probe = torch.randn(out.shape, dtype=torch.float64, generator=generator).to(dtype)
        gradients = torch.autograd.grad((out * probe).sum(), leaves)
        results.append([x.double() for x in (out, *gradients)])
    # Where space is nearly flat the gradient by c is a rounding error of the size of the result.
    size = float((results[1][0] * probe).detach().abs().sum())
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


@pytest.mark.parametrize("rows", [1, 2500, 129])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_translate_in_blocks_and_parts(rows: int, dtype: torch.dtype) -> None:
    v, c = torch.randn(rows, D, dtype=dtype), torch.tensor(0.7, dtype=dtype)
    for bias in (torch.randn(D, dtype=dtype), torch.randn(rows, D, dtype=dtype)):
        compare(kernels.translate, [v, bias, c], 1e-9 if dtype == torch.float64 else 1e-4)


def centroids(g: kernels.Neighbourhoods) -> Callable[..., Tensor]:
    """As the other operations are called; the viewpoint gets no gradient."""
    return lambda v, w, c: kernels.centroid(v.detach(), v, w, c, g)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 0.05, 1.0, 4.0, 10.0])
def test_centroid(scale: float, loops: bool, backend: str) -> None:
    if backend == "triton":
        pytest.skip("torch does this on GPUs")
    g, c = graph(loops=loops), torch.tensor(0.7, dtype=torch.float64)
    weight = shares(g)
    weight[g.target == 5] = 0  # a node whose edges weigh nothing stays where it is
    compare(centroids(g), [points(scale), weight, c], 1e-9)
    v = points(scale)
    torch.testing.assert_close(centroids(g)(v, weight, c)[4:6], v[4:6])


def test_centroid_is_what_the_geometry_says(backend: str) -> None:
    """Of a hub with more neighbours than a block has edges, between two sets of nodes."""
    if backend == "triton":
        pytest.skip("torch does this on GPUs")
    source, c = torch.randn(300, 3, dtype=torch.float64), torch.tensor(0.6).double()
    weight = torch.rand(300, dtype=torch.float64)
    edge_index = torch.stack((torch.arange(300), torch.zeros(300, dtype=torch.int64)))
    g = kernels.neighbourhoods(edge_index, num_sources=300, num_targets=1, add_self_loops=False)
    expected = geometry.centroid(source, weight, c=c)
    for seen_from in (torch.zeros(1, 3).double(), 3 * torch.randn(1, 3).double()):
        out = kernels.centroid(seen_from, source, weight / weight.sum(), c, g)
        torch.testing.assert_close(out[0], expected)


def frechet_means(g: kernels.Neighbourhoods) -> Callable[..., Tensor]:
    return lambda v, w, c: kernels.frechet_mean(v.detach(), v, w, c, g)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 0.05, 1.0, 4.0, 10.0])
def test_frechet_mean(scale: float, loops: bool, backend: str) -> None:
    if backend == "triton":
        pytest.skip("torch does this on GPUs")
    g, c = graph(loops=loops), torch.tensor(0.7, dtype=torch.float64)
    weight = shares(g)
    weight[g.target == 5] = 0  # a node whose edges weigh nothing stays where it is
    compare(frechet_means(g), [points(scale), weight, c], 1e-9 if scale < 5 else 1e-7)
    v = points(scale)
    torch.testing.assert_close(frechet_means(g)(v, weight, c)[4:6], v[4:6])


@pytest.mark.parametrize("seen_from", [0.0, 3.0, 30.0])
def test_frechet_mean_is_what_the_geometry_says(backend: str, seen_from: float) -> None:
    """Of a hub with more neighbours than a block has edges, between two sets of nodes."""
    if backend == "triton":
        pytest.skip("torch does this on GPUs")
    source, c = torch.randn(300, 3, dtype=torch.float64), torch.tensor(0.6).double()
    weight = torch.rand(300, dtype=torch.float64)
    edge_index = torch.stack((torch.arange(300), torch.zeros(300, dtype=torch.int64)))
    g = kernels.neighbourhoods(edge_index, num_sources=300, num_targets=1, add_self_loops=False)
    leaves = [x.requires_grad_() for x in (source, weight / weight.sum())]
    expected = geometry.frechet_mean(*leaves, c=c)
    at = seen_from * torch.randn(1, 3).double()
    out = kernels.frechet_mean(at, leaves[0], leaves[1], c, g)
    torch.testing.assert_close(out[0], expected, rtol=1e-9, atol=1e-9)
    probe = torch.randn(3, dtype=torch.float64)
    ours, theirs = (
        torch.autograd.grad((x * probe).sum(), leaves[0])[0] for x in (out[0], expected)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-10)


def test_ends_of_pairs(backend: str) -> None:
    if backend == "triton":
        pytest.skip("torch does this on GPUs")
    z, pairs = points(1.0), torch.randint(kernel_inputs.NODES, (2, 90))
    pairs[:, 1] = pairs[:, 0]
    compare(lambda z: torch.cat(kernels.ends(z, pairs), dim=-1), [z], 1e-12)
    i, j = kernels.ends(z, pairs[:, :0])
    assert i.shape == j.shape == (0, D)


@pytest.mark.parametrize("scale", [1e-6, 0.05, 1.0, 10.0, 50.0])
def test_squared_distance(scale: float, backend: str) -> None:
    v = points(scale)
    w = points(scale).roll(1, 0)
    w[0], w[1], w[3] = v[0], -v[1], 0
    inputs = [v, w, torch.tensor(0.7, dtype=torch.float64)]
    compare(kernels.squared_distance, inputs, 1e-9)
    if scale <= 1 and backend != "triton":
        assert torch.autograd.gradcheck(
            kernels.squared_distance, [x.requires_grad_() for x in inputs], atol=1e-6, rtol=1e-4
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, which interprets Triton
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_point_that_is_no_number_gives_none(bad: float) -> None:
    """A loss must tell that a network has diverged, also where no one looks at its embeddings."""
    g, c = graph(), torch.tensor(0.7)
    v = points(1.0, torch.float32)
    v[g.source[0], 1] = bad
    v.requires_grad_()
    results = {
        "squared_distance": kernels.squared_distance(v, v.detach().roll(1, 0), c),
        "translate": kernels.translate(v, v.detach()[3], c),
        "local_sum": kernels.local_sum(v, v, shares(g, torch.float32), c, g),
    }
    for name, out in results.items():
        (gradient,) = torch.autograd.grad(out.sum(), v, retain_graph=True)
        assert out.sum().isnan(), name
        assert gradient.sum().isnan(), name


def test_weighted_sum() -> None:
    g = graph()
    compare(lambda x, w: kernels.weighted_sum(x, w, g), [points(1.0), shares(g)], 1e-12)


@pytest.mark.parametrize("heads", [1, 3])
def test_attention(heads: int) -> None:
    g = graph()
    left, right = torch.randn(2, kernel_inputs.NODES, heads * 4, dtype=torch.float64)
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
    total = share.new_zeros(kernel_inputs.NODES, heads).index_add(0, g.target, share)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_attention_survives_huge_scores_and_zero_priors() -> None:
    g = graph(loops=False)
    both, bias, vector = (
        1e4 * torch.randn(kernel_inputs.NODES, 8),
        torch.randn(4),
        torch.randn(1, 4),
    )
    prior = torch.zeros(len(g.source))
    for p in (prior, prior + 1):
        share = kernels.attention(both, None, bias, vector, p, g, negative_slope=0.2)
        # With the largest score of anything but the row, all its exponentials would be zero.
        total = share.new_zeros(kernel_inputs.NODES, 1).index_add(0, g.target, share)
        torch.testing.assert_close(total[:, 0], ((g.degree > 0) & p.any()).float())


@pytest.mark.parametrize(
    ("rows", "columns", "share"), [(20, 30, 0.1), (5000, 9, 0.5), (8, 70, 0.2)]
)
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


def test_gradcheck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_inputs, "NODES", 13)  # it moves every number by itself
    monkeypatch.setattr(kernel_inputs, "EDGES", 40)
    g = graph()
    v = points(1.0).requires_grad_()
    w, c = shares(g).requires_grad_(), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(D, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v, w, c: kernels.local_sum(v, v, w, c, g), (v, w, c))
    assert torch.autograd.gradcheck(kernels.translate, (v, bias, c))
    assert torch.autograd.gradcheck(kernels.translate, (v, v.detach().flip(0).requires_grad_(), c))
    assert torch.autograd.gradcheck(lambda v, w: kernels.weighted_sum(v, w, g), (v, w))


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
    v, c = torch.randn(kernel_inputs.NODES, dimensions).double(), torch.tensor(0.7).double()
    compare(lambda v, w, c: kernels.local_sum(v, v, w, c, g), [v, shares(g), c], 1e-9)
    compare(kernels.translate, [v, torch.randn(dimensions).double(), c], 1e-9)
    compare(kernels.squared_distance, [v, v.roll(1, 0), c], 1e-9)
