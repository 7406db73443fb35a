"""From a graph and settings to a task that can be trained: features, split, network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.pyg import asked_pairs, is_pyg
from hgcn.errors import ConfigError, GraphError
from hgcn.inference.feature_map import FeatureMap
from hgcn.models.predictor import Predictor, model_settings
from hgcn.names import TASKS
from hgcn.text import one_of
from hgcn.training.task import Task


def task_of(config: Config) -> type[Task]:
    """The class of the task that settled settings name."""
    kind: type[Task] = TASKS.find(config.task or "")
    return kind


def build_network(
    config: Config, *, in_channels: int, num_nodes: int, num_classes: int
) -> Predictor:
    """The network that settled settings ask for, with all heads of the task, on its device."""
    kind = task_of(config)
    predictor = Predictor(
        config,
        in_channels=in_channels,
        num_nodes=num_nodes,
        num_classes=num_classes,
        make_heads=lambda encoder: kind.heads(encoder, config),
    )
    return predictor.to(config.device)


READING = (
    "features", "labels", "feature_columns", "drop", "text", "date_parts", "directed", "split",
)  # fmt: skip
"""The settings that say how a graph is read; each is a keyword of :func:`hgcn.data.read`."""


def reading_options(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings that a file can hold, and options of reading that it cannot: arrays, DataFrames.

    Lists of columns become text with commas, as the settings have it.
    """
    given, in_memory = dict(settings), {}
    for name in READING:
        value = given.get(name)
        if isinstance(value, Path):
            given[name] = str(value)
        elif isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            if any("," in item for item in value):
                raise ConfigError(f"Expected names of columns without commas, got {value!r}.")
            # A list of features names columns of the nodes; as a setting it has a name of its own.
            given["feature_columns" if name == "features" else name] = ",".join(value)
            if name == "features":
                del given[name]
        elif not isinstance(value, str | bool | int | float | None):
            in_memory[name] = given.pop(name)
    return given, in_memory


def load_graph(config: Config, data: Any = None, **options: Any) -> Graph:
    """The graph that the settings name, or one that is given, read as the settings say.

    Args:
        config: the settings.
        data: anything that :func:`hgcn.load` takes, in place of the source of the settings.
        options: keywords of :func:`hgcn.data.read` in place of settings.
    """
    from hgcn.data import load

    if data is None:
        data = config.source
    if data is None:
        raise ConfigError("Expected a `source`: the name of a data set, a file or a folder.")
    if is_pyg(data) and asked_pairs(data) is not None:
        raise GraphError(
            "Expected all three parts of RandomLinkSplit, fit((train, val, test)), got one of "
            "them: it has `edge_label_index`."
        )
    asked = {name: getattr(config, name) for name in READING}
    asked = {name: value for name, value in asked.items() if value not in (None, False)}
    if config.directed is not None:
        asked["directed"] = config.directed
    return load(data, **{**asked, **options})


def has_device(name: str) -> bool:
    """Whether torch can compute on a device of this name."""
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError):
        return False
    return True


def choose(graph: Graph, config: Config) -> Config:
    """The settings with those filled in that were left open, by what the graph has."""
    if not has_device(config.device):
        raise ConfigError(
            f"Expected `device` to be one that torch has here, like 'cpu', got {config.device!r}."
        )
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
    if config.structure is None:
        config = config.replace(structure=kind.structured)
    normalise = config.normalise
    if normalise is None:
        normalise = _usual(graph)
    degrees = graph.x is None if config.degree_features is None else config.degree_features
    if graph.x is None and not degrees:
        raise ConfigError("Expected features, but the graph has none and `degree_features` is off.")
    return model_settings(config.replace(normalise=normalise, degree_features=degrees))


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
            )

    def task(self, predictor: Predictor) -> Task:
        """The task of a network on this problem."""
        if getattr(self.split, "inductive", False) and not predictor.encoder.inductive:
            raise ConfigError(
                f"Expected a model that can embed unseen graphs, got {self.config.model!r}, which "
                "learns a vector for each node that it has seen."
            )
        return self.kind(self.graph, self.split, self.features, predictor, self.config)
