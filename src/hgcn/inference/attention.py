"""The attention of a trained network on a graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.inference.trained import Trained, embedding_layers

Attention = tuple[Tensor, Tensor]
"""Edges ``[2, E]``, self-loops included, and the share of each, ``[E]``."""


@torch.no_grad()
def attention_layers(
    trained: Trained, graph: Graph, layers: Sequence[Tensor] | None = None
) -> list[Attention]:
    """The attention of each layer: edges ``[2, E]``, self-loops included, and their shares ``[E]``.

    The share of an edge is how much its source counts in the mean that its target takes; heads are
    averaged. Networks without attention have an empty list.

    Args:
        trained: the network.
        graph: the graph; its edges carry messages.
        layers: the embeddings of all layers, if they are known already.
    """
    layers = embedding_layers(trained, graph) if layers is None else layers
    device, dtype = trained.device, layers[-1].dtype
    weight = graph.edge_weight
    found = trained.predictor.eval().encoder.attention_shares(
        [layer.to(device) for layer in layers],
        graph.edge_index.to(device),
        None if weight is None else weight.to(device=device, dtype=dtype),
    )
    return [(edges.cpu(), share.cpu()) for edges, share in found]


def shares_of(layer: Attention, node: int) -> dict[int, float]:
    """The share of each node, itself included, in the mean that a node takes in one layer."""
    edges, share = layer
    at = edges[1] == node
    return dict(zip(edges[0][at].tolist(), share[at].tolist(), strict=True))


def heard_from(layers: Sequence[Attention], node: int) -> dict[int, float]:
    """The share of each node, itself included, in the embedding of a node after these layers.

    The shares along all paths to the node are multiplied, and those of one source added up, so
    that the sum over all nodes is 1.
    """
    heard = {node: 1.0}
    for layer in reversed(layers):
        before: dict[int, float] = {}
        for j, share in heard.items():
            for k, earlier in shares_of(layer, j).items():
                before[k] = before.get(k, 0.0) + share * earlier
        heard = before
    return heard
