"""What a search for settings of node classification begins with and varies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.training.node_defaults import few_labels

NODE_STARTS: tuple[Mapping[str, Any], ...] = (
    {
        "act": "none", "lr": 0.03, "dropout": 0.3, "feature_dropout": 0.8, "weight_decay": 5e-4,
        "link_regulariser": 0.5, "consistency": 2.0, "class_weights": True,
    },
    # GCN, which is a limit of HGCN, strongly regularised. What models that are not hyperbolic call
    # dropout is `point_dropout` in those that are.
    {
        "act": "tanh", "lr": 0.04, "dropout": 0.0, "point_dropout": 0.4, "feature_dropout": 0.8,
        "weight_decay": 6e-4, "link_regulariser": 0.3, "consistency": 3.0, "views": 4,
        "symmetric": True, "attention": False, "aggregation": "origin",
        "class_weights": True,
    },
    # As GRAND: features of whole nodes dropped, propagated over many hops, then one layer.
    {
        "act": "relu", "lr": 0.01, "dropout": 0.0, "feature_dropout": 0.5, "weight_decay": 5e-4,
        "propagation": 8, "node_dropout": 0.5, "consistency": 1.0, "views": 4, "layers": 2,
        "point_dropout": 0.3, "symmetric": True, "attention": False, "aggregation": "origin",
        "class_weights": True,
    },
)  # fmt: skip
"""First trials that suit few labels and many features."""
FOR_FEW_LABELS = ("consistency", "views", "propagation", "node_dropout")
"""What is varied only where labels are few."""
PRETRAIN = [0, 50, 100]


def node_space(graph: Graph, config: Config, labelled: int) -> dict[str, Any]:
    """Settings of this task that a search varies: ranges and lists of values.

    Args:
        graph: the graph.
        config: the settings that are fixed.
        labelled: number of training nodes.
    """
    space: dict[str, Any] = {
        "link_regulariser": {"low": 1e-2, "high": 1.0, "log": True, "zero": True},
        "consistency": {"low": 0.1, "high": 3.0, "log": True, "zero": True},
        "views": [2, 4],
        "pretrain": PRETRAIN,
        "class_weights": [False, True],
        "symmetric": [False, True],
        "propagation": [0, 2, 4, 8],
        "node_dropout": {"low": 0.1, "high": 0.6, "zero": True},
        "smooth": {"low": 0.3, "high": 0.9, "zero": True},
    }
    left_out = set() if few_labels(graph, labelled) else set(FOR_FEW_LABELS)
    if config.epochs <= 4 * max(PRETRAIN):
        left_out.add("pretrain")  # a warm-up is for runs that are much longer
    if config.protocol == "legacy":
        left_out.add("smooth")  # which it refuses, as these means refuse `symmetric`
    if config.aggregation in ("centroid", "frechet"):
        left_out.add("symmetric")
    return {name: values for name, values in space.items() if name not in left_out}
