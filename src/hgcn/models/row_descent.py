"""Gradient descent for free points: a step size for each row of a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hgcn.models.optim import loss_of

KEEP = 0.9
"""Share of the old mean of squares that is kept."""
SPARSE = ("cpu",)
"""Devices on which rows without a gradient are left out; others would be waited for."""


@final
class RowDescent(Optimizer):
    r"""Gradient descent in which the size of a row's step does not depend on that of its gradient.

    .. math:: q_i \leftarrow b\, q_i + (1 - b) |g_i|^2 / d, \qquad
        x_i \leftarrow x_i - \eta\, g_i / \sqrt{q_i}

    for the rows that have a gradient; all others stay where they are. The first gradient of a row
    starts its mean :math:`q_i`. Every point of a batch moves by about the learning rate, whether it
    is in each batch or in one of a thousand. Adam moves a point that is rarely in a batch many
    times as far, and goes on moving it after that. As a row has one step size, a rotation of all
    points rotates the steps.

    Args:
        parameter: a matrix.
        lr: learning rate.
        weight_decay: factor of the L2 penalty; with one all rows move.
    """

    def __init__(self, parameter: nn.Parameter, *, lr: float, weight_decay: float = 0.0) -> None:
        super().__init__([parameter], {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Move the rows that have a gradient."""
        loss = loss_of(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["square"] = parameter.new_zeros(len(parameter))
                if group["weight_decay"]:
                    gradient = gradient + group["weight_decay"] * parameter
                size = gradient.square().mean(1)  # of the tiniest gradients it is zero
                rows: Tensor | slice = slice(None)
                if parameter.device.type in SPARSE:
                    rows = size.nonzero()[:, 0]
                old, own = state["square"][rows], size[rows]
                mean = torch.where(old > 0, torch.lerp(own, old, KEEP), own)
                state["square"][rows] = torch.where(own > 0, mean, old)
                step = torch.where(own > 0, group["lr"] / mean.sqrt(), 0.0)
                parameter[rows] -= step.unsqueeze(1) * gradient[rows]
        return loss
