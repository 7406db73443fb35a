"""What was made of a tensor, kept as long as the tensor lives and stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from hgcn.compiled import compiled

_cache: Any = WeakTensorKeyDictionary()


def kept_with(tensor: Tensor, wanted: tuple[Any, ...], make: Callable[[Tensor], Any]) -> Any:
    """What was made of a tensor, made anew if the tensor was changed since.

    A tensor of inference mode does not tell of changes, so nothing is kept with it. What is made
    may be used in training later, so it is made outside of inference mode.

    Args:
        tensor: dense or sparse.
        wanted: what else the result depends on.
        make: makes it of the tensor.
    """
    if tensor.is_inference():
        with torch.inference_mode(False):
            return make(tensor.clone())
    key = (_state(tensor), wanted)
    found = _cache.get(tensor)
    if found is None or found[0] != key:
        with torch.inference_mode(False):
            found = key, make(tensor)
        _cache[tensor] = found
    return found[1]


def keep_with(tensor: Tensor, wanted: tuple[Any, ...], made: Any) -> None:
    """Keep with a tensor what was made together with it."""
    if not tensor.is_inference():
        _cache[tensor] = (_state(tensor), wanted), made


def _state(tensor: Tensor) -> tuple[int, ...]:
    """Another one whenever the tensor has changed.

    torch counts changes, but not those through ``.numpy()`` or ``.data``. So on the CPU the content
    is looked at too; elsewhere the processor would have to wait for the device.
    """
    if tensor.device.type != "cpu":
        return (tensor._version,)
    return tensor._version, *(_fingerprint(part) for part in _parts(tensor))


def _parts(tensor: Tensor) -> tuple[Tensor, ...]:
    """The dense tensors that a tensor consists of."""
    if tensor.layout is torch.strided:
        return (tensor.detach(),)
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values().detach()
    if tensor.layout is torch.sparse_csr:
        return tensor.crow_indices(), tensor.col_indices(), tensor.values().detach()
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values().detach()


def _fingerprint(part: Tensor) -> int:
    # The transpose of a list [E, 2] need not be copied: any fixed order of the entries will do.
    memory = part if part.is_contiguous() or part.dim() != 2 else part.t()
    content = memory.contiguous().numpy().reshape(-1).view(np.uint8)
    whole = len(content) // 8 * 8
    rest = int.from_bytes(content[whole:].tobytes(), "little")
    return hash((int(_hash_words(content[:whole].view(np.uint64))), rest, part.shape))


@compiled()
def _hash_words(words: NDArray[np.uint64]) -> np.uint64:
    """A hash that depends on every word and on their order, in four independent strands."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    whole = len(words) // 4 * 4
    for k in range(0, whole, 4):
        a = (a ^ words[k]) * factor
        b = (b ^ words[k + 1]) * factor
        c = (c ^ words[k + 2]) * factor
        d = (d ^ words[k + 3]) * factor
    for k in range(whole, len(words)):
        a = (a ^ words[k]) * factor
    for strand in (b, c, d):
        a = (a ^ strand) * factor
        a ^= a >> np.uint64(32)
    return a
