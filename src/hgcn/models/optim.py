"""Adam, and several optimisers as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

import torch
from torch import Tensor
from torch.optim import Optimizer


@final
class Adam(Optimizer):
    """Adam of Kingma and Ba (2015), with the numbers of ``torch.optim.Adam`` to the last bit.

    That one loads torch's compiler when it is first used, which takes seconds, and calls an
    operation for each parameter and each line of the formula; here one call has all parameters of
    a group. States have the same form: what one optimiser stored, the other one can load.

    Args:
        groups: parameter groups, as for any optimiser; each may have its own ``weight_decay``, the
            factor of an L2 penalty.
        lr: learning rate.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], *, lr: float) -> None:
        defaults = {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}
        super().__init__(groups, defaults)

    # Each of the next four replaces a method of torch that loads the compiler.

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; what it does not say is as for the others."""
        group = {**self.defaults, **param_group, "params": [*param_group["params"]]}
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None:
                    parameter.grad = None
                else:
                    parameter.grad = torch.zeros_like(parameter.grad)

    def state_dict(self) -> dict[str, Any]:
        """The state, in the form that ``torch.optim.Adam`` gives it; parameters are numbered."""
        number = {parameter: i for i, parameter in enumerate(self._parameters())}
        groups = [
            {**group, "params": [number[p] for p in group["params"]]} for group in self.param_groups
        ]
        return {"state": {number[p]: own for p, own in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what :meth:`state_dict` returned."""
        groups, parameters = state_dict["param_groups"], self._parameters()
        sizes = [[len(group["params"]) for group in of] for of in (self.param_groups, groups)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"Expected parameter groups of {sizes[0]} parameters, got {sizes[1]}.")
        for own, stored in zip(self.param_groups, groups, strict=True):
            own.update({key: value for key, value in stored.items() if key != "params"})
        self.state.clear()
        for number, stored in state_dict["state"].items():
            parameter = parameters[number]
            self.state[parameter] = {
                # Steps are counted in float32, whatever the parameter is.
                key: value.clone() if key == "step" else value.clone().to(parameter)
                for key, value in stored.items()
            }

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Change the parameters that have a gradient."""
        loss = loss_of(closure)
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._step(parameters, group)
        return loss

    def _step(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        lr, (beta1, beta2), eps = group["lr"], group["betas"], group["eps"]
        states = [self.state[p] or self._start(p) for p in parameters]
        steps, means, squares = (
            [own[name] for own in states] for name in ("step", "exp_avg", "exp_avg_sq")
        )
        gradients: Any = [p.grad for p in parameters]
        if group["weight_decay"]:
            gradients = torch._foreach_add(gradients, parameters, alpha=group["weight_decay"])
        torch._foreach_add_(steps, 1)
        torch._foreach_lerp_(means, gradients, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta2)
        done = [float(step) for step in steps]
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, [(1 - beta2**step) ** 0.5 for step in done])
        torch._foreach_add_(roots, eps)
        sizes = [-(lr / (1 - beta1**step)) for step in done]
        torch._foreach_addcdiv_(parameters, means, roots, sizes)

    def _start(self, parameter: Tensor) -> Any:
        """The state of a parameter before its first step."""
        self.state[parameter] = {
            "step": torch.tensor(0.0),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
        return self.state[parameter]

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]


def loss_of(closure: Callable[[], float] | None) -> Any:
    """What the closure returns, called with gradients."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


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
        loss = loss_of(closure)
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
