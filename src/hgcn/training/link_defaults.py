"""Settings of link prediction that were left open, by what the graph has."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import torch

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.splits.draw import LINK_SHARES
from hgcn.models.base import Encoder
from hgcn.names import MODELS
from hgcn.training.batches import USUAL_SIZE

FEW = 200
"""Fewer edges for validation give a noisy score."""
ENOUGH = 4096
"""More edges in a step take longer to count, and teach no faster."""
LARGE = 100_000
"""With more edges a full batch takes longer than a mini-batch, and teaches no more."""
MANY = 20
"""With more edges for each word a network cannot memorise words so easily."""
STEPS = 16
"""Mini-batches of an epoch of a large graph: hiding edges and validating take a while too."""


def link_defaults(graph: Graph, config: Config) -> Mapping[str, Any]:
    """With the structural term, what was best over many graphs together; see docs/links.md."""
    return {**_of_structure(graph, config), **_of_size(graph, config)}


def _of_size(graph: Graph, config: Config) -> dict[str, Any]:
    """Mini-batches for a large graph, unless the settings or the model rule them out."""
    model: type[Encoder] = MODELS[config.model]
    if graph.num_edges <= LARGE or config.batch_size == 0 or not model.layered():
        return {}
    if config.batch_size is None:
        logging.getLogger("hgcn").warning(
            "hgcn: %s edges are many. Training in mini-batches: --batch-size %d; 0 is a full batch",
            f"{graph.num_edges:,}", USUAL_SIZE,
        )  # fmt: skip
    share = STEPS * (config.batch_size or USUAL_SIZE) / graph.num_edges
    return {"batch_size": USUAL_SIZE, "hidden_share": min(0.1, share), "patience": 20}


def _of_structure(graph: Graph, config: Config) -> dict[str, Any]:
    if not config.structure:
        return {}
    # Few hidden edges: what two nodes have in common is then nearly what the test will show.
    few = min(0.1, ENOUGH / max(1, graph.num_edges))
    found: dict[str, Any] = {
        "lr": 0.02, "hidden_share": few, "trainable_decoder": True, "root_weight": True
    }  # fmt: skip
    if _validation_edges(graph, config) < FEW:
        found["patience"] = 200
    if _has_rare_words(graph):
        found |= {
            "feature_dropout": 0.5, "dropout": 0.2, "layers": 1, "root_weight": False,
            "attention": False, "aggregation": "origin", "negatives": 5.0,
        }  # fmt: skip
    elif graph.x is not None and graph.num_edges <= graph.num_nodes:
        # Without its edge a pair of a tree has nothing in common: there are no counts to keep.
        found["hidden_share"] = 0.3
    return found


def _has_rare_words(graph: Graph) -> bool:
    """Whether features are words, and edges too few to keep a network from memorising these."""
    x = graph.x
    if x is None or x.layout != torch.sparse_csr:
        return False
    return graph.num_edges <= MANY * x.shape[1]


def _validation_edges(graph: Graph, config: Config) -> float:
    """About how many edges are for validation."""
    if graph.links is not None and "val" in graph.links:
        return graph.links["val"].shape[1]
    share = LINK_SHARES[0] if config.val_share is None else config.val_share
    return share * graph.num_edges
