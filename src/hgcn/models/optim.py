"""Several optimisers as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import torch
from torch.optim import Optimizer


@final
class CombinedOptimizer(Optimizer):
    """Optimisers of disjoint parameters, stepped together.

    Parameter groups are those of the optimisers, not copies, so that schedulers of the learning
    rate work as with any other optimiser.

    Args:
        optimizers: the optimisers.
    """

    def __init__(self, *optimizers: Optimizer) -> None:
        self.optimizers = optimizers
        super().__init__([group for one in optimizers for group in one.param_groups], {})

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Step each optimiser; the closure is called once."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for one in self.optimizers:
            one.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The states of all optimisers."""
        return {"parts": [one.state_dict() for one in self.optimizers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what :meth:`state_dict` returned."""
        for one, state in zip(self.optimizers, state_dict["parts"], strict=True):
            one.load_state_dict(state)
        # Loading gives the optimisers new groups.
        self.param_groups = [group for one in self.optimizers for group in one.param_groups]
