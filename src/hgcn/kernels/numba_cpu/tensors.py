"""Helpers of the autograd functions of this backend: tensors as arrays, chunks of rows, sums."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hgcn.kernels.rows import Doubles, Ints, num_chunks


def array(x: Tensor) -> NDArray[Any]:
    """The contiguous array of a tensor; shares memory where the tensor is contiguous."""
    return x.detach().contiguous().numpy()


def empty(like: Tensor) -> Tensor:
    """A contiguous tensor of the same shape, to be filled."""
    return torch.empty_like(like, memory_format=torch.contiguous_format)


def root_of(c: Tensor) -> float:
    """sqrt(c), which the kernels call ``root``."""
    return math.sqrt(c.item())


@functools.lru_cache(maxsize=64)
def bounds_of(rows: int) -> Ints:
    """Row numbers that divide rows of equal work into chunks."""
    return np.linspace(0, rows, num_chunks(4 * rows) + 1).astype(np.int64)


def curvature_gradient(moment: Doubles, c: Tensor) -> Tensor:
    """The gradient by c, from Euler's theorem: all lengths scale when c scales like 1/length².

    ``moment`` adds up to the sum of each input times its gradient, minus that of the outputs times
    the power of a length with which they scale (``docs/kernels.md``, section 7).
    """
    return c.new_tensor(float(moment.sum()) / (2 * c.item()))
