"""Mini-batches: how an epoch is divided, and the input of a network for one batch.

An epoch has the same nodes or edges to learn from as that of a full batch, drawn from the same
generator at its start. They are put in a random order and divided into ``count`` batches of nearly
equal size, numbered from 0. Everything else about a batch, the neighbours drawn for it, depends on
the seed of the run, the epoch and the number of the batch alone. So it does not matter who makes
which batch, or when, such as threads that work ahead (:func:`hgcn.sampling.prefetched`).

If several ranks train together (:mod:`hgcn.ranks`), each draws the same order, for the generators
are equal, and makes its share of every batch. The loss of a share is a sum over its nodes or edges,
divided by the number of the whole batch: the losses of all shares, and their gradients, add up to
those of the batch, whatever the sizes of the shares.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.sent import sent
from hgcn.data.sparse import select_rows
from hgcn.errors import ConfigError
from hgcn.models.base import Encoder
from hgcn.names import MODELS
from hgcn.ranks import current
from hgcn.sampling import Adjacency, Block, NeighbourSampler, Sample, prefetched, seed_of
from hgcn.training.memory import free_memory, full_batch_bytes, full_batch_fits

Batch = TypeVar("Batch")

USUAL_SIZE = 1024
USUAL_FANOUTS = (15, 10, 5)
"""The last one is that of further hops too, as in any list of fan-outs."""
PROPAGATION_FANOUT = 2
"""For each hop of propagation, which come after those of the layers. There are many of them."""
USUAL_LR = 0.01
"""In mini-batches no larger learning rate is taken unless it is given: presets and rules that have
one were chosen in full batches, whose gradients are less noisy and whose epochs have one step."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """The input of an encoder for a batch: features of its nodes, and a block for each hop.

    Embeddings are those of the first nodes, which are the batch.
    """

    x: Tensor
    blocks: tuple[Block, ...]

    @property
    def arguments(self) -> tuple[Tensor, tuple[Block, ...]]:
        """What :class:`~hgcn.models.predictor.Predictor` is called with."""
        return self.x, self.blocks


@dataclass(frozen=True)
class Plan(Generic[Batch]):
    """The mini-batches of an epoch.

    Attributes:
        count: how many there are.
        make: makes one, given its number.
    """

    count: int
    make: Callable[[int], Batch]

    def batches(self, config: Config) -> Iterator[Batch]:
        """The batches in their order, made ahead of time in the background."""
        return prefetched(self.make, range(self.count), workers=config.workers)


def asks_for_batches(settings: Mapping[str, Any]) -> bool:
    """Whether settings as given ask for mini-batches."""
    if settings.get("batch_size") is None:
        return bool(settings.get("fanout")) or current().world > 1
    return bool(settings["batch_size"])


def settle_batches(graph: Graph, config: Config, *, batched: bool) -> Config:
    """The settings of mini-batches, with those filled in that were left open.

    Args:
        graph: the graph to train on.
        config: settings that are settled otherwise.
        batched: whether the task can be trained in mini-batches.
    """
    model: type[Encoder] = MODELS[config.model]
    able = batched and model.layered()
    size = config.batch_size
    if current().world > 1:
        if size == 0:
            raise ConfigError(
                f"Expected a `batch_size` above 0 for {current().world} processes to divide, got "
                "0: of a full batch each of them would compute the whole graph."
            )
        size = size or USUAL_SIZE
    if size is None:
        size = USUAL_SIZE if config.fanout or (able and not full_batch_fits(graph, config)) else 0
    if not size:
        if config.fanout:
            raise ConfigError("Expected no `fanout` with `batch_size` 0, a full batch, got both.")
        return config.replace(batch_size=0)
    if not able:
        what = f"the model {config.model!r}" if batched else f"the task {config.task!r}"
        raise ConfigError(
            f"Expected `batch_size` 0, a full batch: {what} cannot be trained in mini-batches."
        )
    if config.sampling == "weight" and graph.edge_weight is None:
        raise ConfigError("Expected edge weights for `sampling` 'weight', got a graph without.")
    fanouts = _each_hop(config.fanouts or USUAL_FANOUTS, config.layers or 1)
    if config.propagation:
        near = fanouts if model.uses_edges else ()
        far = config.fanouts[len(near) :] or config.fanouts[-1:] or (PROPAGATION_FANOUT,)
        fanouts = (*near, *_each_hop(far, config.propagation))
    chosen = config.replace(batch_size=size, fanout=",".join(map(str, fanouts)))
    if config.batch_size is None and not config.fanout and current().world == 1:
        sizes = full_batch_bytes(graph, config), free_memory()
        need, free = (f"{count / 1e9:.3g} GB" for count in sizes)
        logging.getLogger("hgcn").warning(
            "hgcn: a full batch would not fit into memory (about %s, free are %s). Training in "
            "mini-batches: --batch-size %d --fanout %s",
            need, free, size, chosen.fanout,
        )  # fmt: skip
    return chosen


def _each_hop(given: tuple[int, ...], hops: int) -> tuple[int, ...]:
    """A fan-out for each hop; the last one is that of all further hops."""
    return (*given, *given[-1:] * hops)[:hops]


def sampler_of(config: Config, encoder: Encoder, rows: Adjacency) -> NeighbourSampler:
    """The sampler that settled settings ask for."""
    return NeighbourSampler(
        rows,
        config.fanouts[: encoder.hops],
        by_weight=config.sampling == "weight",
        replace=config.replacement,
        totals=encoder.normalised,
    )


def num_batches(size: int, config: Config) -> int:
    """How many batches things to learn from are divided into; a full batch is one."""
    return max(1, -(-size // config.batch_size)) if config.batch_size else 1


def divide(size: int, count: int) -> list[int]:
    """Where each of some batches begins, and the end: they are of nearly equal size.

    Example:
        >>> divide(10, 3)
        [0, 3, 6, 10]
    """
    return [size * k // count for k in range(count + 1)]


def shuffled(count: int, config: Config, generator: torch.Generator) -> list[Tensor]:
    """The numbers 0 to count - 1 in random order, divided into batches."""
    order = torch.randperm(count, generator=generator)
    bounds = divide(count, num_batches(count, config))
    return [order[low:high] for low, high in itertools.pairwise(bounds)]


def sampled(sample: Sample, x: Tensor, device: torch.device, dtype: torch.dtype) -> Sampled:
    """The input of an encoder for a sample, on a device; ``x`` are features of all nodes."""
    own = sent(select_rows(x, sample.nodes).to(dtype), device)
    return Sampled(own, tuple(block.to(device, dtype) for block in sample.blocks()))


def batch_seed(config: Config, epoch: int, *numbers: Any) -> int:
    """The seed of the draws of a batch."""
    return seed_of(config.seed, epoch, *numbers)
