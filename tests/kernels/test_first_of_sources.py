"""Targets that are the first of the sources, as in the blocks of mini-batches."""

import pytest
import torch

from hgcn import kernels
from hgcn.kernels import backends
from hgcn.kernels.derivatives import one_set

NODES, TARGETS = 24, 10


def test_first_rows_of_the_sources_are_known_as_such():
    x = torch.randn(6, 3, requires_grad=True) * 1.0
    part = x[1:]
    for target, source in ((x, x), (x[:4], x), (x[:6], x), (part[:2], part)):
        assert one_set(target, source)
    for target in (x[1:3], x[:4].clone(), x[:4].detach(), x.detach(), x[::2], x[:4] * 1.0):
        assert not one_set(target, x)
    with torch.inference_mode():
        assert (
            kernels.local_sum(x[:4], x, torch.ones(0), torch.tensor(1.0), edges(0, 0)) is not None
        )


def edges(count, targets):
    """Random edges to the first nodes, each with a self-loop."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.stack(
        (
            torch.randint(NODES, (count,), generator=generator),
            torch.randint(TARGETS, (count,), generator=generator),
        )
    )
    loops = torch.arange(TARGETS if count else 0).expand(2, -1)
    return kernels.neighbourhoods(
        torch.cat((ends, loops), dim=1) if count else torch.empty(2, 0, dtype=torch.long),
        num_sources=NODES if count else 6,
        num_targets=targets if count else 4,
        add_self_loops=False,
    )


def gradients(radius, targets, dtype):
    """By points, weights and curvature, of a sum over the first targets."""
    generator = torch.Generator().manual_seed(1)
    v = torch.nn.functional.normalize(torch.randn(NODES, 5, generator=generator))
    v = v * radius * torch.rand(NODES, 1, generator=generator).sqrt()
    graph = edges(60, targets)
    weight = torch.rand(len(graph.source), generator=generator)
    weight = weight / weight.new_zeros(targets).index_add(0, graph.target, weight)[graph.target]
    by = torch.randn(TARGETS, 5, generator=generator)
    given = [value.to(dtype).requires_grad_() for value in (v, weight, torch.tensor(0.7))]
    x = given[0] * 1
    out = kernels.local_sum(x if targets == NODES else x[:targets], x, *given[1:], graph)
    (out[:TARGETS] * by.to(dtype)).sum().backward()
    return [value.grad for value in given]


@pytest.mark.parametrize("radius", [0.1, 3.0, 12.0, 22.0, 35.0])
@pytest.mark.parametrize("backend", list(backends.BACKENDS))
def test_gradients_are_those_of_one_set_of_nodes(backend, radius):
    # A self-loop that is taken as two nodes has gradients of size sinh(radius), whose sum is
    # nothing but rounding errors: at radius 22 they are a thousand times as long as all else.
    dtype = torch.float32 if backend == "numba" else torch.float64
    expected = gradients(radius, NODES, torch.float64)
    with backends.using(backend):
        found = gradients(radius, TARGETS, dtype)
    # In plain torch far points lose digits in other places too. The gradient by c is a difference.
    digits = 2e-6 if backend == "numba" or radius < 30 else 1e-3
    torch.testing.assert_close(found[2].double(), expected[2], rtol=1e-3, atol=0)
    for mine, theirs in zip(found[:2], expected[:2], strict=True):
        scale = theirs.abs().max()
        torch.testing.assert_close(mine.double() / scale, theirs / scale, rtol=0, atol=digits)
