"""Attention over the neighbours of a node."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn import kernels
from hgcn.errors import ModelError
from hgcn.kernels import Neighbourhoods


class NeighbourAttention(nn.Module):
    r"""Weights of neighbours: the softmax of an MLP on both points (paper, Eq. 8).

    .. math::
        w_{ij} = \mathrm{softmax}_{j \in \mathcal{N}(i)}
            \mathrm{MLP}(\mathbf{v}_i \| \mathbf{v}_j)

    The MLP has one hidden layer,
    :math:`\mathbf{a}^\top \mathrm{leaky\_relu}(W_l \mathbf{v}_i + W_r \mathbf{v}_j + \mathbf{b})`.
    Without a hidden layer the term of :math:`\mathbf{v}_i` would cancel in the softmax, and every
    node would rank its neighbours alike. The products are taken once for each node.

    Args:
        channels: size of each point.
        heads: number of MLPs.
        hidden: units of the hidden layer of each; by default half of ``channels / heads``, at
            least 4.
        negative_slope: slope of the leaky ReLU for negative numbers.

    Example:
        >>> sum(p.numel() for p in NeighbourAttention(4, hidden=2).parameters()) > 0
        True
    """

    def __init__(
        self,
        channels: int,
        *,
        heads: int = 1,
        hidden: int | None = None,
        negative_slope: float = 0.2,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ModelError(f"Expected `heads` to be at least 1, got {heads}.")
        self.negative_slope = negative_slope
        hidden = hidden or max(4, channels // (2 * heads))
        self.left = nn.Linear(channels, heads * hidden)
        self.right = nn.Linear(channels, heads * hidden, bias=False)
        self.vector = nn.Parameter(torch.empty(heads, hidden))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights, no bias."""
        for linear in (self.left, self.right):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.left.bias)
        nn.init.xavier_uniform_(self.vector)

    def scores(self) -> kernels.Scores:
        """What the shares of one set of nodes are computed from."""
        sides = torch.cat((self.left.weight, self.right.weight))
        return kernels.Scores(sides, self.left.bias, self.vector, self.negative_slope)

    def forward(
        self, target: Tensor, source: Tensor, graph: Neighbourhoods, *, prior: Tensor | None = None
    ) -> Tensor:
        """Shares ``[E, heads]`` that add up to one over each neighbourhood.

        ``prior`` is a factor for each edge before normalisation: an edge weight.
        """
        if target is source:  # both products at once
            left, right = functional.linear(source, self.scores().sides), None
        else:
            weights = self.left.weight, self.right.weight
            left, right = map(functional.linear, (target, source), weights)
        return kernels.attention(
            left,
            right,
            self.left.bias,
            self.vector,
            prior,
            graph,
            negative_slope=self.negative_slope,
        )
