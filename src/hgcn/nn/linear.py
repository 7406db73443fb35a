"""The hyperbolic feature transform."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parameter import UninitializedParameter, is_lazy

from hgcn import kernels
from hgcn.errors import ModelError
from hgcn.geometry import Curvature
from hgcn.nn.precision import full_precision


class HypLinear(nn.Module):
    r"""Hyperbolic linear map with a bias, :math:`(W \otimes^K \mathbf{x}) \oplus^K \mathbf{b}`.

    The paper (Eqs. 6, 7) maps the point to the tangent space at the origin, multiplies it there and
    maps it back; the bias is a tangent vector at the origin, carried to the point by parallel
    transport and followed from there. In normal coordinates the first three steps are
    :math:`W \mathbf{v}` and the last two are :func:`hgcn.geometry.translate`.

    Args:
        in_channels: size of each input point; -1 reads it off the first input.
        out_channels: size of each output point.
        c: curvature of the space, sectional curvature ``-c``: a number, or a
            :class:`~hgcn.geometry.Curvature` shared with other modules.
        trainable_c: whether a curvature given as a number is trained.
        bias: whether to learn a bias.
        dropout: probability with which an entry of :math:`W` is zeroed in training (DropConnect).
            Points themselves are never dropped: a coordinate set to zero is another point.

    Shapes:
        - **input:** points :math:`(*, F_{in})`, or a sparse tensor (CSR or COO)
          :math:`(|V|, F_{in})`, which stays sparse.
        - **output:** points :math:`(*, F_{out})`.

    Example:
        >>> HypLinear(4, 2)(torch.randn(3, 4)).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        c: float | Curvature = 1.0,
        trainable_c: bool = True,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if in_channels < -1:
            raise ModelError(
                f"Expected `in_channels` to be a size, or -1 for that of the first input, got "
                f"{in_channels}."
            )
        if not 0 <= dropout < 1:
            raise ModelError(f"Expected `dropout` to be at least 0 and below 1, got {dropout}.")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.dropout = dropout
        self.curvature = c if isinstance(c, Curvature) else Curvature(c, trainable_c)
        self.weight: Any = UninitializedParameter()
        if in_channels >= 0:
            self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights, no bias."""
        if not is_lazy(self.weight):
            nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @full_precision
    def forward(self, x: Tensor, c: Tensor | None = None) -> Tensor:
        """Map points ``[..., in_channels]`` to points ``[..., out_channels]``.

        ``c`` is the value of the curvature, for a caller that has it already.
        """
        if self.in_channels == -1:
            self.set_in_channels(x.shape[-1])
            self.reset_parameters()
        weight = self.dropped()
        v = kernels.sparse_product(x, weight) if is_sparse(x) else functional.linear(x, weight)
        if self.bias is None:
            return v
        return kernels.translate(v, self.bias, self.curvature() if c is None else c)

    def dropped(self) -> Tensor:
        """The weight, in training with some entries zeroed (DropConnect)."""
        return functional.dropout(self.weight, self.dropout, self.training)

    def set_in_channels(self, in_channels: int) -> None:
        """Give the weight its shape, if ``in_channels`` was -1 until now."""
        if torch.compiler.is_compiling():
            raise ModelError("Expected `in_channels`, got -1. Call the module before compiling it.")
        # The first input may come in inference mode, and training later.
        with torch.inference_mode(False), torch.no_grad():
            self.weight.materialize((self.out_channels, in_channels))
        self.in_channels = in_channels

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # torch detaches parameters, which one without a shape does not allow.
        super()._save_to_state_dict(destination, prefix, keep_vars or is_lazy(self.weight))

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **options: Any
    ) -> None:
        given = state_dict.get(prefix + "weight")
        if is_lazy(given):
            self.weight, self.in_channels = UninitializedParameter(), -1
        elif given is not None and is_lazy(self.weight):
            self.set_in_channels(given.shape[-1])
        super()._load_from_state_dict(state_dict, prefix, *args, **options)

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return f"{self.in_channels}, {self.out_channels}, bias={self.bias is not None}"


def is_sparse(x: Tensor) -> bool:
    """Whether a tensor is sparse, in any layout."""
    return x.layout is not torch.strided
