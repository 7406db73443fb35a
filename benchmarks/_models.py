"""Two-layer networks that differ in one line, the layer, and their training epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from _graphs import Problem
from torch import Tensor, nn
from torch.nn import functional

from hgcn.nn import HGCNConv

HIDDEN = 16
Layer = Callable[[int, int], nn.Module]
Epoch = Callable[[], Tensor]

GCN, GCN_CACHED, GAT = "GCNConv", "GCNConv, cached", "GATConv"
LOCAL_ATTENTION, LOCAL = "HGCNConv", "HGCNConv, no attention"
ORIGIN, CENTROID = "HGCNConv, origin", "HGCNConv, centroid"
MODELS = (GCN, GCN_CACHED, GAT, LOCAL_ATTENTION, LOCAL, ORIGIN, CENTROID)


def layer(name: str) -> Layer:
    if name in (GCN, GCN_CACHED, GAT):
        import torch_geometric.nn as pyg  # takes seconds, and memory

        return {
            GCN: pyg.GCNConv,
            GCN_CACHED: lambda n, d: pyg.GCNConv(n, d, cached=True),
            GAT: pyg.GATConv,
        }[name]
    options: dict[str, dict[str, Any]] = {
        LOCAL_ATTENTION: {},
        LOCAL: {"attention": False},
        ORIGIN: {"attention": False, "aggregation": "origin"},
        CENTROID: {"attention": False, "aggregation": "centroid"},
    }
    # The network below has the activation, for all layers alike.
    return lambda n, d: HGCNConv(n, d, act=None, **options[name])


class Network(nn.Module):
    """Two layers and a linear classifier."""

    def __init__(self, make: Layer, features: int, classes: int) -> None:
        super().__init__()
        self.first = make(features, HIDDEN)
        self.second = make(HIDDEN, HIDDEN)
        self.classifier = nn.Linear(HIDDEN, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        v = self.first(x, edge_index).relu()
        v = self.second(v, edge_index).relu()
        return self.classifier(v)


def network(name: str, problem: Problem) -> Network:
    torch.manual_seed(0)
    return Network(layer(name), problem.x.shape[1], problem.classes)


def epoch(name: str, problem: Problem) -> Epoch:
    """A function that trains for one epoch when called: forward, loss, backward, Adam step."""
    model = network(name, problem)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    labels = problem.y[problem.train]

    def run() -> Tensor:
        optimizer.zero_grad()
        logits = model(problem.x, problem.edge_index)
        loss = functional.cross_entropy(logits[problem.train], labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return run
