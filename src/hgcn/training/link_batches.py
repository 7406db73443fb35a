"""Mini-batches of links: pairs, the neighbours of their nodes, and facts of the pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hgcn.config import Config
from hgcn.data.features import degree_features
from hgcn.inference.feature_map import replace_last_columns
from hgcn.models.predictor import Predictor
from hgcn.nn.structure import PairFacts
from hgcn.training.batches import (
    Plan,
    Sampled,
    batch_seed,
    divide,
    num_batches,
    sampled,
    sampler_of,
)
from hgcn.training.task import Input


@dataclass(frozen=True, eq=False)
class LinkBatch:
    """The input of one step, and the pairs to predict: with an edge, and without.

    ``facts`` are what the nodes of all these pairs have in common on the visible edges.
    """

    seen: Input | Sampled
    positives: Tensor
    negatives: Tensor
    facts: Tensor | None = None

    @property
    def pairs(self) -> Tensor:
        """All pairs to predict."""
        return torch.cat((self.positives, self.negatives), dim=1)


def plan_links(
    shown: Input,
    positives: Tensor,
    negatives: Tensor,
    *,
    predictor: Predictor,
    config: Config,
    epoch: int,
    directed: bool,
    generator: torch.Generator,
) -> Plan[LinkBatch]:
    """The mini-batches of an epoch.

    The edges that are hidden in the epoch, all that it predicts, are hidden from every batch: from
    messages, from degrees, and from the facts of pairs, which are counted on the whole visible
    graph. So the mean loss of the batches is that of a full batch, but for the neighbours that are
    left out.

    Args:
        shown: the edges that are visible in this epoch, and features of all nodes, whose degrees
            need not be those of these edges.
        positives, negatives: the pairs to predict, ``[2, M]`` and ``[2, K]``, of either at least
            as many as there are batches.
        predictor: the network.
        config: settled settings.
        epoch: its number.
        directed: whether degrees count both ends of an edge.
        generator: for the order of the positives.
    """
    positives = positives[:, torch.randperm(positives.shape[1], generator=generator)]
    count = num_batches(positives.shape[1], config)
    bounds, others = (divide(pairs.shape[1], count) for pairs in (positives, negatives))
    sampler = sampler_of(config, predictor.encoder, shown.rows)
    device, dtype = torch.device(config.device), getattr(torch, config.dtype)
    facts_of, degrees = None, None
    if predictor.structure is not None:
        facts_of = PairFacts(shown.edge_index, shown.edge_weight, len(shown.x))
    if config.degree_features:
        degrees = degree_features(shown.edge_index, len(shown.x), directed=directed)

    def make(number: int) -> LinkBatch:
        own = positives[:, bounds[number] : bounds[number + 1]]
        pairs = torch.cat((own, negatives[:, others[number] : others[number + 1]]), dim=1)
        nodes, local = torch.unique(pairs, return_inverse=True)
        sample = sampler.sample(nodes, seed=batch_seed(config, epoch, number))
        seen = sampled(sample, shown.x, device, dtype)
        if degrees is not None:
            counted = replace_last_columns(seen.x, degrees[sample.nodes].to(device))
            seen = Sampled(counted, seen.blocks)
        facts = None
        if facts_of is not None:
            facts = facts_of(pairs).to(device=device, dtype=dtype)
        local = local.to(device)
        return LinkBatch(seen, local[:, : own.shape[1]], local[:, own.shape[1] :], facts)

    return Plan(count, make)
