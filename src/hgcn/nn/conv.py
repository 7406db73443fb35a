"""The hyperbolic graph convolution."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from hgcn import kernels
from hgcn.errors import DivergenceError, GraphError, ModelError
from hgcn.geometry import Curvature
from hgcn.kernels import Neighbourhoods
from hgcn.names import AGGREGATIONS
from hgcn.nn.activation import Activation, HypActivation
from hgcn.nn.attention import NeighbourAttention
from hgcn.nn.linear import HypLinear
from hgcn.text import one_of


class HGCNConv(nn.Module):
    r"""Hyperbolic graph convolution of Chami et al. (2019).

    .. math::
        \mathbf{h}_i &= (W \otimes^{K} \mathbf{x}_i) \oplus^{K} \mathbf{b} \\
        \mathbf{y}_i &= \exp^{K}_{\mathbf{h}_i}
            \Big(\sum_{j \in \mathcal{N}(i)} w_{ij} \log^{K}_{\mathbf{h}_i}(\mathbf{h}_j)\Big) \\
        \mathbf{x}'_i &= \exp^{K'}_{\mathbf{o}}(\sigma(\log^{K}_{\mathbf{o}}(\mathbf{y}_i)))

    with attention weights :math:`w_{ij} = \mathrm{softmax}_j\, \mathrm{MLP}(\log^K_{\mathbf{o}}
    \mathbf{h}_i \,\|\, \log^K_{\mathbf{o}} \mathbf{h}_j)`, curvature :math:`-1/K` of this layer and
    :math:`-1/K'` of the next.

    Points are normal coordinates, plain tensors, so the layer can replace a ``GCNConv`` or
    ``GATConv`` in any PyTorch Geometric model: Euclidean features are points already. The layer
    owns :math:`K`; whoever reads its output decides on :math:`K'`.

    Args:
        in_channels: size of each input point.
        out_channels: size of each output point.
        c: curvature of the layer, sectional curvature ``-c``, :math:`K = 1/c`: a number, or a
            :class:`~hgcn.geometry.Curvature` shared with other modules.
        trainable_c: whether a curvature given as a number is trained.
        aggregation: ``"local"`` (as above), ``"origin"`` (in the tangent space of the origin, the
            paper's AGG with index o), ``"centroid"`` (Lorentz centroid) or ``"frechet"`` (Fréchet
            mean, slower).
        attention: whether weights come from attention. Otherwise they are the edge weights,
            divided by their sum over each neighbourhood.
        heads: number of attention heads; their weights are averaged.
        root_weight: whether the node's own point has a linear map of its own, whose result is
            added to the average: :math:`\mathbf{y}_i \oplus^K (W_r \otimes^K \mathbf{x}_i)`. So the
            layer can tell a node from its neighbours, as ``SAGEConv`` can. Not in the paper.
        dropout: probability with which an entry of :math:`W` or :math:`W_r` is zeroed in training
            (DropConnect).
        bias: whether to learn a bias.
        act: activation: a name such as ``"relu"``, a function, or ``None`` for the identity.
        add_self_loops: whether each node is among its own neighbours. Self-loops in the edge list
            are kept and not added twice.

    Shapes:
        - **input:** points :math:`(|V|, F_{in})`, dense or sparse, or a pair
          :math:`((|V_s|, F_{in}), (|V_t|, F_{in}))` of sources and targets; edge indices
          :math:`(2, |E|)`; edge weights :math:`(|E|)` *(optional, non-negative)*.
        - **output:** points :math:`(|V|, F_{out})` or :math:`(|V_t|, F_{out})`; with
          ``return_attention_weights=True`` also ``(edge_index, weights)`` with weights
          :math:`(|E'|, H)`, self-loops included.

    Example:
        >>> conv = HGCNConv(16, 8)
        >>> conv(torch.randn(4, 16), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
        torch.Size([4, 8])
    """

    def __init__(  # noqa: PLR0913
        self,
        in_channels: int,
        out_channels: int,
        *,
        c: float | Curvature = 1.0,
        trainable_c: bool = True,
        aggregation: str = "local",
        attention: bool = True,
        heads: int = 1,
        root_weight: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        act: Activation = "relu",
        add_self_loops: bool = True,
    ) -> None:
        super().__init__()
        if aggregation not in AGGREGATIONS:
            raise ModelError(one_of("aggregation", aggregation, AGGREGATIONS))
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.aggregation = aggregation
        self.add_self_loops = add_self_loops
        self.linear = HypLinear(
            in_channels, out_channels, c=c, trainable_c=trainable_c, bias=bias, dropout=dropout
        )
        self.attention = NeighbourAttention(out_channels, heads=heads) if attention else None
        self.root = None
        if root_weight:
            self.root = HypLinear(
                in_channels, out_channels, c=self.curvature, bias=False, dropout=dropout
            )
        self.act = HypActivation(act)

    @property
    def curvature(self) -> Curvature:
        """The curvature of the space that the layer works in."""
        return self.linear.curvature

    def reset_parameters(self) -> None:
        """Draw all weights anew; the curvature stays as it is."""
        self.linear.reset_parameters()
        if self.attention is not None:
            self.attention.reset_parameters()
        if self.root is not None:
            self.root.reset_parameters()

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map points to points; see the class for shapes."""
        x_source, x_target = x if isinstance(x, tuple) else (x, x)
        self._check(x_source, x_target)
        c = self.curvature()
        source = self.linear(x_source, c)
        target = source if x_target is x_source else self.linear(x_target, c)
        graph = kernels.neighbourhoods(
            edge_index,
            num_sources=len(source),
            num_targets=len(target),
            add_self_loops=self.add_self_loops,
        )
        share = self._shares(source, target, edge_weight, graph)
        weight = share.squeeze(-1) if share.shape[1] == 1 else share.mean(-1)
        aggregate = AGGREGATIONS[self.aggregation]
        mean = aggregate(target, source, weight, c, graph)
        if self.root is not None:
            mean = kernels.translate(mean, self.root(x_target, c), c)
        out: Tensor = self.act(mean)
        self._check_finite(out, x_source, x_target, edge_weight)
        if return_attention_weights:
            edges = torch.stack((graph.source, graph.target))
            return out, (edges, share)
        return out

    def _shares(
        self, source: Tensor, target: Tensor, edge_weight: Tensor | None, graph: Neighbourhoods
    ) -> Tensor:
        """A column of weights for each head; they add up to one over each neighbourhood."""
        if self.attention is None and edge_weight is None:
            return graph.shares(source.dtype).unsqueeze(-1)
        given = graph.weights(edge_weight, source.dtype)
        if self.attention is not None:
            return self.attention(target, source, graph, prior=given)
        total = given.new_zeros(graph.num_targets).index_add(0, graph.target, given)
        return (given / torch.where(total > 0, total, 1.0)[graph.target]).unsqueeze(-1)

    def _check(self, source: Tensor, target: Tensor) -> None:
        for x in (source, target):
            if x.dim() != 2 or x.shape[1] != self.in_channels:
                raise GraphError(
                    f"Expected `x` to have shape [number of nodes, {self.in_channels}], got "
                    f"{list(x.shape)}."
                )

    @staticmethod
    def _check_finite(
        out: Tensor, source: Tensor, target: Tensor, edge_weight: Tensor | None
    ) -> None:
        # Only on the CPU: the check would make another device wait. A finite sum means finite
        # entries; an infinite one may just have overflown.
        if out.device.type != "cpu" or torch.compiler.is_compiling():
            return
        if math.isfinite(out.sum().item()) or out.isfinite().all():
            return
        for x in (source, target):
            values = x.to_dense() if x.layout is not torch.strided else x
            bad = (~values.isfinite()).nonzero()
            if len(bad):
                row, column = bad[0].tolist()
                raise GraphError(
                    f"Expected finite features, got {values[row, column].item()} at node {row}, "
                    f"feature {column}."
                )
        if edge_weight is not None and not bool(
            ((edge_weight >= 0) & edge_weight.isfinite()).all()
        ):
            raise GraphError("Expected edge weights that are finite and not negative, got others.")
        raise DivergenceError(
            "The output of the layer is not finite although its input is: its weights have "
            "diverged. A smaller learning rate helps."
        )

    def extra_repr(self) -> str:
        """Shown inside the parentheses of ``print(module)``."""
        return f"{self.in_channels}, {self.out_channels}, aggregation={self.aggregation}"
