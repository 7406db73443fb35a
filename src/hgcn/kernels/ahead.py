"""Compile the backward passes of kernels in a process beside, while this one compiles others.

A training asks for one kernel after the other, and Numba compiles one at a time. Those of the
backward pass are asked for last and take longest. So a second process compiles them, the last one
first, until both meet: :mod:`hgcn.compiled` has one process compile a function, and others take
what it made.
"""

from __future__ import annotations

import subprocess  # nosec B404  # for this module, below
import sys

import torch
from torch import Tensor

from hgcn.compiled import never_compiled
from hgcn.cores import count_cores

DIM, HIDDEN = 3, 2
_started: list[subprocess.Popen[bytes]] = []
"""Kept, as Python complains of one that it forgets."""


def compile_beside(dtype: str) -> None:
    """Start the second process, if nothing was ever compiled and there is a core for it."""
    from hgcn.kernels.numba_cpu.translation_backward import translate_backward

    if count_cores() > 1 and never_compiled(translate_backward):
        # It may outlive this process by some seconds, and has nothing to say.
        nothing = subprocess.DEVNULL
        command = [sys.executable, "-m", __name__, dtype]
        _started.append(
            subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)  # nosec B603
        )


def backward_passes(dtype: torch.dtype) -> None:
    """Run them on three points, from the last one of a training to the first."""
    from hgcn.kernels import neighbourhoods
    from hgcn.kernels.numba_cpu.distance import SquaredDistance
    from hgcn.kernels.numba_cpu.local_aggregation import aggregate_back
    from hgcn.kernels.numba_cpu.softmax import attend_back
    from hgcn.kernels.numba_cpu.translation import shift_back

    def some(*shape: int) -> Tensor:
        return torch.ones(shape, dtype=dtype)

    v, bias, c = some(3, DIM), some(DIM), torch.ones(())
    shift_back(v, bias, c, v)
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graph = neighbourhoods(edges, num_sources=3, num_targets=3, add_self_loops=True)
    share = graph.shares(dtype)
    both, inner, vector = some(3, 2 * HIDDEN), some(HIDDEN), some(1, HIDDEN)
    column = share.unsqueeze(-1)
    attend_back(both, None, inner, vector, column, column, graph, 0.2)
    saved = v, v, share, c, v.double(), None
    aggregate_back(saved, graph, v, same=True, whole=True)
    leaf = v.clone().requires_grad_()
    SquaredDistance.apply(leaf, v, c).sum().backward()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    backward_passes(getattr(torch, sys.argv[1]))
