"""The hyperbolic graph convolution."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor, nn

from hgcn import kernels
from hgcn.data.sparse import first_rows
from hgcn.errors import GraphError, ModelError
from hgcn.geometry import Curvature
from hgcn.kernels import Neighbourhoods
from hgcn.names import AGGREGATIONS
from hgcn.nn.activation import Activation, HypActivation
from hgcn.nn.adjacency import edge_list
from hgcn.nn.attention import NeighbourAttention
from hgcn.nn.finite import check_finite
from hgcn.nn.linear import HypLinear
from hgcn.nn.precision import full_precision
from hgcn.text import one_of


class _WithPyG(type):
    """Makes the layer a ``MessagePassing`` module where PyTorch Geometric may ask for one.

    Loading PyTorch Geometric takes seconds, so it is not loaded for this; who has loaded it and
    builds a layer then gets :class:`hgcn.nn.pyg.HGCNConv`. Copies keep the type they have.
    """

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is HGCNConv and "torch_geometric.nn" in sys.modules:
            from hgcn.nn import pyg

            return pyg.HGCNConv(*args, **options)
        return super().__call__(*args, **options)


class HGCNConv(nn.Module, metaclass=_WithPyG):
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
    owns :math:`K`; whoever reads its output decides on :math:`K'`. ``docs/layers.md`` has a table
    of what PyTorch Geometric's own layers do and this one does or does not.

    Args:
        in_channels: size of each input point; -1 reads it off the first input. A pair is that of
            sources and targets, which then have a linear map each.
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
        symmetric: whether weights are multiplied by :math:`\sqrt{d_i / d_j}`, where :math:`d_i` is
            the total weight of the edges that end at i. Without attention they are then
            :math:`e_{ij} / \sqrt{d_i d_j}`, those of ``GCNConv``. The bias is added after the
            average. Near c = 0, with ``aggregation="origin"`` and without attention, the layer is
            ``GCNConv``. Not in the paper; for ``"local"`` and ``"origin"`` only.
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
          :math:`(2, |E|)`, or a transposed sparse adjacency matrix :math:`(|V_t|, |V_s|)`; edge
          weights :math:`(|E|)` *(optional, non-negative)*. Instead of the targets' points there
          may be ``None``: they are at the origin then.
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
        in_channels: int | tuple[int, int],
        out_channels: int,
        *,
        c: float | Curvature = 1.0,
        trainable_c: bool = True,
        aggregation: str = "local",
        attention: bool = True,
        heads: int = 1,
        symmetric: bool = False,
        root_weight: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        act: Activation = "relu",
        add_self_loops: bool = True,
    ) -> None:
        super().__init__()
        if aggregation not in AGGREGATIONS:
            raise ModelError(one_of("aggregation", aggregation, AGGREGATIONS))
        if symmetric and aggregation in ("centroid", "frechet"):
            raise ModelError(
                "Expected the aggregation 'local' or 'origin' with `symmetric`, got "
                f"{aggregation!r}, whose weights must add up to one."
            )
        from_source, from_target = (
            in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        )
        self.out_channels = out_channels
        self.aggregation = aggregation
        self._aggregate = AGGREGATIONS[aggregation]
        self.add_self_loops = add_self_loops
        self.symmetric = symmetric
        # Symmetric weights do not add up to one: a bias before them would grow with the degree.
        before = bias and not symmetric
        self.linear = HypLinear(
            from_source, out_channels, c=c, trainable_c=trainable_c, bias=before, dropout=dropout
        )
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias and symmetric else None
        self.linear_target = None
        if isinstance(in_channels, tuple):
            self.linear_target = HypLinear(
                from_target, out_channels, c=self.curvature, bias=before, dropout=dropout
            )
        self.attention = NeighbourAttention(out_channels, heads=heads) if attention else None
        self.root = None
        if root_weight:
            self.root = HypLinear(
                from_target, out_channels, c=self.curvature, bias=False, dropout=dropout
            )
        self.act = HypActivation(act)

    @property
    def curvature(self) -> Curvature:
        """The curvature of the space that the layer works in."""
        return self.linear.curvature

    @property
    def in_channels(self) -> int | tuple[int, int]:
        """Size of each input point, or the sizes of those of sources and targets."""
        if self.linear_target is None:
            return self.linear.in_channels
        return self.linear.in_channels, self.linear_target.in_channels

    def reset_parameters(self) -> None:
        """Draw all weights anew; the curvature stays as it is."""
        for module in (self.linear, self.linear_target, self.attention, self.root):
            if module is not None:
                module.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @full_precision
    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        size: tuple[int | None, int | None] | None = None,
        return_attention_weights: bool | None = None,
        *,
        totals: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map points to points; see the class for shapes.

        Args:
            x: points of the nodes, or a pair of those of sources and targets.
            edge_index: edges, in any form that PyTorch Geometric knows.
            edge_weight: a number for each edge; by default the values of a sparse matrix.
            size: the numbers of sources and targets, if targets have no points, or if ``x`` is one
                tensor: the targets are then the first of the sources.
            return_attention_weights: whether to return the edges and their weights too.
            totals: for each source, the weight of all edges that end at it, its self-loop among
                them; for ``symmetric`` layers on a sampled part of a graph.
        """
        x_source, x_target = x if isinstance(x, (tuple, list)) else (x, x)
        if type(edge_index) is not Tensor or edge_index.layout is not torch.strided:
            edge_index, values, size = edge_list(edge_index)
            edge_weight = values if edge_weight is None else edge_weight
        targets = self._check(x_source, x_target, size)
        c = self.curvature()
        if x_target is x_source and targets == len(x_source) and not return_attention_weights:
            mean = self._at_once(x_source, c, edge_index, edge_weight)
            if mean is not None:
                return self._finish(mean, x_source, x_target, edge_weight, c)
        source = self.linear(x_source, c)
        if x_target is None:
            target = source.new_zeros(targets, self.out_channels)
        elif self.linear_target is not None:
            target = self.linear_target(x_target, c)
        elif x_target is x_source:
            target = source if targets == len(source) else source[:targets]
        else:
            target = self.linear(x_target, c)
        mean, share, graph = self._mean(source, target, c, edge_index, edge_weight, totals)
        out = self._finish(mean, x_source, x_target, edge_weight, c)
        if return_attention_weights:
            edges = torch.stack((graph.source, graph.target)).long()
            return out, (edges, share)
        return out

    def _finish(
        self,
        mean: Tensor,
        x_source: Tensor,
        x_target: Tensor | None,
        edge_weight: Tensor | None,
        c: Tensor,
    ) -> Tensor:
        """The output, from the mean of the neighbours."""
        if self.root is not None and x_target is not None:
            mean = kernels.translate(mean, self.root(first_rows(x_target, len(mean)), c), c)
        out: Tensor = kernels.first_only(self.act(mean))
        check_finite(out, x_source, x_target, edge_weight)
        return out

    def _at_once(
        self, x: Tensor, c: Tensor, edge_index: Tensor, edge_weight: Tensor | None
    ) -> Tensor | None:
        """The mean of the neighbours by one operation, if it is that of the paper.

        None if another one is asked for, if somebody looks at a part of it, or if the backend of
        the device has it in parts alone.
        """
        attention, bias = self.attention, self.linear.bias
        plain = self.aggregation == "local" and not self.symmetric and self.linear_target is None
        single = edge_weight is None if attention is None else len(attention.vector) == 1
        fixed = edge_weight is None or not edge_weight.requires_grad
        ready = x.dtype == self.linear.weight.dtype and self.linear.in_channels == x.shape[1]
        if bias is None or not (plain and single and fixed and ready) or self._is_watched():
            return None
        graph = kernels.neighbourhoods(
            edge_index, num_sources=len(x), num_targets=len(x), add_self_loops=self.add_self_loops
        )
        prior = None if edge_weight is None else graph.weights(edge_weight, x.dtype)
        scores = None if attention is None else attention.scores()
        return kernels.convolution(x, self.linear.dropped(), bias, c, scores, prior, graph)

    def _is_watched(self) -> bool:
        """Whether a hook or a compiler asks for the parts of the layer."""
        parts = [part for part in (self.linear, self.attention) if part is not None]
        hooks = any(part._forward_hooks or part._forward_pre_hooks for part in parts)
        return hooks or torch.compiler.is_compiling()

    def map_nodes(self, x: Tensor) -> Tensor:
        """The part of a layer that needs no edges: its linear map, of all nodes alike."""
        mapped: Tensor = self.linear(x, self.curvature())
        return mapped

    def from_mapped(
        self,
        source: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        targets: int,
        totals: Tensor | None,
    ) -> Tensor:
        """The rest of a layer without ``root_weight``, at the first ``targets`` of the sources.

        ``source`` has points from :meth:`map_nodes`; the rest is as in :meth:`forward`.
        """
        given = edge_index, edge_weight, totals
        mean, _, _ = self._mean(source, source[:targets], self.curvature(), *given)
        out: Tensor = kernels.first_only(self.act(mean))
        check_finite(out, source, None, edge_weight)
        return out

    def _mean(
        self,
        source: Tensor,
        target: Tensor,
        c: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        totals: Tensor | None,
    ) -> tuple[Tensor, Tensor, Neighbourhoods]:
        """The mean of the neighbours with its bias, the weights of all heads, and the edges."""
        graph = kernels.neighbourhoods(
            edge_index,
            num_sources=len(source),
            num_targets=len(target),
            add_self_loops=self.add_self_loops,
        )
        share = self._shares(source, target, edge_weight, graph)
        weight = self._weights(share, graph)
        if self.symmetric:
            weight = weight * self._balance(edge_weight, totals, graph, weight.dtype)
        mean = self._aggregate(target, source, weight, c, graph)
        if self.bias is not None:
            mean = kernels.translate(mean, self.bias, c)
        return mean, share, graph

    def _shares(
        self, source: Tensor, target: Tensor, edge_weight: Tensor | None, graph: Neighbourhoods
    ) -> Tensor:
        """A column of weights for each head; they add up to one over each neighbourhood."""
        if self.attention is None and edge_weight is None:
            return graph.shares(source.dtype).unsqueeze(-1)
        if self.attention is not None:
            prior = None if edge_weight is None else graph.weights(edge_weight, source.dtype)
            return self.attention(target, source, graph, prior=prior)
        given = graph.weights(edge_weight, source.dtype)
        total = given.new_zeros(graph.num_targets).index_add(0, graph.target, given)
        return (given / torch.where(total > 0, total, 1.0)[graph.target]).unsqueeze(-1)

    def _balance(
        self,
        edge_weight: Tensor | None,
        totals: Tensor | None,
        graph: Neighbourhoods,
        dtype: torch.dtype,
    ) -> Tensor:
        """For each edge, the root of its target's total divided by its source's."""
        if totals is None:
            if graph.num_sources != graph.num_targets:
                raise GraphError(
                    "Expected one set of nodes, or the `totals` of all sources, for a symmetric "
                    f"layer, got {graph.num_sources} sources and {graph.num_targets} targets."
                )
            given = graph.weights(edge_weight, dtype)
            totals = given.new_zeros(graph.num_targets).index_add(0, graph.target, given)
        root = totals.to(dtype).sqrt()
        below = torch.where(root > 0, root, torch.inf)
        return root[graph.target] / below[graph.source]

    def _weights(self, share: Tensor, graph: Neighbourhoods) -> Tensor:
        """The weight of each edge in the mean, from those of all heads."""
        return share.squeeze(-1) if share.shape[1] == 1 else share.mean(-1)

    def _check(
        self,
        source: Tensor | None,
        target: Tensor | None,
        size: tuple[int | None, int | None] | None,
    ) -> int:
        """The number of targets, if all that is given fits together."""
        dtype = self.linear.weight.dtype
        if dtype not in (torch.float32, torch.float64):
            raise ModelError(
                f"Expected a layer of float32 or float64, got {dtype}. For half precision leave "
                "the layer as it is and use torch.autocast: the layer computes in float32."
            )
        if source is None:
            raise GraphError("Expected the points of the sources, got None.")
        last = self.linear if self.linear_target is None else self.linear_target
        sources, targets = size or (None, None)
        for name, x, linear, count in (
            ("sources", source, self.linear, sources),
            ("targets", target, last, targets),
        ):
            if x is None:
                continue
            channels = linear.in_channels
            if x.dim() != 2 or channels not in (x.shape[1], -1):
                wanted = channels if channels >= 0 else "features"
                raise GraphError(
                    f"Expected `x` to have shape [number of nodes, {wanted}], got {list(x.shape)}."
                )
            first = name == "targets" and x is source and 0 <= (count or 0) < len(x)
            if count not in (None, len(x)) and not first:
                raise GraphError(
                    f"Expected a point for each of the {count} {name}, got {len(x)} points."
                )
        if target is not None and (targets is None or target is not source):
            return len(target)
        return len(source) if targets is None else targets

    def __repr__(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        return f"{type(self).__name__}({channels}, aggregation={self.aggregation})"
