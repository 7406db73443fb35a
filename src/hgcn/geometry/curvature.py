"""A curvature that can be trained and cannot leave its bounds."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from hgcn.errors import GeometryError

MIN_CURVATURE, MAX_CURVATURE = 1e-4, 1e4


class Curvature(nn.Module):
    """The curvature of one space, ``-c``, as a module: calling it gives the tensor ``c``.

    The number passed is the number used. A trainable curvature is ``start * exp(g(raw))`` with
    ``raw = 0`` at the start and g smooth, increasing, of slope 1 at zero and bounded such that c
    stays between 1e-4 and 1e4. A step of the optimiser is thus a relative change of c.

    Weight decay would pull c towards its start; :func:`parameter_groups` spares it.

    Args:
        c: the start, between 1e-4 and 1e4; the space has sectional curvature ``-c``.
        trainable: whether optimisers may change it.

    Example:
        >>> curvature = Curvature(0.5)
        >>> curvature().item()
        0.5
    """

    no_weight_decay = True
    """The flag that :func:`parameter_groups` looks for."""

    start: Tensor
    room: Tensor
    raw: nn.Parameter | None

    def __init__(self, c: float = 1.0, trainable: bool = True) -> None:
        super().__init__()
        if not MIN_CURVATURE <= c <= MAX_CURVATURE:
            raise GeometryError(
                f"Expected a curvature c between {MIN_CURVATURE:g} and {MAX_CURVATURE:g}, got {c}. "
                "The space has sectional curvature -c, so c is positive."
            )
        self.register_buffer("start", torch.tensor(float(c)))
        room = [max(math.log(ratio), 1e-6) for ratio in (c / MIN_CURVATURE, MAX_CURVATURE / c)]
        self.register_buffer("room", torch.tensor(room))
        self.raw = nn.Parameter(torch.zeros(())) if trainable else None

    def forward(self) -> Tensor:
        """The current c, a scalar tensor."""
        if self.raw is None:
            return self.start
        down, up = self.room
        room = torch.where(self.raw >= 0, up, down)
        c = self.start * (room * (self.raw / room).tanh()).exp()
        return c.clamp(MIN_CURVATURE, MAX_CURVATURE)

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return f"c={self().item():.4g}, trainable={self.raw is not None}"


def parameter_groups(module: nn.Module, *, weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups for an optimiser; those that must not shrink have no weight decay.

    These are the parameters of modules that say ``no_weight_decay = True``: curvatures, and the
    radius and temperature of the Fermi-Dirac decoder.

    Example:
        >>> layer = nn.ModuleList([nn.Linear(2, 2), Curvature()])
        >>> optimizer = torch.optim.Adam(parameter_groups(layer, weight_decay=5e-4), lr=0.01)
    """
    spared = {
        id(parameter)
        for child in module.modules()
        if getattr(child, "no_weight_decay", False)
        for parameter in child.parameters(recurse=False)
    }
    decayed = [p for p in module.parameters() if id(p) not in spared]
    curved = [p for p in module.parameters() if id(p) in spared]
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": weight_decay}]
    if curved:
        groups.append({"params": curved, "weight_decay": 0.0})
    return groups
