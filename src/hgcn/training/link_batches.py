"""Mini-batches of links: pairs, the neighbours of their nodes, and facts of the pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hgcn.config import Config
from hgcn.data.features import degree_features
from hgcn.data.sent import sent
from hgcn.inference.feature_map import replace_last_columns
from hgcn.models.predictor import Predictor
from hgcn.nn.structure import PairFacts
from hgcn.ranks import current
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

    ``facts`` are what the nodes of all these pairs have in common on the visible edges. If these
    pairs are the share of a rank, ``whole`` are the numbers of pairs of the whole batch.
    """

    seen: Input | Sampled
    positives: Tensor
    negatives: Tensor
    facts: Tensor | None = None
    whole: tuple[int, int] | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """How many pairs the whole batch has: with an edge, and without."""
        return self.whole or (self.positives.shape[1], self.negatives.shape[1])

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
    """The mini-batches of an epoch, or the shares that this rank has of them.

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
    device, dtype = predictor.device, getattr(torch, config.dtype)
    facts_of, degrees = None, None
    if predictor.structure is not None:
        facts_of = PairFacts(shown.edge_index, shown.edge_weight, len(shown.x))
    if config.degree_features:
        degrees = degree_features(shown.edge_index, len(shown.x), directed=directed)

    ranks = current()

    def make(number: int) -> LinkBatch:
        ends = [edge[number : number + 2] for edge in (bounds, others)]
        (low, high), (start, stop) = (ranks.share(*two) for two in ends)
        own = positives[:, low:high]
        pairs = torch.cat((own, negatives[:, start:stop]), dim=1)
        nodes, local = torch.unique(pairs, return_inverse=True)
        sample = sampler.sample(nodes, seed=batch_seed(config, epoch, number))
        seen = sampled(sample, shown.x, device, dtype)
        if degrees is not None:
            counted = replace_last_columns(seen.x, sent(degrees[sample.nodes], device))
            seen = Sampled(counted, seen.blocks)
        facts = None
        if facts_of is not None:
            facts = sent(facts_of(pairs).to(dtype), device)
        local, count = sent(local, device), own.shape[1]
        whole = ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]
        return LinkBatch(seen, local[:, :count], local[:, count:], facts, whole)

    return Plan(count, make)
