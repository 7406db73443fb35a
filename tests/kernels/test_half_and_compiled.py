"""Half precision is computed in float32, and plain torch can be compiled as one graph."""

import itertools

import kernel_inputs
import pytest
import torch
from kernel_inputs import D, graph, points, shares
from torch import Tensor

from hgcn import kernels
from hgcn.kernels import backends


def operations() -> dict:
    g = graph()
    assert len(g.target)  # a list from now on, as it is from the start on other devices
    pairs = torch.randint(kernel_inputs.NODES, (2, 9))
    bias, vector = torch.randn(4), torch.randn(2, 2)
    return {
        "local_sum": lambda v, w, c: kernels.local_sum(v, v, w, c, g),
        "translate": lambda v, w, c: kernels.translate(v, v[0], c),
        "squared_distance": lambda v, w, c: kernels.squared_distance(v, v.flip(0), c),
        "weighted_sum": lambda v, w, c: kernels.weighted_sum(v, w, g),
        "attention": lambda v, w, c: kernels.attention(
            v[:, :4], v[:, 1:], bias, vector, w, g, negative_slope=0.2
        ),
        "ends": lambda v, w, c: torch.cat(kernels.ends(v, pairs)),
    }


NAMES = tuple(operations())


@pytest.mark.parametrize(
    ("name", "dtype", "backend"),
    [
        *itertools.product(NAMES, (torch.bfloat16, torch.float16), ("numba", "torch")),
        *((name, torch.bfloat16, "triton") for name in NAMES if name != "ends"),
    ],
)
def test_half_precision_is_computed_in_float32(
    name: str, dtype: torch.dtype, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is that of float32 at the same inputs, rounded; weights stay in float32."""
    if backend == "triton":
        pytest.importorskip("triton", reason="needs Triton, of the extra gpu")
        monkeypatch.setattr(kernel_inputs, "NODES", 12)  # Triton's interpreter is slow
        monkeypatch.setattr(kernel_inputs, "EDGES", 24)
    call, c = operations()[name], torch.tensor(0.7)
    v, w = points(1.0).to(dtype), shares(graph()).float()
    results = []
    with backends.using(backend), torch.autocast("cpu", dtype=dtype):
        for given in (v, v.float()):
            leaf = given.clone().requires_grad_()
            out = call(leaf, w, c)
            assert out.dtype == given.dtype
            (gradient,) = torch.autograd.grad(out.float().sum(), leaf)
            assert gradient.dtype == given.dtype
            results.append((out.to(dtype), gradient.to(dtype)))
    for half, single in zip(*results, strict=True):
        torch.testing.assert_close(half, single)


@pytest.mark.parametrize("name", ["local_sum", "weighted_sum", "attention"])
def test_plain_torch_compiles_as_one_graph(name: str) -> None:
    """For devices with neither backend; tests/geometry has the operations on points alone."""
    call = operations()[name]
    inputs = [points(1.0), shares(graph()), torch.tensor(0.7).double()]

    def both(function) -> list[Tensor]:
        leaves = [x.clone().requires_grad_() for x in inputs]
        with backends.using("torch"):
            out = function(*leaves)
        return [out, *torch.autograd.grad(out.sum(), leaves[0])]

    torch.compiler.reset()
    made = both(torch.compile(call, fullgraph=True, backend="eager"))
    for ours, theirs in zip(made, both(call), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert inputs[0].shape == (kernel_inputs.NODES, D)
