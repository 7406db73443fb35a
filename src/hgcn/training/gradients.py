"""Gradients of several ranks, added up after each step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hgcn.ranks import Ranks


def add_up(ranks: Ranks, weights: Sequence[Tensor], loss: float, stop: bool) -> tuple[float, bool]:
    """Add up the gradients, the losses and the wishes to stop of all ranks.

    All of it goes in one message: the networks of this package are small, so that there is nothing
    to gain by sending parts of it earlier. A weight that no rank has used has no gradient.

    Args:
        ranks: the ranks.
        weights: their gradients are changed in place.
        loss: of the share of this rank.
        stop: whether this rank was asked to stop.

    Returns:
        The loss of the whole batch, and whether any rank was asked to stop.
    """
    facts = [loss, float(stop), *(float(weight.grad is not None) for weight in weights)]
    parts = [
        (torch.zeros_like(weight) if weight.grad is None else weight.grad).flatten()
        for weight in weights
    ]
    sizes = [len(part) for part in parts]
    message = torch.cat([*parts, parts[0].new_tensor(facts)])
    ranks.add(message)
    *sums, found = torch.split(message, [*sizes, len(facts)])
    value, stops, *used = found.tolist()
    for weight, total, any_use in zip(weights, sums, used, strict=True):
        weight.grad = total.view_as(weight).to(weight.dtype) if any_use else None
    return value, stops > 0
