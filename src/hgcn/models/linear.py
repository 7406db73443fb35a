"""Linear maps of features that may be sparse, and the Euclidean multilayer perceptron."""

from __future__ import annotations

from typing import cast, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn import kernels
from hgcn.kernels import csr
from hgcn.models.base import Encoder, check_options
from hgcn.nn import HypActivation
from hgcn.nn.activation import Activation
from hgcn.sampling import Block


class Linear(nn.Linear):
    """Dropout and a linear map; sparse features stay sparse.

    Args:
        in_channels: size of each input.
        out_channels: size of each output.
        bias: whether to learn a bias.
        dropout: probability with which an input is zeroed in training.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__(in_channels, out_channels, bias=bias)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Glorot's uniform weights, no bias."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[n, in_channels]`` to ``[n, out_channels]``."""
        out = product(x, self.weight, dropout=self.dropout if self.training else 0.0)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return f"{super().extra_repr()}, dropout={self.dropout}"


def product(x: Tensor, weight: Tensor, *, dropout: float = 0.0) -> Tensor:
    """``dropout(x) @ weight.T`` for a dense or sparse ``x``."""
    if x.layout is torch.strided:
        return functional.linear(functional.dropout(x, dropout), weight)
    # Entries that are zero stay zero, so only those that are stored need dropping.
    graph, values = csr.sparse_rows(x)
    return kernels.weighted_sum(weight.t(), csr.dropout(values.to(weight.dtype), dropout), graph)


def drop(x: Tensor, p: float) -> Tensor:
    """Zero entries of a dense or sparse matrix at random, and scale the others."""
    if not p:
        return x
    return functional.dropout(x, p) if x.layout is torch.strided else kernels.dropout_sparse(x, p)


@final
class MLP(Encoder):
    r"""Multilayer perceptron on the features of each node; edges are not used.

    .. math:: \mathbf{x}^\ell_i = \sigma(W^\ell \mathbf{x}^{\ell-1}_i + \mathbf{b}^\ell)

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, and of every hidden layer.
        layers: number of linear maps.
        dropout: probability with which an input of a linear map is zeroed in training.
        bias: whether to learn biases.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> MLP(4, 2)(x, edge_index).shape
        torch.Size([3, 2])
    """

    uses_edges = False

    def __init__(
        self,
        in_channels: int,
        dim: int = 16,
        *,
        layers: int = 2,
        dropout: float = 0.0,
        bias: bool = True,
        act: Activation = "relu",
        last_act: Activation = None,
    ) -> None:
        check_options(in_channels=in_channels, dim=dim, layers=layers, dropout=dropout)
        super().__init__(in_channels, dim, layers=layers)
        sizes = [in_channels] + [dim] * (layers - 1)
        self.linears = nn.ModuleList(Linear(i, dim, bias=bias, dropout=dropout) for i in sizes)
        self.acts = activations(layers, act, last_act)

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        return cast(Tensor, self.acts[number](self.linears[number](x)))


def activations(layers: int, act: Activation, last_act: Activation) -> nn.ModuleList:
    """One activation for each layer."""
    return nn.ModuleList(HypActivation(a) for a in [act] * (layers - 1) + [last_act])
