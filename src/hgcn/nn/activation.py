"""Activation from one curvature to the next."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hgcn.errors import ModelError
from hgcn.text import one_of

Activation = str | Callable[[Tensor], Tensor] | None

_BY_NAME: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "gelu": nn.functional.gelu,
    "leaky_relu": nn.functional.leaky_relu,
    "silu": nn.functional.silu,
    "tanh": torch.tanh,
}


class HypActivation(nn.Module):
    r"""Activation :math:`\sigma^{\otimes^{K_{\ell-1}, K_\ell}}` of the paper (Eq. 10).

    It maps a point to the tangent space at the origin, applies :math:`\sigma` there, and maps the
    result into the space of the next layer, whose curvature is another one. In normal coordinates
    all of this is :math:`\sigma(\mathbf{v})`: the tangent space at the origin is the same for every
    curvature, and which curvature applies to the result is up to whoever reads it next.

    Args:
        act: a name such as ``"relu"``, a function with :math:`\sigma(0) = 0`, or ``None`` for the
            identity.
    """

    def __init__(self, act: Activation = "relu") -> None:
        super().__init__()
        self.act = act
        if isinstance(act, str):
            if act not in _BY_NAME:
                raise ModelError(one_of("act", act, _BY_NAME, "or None for the identity"))
            self.function: Callable[[Tensor], Tensor] | None = _BY_NAME[act]
        else:
            self.function = act

    def forward(self, v: Tensor) -> Tensor:
        """Apply the activation."""
        return v if self.function is None else self.function(v)

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return str(self.act)
