"""Classes smoothed along edges after training: label propagation that starts from a network."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hgcn import kernels

LEFT = 0.01
"""Steps end when what they would still change has this share of the whole."""

Known = tuple[Tensor, Tensor]
"""Nodes whose classes are known, and their classes."""


def spread(
    start: Tensor, edge_index: Tensor, edge_weight: Tensor | None, *, share: float, steps: int
) -> Tensor:
    r"""Rows of ``start`` spread along edges, as labels in Zhou et al. (2004).

    .. math:: F \leftarrow a D^{-1/2} A D^{-1/2} F + (1 - a) F_0

    Args:
        start: a row :math:`F_0` for each node.
        edge_index: edges.
        edge_weight: their weights.
        share: what a node takes from its neighbours in each step, the number :math:`a`.
        steps: number of steps.
    """
    n = len(start)
    graph = kernels.neighbourhoods(edge_index, num_sources=n, num_targets=n, add_self_loops=False)
    weight = graph.symmetric(graph.weights(edge_weight, start.dtype))
    out = start
    for _ in range(steps):
        out = share * kernels.weighted_sum(out, weight, graph) + (1 - share) * start
    return out


def smoothed(
    logits: Tensor,
    edge_index: Tensor,
    edge_weight: Tensor | None,
    known: Known | None,
    *,
    share: float,
) -> Tensor:
    """Logits of the classes of all nodes ``[n, k]``, smoothed along edges.

    The probabilities of each node are spread; in place of them, those of nodes whose class is known
    start from it. This is the second half of "correct and smooth" (Huang et al., 2021).
    """
    chance = logits.softmax(-1)
    if known is not None:
        nodes, classes = known
        chance[nodes] = torch.nn.functional.one_hot(classes, logits.shape[1]).to(chance.dtype)
    steps = math.ceil(math.log(LEFT) / math.log(share))
    out = spread(chance, edge_index, edge_weight, share=share, steps=steps)
    # Beside a known class the others may have nothing at all, whose logarithm is infinite.
    return (out / out.sum(-1, keepdim=True)).clamp_min(torch.finfo(out.dtype).eps).log()
