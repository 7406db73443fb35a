"""Tensors sent from the processor to another device."""

from __future__ import annotations

import torch
from torch import Tensor

SENT_LATER = {"cuda"}
"""Types of devices to which a copy of pinned memory need not be waited for."""


def sent(x: Tensor, device: torch.device) -> Tensor:
    """A tensor on a device, which the processor does not wait for.

    A plain copy to a GPU begins when all is done that the GPU was asked for before, and ends before
    the next line runs.
    """
    if x.is_cpu and device.type in SENT_LATER:
        return x.pin_memory().to(device, non_blocking=True)
    return x.to(device)
