"""Tensors sent from the processor to another device."""

from __future__ import annotations

import torch
from torch import Tensor


def sent(x: Tensor, device: torch.device) -> Tensor:
    """A tensor on a device, which the processor does not wait for.

    A plain copy to a GPU begins when all is done that the GPU was asked for before, and ends before
    the next line runs.
    """
    if not x.is_cpu or device.type in ("cpu", "mps"):
        return x.to(device)
    return (x.pin_memory() if device.type == "cuda" else x).to(device, non_blocking=True)
