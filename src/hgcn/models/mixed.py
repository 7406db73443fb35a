"""Shallow embeddings and features together, through a multilayer perceptron."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from hgcn.geometry import Curvature
from hgcn.models.base import check_options
from hgcn.models.linear import Linear, activations
from hgcn.models.shallow import Poincare, Shallow
from hgcn.nn.activation import Activation
from hgcn.nn.spaces import Euclidean, Hyperbolic, Space


class _Concatenated(nn.Module):
    """A multilayer perceptron on shallow embeddings and features side by side."""

    def __init__(
        self,
        in_channels: int,
        dim: int,
        *,
        layers: int,
        dropout: float,
        act: Activation,
        last_act: Activation,
    ) -> None:
        super().__init__()
        # W [z; x] = W_z z + W_x x: the features may be sparse, the embedding is not.
        self.embedding = Linear(dim, dim, bias=False, dropout=dropout)
        self.features = Linear(in_channels, dim, dropout=dropout)
        self.linears = nn.ModuleList(Linear(dim, dim, dropout=dropout) for _ in range(layers - 1))
        self.acts = activations(layers, act, last_act)

    def forward(self, z: Tensor, x: Tensor) -> list[Tensor]:
        """The embedding, then the output of each layer."""
        first, *others = self.acts
        out = [z, first(self.embedding(z) + self.features(x))]
        for linear, act in zip(self.linears, others, strict=True):
            out.append(act(linear(out[-1])))
        return out


@final
class EucMixed(Shallow):
    r"""Euclidean embeddings and features together, through a multilayer perceptron.

    .. math:: \mathbf{x}^1_i = \sigma(W^1 [\mathbf{e}_i \| \mathbf{x}_i] + \mathbf{b}^1), \quad
        \mathbf{x}^\ell_i = \sigma(W^\ell \mathbf{x}^{\ell-1}_i + \mathbf{b}^\ell)

    with a learnt vector :math:`\mathbf{e}_i` for each node. Edges are not used.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, shallow or final, and of every hidden layer.
        num_nodes: number of nodes of the graph.
        layers: number of linear maps.
        dropout: probability with which an input of a linear map is zeroed in training.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.
        std: standard deviation of each coordinate of the shallow embedding at the start.

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> EucMixed(4, 2, num_nodes=3)(x, edge_index).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        dim: int = 16,
        *,
        num_nodes: int,
        layers: int = 2,
        dropout: float = 0.0,
        act: Activation = "relu",
        last_act: Activation = None,
        std: float = 0.1,
    ) -> None:
        check_options(layers=layers, dropout=dropout, std=std)
        super().__init__(in_channels, dim, num_nodes=num_nodes, layers=layers)
        self.embedding = nn.Parameter(std * torch.randn(num_nodes, dim))
        self.mlp = _Concatenated(
            in_channels, dim, layers=layers, dropout=dropout, act=act, last_act=last_act
        )

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        self._check_nodes(x)
        return self.mlp(self.embedding.clone(), x)


@final
class HypMixed(Poincare):
    r"""Poincaré embeddings and features together, through a multilayer perceptron.

    .. math:: \mathbf{x}^1_i = \sigma(W^1 [\log_{\mathbf{o}}(\mathbf{e}_i) \| \mathbf{x}_i]
        + \mathbf{b}^1), \quad \mathbf{x}^\ell_i = \sigma(W^\ell \mathbf{x}^{\ell-1}_i
        + \mathbf{b}^\ell)

    with a learnt point :math:`\mathbf{e}_i` of the ball for each node. Edges are not used. The
    perceptron is Euclidean, and so is the output. The embedding is trained as in
    :class:`~hgcn.models.Hyp`, the perceptron with Adam.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, shallow or final, and of every hidden layer.
        num_nodes: number of nodes of the graph.
        layers: number of linear maps.
        dropout: probability with which an input of a linear map is zeroed in training.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.
        c: the ball has sectional curvature ``-c``. It is not trained.
        std: standard deviation of each normal coordinate of the shallow embedding at the start.
        lr_factor: factor of the learning rate of the shallow embedding; by default the number of
            nodes.

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> HypMixed(4, 2, num_nodes=3)(x, edge_index).shape
        torch.Size([3, 2])
    """

    def __init__(  # noqa: PLR0913
        self,
        in_channels: int,
        dim: int = 16,
        *,
        num_nodes: int,
        layers: int = 2,
        dropout: float = 0.0,
        act: Activation = "relu",
        last_act: Activation = None,
        c: float = 1.0,
        std: float = 0.1,
        lr_factor: float | None = None,
    ) -> None:
        check_options(layers=layers, dropout=dropout)
        super().__init__(
            in_channels,
            dim,
            num_nodes=num_nodes,
            c=c,
            std=std,
            lr_factor=lr_factor,
            layers=layers,
        )
        self.ball = Curvature(c, trainable=False)
        self.mlp = _Concatenated(
            in_channels, dim, layers=layers, dropout=dropout, act=act, last_act=last_act
        )

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        self._check_nodes(x)
        return self.mlp(self._logarithm(self.ball()), x)

    @property
    def spaces(self) -> list[Space]:
        """The spaces that :meth:`encode_layers` passes through."""
        return [Hyperbolic(self.ball), *[Euclidean()] * self.layers]
