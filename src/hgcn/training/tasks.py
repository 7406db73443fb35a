"""What a network is trained for: links, or classes of nodes. Loss and evaluation of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional

from hgcn.config import Config
from hgcn.data.features import degree_features, replace_last_columns
from hgcn.data.graph import Graph, select_rows
from hgcn.data.splits.draw import LinkPart, LinkSplit, NodeSplit
from hgcn.errors import ConfigError
from hgcn.models.predictor import Predictor
from hgcn.text import one_of
from hgcn.training.metrics import LINK_SCORES, NODE_SCORES, finite_score, link_metrics, node_metrics

PARTS = ("train", "val", "test")
TEMPERATURE = 0.5
"""Below 1 it makes the prediction that two passes should agree on surer than their mean."""
RAMP = 100
"""Epochs over which agreement comes to its full weight: at first there are guesses to agree on."""


@dataclass(frozen=True)
class Input:
    """What the encoder sees: features, edges and their weights."""

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None = None

    def to(self, device: torch.device, dtype: torch.dtype) -> Input:
        """The same on a device; features and weights as ``dtype``."""
        weight = self.edge_weight
        return Input(
            self.x.to(device=device, dtype=dtype),
            self.edge_index.to(device).contiguous(),
            None if weight is None else weight.to(device=device, dtype=dtype),
        )

    def within(self, nodes: Tensor) -> tuple[Input, Tensor]:
        """Whole graphs by themselves, and the new number of each node, which is -1 for others.

        Args:
            nodes: the nodes of these graphs, sorted.
        """
        place = torch.full((len(self.x),), -1)
        place[nodes] = torch.arange(len(nodes))
        edges = place[self.edge_index[0]] >= 0
        weight = self.edge_weight
        own = Input(
            select_rows(self.x, nodes),
            place[self.edge_index[:, edges]],
            None if weight is None else weight[edges],
        )
        return own, place


class Task(ABC):
    """A network in training, with its data.

    Attributes:
        warm_up: epochs at the start that train for something else and are not validated.
        select: name of the score that picks the best epoch.
    """

    warm_up: int = 0
    select: str

    def __init__(self, predictor: Predictor, config: Config) -> None:
        self.predictor = predictor
        self.config = config
        self.device = torch.device(config.device)
        self.dtype: torch.dtype = getattr(torch, config.dtype)

    @abstractmethod
    def loss(self, epoch: int, generator: torch.Generator) -> Tensor:
        """The loss of one step; randomness other than dropout comes from the generator."""

    @abstractmethod
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """What the scores of a part are made of: two tensors."""

    @abstractmethod
    def score(self, part: str) -> float:
        """The score that picks the best epoch; higher is better."""

    @abstractmethod
    def metrics(self, part: str) -> dict[str, float]:
        """All scores of a part."""

    def _encode(self, seen: Input) -> Tensor:
        return self.predictor.encode(seen.x, seen.edge_index, seen.edge_weight)

    def _select(self, known: Any, default: str) -> str:
        if self.config.select is None:
            return default
        if self.config.select not in known:
            raise ConfigError(one_of("select", self.config.select, known))
        return self.config.select


@final
class LinkTask(Task):
    """Link prediction with Fermi-Dirac logits and fresh negatives in each step.

    In each step a random share of the training edges is hidden from message passing, and these are
    the ones to be predicted: a network that predicts edges which it is shown learns to recognise
    them, not to predict. A share of 0 gives that classical protocol. Degrees among the features
    are counted anew without the hidden edges, for they would tell of them too.
    """

    def __init__(self, x: Tensor, split: LinkSplit, predictor: Predictor, config: Config) -> None:
        super().__init__(predictor, config)
        self.split = split
        self.select = self._select(LINK_SCORES, "roc_auc")
        self.x = x
        self._inputs: dict[str, Input] = {}
        self._places: dict[str, Tensor | None] = {}
        self._pairs: dict[str, tuple[Tensor, Tensor]] = {}
        for name in PARTS:
            self._place(name, getattr(split, name))
        self._messages = self._inputs["train"]
        units = _units(split.train)
        self._unit_of_positive, self._unit_of_message = (unit.to(self.device) for unit in units)

    def _place(self, name: str, part: LinkPart) -> None:
        if name != "train" and part.messages is self.split.train.messages:
            seen, place = self._inputs["train"], self._places["train"]
        else:
            seen, place = Input(self.x, part.messages, part.message_weight), None
            if part.nodes is not None:
                seen, place = seen.within(part.nodes)
        self._inputs[name] = seen.to(self.device, self.dtype)
        self._places[name] = place
        none = part.positives.new_empty(2, 0)
        negatives = none if part.negatives is None else part.negatives
        self._pairs[name] = self._put(name, part.positives), self._put(name, negatives)

    def _put(self, part: str, pairs: Tensor) -> Tensor:
        """Pairs of nodes in the numbering of a part, on the device."""
        place = self._places[part]
        return (pairs if place is None else place[pairs]).to(self.device)

    def loss(self, epoch: int, generator: torch.Generator) -> Tensor:
        """Cross-entropy of hidden edges and of as many other pairs."""
        config, positives = self.config, self._pairs["train"][0]
        seen = self._messages
        if config.hidden_share:
            units = int(self._unit_of_positive.max()) + 1
            hidden = torch.rand(units, generator=generator) < config.hidden_share
            if not hidden.any():
                hidden[int(torch.randint(units, (), generator=generator))] = True
            hidden = hidden.to(self.device)
            # A message that belongs to no training pair, a self-loop, is never hidden.
            open_ = torch.cat((~hidden, hidden.new_ones(1))).index_select(0, self._unit_of_message)
            shown = open_.nonzero()[:, 0]
            weight = seen.edge_weight
            edges = torch.stack([ends.index_select(0, shown) for ends in seen.edge_index])
            x = self._count_degrees(seen.x, edges) if config.degree_features else seen.x
            seen = Input(x, edges, None if weight is None else weight[shown])
            positives = positives[:, hidden[self._unit_of_positive]]
        z = self._encode(seen)
        count = max(1, round(config.negatives * positives.shape[1]))
        negatives = self._put("train", self.split.sample_negatives(count, generator))
        logits = self.predictor.links(z, torch.cat((positives, negatives), dim=1))
        edge, other = logits[: positives.shape[1]], logits[positives.shape[1] :]
        return functional.softplus(-edge).mean() + functional.softplus(other).mean()

    def _count_degrees(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The features, whose last columns are the degrees, with those of other edges."""
        directed = self.split.non_edges.directed
        return replace_last_columns(x, degree_features(edge_index, len(x), directed=directed))

    @torch.no_grad()
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """Logits of the edges of a part, and of its fixed negatives."""
        seen = self._inputs[part]
        z = self._encode(seen)
        positives, negatives = self._pairs[part]
        logits = self.predictor.links(z, torch.cat((positives, negatives), dim=1))
        return logits[: positives.shape[1]], logits[positives.shape[1] :]

    def score(self, part: str) -> float:
        """The selected score."""
        return finite_score(LINK_SCORES[self.select], *self.outputs(part))

    def metrics(self, part: str) -> dict[str, float]:
        """ROC AUC, average precision, hits@k and MRR."""
        return link_metrics(*self.outputs(part))


@final
class NodeTask(Task):
    """Node classification by cross-entropy, with more to learn from if asked for.

    Link prediction may come before or beside it. With few labels, the predictions of all nodes may
    be asked to agree between two passes with different dropout (``consistency``): both should come
    near to their mean, made surer. What is asked grows over the first epochs.

    Args:
        x: features of all nodes.
        graph: its edges carry the messages; its classes are learnt.
        split: which nodes are for what.
        links: the link prediction task of the same network, for the regulariser and the warm-up.
    """

    def __init__(
        self,
        x: Tensor,
        graph: Graph,
        split: NodeSplit,
        predictor: Predictor,
        config: Config,
        links: LinkTask | None = None,
    ) -> None:
        super().__init__(predictor, config)
        if graph.y is None:
            raise ConfigError("Expected a graph with classes for the task 'node', got one without.")
        self.links = links
        self.warm_up = config.pretrain
        default = "f1" if graph.num_classes == 2 else "accuracy"
        self.select = self._select(NODE_SCORES, default)
        self._parts: dict[str, tuple[Input, Tensor, Tensor]] = {}
        whole = Input(x, graph.edge_index, graph.edge_weight)
        shared = None if split.inductive else whole.to(self.device, self.dtype)
        for name in PARTS:
            nodes = getattr(split, name)
            classes = graph.y[nodes].to(self.device)
            seen = shared
            if seen is None:
                # Messages never cross from graph to graph, so each part sees its own graphs only.
                own, place = whole.within(_graphs_of(nodes, graph))
                seen, nodes = own.to(self.device, self.dtype), place[nodes]
            self._parts[name] = seen, nodes.to(self.device), classes
        self._class_weight = None
        if config.class_weights:
            y = self._parts["train"][2]
            count = torch.bincount(y, minlength=graph.num_classes).clamp_min(1)
            self._class_weight = (len(y) / (graph.num_classes * count)).to(self.dtype)

    def loss(self, epoch: int, generator: torch.Generator) -> Tensor:
        """Cross-entropy of the training nodes, disagreement, and the loss of link prediction."""
        if self.links is not None and epoch <= self.warm_up:
            return self.links.loss(epoch, generator)
        if self.config.consistency:
            loss = self._consistent_loss(epoch)
        else:
            loss = functional.cross_entropy(*self._logits("train"), weight=self._class_weight)
        if self.links is not None and self.config.link_regulariser:
            loss = loss + self.config.link_regulariser * self.links.loss(epoch, generator)
        return loss

    def _consistent_loss(self, epoch: int) -> Tensor:
        """Mean cross-entropy of two passes over all nodes, and how much these disagree."""
        seen, nodes, y = self._parts["train"]
        logits = torch.stack([self.predictor.classes(self._encode(seen)) for _ in range(2)])
        labelled = logits[:, nodes].flatten(0, 1)
        loss = functional.cross_entropy(labelled, y.repeat(2), weight=self._class_weight)
        ramp = min(1.0, (epoch - self.warm_up) / RAMP)
        return loss + ramp * self.config.consistency * disagreement(logits)

    def _logits(self, part: str) -> tuple[Tensor, Tensor]:
        seen, nodes, y = self._parts[part]
        return self.predictor.classes(self._encode(seen)[nodes]), y

    @torch.no_grad()
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """Logits and classes of the nodes of a part."""
        return self._logits(part)

    def score(self, part: str) -> float:
        """The selected score."""
        return finite_score(NODE_SCORES[self.select], *self.outputs(part))

    def metrics(self, part: str) -> dict[str, float]:
        """Accuracy, F1 and macro F1."""
        return node_metrics(*self.outputs(part))


def disagreement(logits: Tensor) -> Tensor:
    """Mean squared distance of predictions from their mean, made surer; logits are [views, n, k].

    The mean is a fixed aim: no gradient flows into it.
    """
    predicted = logits.softmax(-1)
    aim = (predicted.detach().mean(0).log() / TEMPERATURE).softmax(-1)
    return (predicted - aim).square().sum(-1).mean()


def _units(part: LinkPart) -> tuple[Tensor, Tensor]:
    """What is hidden together: for each positive and each message the number of its pair of nodes.

    In a directed graph both ways between two nodes are one unit, for one tells of the other. A
    message between nodes that are no positive has the number of units.
    """
    size = max(_top(part.messages), _top(part.positives)) + 1

    def key(pairs: Tensor) -> Tensor:
        return torch.minimum(*pairs) * size + torch.maximum(*pairs)

    known, of_positive = torch.unique(key(part.positives), return_inverse=True)
    asked = key(part.messages)
    place = torch.searchsorted(known, asked).clamp_(max=max(len(known) - 1, 0))
    return of_positive, torch.where(known[place] == asked, place, len(known))


def _top(pairs: Tensor) -> int:
    return int(pairs.max()) if pairs.numel() else 0


def _graphs_of(nodes: Tensor, graph: Graph) -> Tensor:
    """All nodes of the graphs that some nodes belong to."""
    if graph.graph_ids is None:
        raise ConfigError("Expected `graph_ids` for an inductive split, got none.")
    chosen = torch.zeros(graph.num_graphs, dtype=torch.bool)
    chosen[graph.graph_ids[nodes]] = True
    return chosen[graph.graph_ids].nonzero()[:, 0]
