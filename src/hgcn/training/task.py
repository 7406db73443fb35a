"""The contract of a task: one class that has all that a kind of prediction needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.sparse import select_rows
from hgcn.errors import ConfigError
from hgcn.inference.feature_map import FeatureMap
from hgcn.inference.layerwise import each_layer
from hgcn.inference.trained import Trained
from hgcn.models.base import Encoder
from hgcn.models.predictor import Predictor
from hgcn.ranks import current
from hgcn.sampling import Adjacency
from hgcn.text import one_of
from hgcn.training.metrics import Score, finite_score

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Input:
    """The input of an encoder: features, edges and their weights."""

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None = None

    @property
    def arguments(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """What :class:`~hgcn.models.predictor.Predictor` is called with."""
        return self.x, self.edge_index, self.edge_weight

    @cached_property
    def rows(self) -> Adjacency:
        """The edges as rows to draw neighbours from."""
        return Adjacency.of(self.edge_index, self.edge_weight, len(self.x))

    def to(self, device: torch.device, dtype: torch.dtype) -> Input:
        """The same on a device; features and weights as ``dtype``."""
        weight = self.edge_weight
        return Input(
            self.x.to(device=device, dtype=dtype),
            self.edge_index.to(device).contiguous(),
            None if weight is None else weight.to(device=device, dtype=dtype),
        )

    def within(self, nodes: Tensor) -> tuple[Input, Tensor]:
        """The input of some whole graphs alone, and the new number of each node, -1 for others.

        Args:
            nodes: the nodes of these graphs, sorted.
        """
        number = torch.full((len(self.x),), -1)
        number[nodes] = torch.arange(len(nodes))
        edges = number[self.edge_index[0]] >= 0
        weight = self.edge_weight
        own = Input(
            select_rows(self.x, nodes),
            number[self.edge_index[:, edges]],
            None if weight is None else weight[edges],
        )
        return own, number


class Task(ABC):
    """A kind of prediction; an instance is a network in training for it, with its data.

    A task of one's own is a subclass, registered by name: ``hgcn.names.TASKS.register``.

    Attributes:
        scores: functions of two tensors of :meth:`outputs`; each can pick the best epoch.
        colour: the column by which pictures of embeddings are coloured.
        structured: whether it predicts links, which may have a structural term.
        batched: whether it can be trained in mini-batches.
        home: the device of the graph: in mini-batches, only these are on the device of the network.
        network: what :meth:`loss` calls: the predictor, or a wrapper of it.
        warm_up: epochs at the start that train for something else and are not validated.
        select: the name of the score that picks the best epoch.

    Args:
        graph: the graph to train on.
        split: its split, as :meth:`split` makes it.
        features: the map from features to input of the network.
        predictor: the network.
        config: settled settings.
    """

    scores: ClassVar[Mapping[str, Score]]
    colour: ClassVar[str]
    structured: ClassVar[bool] = False
    batched: ClassVar[bool] = False
    warm_up: int = 0

    def __init__(
        self, graph: Graph, split: Any, features: FeatureMap, predictor: Predictor, config: Config
    ) -> None:
        self.graph = graph
        self.predictor = predictor
        self.network: Callable[..., Tensor] = predictor
        self.config = config
        self.device = predictor.device
        self.home = torch.device("cpu") if config.batch_size else self.device
        self.dtype: torch.dtype = getattr(torch, config.dtype)
        self.select: str = config.select or self.default_score(graph)
        if self.select not in self.scores:
            raise ConfigError(one_of("select", self.select, self.scores))
        self._kept: tuple[Input, Any, Tensor] | None = None

    # ------------------------------------------------------------------ the task itself

    @classmethod
    @abstractmethod
    def check(cls, graph: Graph) -> None:
        """Refuse a graph that lacks what the task needs."""

    @classmethod
    @abstractmethod
    def default_score(cls, graph: Graph) -> str:
        """The score that picks the best epoch, unless another one is asked for."""

    @classmethod
    def usual_model(cls, graph: Graph, config: Config) -> str:
        """The model to train where none was asked for."""
        return config.model

    @classmethod
    def defaults(cls, graph: Graph, config: Config) -> Mapping[str, Any]:
        """Values of settings that were left open, by what the graph has; by default none."""
        return {}

    @classmethod
    @abstractmethod
    def split(cls, graph: Graph, config: Config) -> Any:
        """Training, validation and test parts, as the settings ask for them."""

    @classmethod
    @abstractmethod
    def without_test(cls, split: Any) -> Any:
        """The same split with nothing in its test part: a search must not be able to look at it."""

    @classmethod
    @abstractmethod
    def fitting_nodes(cls, graph: Graph, split: Any) -> Tensor:
        """The nodes whose features training may see; the feature map is fitted on them."""

    @classmethod
    def num_classes(cls, graph: Graph) -> int:
        """Number of classes of the network's head; 0 for a task without classes."""
        return 0

    @classmethod
    def heads(cls, encoder: Encoder, config: Config) -> Mapping[str, nn.Module]:
        """Modules by name that read embeddings, beside the link decoder and the classifier.

        :meth:`loss` calls one of them by ``self.network(..., head=name)``.
        """
        return {}

    @classmethod
    def with_split(cls, graph: Graph, config: Config) -> Graph:
        """The graph with the nodes of each part, for pictures; as it is where edges are split."""
        return graph

    # ------------------------------------------------------------------ what a search varies

    @classmethod
    @abstractmethod
    def search_space(cls, graph: Graph, config: Config) -> dict[str, Any]:
        """Settings of this task that a search varies: ranges and lists of values."""

    search_starts: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Settings of first trials, of this task or not, that suit few data with many features."""

    # ------------------------------------------------------------------ a network in training

    @abstractmethod
    def batches(self, epoch: int, generator: torch.Generator) -> Iterator[Any]:
        """The batches of an epoch: the data of one step each; a full batch is the only one.

        :mod:`hgcn.training.batches` says how an epoch is divided into mini-batches.
        Randomness other than dropout comes from the generator.
        """

    def make_optimizer(self, lr: float, weight_decay: float) -> torch.optim.Optimizer:
        """What trains the network: the optimiser of its encoder, by default for all of it."""
        others = [part for name, part in self.predictor.named_children() if name != "encoder"]
        return self.predictor.encoder.make_optimizer(lr, weight_decay, also=others)

    def lr_factor(self, epoch: int) -> float:
        """What the learning rate is multiplied by in an epoch; by default 1."""
        return 1.0

    @abstractmethod
    def loss(self, batch: Any) -> Tensor:
        """The loss of one step; of a share of a batch its part of the sum, see there."""

    @abstractmethod
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """Two tensors that the scores of a part are made of."""

    @abstractmethod
    def metrics(self, part: str) -> dict[str, float]:
        """All scores of a part."""

    def report(self, parts: Sequence[str]) -> dict[str, Any]:
        """What else there is to say of the trained network, for metrics.json; by default nothing.

        Args:
            parts: the parts that are evaluated.
        """
        return {}

    def _embed(self, seen: Input) -> Tensor:
        """Embeddings for evaluation; the last ones are kept as long as the weights stay."""
        stamp = self.predictor.stamp()
        if self._kept is None or self._kept[0] is not seen or self._kept[1] != stamp:
            if self.config.batch_size:
                given = seen.x, seen.rows, self.device, self.dtype, current()
                (last,) = deque(each_layer(self.predictor.encoder, *given), maxlen=1)
                z = last.to(self.device)
            else:
                z = self.predictor.encode(*seen.arguments)
            self._kept = seen, stamp, z
        return self._kept[2]

    def guess(self, part: str) -> float:
        """The selected score of the best prediction that says the same of everything."""
        score, outputs = self.scores[self.select], self.outputs(part)
        return max(finite_score(score, *same) for same in self.constants(*outputs))

    @classmethod
    @abstractmethod
    def constants(cls, first: Tensor, second: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Outputs of predictions that say the same of everything, from those of a network."""

    def score(self, part: str) -> float:
        """The score that picks the best epoch; higher is better."""
        return finite_score(self.scores[self.select], *self.outputs(part))

    def part_loss(self, first: Tensor, second: Tensor) -> float | None:
        """The loss of a part, given its outputs; None in a task that has only that of training."""
        return None

    def validate(self) -> tuple[float, float | None]:
        """The score of the validation part that picks the best epoch, and its loss."""
        return self.score("val"), self.part_loss(*self.outputs("val"))  # embeddings are kept

    # ------------------------------------------------------------------ a trained network

    @classmethod
    @abstractmethod
    def evaluate(cls, trained: Trained, graph: Graph) -> dict[str, float]:
        """Scores of a trained network on a graph, all of which counts as test part."""

    @classmethod
    @abstractmethod
    def predict(cls, trained: Trained, graph: Graph) -> pl.DataFrame:
        """A table of predictions with a row for each node; an error if the task has none."""

    @classmethod
    def prediction_blocks(cls, trained: Trained, graph: Graph) -> Iterator[pl.DataFrame]:
        """The table of predictions, some rows at a time."""
        yield cls.predict(trained, graph)
