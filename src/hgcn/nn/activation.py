"""Activation from one curvature to the next."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from hgcn.errors import ModelError
from hgcn.names import ACTIVATIONS
from hgcn.text import one_of

Activation = str | Callable[[Tensor], Tensor] | None


def identity(v: Tensor) -> Tensor:
    """The activation "none": vectors as they are."""
    return v


class HypActivation(nn.Module):
    r"""Activation :math:`\sigma^{\otimes^{K_{\ell-1}, K_\ell}}` of the paper (Eq. 10).

    It maps a point to the tangent space at the origin, applies :math:`\sigma` there, and maps the
    result into the space of the next layer, whose curvature is another one. In normal coordinates
    all of this is :math:`\sigma(\mathbf{v})`: the tangent space at the origin is the same for every
    curvature, and which curvature applies to the result is up to whoever reads it next.

    Args:
        act: a name of ``hgcn.names.ACTIVATIONS``, such as ``"relu"``, a function with
            :math:`\sigma(0) = 0`, or ``None`` for the identity.

    Example:
        >>> import torch
        >>> HypActivation("relu")(torch.tensor([1.0, -1.0]))
        tensor([1., 0.])
    """

    def __init__(self, act: Activation = "relu") -> None:
        super().__init__()
        self.act = act
        if isinstance(act, str) and act not in ACTIVATIONS:
            raise ModelError(one_of("act", act, ACTIVATIONS))
        self.function: Callable[[Tensor], Tensor] = (
            ACTIVATIONS[act] if isinstance(act, str) else act or identity
        )

    def forward(self, v: Tensor) -> Tensor:
        """Apply the activation."""
        return self.function(v)

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return str(self.act)
