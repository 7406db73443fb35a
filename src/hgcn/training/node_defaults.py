"""Settings of node classification that were left open, by what the graph has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.models.table import options_of

FEW = 10
"""Labels are few if there are at least so many nodes for each: then agreement may help."""
AS_GCN: Mapping[str, Any] = {
    "act": "tanh", "dropout": 0.0, "point_dropout": 0.4, "symmetric": True, "attention": False,
    "aggregation": "origin",
}  # fmt: skip
"""A hyperbolic network that is GCN but for its curvature: few labels do not train attention."""


def node_defaults(graph: Graph, config: Config, labelled: Callable[[], int]) -> Mapping[str, Any]:
    """What was best over several graphs together; see docs/nodes.md.

    Args:
        graph: the graph.
        config: the settings that are given.
        labelled: counts the training nodes, where the rule asks for them.
    """
    found: dict[str, Any] = {"ties_by_loss": True}
    words = graph.x is not None and graph.x.layout == torch.sparse_csr
    if words and few_labels(graph, labelled()):
        # Words are easily memorised. What is left of them must say the same in each draw.
        found |= {
            "consistency": 2.0, "feature_dropout": 0.8, "dropout": 0.3, "act": "none", "lr": 0.03,
            "weight_decay": 5e-4, "class_weights": True, "patience": 200,
        }  # fmt: skip
        if "symmetric" in options_of(config.model) and config.aggregation in (None, "origin"):
            found |= AS_GCN
    return found


def few_labels(graph: Graph, labelled: int) -> bool:
    """Whether only a few of the nodes are labelled for training."""
    return FEW * labelled <= graph.num_nodes
