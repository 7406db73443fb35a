"""Euclidean graph networks, made of the convolutions of PyTorch Geometric."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, final

import torch
from torch import Tensor, nn

from hgcn.errors import GraphError, ModelError
from hgcn.models.base import Encoder, check_options, require
from hgcn.models.linear import Linear, activations, product
from hgcn.nn.activation import Activation


class _Stack(Encoder):
    """Convolutions with activations in between."""

    def __init__(
        self,
        in_channels: int,
        dim: int = 16,
        *,
        layers: int = 2,
        dropout: float = 0.0,
        act: Activation = "relu",
        last_act: Activation = None,
    ) -> None:
        check_options(in_channels=in_channels, dim=dim, layers=layers, dropout=dropout)
        super().__init__(in_channels, dim, layers=layers)
        self.dropout = dropout
        self.acts = activations(layers, act, last_act)
        self.convs = nn.ModuleList(self._conv(i) for i in [in_channels] + [dim] * (layers - 1))

    @abstractmethod
    def _conv(self, in_channels: int) -> nn.Module:
        """A convolution from ``in_channels`` to ``dim``."""

    @abstractmethod
    def _convolve(
        self, conv: Any, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None
    ) -> Tensor:
        """Apply dropout and a convolution."""

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        out = [x]
        for conv, act in zip(self.convs, self.acts, strict=True):
            out.append(act(self._convolve(conv, out[-1], edge_index, edge_weight)))
        return out

    def _refuse(self, edge_weight: Tensor | None) -> None:
        if edge_weight is not None:
            raise GraphError(
                f"Expected no `edge_weight`, got one of shape {list(edge_weight.shape)}: "
                f"{type(self).__name__} has no place for it. Leave it out, or use GCN or HGCN."
            )

    def _linear(self, in_channels: int) -> Linear:
        # The first thing that GCNConv and GATConv do is multiply by W. Their own layer for this
        # takes sparse features too, but through torch's product, which is ten times slower with the
        # features of PubMed, both passes taken together.
        return Linear(in_channels, self.dim, bias=False, dropout=self.dropout)


@final
class GCN(_Stack):
    r"""Graph convolutional network of Kipf and Welling (2017), of ``GCNConv``.

    .. math:: X^\ell = \sigma(\hat{D}^{-1/2} \hat{A} \hat{D}^{-1/2} X^{\ell-1} W^\ell
        + \mathbf{b}^\ell)

    with :math:`\hat{A} = A + I` and its degrees :math:`\hat{D}`.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, and of every hidden layer.
        layers: number of convolutions.
        dropout: probability with which an input of a convolution is zeroed in training.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.
    """

    def _conv(self, in_channels: int) -> nn.Module:
        conv: nn.Module = require("torch_geometric.nn", model="GCN").GCNConv(in_channels, self.dim)
        conv.lin = self._linear(in_channels)
        return conv

    def _convolve(
        self, conv: Any, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None
    ) -> Tensor:
        return conv(x, edge_index, edge_weight)


@final
class GAT(_Stack):
    r"""Graph attention network of Veličković et al. (2018), of ``GATConv``.

    .. math:: \mathbf{x}^\ell_i = \sigma\Big(\big\Vert_{h} \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \alpha^{\ell h}_{ij} W^{\ell h} \mathbf{x}^{\ell-1}_j + \mathbf{b}^\ell\Big)

    The heads are concatenated, in the last layer too, and share ``dim`` among them.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, and of every hidden layer; a multiple of ``heads``.
        layers: number of convolutions.
        heads: number of attention heads.
        dropout: probability with which an input of a convolution, or an attention weight, is zeroed
            in training.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.
    """

    def __init__(
        self,
        in_channels: int,
        dim: int = 16,
        *,
        layers: int = 2,
        heads: int = 1,
        dropout: float = 0.0,
        act: Activation = "relu",
        last_act: Activation = None,
    ) -> None:
        check_options(in_channels=in_channels, dim=dim, layers=layers, heads=heads, dropout=dropout)
        if dim % heads:
            raise ModelError(f"Expected `dim` to be a multiple of `heads`, got {dim} and {heads}.")
        self.heads = heads  # read by _conv, which the constructor of the base calls
        super().__init__(
            in_channels, dim, layers=layers, dropout=dropout, act=act, last_act=last_act
        )

    def _conv(self, in_channels: int) -> nn.Module:
        conv: nn.Module = require("torch_geometric.nn", model="GAT").GATConv(
            in_channels, self.dim // self.heads, heads=self.heads, dropout=self.dropout
        )
        conv.lin = self._linear(in_channels)
        return conv

    def _convolve(
        self, conv: Any, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None
    ) -> Tensor:
        self._refuse(edge_weight)
        return conv(x, edge_index)


@final
class SAGE(_Stack):
    r"""GraphSAGE of Hamilton et al. (2017) with mean aggregation, of ``SAGEConv``.

    .. math:: \mathbf{x}^\ell_i = \sigma\Big(W^\ell_1 \mathbf{x}^{\ell-1}_i
        + W^\ell_2 \,\mathrm{mean}_{j \in \mathcal{N}(i)} \mathbf{x}^{\ell-1}_j
        + \mathbf{b}^\ell\Big)

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, and of every hidden layer.
        layers: number of convolutions.
        dropout: probability with which an input of a convolution is zeroed in training.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.
    """

    def _conv(self, in_channels: int) -> nn.Module:
        conv: nn.Module = require("torch_geometric.nn", model="SAGE").SAGEConv(
            in_channels, self.dim
        )
        return conv

    def _convolve(
        self, conv: Any, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None
    ) -> Tensor:
        self._refuse(edge_weight)
        # SAGEConv takes the mean of the features before it multiplies them, which needs them dense
        # and costs |E| F. The two commute, so both products are taken first, in one.
        weight = torch.cat((conv.lin_l.weight, conv.lin_r.weight))
        h = product(x, weight, dropout=self.dropout if self.training else 0.0)
        neighbour, own = h[:, : self.dim], h[:, self.dim :]
        mean = conv.propagate(edge_index, x=(neighbour, neighbour), size=None)
        return mean + conv.lin_l.bias + own


@final
class SGC(Encoder):
    r"""Simplified graph convolution of Wu et al. (2019), of ``SGConv``.

    .. math:: Z = (\hat{D}^{-1/2} \hat{A} \hat{D}^{-1/2})^L X W + \mathbf{b}

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding.
        layers: number :math:`L` of steps over the graph; there are no activations between them.
        dropout: probability with which a feature is zeroed in training.
    """

    def __init__(
        self, in_channels: int, dim: int = 16, *, layers: int = 2, dropout: float = 0.0
    ) -> None:
        check_options(in_channels=in_channels, dim=dim, layers=layers, dropout=dropout)
        super().__init__(in_channels, dim, layers=layers)
        self.dropout = dropout
        self.conv = require("torch_geometric.nn", model="SGC").SGConv(in_channels, dim, K=layers)
        self.normalise = require("torch_geometric.nn.conv.gcn_conv", model="SGC").gcn_norm

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        # As in SAGE, the product is taken first, though SGConv would take it last.
        linear = self.conv.lin
        h = product(x, linear.weight, dropout=self.dropout if self.training else 0.0)
        edge_index, weight = self.normalise(edge_index, edge_weight, len(x), dtype=h.dtype)
        out = [x]
        for _ in range(self.layers):
            h = self.conv.propagate(edge_index, x=h, edge_weight=weight)
            out.append(h)
        out[-1] = out[-1] + linear.bias
        return out
