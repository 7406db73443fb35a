"""The structural term of a link: what two nodes have in common in the graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn import kernels
from hgcn.data.pairs import distinct, pairs_at
from hgcn.errors import GraphError

FARTHEST = 8
HIDDEN = 32
FACTS = 9 + FARTHEST - 1
"""Number of facts of a pair: counts, degrees, and one for each distance from 2."""


def pair_facts(pairs: Tensor, edge_index: Tensor, edge_weight: Tensor | None, n: int) -> Tensor:
    """Facts of pairs of nodes ``[M, FACTS]``, all zero where two nodes have nothing in common.

    They are counted on the edges given, in both directions and without the edge between the two
    nodes themselves: roots and logarithms of the numbers of :func:`hgcn.kernels.pair_counts`, the
    degrees, and the distance.

    Args:
        pairs: nodes, shape ``[2, M]``.
        edge_index: the edges that are visible, shape ``[2, E]``.
        edge_weight: their weights.
        n: number of nodes.
    """
    graph, weight = both_ways(edge_index, edge_weight, n)
    counts = kernels.pair_counts(pairs, weight, graph)
    distance = counts[:, 5].long()
    linked = (distance > 0).to(counts.dtype).unsqueeze(1)
    steps = torch.arange(2, FARTHEST + 1, device=pairs.device)
    low, high = graph.degree[pairs].double().log1p().sort(0)[0]
    degrees = torch.stack((low + high, high - low, low), dim=1)
    return torch.cat(
        (
            linked,
            counts[:, [0, 3]].log1p(),
            counts[:, [1, 2, 4]].sqrt(),
            (distance.unsqueeze(1) == steps).to(counts.dtype),
            linked * degrees,
        ),
        dim=1,
    )


def both_ways(
    edge_index: Tensor, edge_weight: Tensor | None, n: int
) -> tuple[kernels.Neighbourhoods, Tensor]:
    """Edges in both directions, without self-loops, and the mean weight of both directions."""
    source, target = edge_index
    proper = source != target
    key = torch.cat((source[proper] * n + target[proper], target[proper] * n + source[proper]))
    known = distinct(key)
    graph = kernels.neighbourhoods(
        pairs_at(known, n), num_sources=n, num_targets=n, add_self_loops=False
    )
    weight = None
    if edge_weight is not None:
        half = 0.5 * edge_weight[proper].double()
        place = torch.searchsorted(known, key)
        weight = half.new_zeros(len(known)).index_add(0, place, torch.cat((half, half)))
    return graph, graph.weights(weight, torch.float64)


class StructureTerm(nn.Module):
    r"""A number for each pair of nodes, made of what the two have in common.

    It is added to the logit of a link, :math:`(r - d^2)/t + s`, and is a small network of
    :func:`pair_facts` without biases: **zero where the two nodes have nothing in common**, so that
    there the embedding alone says how likely the link is.

    Args:
        dropout: share of the facts that are left out in each step.

    Shapes:
        - **input:** facts :math:`(M, F)`.
        - **output:** numbers :math:`(M)`.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.hidden = nn.Linear(FACTS, HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, 1, bias=False)
        self.direct = nn.Linear(FACTS, 1, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights; the direct ones are zero."""
        nn.init.xavier_uniform_(self.hidden.weight)
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.direct.weight)

    def forward(self, facts: Tensor) -> Tensor:
        """Numbers to be added to logits."""
        if facts.shape[-1] != FACTS:
            raise GraphError(f"Expected {FACTS} facts of each pair, got {facts.shape[-1]}.")
        facts = functional.dropout(facts, self.dropout, self.training)
        total = self.out(functional.relu(self.hidden(facts))) + self.direct(facts)
        return total.squeeze(-1)
