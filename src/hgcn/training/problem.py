"""From a graph and settings to a task that can be trained: features, split, network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError
from hgcn.inference.feature_map import FeatureMap
from hgcn.models.predictor import MODEL_OPTIONS, Predictor, model_settings
from hgcn.models.table import options_of
from hgcn.names import MODELS, TASKS
from hgcn.ranks import own_device
from hgcn.text import one_of
from hgcn.training.batches import USUAL_LR, settle_batches
from hgcn.training.interruption import held_signals
from hgcn.training.memory import check_memory, enough_memory
from hgcn.training.task import Task

MOST = {"layers": 1000, "heads": 1000}
"""More would take minutes to build and never be trained."""
COPIES = 6
"""Training holds weights, gradients, two moments of Adam, the average and the best weights."""


def task_of(config: Config) -> type[Task]:
    """The class of the task that settled settings name."""
    kind: type[Task] = TASKS.find(config.task or "")
    return kind


def build_network(
    config: Config, *, in_channels: int, num_nodes: int, num_classes: int, copies: int = 1
) -> Predictor:
    """The network that settled settings ask for, with all heads of the task, on its device.

    Args:
        config: settings.
        in_channels: size of each node's features.
        num_nodes: number of nodes of the graph.
        num_classes: number of classes.
        copies: how many times the weights will be held in memory.
    """
    kind = task_of(config)

    def make() -> Predictor:
        return Predictor(
            config,
            in_channels=in_channels,
            num_nodes=num_nodes,
            num_classes=num_classes,
            make_heads=lambda encoder: kind.heads(encoder, config),
        )

    for name, most in MOST.items():
        value = getattr(config, name)
        if value is not None and value > most:
            raise ConfigError(f"Expected `{name}` to be at most {most:,}, got {value}.")
    size = 8 if config.dtype == "float64" else 4
    # Whatever the model, there is a vector for each node and a weight for each feature.
    check_memory(size * config.dim * (num_nodes + in_channels), "embeddings", config)
    # Torch may lose an exception between the two, and stay with shapes alone.
    with held_signals(), enough_memory(config):
        check_memory(copies * size * _count_weights(make), "the weights of the network", config)
        return make().to(own_device(config.device))


def _count_weights(make: Callable[[], Predictor]) -> int:
    """The number of weights of a network, by its shapes alone, which take no memory."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            return sum(weight.numel() for weight in make().parameters())
    except (NotImplementedError, RuntimeError):
        return 0  # a model of somebody else, which reads its numbers when it is made


def has_device(name: str) -> bool:
    """Whether torch can compute on a device of this name."""
    try:
        device = torch.device(name)
        if device.type == "cpu":
            return not device.index  # torch takes any number, but there is one processor
        return bool(torch.ones(1, device=device).sum().item() == 1)
    # Torch has its own error for each device that it lacks.
    except (AssertionError, AttributeError, ImportError, RuntimeError):
        return False


def check_device(config: Config) -> None:
    """Refuse a device on which torch cannot compute here."""
    if not has_device(config.device):
        raise ConfigError(
            f"Expected `device` to be one that torch has here, like 'cpu', got {config.device!r}."
            f"{_why_not(config.device)}"
        )


def _why_not(name: str) -> str:
    """What a device of CUDA lacks."""
    if not name.startswith("cuda"):
        return ""
    if torch.version.cuda is None and torch.version.hip is None:
        return f" Torch {torch.__version__} is built without CUDA: install a build that has it."
    if not torch.cuda.is_available():
        return " Torch finds no GPU, or no driver for it."
    return f" Number of GPUs, counted from cuda:0: {torch.cuda.device_count()}."


def with_usual_model(graph: Graph, config: Config, given: Mapping[str, Any]) -> Config:
    """The settings with the model that the task usually has, unless one was given."""
    if config.task is None or given.get("model") is not None:
        return config
    return config.replace(model=task_of(config).usual_model(graph, config))


def choose(graph: Graph, config: Config) -> Config:
    """The settings with those filled in that were left open, by what the graph has."""
    check_device(config)
    if MODELS[config.model].package:
        MODELS[config.model].imported()  # now, and not after kernels were compiled
    config = config.replace(
        task=config.task or ("node" if graph.y is not None and graph.links is None else "link"),
        split_seed=config.seed_of_split,
    )
    kind = task_of(config)
    kind.check(graph)
    if config.select not in (None, *kind.scores):
        raise ConfigError(one_of("select", config.select, kind.scores))
    if config.structure and not kind.structured:
        raise ConfigError(f"Expected `structure` with links only, got the task {config.task!r}.")
    if config.smooth and config.protocol == "legacy":
        raise ConfigError(
            "Expected no `smooth` with the protocol 'legacy', got "
            f"{config.smooth}: there, training nodes are tested too, and their classes are known."
        )
    if config.structure is None:
        config = config.replace(structure=kind.structured)
    is_lr_open = config.lr is None
    config = _fill(config, {**USUAL, **kind.defaults(graph, config)})
    normalise = config.normalise
    if normalise is None:
        normalise = _usual(graph)
    degrees = graph.x is None if config.degree_features is None else config.degree_features
    if graph.x is None and not degrees:
        raise ConfigError("Expected features, but the graph has none and `degree_features` is off.")
    config = model_settings(config.replace(normalise=normalise, degree_features=degrees))
    config = settle_batches(graph, config, batched=kind.batched)
    if is_lr_open and config.batch_size and config.lr is not None:
        config = config.replace(lr=min(config.lr, USUAL_LR))
    return config


PATIENCE = 100
USUAL = {
    "lr": USUAL_LR, "hidden_share": 0.3, "trainable_decoder": False, "feature_dropout": 0.0,
    "patience": PATIENCE, "negatives": 1.0, "weight_decay": 0.0, "class_weights": False,
    "consistency": 0.0, "ties_by_loss": False,
}  # fmt: skip
"""Settings that are left open, where a task has no others for them."""


def _fill(config: Config, values: Mapping[str, Any]) -> Config:
    """The settings with those filled in that were left open and that the model has."""
    absent = set(MODEL_OPTIONS) - set(options_of(config.model))
    chosen = {
        name: value
        for name, value in values.items()
        if name not in absent and getattr(config, name) is None
    }
    return config.replace(**chosen)


def _usual(graph: Graph) -> str:
    """Words counted in a row are divided by their number; measured columns are standardised."""
    if graph.x is None:
        return "none"
    words = graph.x.layout == torch.sparse_csr and graph.table is None
    return "row" if words else "standard"


@dataclass(frozen=True)
class Problem:
    """A graph with settled settings and a split: the subject of a run.

    Attributes:
        given: a split to use in place of the one that the settings ask for.
    """

    graph: Graph
    config: Config
    given: Any = None

    @property
    def kind(self) -> type[Task]:
        """The class of the task."""
        return task_of(self.config)

    @cached_property
    def split(self) -> Any:
        """The split that is given, or that the settings ask for; the same for the same seed."""
        if self.given is not None:
            return self.given
        return self.kind.split(self.graph, self.config)

    @cached_property
    def features(self) -> FeatureMap:
        """The feature map, fitted on what training may see."""
        config = self.config
        nodes = self.kind.fitting_nodes(self.graph, self.split)
        normalise, degrees = config.normalise or "none", bool(config.degree_features)
        return FeatureMap.fit(self.graph, nodes, normalise, degrees)

    def predictor(self) -> Predictor:
        """A new network, its weights drawn with the seed."""
        config = self.config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            return build_network(
                config,
                in_channels=self.features.num_features,
                num_nodes=self.graph.num_nodes,
                num_classes=self.kind.num_classes(self.graph),
                copies=COPIES,
            )

    def task(self, predictor: Predictor) -> Task:
        """The task of a network on this problem."""
        if getattr(self.split, "inductive", False) and not predictor.encoder.inductive:
            raise ConfigError(
                f"Expected a model that can embed unseen graphs, got {self.config.model!r}, which "
                "learns a vector for each node that it has seen."
            )
        with enough_memory(self.config):
            return self.kind(self.graph, self.split, self.features, predictor, self.config)
