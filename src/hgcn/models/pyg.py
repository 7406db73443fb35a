"""Euclidean graph networks: the convolutions of PyTorch Geometric, computed by our kernels.

Parameters, their names, their initial values and the results are those of the convolutions.
The computation is shorter: features are multiplied before they are summed, sparse ones as they are,
messages are never written out, and weights are normalised once for all layers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn import kernels
from hgcn.errors import GraphError, ModelError
from hgcn.kernels import Neighbourhoods
from hgcn.models.base import Encoder, check_options
from hgcn.models.linear import Linear, activations, product
from hgcn.nn.activation import Activation
from hgcn.sampling import Block


class _Stack(Encoder):
    """Convolutions with activations in between."""

    package = "torch_geometric.nn"
    add_self_loops: ClassVar[bool] = True

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
    def _convolve(self, conv: Any, x: Tensor, graph: Neighbourhoods, weight: Tensor) -> Tensor:
        """Apply dropout and a convolution."""

    def _weights(self, graph: Neighbourhoods, block: Block, dtype: torch.dtype) -> Tensor:
        """A weight for each edge, the same in all layers."""
        if block.edge_weight is not None:
            raise GraphError(
                f"Expected no `edge_weight`, got one of shape {list(block.edge_weight.shape)}: "
                f"{type(self).__name__} has no place for it. Leave it out, or use GCN or HGCN."
            )
        return graph.weights(block.stands, dtype)

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""

        def make() -> tuple[Neighbourhoods, Tensor]:
            graph = block.neighbourhoods(add_self_loops=self.add_self_loops)
            return graph, self._weights(graph, block, x.dtype)

        graph, weight = block.keep("weighted", make)
        return cast(Tensor, self.acts[number](self._convolve(self.convs[number], x, graph, weight)))

    def _linear(self, in_channels: int) -> Linear:
        # Of the same shape as the layer of GCNConv and GATConv, but with dropout, and for sparse
        # features with a product that is ten times as fast, both passes taken together.
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

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> GCN(4, 2)(x, edge_index).shape
        torch.Size([3, 2])
    """

    normalised = True

    def _conv(self, in_channels: int) -> nn.Module:
        conv: nn.Module = self.imported().GCNConv(in_channels, self.dim)
        conv.lin = self._linear(in_channels)
        return conv

    def _weights(self, graph: Neighbourhoods, block: Block, dtype: torch.dtype) -> Tensor:
        return block.symmetric(graph, dtype)

    def _convolve(self, conv: Any, x: Tensor, graph: Neighbourhoods, weight: Tensor) -> Tensor:
        return kernels.weighted_sum(conv.lin(x), weight, graph) + conv.bias


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

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> GAT(4, 2, heads=2)(x, edge_index).shape
        torch.Size([3, 2])
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
        conv: nn.Module = self.imported().GATConv(
            in_channels, self.dim // self.heads, heads=self.heads, dropout=self.dropout
        )
        conv.lin = self._linear(in_channels)
        return conv

    def _convolve(self, conv: Any, x: Tensor, graph: Neighbourhoods, weight: Tensor) -> Tensor:
        h = conv.lin(x)
        by_head = h.unflatten(-1, (self.heads, -1))
        left, right = [(by_head * a).sum(-1) for a in (conv.att_dst, conv.att_src)]
        # Our attention with one hidden unit: leaky_relu(a_i . h_i + a_j . h_j).
        if graph.num_targets == graph.num_sources:
            scores = torch.cat((left, right), dim=-1), None
        else:
            scores = left[: graph.num_targets], right
        one = left.new_ones(self.heads, 1)
        share = kernels.attention(
            *scores, left.new_zeros(self.heads), one, weight, graph,
            negative_slope=conv.negative_slope,
        )  # fmt: skip
        share = functional.dropout(share, self.dropout, self.training)
        heads = zip(by_head.unbind(1), share.unbind(1), strict=True)
        return torch.cat([kernels.weighted_sum(*head, graph) for head in heads], -1) + conv.bias

    def attention_shares(
        self, layers: Sequence[Tensor], edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """See :class:`~hgcn.models.Encoder`; weights of edges do not count."""
        found = []
        for x, conv in zip(layers[:-1], self.convs, strict=True):
            _, (edges, share) = conv(x, edge_index, return_attention_weights=True)
            found.append((edges, share.mean(-1)))
        return found


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

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> SAGE(4, 2)(x, edge_index).shape
        torch.Size([3, 2])
    """

    add_self_loops = False

    def _conv(self, in_channels: int) -> nn.Module:
        conv: nn.Module = self.imported().SAGEConv(in_channels, self.dim)
        return conv

    def _convolve(self, conv: Any, x: Tensor, graph: Neighbourhoods, weight: Tensor) -> Tensor:
        # SAGEConv takes the mean of the features before it multiplies them, which needs them dense
        # and costs |E| F. The two commute, so both products are taken first, in one.
        both = torch.cat((conv.lin_l.weight, conv.lin_r.weight))
        h = product(x, both, dropout=self.dropout if self.training else 0.0)
        neighbour, own = h[:, : self.dim], h[: graph.num_targets, self.dim :]
        mean = kernels.weighted_sum(neighbour, graph.shares(h.dtype), graph)
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

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> SGC(4, 2)(x, edge_index).shape
        torch.Size([3, 2])
    """

    package = "torch_geometric.nn"
    normalised = True

    def __init__(
        self, in_channels: int, dim: int = 16, *, layers: int = 2, dropout: float = 0.0
    ) -> None:
        check_options(in_channels=in_channels, dim=dim, layers=layers, dropout=dropout)
        super().__init__(in_channels, dim, layers=layers)
        self.dropout = dropout
        self.conv = self.imported().SGConv(in_channels, dim, K=layers)

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        linear = self.conv.lin
        if number == 0:  # As in SAGE, the product is taken first, though SGConv would take it last.
            x = product(x, linear.weight, dropout=self.dropout if self.training else 0.0)

        def make() -> tuple[Neighbourhoods, Tensor]:
            graph = block.neighbourhoods(add_self_loops=True)
            return graph, block.symmetric(graph, x.dtype)

        graph, weight = block.keep("weighted", make)
        h = kernels.weighted_sum(x, weight, graph)
        return h + linear.bias if number == self.layers - 1 else h
