"""The paper's layer as one would first write it: every pair of nodes, on the hyperboloid.

Textbook formulas on tensors of shape [N, N, d + 1], at curvature -1. The weights are those of an
``HGCNConv``, so that both can be compared number by number.
"""

from __future__ import annotations

import _textbook as textbook
import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn.nn import HGCNConv


class DenseConv(nn.Module):
    """What ``HGCNConv(act=None, c=1.0, trainable_c=False)`` computes, from pairs of nodes."""

    def __init__(self, conv: HGCNConv) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        neighbours = torch.eye(len(x), dtype=torch.bool)
        neighbours[edge_index[1], edge_index[0]] = True
        v = textbook.translate(functional.linear(x, self.conv.linear.weight), self.conv.linear.bias)
        weight = self._attention(v, neighbours)
        point = textbook.exp0(v)
        logs = textbook.log(point.unsqueeze(1), point.unsqueeze(0))
        step = torch.einsum("ij,ijk->ik", weight, logs)
        return textbook.log0(textbook.exp(point, step))

    def _attention(self, v: Tensor, neighbours: Tensor) -> Tensor:
        mlp = self.conv.attention
        hidden = mlp.left(v).unsqueeze(1) + mlp.right(v).unsqueeze(0)
        score = functional.leaky_relu(hidden, mlp.negative_slope) @ mlp.vector[0]
        return score.masked_fill(~neighbours, -torch.inf).softmax(1)
