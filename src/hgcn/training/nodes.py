"""Node classification: which class each node has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast, final

import torch
from torch import Tensor
from torch.nn import functional

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.sent import sent
from hgcn.data.sparse import select_rows
from hgcn.data.splits import NodeSplit, split_links, split_nodes
from hgcn.errors import ConfigError, GraphError
from hgcn.geometry.scalars import wide
from hgcn.inference.calibration import Calibration, fit_temperature
from hgcn.inference.feature_map import FeatureMap
from hgcn.inference.predict import class_blocks, class_probabilities, class_table, known_classes
from hgcn.inference.smoothing import smoothed
from hgcn.inference.trained import Trained
from hgcn.models.predictor import Predictor
from hgcn.names import PARTS
from hgcn.ranks import current
from hgcn.training.batches import Plan, Sampled, batch_seed, sampled, sampler_of, shuffled
from hgcn.training.link_batches import LinkBatch
from hgcn.training.links import LinkTask
from hgcn.training.metrics import NODE_SCORES, Score, confusion, node_metrics
from hgcn.training.node_defaults import node_defaults
from hgcn.training.node_search import NODE_STARTS, node_space
from hgcn.training.task import Input, Task
from hgcn.training.untrained_nodes import label_propagation, logistic_regression, majority

if TYPE_CHECKING:
    import polars as pl

OTHER_SHARE = 0.15
"""Share of the nodes for validation or for test, if only the other share is given."""
TEMPERATURE = 0.5
"""Temperature that sharpens the mean of the predictions: below 1 it is surer than the mean."""
RAMP = 100
"""Epochs until agreement has its full weight: early predictions are only guesses."""


@dataclass(frozen=True, eq=False)
class NodePart:
    """The input of a part or of a mini-batch of it, the nodes to classify, and their classes.

    ``others`` are the nodes whose predictions are to agree; None for all. If these nodes are the
    share of a rank, ``whole`` are the weight of the classes and the number of others of all ranks.
    """

    seen: Input | Sampled
    nodes: Tensor
    classes: Tensor
    others: Tensor | None = None
    whole: tuple[float | Tensor, int] | None = None


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """The data of one step: nodes to classify, links to predict, or both."""

    part: NodePart | None
    agreement: float
    links: LinkBatch | None


@final
class NodeTask(Task):
    """Node classification by cross-entropy, with further losses if the settings ask for them.

    Link prediction may be trained before it or together with it. With few labels, the predictions
    of all nodes may be asked to agree between passes with different dropout (``consistency``,
    ``views``): each should come near to their sharpened mean. The weight of this loss grows over
    the first epochs.
    """

    scores: ClassVar[Mapping[str, Score]] = NODE_SCORES
    batched = True
    colour = "label"
    search_starts = NODE_STARTS

    @classmethod
    def check(cls, graph: Graph) -> None:
        """Refuse a graph without classes."""
        _classes_of(graph)

    @classmethod
    def default_score(cls, graph: Graph) -> str:
        """F1 if there are two classes, else the accuracy."""
        return "f1" if graph.num_classes == 2 else "accuracy"

    @classmethod
    def defaults(cls, graph: Graph, config: Config) -> Mapping[str, Any]:
        """Where labels are few and features are words, agreement and what goes with it.

        They belong together: where ``consistency`` is given, as presets do, there are none.
        """
        if config.consistency is not None:
            return {}
        return node_defaults(graph, config, lambda: len(cls.split(graph, config).train))

    @classmethod
    def split(cls, graph: Graph, config: Config) -> NodeSplit:
        """Labelled nodes for training, validation and test."""
        ratios = None
        if config.val_share is not None or config.test_share is not None:
            val, test = config.val_share or OTHER_SHARE, config.test_share or OTHER_SHARE
            ratios = (1 - val - test, val, test)
        return split_nodes(
            graph, ratios=ratios, seed=config.seed_of_split, protocol=config.protocol
        )

    @classmethod
    def without_test(cls, split: NodeSplit) -> NodeSplit:
        """The same split with no nodes in its test part."""
        return replace(split, test=split.test[:0])

    @classmethod
    def fitting_nodes(cls, graph: Graph, split: NodeSplit) -> Tensor:
        """The training nodes."""
        return split.train

    @classmethod
    def num_classes(cls, graph: Graph) -> int:
        """The number of classes of the graph."""
        return graph.num_classes

    @classmethod
    def with_split(cls, graph: Graph, config: Config) -> Graph:
        """The graph with the nodes of each part."""
        return _with_parts(graph, cls.split(graph, config))

    @classmethod
    def search_space(cls, graph: Graph, config: Config) -> dict[str, Any]:
        """Link prediction beside, weights of classes, smoothing; more if labels are few."""
        return node_space(graph, config, len(cls.split(graph, config).train))

    def __init__(
        self,
        graph: Graph,
        split: NodeSplit,
        features: FeatureMap,
        predictor: Predictor,
        config: Config,
    ) -> None:
        super().__init__(graph, split, features, predictor, config)
        self.warm_up = config.pretrain
        self.links: LinkTask | None = None
        if config.pretrain or config.link_regulariser:
            # Links are learnt on the graphs that classes are learnt on.
            own = _with_parts(graph, split) if split.inductive else graph
            link_split = split_links(own, seed=config.seed_of_split)
            settings = config.replace(select=None)
            self.links = LinkTask(own, link_split, features, predictor, settings)
        whole = Input(features(graph), graph.edge_index, graph.edge_weight)
        shared = None if split.inductive else whole.to(self.home, self.dtype)
        self._parts = {name: self._part(getattr(split, name), whole, shared) for name in PARTS}
        self._class_weight = None
        if config.class_weights:
            y = self._parts["train"].classes
            count = torch.bincount(y, minlength=graph.num_classes).clamp_min(1)
            self._class_weight = (len(y) / (graph.num_classes * count)).to(self.dtype)

    def _part(self, nodes: Tensor, whole: Input, shared: Input | None) -> NodePart:
        classes = _classes_of(self.graph)[nodes].to(self.device)
        if shared is not None:
            return NodePart(shared, nodes.to(self.home), classes)
        # Messages never cross from graph to graph, so each part sees its own graphs only.
        own, number = whole.within(_graphs_of(nodes, self.graph))
        return NodePart(own.to(self.home, self.dtype), number[nodes].to(self.home), classes)

    def batches(self, epoch: int, generator: torch.Generator) -> Iterator[NodeBatch]:
        """The training nodes, and links where they are learnt too."""
        config = self.config
        warm = epoch <= self.warm_up
        both = self.links is not None and (warm or bool(config.link_regulariser))
        agreement = min(1.0, (epoch - self.warm_up) / RAMP) * (config.consistency or 0.0)
        if config.batch_size:
            yield from self.plan(epoch, generator, warm, both, agreement).batches(config)
            return
        links = next(self.links.batches(epoch, generator)) if self.links and both else None
        yield NodeBatch(None if warm else self._parts["train"], agreement, links)

    def plan(
        self, epoch: int, generator: torch.Generator, warm: bool, both: bool, agreement: float
    ) -> Plan[NodeBatch]:
        """The mini-batches of an epoch, which goes once over all that it learns from.

        That is the training nodes, all nodes if they are to agree, and links. Each is divided into
        batches; what has fewer of them begins again. Of each batch a rank has its share.

        Args:
            epoch: its number.
            generator: for the order of the nodes.
            warm: whether links alone are learnt.
            both: whether links are learnt, beside classes or alone.
            agreement: the weight of agreement.
        """
        config, part = self.config, self._parts["train"]
        links = self.links.plan(epoch, generator) if self.links and both else None
        if warm and links is not None:
            return Plan(links.count, lambda number: NodeBatch(None, 0.0, links.make(number)))
        seen = cast(Input, part.seen)
        labelled = shuffled(len(part.nodes), config, generator)
        others = shuffled(len(seen.x) if config.consistency else 0, config, generator)
        sampler = sampler_of(config, self.predictor.encoder, seen.rows)

        ranks = current()

        def make(number: int) -> NodeBatch:
            batch, beside = labelled[number % len(labelled)], others[number % len(others)]
            classes = part.classes[sent(batch, part.classes.device)]
            whole = self._weight(classes), len(beside)
            share, others_share = (slice(*ranks.share(0, len(one))) for one in (batch, beside))
            chosen, agreeing = batch[share], beside[others_share]
            asked = torch.cat((part.nodes[chosen], agreeing))
            nodes, local = torch.unique(asked, return_inverse=True)
            sample = sampler.sample(nodes, seed=batch_seed(config, epoch, number))
            own = NodePart(
                sampled(sample, seen.x, self.device, self.dtype),
                sent(local[: len(chosen)], self.device),
                classes[share],
                sent(local[len(chosen) :], self.device),
                whole,
            )
            pairs = None if links is None else links.make(number % links.count)
            return NodeBatch(own, agreement, pairs)

        count = max(len(labelled), len(others), 0 if links is None else links.count)
        return Plan(count, make)

    def loss(self, batch: NodeBatch) -> Tensor:
        """Cross-entropy of the training nodes, disagreement, and the loss of link prediction."""
        loss = None if batch.part is None else self._class_loss(batch.part, batch.agreement)
        if batch.links is None or self.links is None:
            return torch.zeros(()) if loss is None else loss
        self.links.network = self.network
        links = self.links.loss(batch.links)
        return links if loss is None else loss + self.config.link_regulariser * links

    def _weight(self, classes: Tensor) -> float | Tensor:
        """The sum of the weights that nodes of some classes have in the mean cross-entropy."""
        weight = self._class_weight
        if weight is None:
            return len(classes)
        total = wide(weight[classes]).sum()
        return float(total) if total.is_cpu else total.to(weight.dtype)  # no GPU is waited for

    def _class_loss(self, part: NodePart, agreement: float) -> Tensor:
        weight, asked = part.whole or (self._weight(part.classes), len(part.seen.x))
        if not len(part.seen.x):
            return torch.zeros(())
        if not self.config.consistency:
            return self._entropy(self._logits(part, part.nodes), part.classes) / weight
        # Mean cross-entropy of some passes over all nodes, and how much these disagree.
        views = self.config.views
        logits = torch.stack([self._logits(part, None) for _ in range(views)])
        labelled = logits[:, part.nodes].flatten(0, 1)
        loss = self._entropy(labelled, part.classes.repeat(views)) / (views * weight)
        if part.others is not None:
            logits = logits[:, part.others]
        return loss + agreement * disagreement(logits, asked)

    def _entropy(self, logits: Tensor, classes: Tensor) -> Tensor:
        weight = self._class_weight
        return functional.cross_entropy(logits, classes, weight=weight, reduction="sum")

    def _logits(self, part: NodePart, nodes: Tensor | None) -> Tensor:
        return self.network(*part.seen.arguments, nodes=nodes)

    @torch.no_grad()
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """Logits, smoothed if the settings say so, and classes of the nodes of a part."""
        chosen = self._parts[part]
        seen, nodes = cast(Input, chosen.seen), chosen.nodes.to(self.device)
        z = self._embed(seen)
        if not self.config.smooth:
            return self.predictor.classes(z[nodes]), chosen.classes
        train = self._parts["train"]
        known = (train.nodes, train.classes.to(self.home)) if train.seen is seen else None
        given = self.predictor.classes(z).to(self.home), seen.edge_index, seen.edge_weight, known
        return smoothed(*given, share=self.config.smooth).to(self.device)[nodes], chosen.classes

    def part_loss(self, first: Tensor, second: Tensor) -> float | None:
        """The mean cross-entropy."""
        return float(functional.cross_entropy(first, second)) if len(second) else None

    @classmethod
    def constants(cls, first: Tensor, second: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Each class for all nodes."""
        for k in range(first.shape[1]):
            constant = torch.zeros_like(first)
            constant[:, k] = 1
            yield constant, second

    def metrics(self, part: str) -> dict[str, float]:
        """Accuracy, F1 and macro F1."""
        return node_metrics(*self.outputs(part))

    def report(self, parts: Sequence[str]) -> dict[str, Any]:
        """Scores without a network, the table of confusions, and the calibration."""
        fitted = fit_temperature(*self.outputs("val"))
        losses = {}
        for part in parts:
            logits, y = self.outputs(part)
            losses[part] = {
                when: float(functional.cross_entropy(how.scale * wide(logits), y))
                for when, how in (("before", Calibration()), ("after", fitted))
            }
        return {
            "untrained": {part: self._untrained(part) for part in parts},
            "calibration": {"scale": fitted.scale, "shift": 0.0, "log_loss": losses},
            "confusion": {part: confusion(*self.outputs(part)) for part in parts},
        }

    def _untrained(self, part: str) -> dict[str, dict[str, float]]:
        train, chosen = self._parts["train"], self._parts[part]
        known, seen = cast(Input, train.seen), cast(Input, chosen.seen)
        y, asked, k = train.classes.to(self.home), chosen.nodes, self.graph.num_classes
        scores = {"majority_class": majority(y, k).expand(len(asked), k)}
        if self.graph.x is not None:
            rows = select_rows(known.x, train.nodes), y, select_rows(seen.x, asked)
            scores["logistic_regression"] = logistic_regression(*rows, k)
        if known is seen:  # labels do not spread from graph to graph
            given = seen.edge_index, seen.edge_weight, len(seen.x), k
            spread = label_propagation(train.nodes, y, *given)
            if spread is not None:
                scores["label_propagation"] = spread[asked]
        return {
            name: node_metrics(score, chosen.classes.to(self.home))
            for name, score in scores.items()
        }

    @classmethod
    def evaluate(cls, trained: Trained, graph: Graph) -> dict[str, float]:
        """Scores on all labelled nodes."""
        y = known_classes(trained, graph)
        labelled = (y >= 0).nonzero()[:, 0]
        if not len(labelled):
            raise GraphError("Expected at least one labelled node to evaluate on, got none.")
        return node_metrics(class_probabilities(trained, graph)[labelled], y[labelled])

    @classmethod
    def predict(cls, trained: Trained, graph: Graph) -> pl.DataFrame:
        """A table: the most probable class of each node, and the probabilities of all classes."""
        return class_table(trained, graph)

    @classmethod
    def prediction_blocks(cls, trained: Trained, graph: Graph) -> Iterator[pl.DataFrame]:
        """The table of predictions, some rows at a time."""
        return class_blocks(trained, graph)


def disagreement(logits: Tensor, n: int | None = None) -> Tensor:
    """Mean squared distance of predictions from their sharpened mean, given logits [views, n, k].

    The mean is a fixed target: no gradient flows into it. If these are some of n nodes, it is their
    part of the mean.
    """
    predicted = logits.softmax(-1)
    aim = (predicted.detach().mean(0).log() / TEMPERATURE).softmax(-1)
    return (predicted - aim).square().sum() / (len(logits) * (n or logits.shape[1]))


def _classes_of(graph: Graph) -> Tensor:
    if graph.y is None:
        raise ConfigError(
            "Expected labels for the task 'node', got a graph without. Give them with `labels`, or "
            "choose the task 'link'."
        )
    return graph.y


def _with_parts(graph: Graph, split: NodeSplit) -> Graph:
    return graph.replace(split={name: getattr(split, name) for name in PARTS})


def _graphs_of(nodes: Tensor, graph: Graph) -> Tensor:
    """All nodes of the graphs that some nodes belong to."""
    if graph.graph_ids is None:
        raise ConfigError("Expected `graph_ids` for an inductive split, got none.")
    chosen = torch.zeros(graph.num_graphs, dtype=torch.bool)
    chosen[graph.graph_ids[nodes]] = True
    return chosen[graph.graph_ids].nonzero()[:, 0]
