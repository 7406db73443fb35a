"""Classes of nodes without a network: what a network has to beat."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from hgcn.data.sparse import select_rows
from hgcn.geometry.scalars import wide
from hgcn.inference.smoothing import spread
from hgcn.models.linear import product
from hgcn.models.optim import Adam

STEPS = 200
"""Steps of the descent of the logistic regression."""
PENALTY = 1e-3
"""Its weight of the mean of the squares: half of it is added to the mean cross-entropy."""
MOST_NODES = 10_000
"""Of more training nodes, the logistic regression sees an even choice."""
SPREADING, SPREADS = 0.9, 50
"""What a node takes from its neighbours in each step of label propagation, and the steps."""
MOST_PRODUCTS = 5_000_000_000
"""Label propagation is left out where it would take more products of two numbers."""


def majority(classes: Tensor, count: int) -> Tensor:
    """The share of each class among training nodes, a score of all nodes alike ``[1, count]``."""
    return (torch.bincount(classes, minlength=count) / max(len(classes), 1)).unsqueeze(0)


def logistic_regression(x: Tensor, classes: Tensor, others: Tensor, count: int) -> Tensor:
    """Logits of other nodes, by a logistic regression on the features of training nodes.

    Features are scaled so that rows have length 1 in the mean: the penalty then means the same on
    all graphs. The descent starts at zero, so nothing is drawn.

    Args:
        x: features of the training nodes, dense or sparse.
        classes: their classes.
        others: features of the other nodes.
        count: number of classes.
    """
    if len(x) > MOST_NODES:
        chosen = torch.linspace(0, len(x) - 1, MOST_NODES).long()
        x, classes = select_rows(x, chosen), classes[chosen]
    values = x if x.layout is torch.strided else x.values()
    length = float(wide(values).square().sum() / max(len(x), 1)) ** 0.5
    scale = 1 / length if length > 0 else 1.0
    weight = x.new_zeros(count, x.shape[1], layout=torch.strided).requires_grad_()
    bias = torch.zeros(count, dtype=weight.dtype, device=weight.device).requires_grad_()
    with torch.enable_grad():
        for step in range(STEPS):
            rate = 0.3 * (1 - step / STEPS)
            if not step:
                optimizer = Adam([{"params": [weight, bias]}], lr=rate)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            logits = scale * product(x, weight) + bias
            loss = functional.cross_entropy(logits, classes)
            torch.autograd.backward(loss + 0.5 * PENALTY * weight.square().sum())
            optimizer.step()
    with torch.no_grad():
        return scale * product(others, weight) + bias


def label_propagation(
    nodes: Tensor,
    classes: Tensor,
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_nodes: int,
    count: int,
) -> Tensor | None:
    """Scores ``[num_nodes, count]``: known classes spread along edges (Zhou et al., 2004).

    A node that none reaches has the shares of the classes. None where it would take too long.

    Args:
        nodes: the training nodes.
        classes: their classes.
        edge_index: edges.
        edge_weight: their weights.
        num_nodes: number of nodes.
        count: number of classes.
    """
    if edge_index.shape[1] * count * SPREADS > MOST_PRODUCTS:
        return None
    known = torch.zeros(num_nodes, count, device=edge_index.device)
    known[nodes, classes] = 1.0
    found = spread(known, edge_index, edge_weight, share=SPREADING, steps=SPREADS)
    reached = found.sum(1, keepdim=True) > 0
    return torch.where(reached, found, majority(classes, count).to(found.device))
