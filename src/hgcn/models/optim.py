"""Several optimisers as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import torch
from torch.optim import Optimizer


@final
class CombinedOptimizer(Optimizer):
    """Optimisers of disjoint parameters, stepped together.

    Parameter groups are those of the parts, not copies, so that schedulers of the learning rate
    work as with any other optimiser.

    Args:
        parts: the optimisers.
    """

    def __init__(self, *parts: Optimizer) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Step each part; the closure is called once."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The states of all parts."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what :meth:`state_dict` returned."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        # Loading gives the parts new groups.
        self.param_groups = [group for part in self.parts for group in part.param_groups]
