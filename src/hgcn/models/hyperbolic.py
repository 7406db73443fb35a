"""HGCN, the model of the paper, and HNN, the same without edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast, final

from torch import Tensor, nn

from hgcn.geometry import Curvature
from hgcn.models.base import Encoder, check_options
from hgcn.models.linear import activations, drop
from hgcn.nn import HGCNConv, HypLinear
from hgcn.nn.activation import Activation
from hgcn.nn.spaces import Hyperbolic, Space
from hgcn.sampling import Block


@final
class HGCN(Encoder):
    r"""Hyperbolic graph convolutional network of Chami et al. (2019).

    .. math::
        \mathbf{h}^\ell_i &= (W^\ell \otimes^{K_{\ell-1}} \mathbf{x}^{\ell-1}_i)
            \oplus^{K_{\ell-1}} \mathbf{b}^\ell \\
        \mathbf{y}^\ell_i &= \mathrm{AGG}^{K_{\ell-1}}(\mathbf{h}^\ell)_i \\
        \mathbf{x}^\ell_i &= \sigma^{\otimes^{K_{\ell-1}, K_\ell}}(\mathbf{y}^\ell_i)

    for :math:`\ell = 1, \dots, L`. There are :math:`L + 1` curvatures: layer :math:`\ell` works in
    the space of :math:`K_{\ell-1}`, which it owns, and :math:`K_L` is that of the output, where
    distances between embeddings are measured; it is ``curvature``. Each is trained on its own,
    because the scale that suits one layer need not suit the next, and in hyperbolic space scale and
    curvature are one thing (Theorem 1 of the paper). Features are points of the first space as they
    are: a Euclidean vector is read as a logarithm at the origin.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, and of every hidden layer.
        layers: number :math:`L` of convolutions.
        c: start of every curvature :math:`1/K_\ell`; the space has sectional curvature ``-c``.
        trainable_c: whether curvatures are trained.
        aggregation: ``"local"``, ``"origin"``, ``"centroid"`` or ``"frechet"``; see
            :class:`~hgcn.nn.HGCNConv`.
        attention: whether neighbours are weighted by attention, or else evenly.
        heads: number of attention heads.
        symmetric: whether weights are normalised by both ends, as GCN's are; see
            :class:`~hgcn.nn.HGCNConv`.
        root_weight: whether a node's own point has a linear map of its own in each layer.
        dropout: probability with which an entry of :math:`W^\ell` is zeroed in training
            (DropConnect).
        point_dropout: probability with which a coordinate of a point that enters a layer is zeroed
            in training. The paper has none, as it would take maps to a tangent space and back; in
            normal coordinates these are the identity. It is what ``dropout`` is in GCN.
        bias: whether to learn biases.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer. None by default: a ReLU would keep the embeddings
            in one orthant of the space.
        add_self_loops: whether each node is among its own neighbours.

    Example:
        >>> import torch
        >>> encoder = HGCN(8, dim=2)
        >>> z = encoder(torch.randn(4, 8), torch.tensor([[0, 1, 2], [1, 2, 3]]))
        >>> encoder.squared_distance(z[0], z[1:]).shape
        torch.Size([3])
    """

    def __init__(  # noqa: PLR0913
        self,
        in_channels: int,
        dim: int = 16,
        *,
        layers: int = 2,
        c: float = 1.0,
        trainable_c: bool = True,
        aggregation: str = "local",
        attention: bool = True,
        heads: int = 1,
        symmetric: bool = False,
        root_weight: bool = False,
        dropout: float = 0.0,
        point_dropout: float = 0.0,
        bias: bool = True,
        act: Activation = "relu",
        last_act: Activation = None,
        add_self_loops: bool = True,
    ) -> None:
        check_options(
            in_channels=in_channels, dim=dim, layers=layers, heads=heads, dropout=dropout,
            point_dropout=point_dropout,
        )  # fmt: skip
        super().__init__(in_channels, dim, layers=layers, curvature=Curvature(c, trainable_c))
        self.normalised = symmetric
        self.point_dropout = point_dropout
        sizes = [in_channels] + [dim] * (layers - 1)
        self.convs = nn.ModuleList(
            HGCNConv(
                size,
                dim,
                c=c,
                trainable_c=trainable_c,
                aggregation=aggregation,
                attention=attention,
                heads=heads,
                symmetric=symmetric,
                root_weight=root_weight,
                dropout=dropout,
                bias=bias,
                act=last_act if layer == layers else act,
                add_self_loops=add_self_loops,
            )
            for layer, size in enumerate(sizes, start=1)
        )

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        conv = self.convs[number]
        x = drop(x, self.point_dropout if self.training else 0.0)
        edges, weight = block.edge_index, block.weight
        return cast(Tensor, conv(x, edges, weight, size=block.size, totals=block.totals))

    def node_map(self, number: int) -> Callable[[Tensor], Tensor] | None:
        """See :class:`~hgcn.models.Encoder`; with ``root_weight`` a layer needs its own input."""
        conv = cast(HGCNConv, self.convs[number])
        return conv.map_nodes if conv.root is None else None

    def from_mapped(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        conv = cast(HGCNConv, self.convs[number])
        if conv.root is not None:
            return self.apply_layer(number, x, block)
        given = block.edge_index, block.weight, block.num_targets, block.totals
        return conv.from_mapped(x, *given)

    def attention_shares(
        self, layers: Sequence[Tensor], edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """See :class:`~hgcn.models.Encoder`."""
        found = []
        for x, conv in zip(layers[:-1], self.convs, strict=True):
            if cast(HGCNConv, conv).attention is not None:
                _, (edges, share) = conv(x, edge_index, edge_weight, return_attention_weights=True)
                found.append((edges, share.mean(-1)))
        return found

    @property
    def spaces(self) -> list[Space]:
        """The spaces that :meth:`encode_layers` passes through."""
        return [Hyperbolic(cast(HGCNConv, conv).curvature) for conv in self.convs] + [self.space]


@final
class HNN(Encoder):
    r"""Hyperbolic neural network of Ganea et al. (2018) on each node; edges are not used.

    .. math:: \mathbf{x}^\ell_i = \sigma^{\otimes^{K_{\ell-1}, K_\ell}}
        \big((W^\ell \otimes^{K_{\ell-1}} \mathbf{x}^{\ell-1}_i)
        \oplus^{K_{\ell-1}} \mathbf{b}^\ell\big)

    It is :class:`HGCN` without aggregation, with the same :math:`L + 1` curvatures.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding, and of every hidden layer.
        layers: number :math:`L` of linear maps.
        c: start of every curvature :math:`1/K_\ell`; the space has sectional curvature ``-c``.
        trainable_c: whether curvatures are trained.
        dropout: probability with which an entry of :math:`W^\ell` is zeroed in training
            (DropConnect).
        point_dropout: probability with which a coordinate of a point that enters a layer is zeroed
            in training.
        bias: whether to learn biases. Without, only the last curvature has any effect.
        act: activation after each layer but the last: a name, a function, or ``None``.
        last_act: activation after the last layer.

    Example:
        >>> import torch
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> HNN(4, 2)(x, edge_index).shape
        torch.Size([3, 2])
    """

    uses_edges = False

    def __init__(  # noqa: PLR0913
        self,
        in_channels: int,
        dim: int = 16,
        *,
        layers: int = 2,
        c: float = 1.0,
        trainable_c: bool = True,
        dropout: float = 0.0,
        point_dropout: float = 0.0,
        bias: bool = True,
        act: Activation = "relu",
        last_act: Activation = None,
    ) -> None:
        check_options(
            in_channels=in_channels, dim=dim, layers=layers, dropout=dropout,
            point_dropout=point_dropout,
        )  # fmt: skip
        super().__init__(in_channels, dim, layers=layers, curvature=Curvature(c, trainable_c))
        sizes = [in_channels] + [dim] * (layers - 1)
        self.linears = nn.ModuleList(
            HypLinear(size, dim, c=c, trainable_c=trainable_c, bias=bias, dropout=dropout)
            for size in sizes
        )
        self.acts = activations(layers, act, last_act)
        self.point_dropout = point_dropout

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        x = drop(x, self.point_dropout if self.training else 0.0)
        return cast(Tensor, self.acts[number](self.linears[number](x)))

    @property
    def spaces(self) -> list[Space]:
        """The spaces that :meth:`encode_layers` passes through."""
        owners = [cast(HypLinear, linear) for linear in self.linears]
        return [Hyperbolic(linear.curvature) for linear in owners] + [self.space]
