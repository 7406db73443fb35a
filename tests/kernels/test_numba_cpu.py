"""The Numba backend: digits, threads, and the rules that its loops keep."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from kernel_inputs import NODES, D, graph, points, shares
from numba.core.dispatcher import Dispatcher

import hgcn
from hgcn import kernels
from hgcn.compiled import compiled_sources
from hgcn.kernels import backends, numba_cpu


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


@pytest.mark.parametrize("mean", [kernels.centroid, kernels.frechet_mean])
def test_float32_means_keep_their_digits(mean) -> None:
    """The result and its gradients, relative to float64 at the same rounded input."""
    g = graph()
    for scale in (1e-3, 1.0, 10.0):
        inputs = [points(scale, torch.float32), shares(g, torch.float32), torch.tensor(1.0)]
        probe = torch.randn(NODES, D)
        found = []
        for dtype in (torch.float32, torch.float64):
            v, w, c = (x.to(dtype).requires_grad_() for x in inputs)
            out = mean(v.detach(), v, w, c, g)
            total = (out * probe.to(dtype)).sum()
            found.append((out, *torch.autograd.grad(total, (v, w, c))))
        for single, double in zip(*found, strict=True):
            size = double.abs().max() if double.dim() else (out * probe).abs().sum()
            assert (single - double).abs().max() < 1e-6 * size


def test_extreme_points_give_no_nan() -> None:
    g = graph()
    for scale in (0.0, 1e-30, 1e6, 1e30):
        v = (points(1.0) * scale).float().requires_grad_()
        w = shares(g, torch.float32).requires_grad_()
        c = torch.tensor(1.0, requires_grad=True)
        bias = torch.ones(D, requires_grad=True)
        h = kernels.translate(v, bias, c)
        out = kernels.local_sum(h, h, w, c, g)
        centre = kernels.centroid(h.detach(), h, w, c, g)
        mean = kernels.frechet_mean(h.detach(), h, w, c, g)
        for result in (out, centre, mean):
            gradients = torch.autograd.grad(result.sum(), (v, w, c, bias), retain_graph=True)
            for x in (result, *gradients):
                assert x.isfinite().all()


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    g = graph()
    v, w, c = points(1.0, torch.float32), shares(g, torch.float32), torch.tensor(1.0)
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        leaves = [x.clone().requires_grad_() for x in (v, w, c)]
        out = kernels.local_sum(leaves[0], leaves[0], leaves[1], leaves[2], g)
        results.append((out, *torch.autograd.grad(out.square().sum(), leaves)))
    torch.set_num_threads(before)
    for other in results[1:]:
        for one, many in zip(results[0], other, strict=True):
            torch.testing.assert_close(one, many, rtol=0, atol=0)


def test_the_process_that_compiles_says_so_and_gives_the_same(tmp_path: Path) -> None:
    """With an empty cache one line on standard error, with a full one none; results to the bit."""
    script = """if True:
        import torch
        from hgcn import kernels
        from hgcn.kernels.numba_cpu import points
        v = torch.randn(700, 16, generator=torch.Generator().manual_seed(0))
        kernels.translate(v, v[0], torch.tensor(1.0))
        print(points.polar_form(v.numpy(), 0.8).tobytes().hex())
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


def test_an_import_starts_nothing() -> None:
    """No threads, no listener, no compilation, no cache: all that comes with the first call."""
    script = """if True:
        import sys
        import torch
        torch.set_num_threads(2)
        import hgcn.kernels, hgcn.inference.pair_search, hgcn.scenes.stress
        from hgcn import compiled
        from numba.core import event
        assert torch.get_num_threads() == 2
        assert compiled._pool.cache_info().currsize == 0
        assert not any(event._registered.values())
        assert compiled.source_stamp.cache_info().currsize == 0
        assert "triton" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def modules() -> list[str]:
    root = Path(hgcn.__file__).parent
    paths = [path.relative_to(root.parent).with_suffix("") for path in compiled_sources()]
    return [".".join(path.parts) for path in paths if path.name != "__init__"]


@pytest.mark.parametrize("name", modules())
def test_no_kernel_lets_the_compiler_reorder(name: str) -> None:
    for function in vars(importlib.import_module(name)).values():
        if isinstance(function, Dispatcher):
            assert not function.targetoptions.get("fastmath")


@pytest.mark.parametrize("package", [kernels, numba_cpu])
def test_no_exported_name_is_a_submodule(package: object) -> None:
    submodules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert not submodules & set(package.__all__)


def test_backends_are_asked_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    v, c = torch.randn(2, 3, D), torch.tensor(1.0)
    assert kernels.translate(v, v, c).shape == v.shape  # not of Numba's shape: torch does it
    with backends.using("numba"), pytest.raises(NotImplementedError, match="`translate`"):
        kernels.translate(v, v, c)
    monkeypatch.delattr(numba_cpu, "translate")
    with (
        pytest.raises(ValueError, match="backends numba, triton, torch, got 'nmba'"),
        backends.using("nmba"),
    ):
        pass
    assert kernels.translate(v[0], v[1], c).shape == v[0].shape
    of_gpus = [backends.BACKENDS[name].module for name in ("triton", "torch")]
    assert backends.backends_of("cuda") == of_gpus
