"""From a graph and settings to a task that can be trained: features, split, network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hgcn.config import Config, check_names, read_toml
from hgcn.data.graph import SPLIT_PARTS, Graph
from hgcn.data.splits.draw import LinkSplit, NodeSplit, split_links, split_nodes
from hgcn.errors import ConfigError
from hgcn.models.predictor import Predictor, model_settings
from hgcn.training.feature_map import FeatureMap
from hgcn.training.tasks import LinkTask, NodeTask, Task


def has_device(name: str) -> bool:
    """Whether torch can compute there."""
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError):
        return False
    return True


def choose(graph: Graph, config: Config) -> Config:
    """Fill in what the settings leave open, by what the graph has."""
    if not has_device(config.device):
        raise ConfigError(
            f"Expected `device` to be one that torch has here, like 'cpu', got {config.device!r}."
        )
    task = config.task or ("link" if graph.y is None else "node")
    if task == "node" and graph.y is None:
        raise ConfigError(
            "Expected labels for the task 'node', got a graph without. Give them with `labels`, or "
            "choose the task 'link'."
        )
    normalise = config.normalise
    if normalise is None:
        normalise = "none" if graph.x is None else _usual(graph.x)
    degrees = graph.x is None if config.degree_features is None else config.degree_features
    if graph.x is None and not degrees:
        raise ConfigError("Expected features, but the graph has none and `degree_features` is off.")
    split_seed = config.seed if config.split_seed is None else config.split_seed
    return model_settings(
        config.replace(
            task=task, normalise=normalise, degree_features=degrees, split_seed=split_seed
        )
    )


def _usual(x: Tensor) -> str:
    """Words counted in a row are divided by their number; measured columns are standardised."""
    return "row" if x.layout == torch.sparse_csr else "standard"


@dataclass(frozen=True)
class Problem:
    """A graph with settled settings: what a run trains and evaluates.

    Attributes:
        given: a split to use in place of the one that the settings ask for.
    """

    graph: Graph
    config: Config
    given: LinkSplit | NodeSplit | None = None

    @cached_property
    def split(self) -> LinkSplit | NodeSplit:
        """The split that is given, or that the settings ask for; the same for the same seed."""
        if self.given is not None:
            return self.given
        config = self.config
        shares = (config.val_share, config.test_share)
        seed = config.split_seed or 0
        if config.task == "link":
            val = 0.05 if shares[0] is None else shares[0]
            test = 0.10 if shares[1] is None else shares[1]
            return split_links(self.graph, val=val, test=test, seed=seed, protocol=config.protocol)
        ratios = None
        if shares != (None, None):
            val, test = shares[0] or 0.15, shares[1] or 0.15
            ratios = (1 - val - test, val, test)
        return split_nodes(self.graph, ratios=ratios, seed=seed, protocol=config.protocol)

    @cached_property
    def features(self) -> FeatureMap:
        """The feature map, fitted on what training may see."""
        config, split = self.config, self.split
        nodes = split.train if isinstance(split, NodeSplit) else self._training_nodes(split)
        normalise, degrees = config.normalise or "none", bool(config.degree_features)
        return FeatureMap.fit(self.graph, nodes, normalise, degrees)

    def _training_nodes(self, split: LinkSplit) -> Tensor:
        """All nodes, but of many graphs only those of the training graphs."""
        if not split.inductive or self.graph.graph_ids is None:
            return torch.arange(self.graph.num_nodes)
        seen = torch.unique(self.graph.graph_ids[split.train.positives[0]])
        return torch.isin(self.graph.graph_ids, seen).nonzero()[:, 0]

    def predictor(self) -> Predictor:
        """A new network, its weights drawn with the seed."""
        config = self.config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            predictor = Predictor(
                config,
                in_channels=self.features.num_features,
                num_nodes=self.graph.num_nodes,
                num_classes=self.graph.num_classes if config.task == "node" else 0,
            )
        if config.dtype == "float64":
            predictor = predictor.double()
        return predictor.to(config.device)

    def task(self, predictor: Predictor) -> Task:
        """The task of a network on this problem."""
        config, split = self.config, self.split
        self._check_inductive(split, predictor)
        if isinstance(split, LinkSplit):
            return LinkTask(self._link_input(split), split, predictor, config)
        links = None
        if config.pretrain or config.link_regulariser:
            # Links are learnt on the graphs that classes are learnt on.
            graph = self.graph.replace(split=_parts(split)) if split.inductive else self.graph
            link_split = split_links(graph, seed=config.split_seed or 0)
            links = LinkTask(self._link_input(link_split), link_split, predictor, config)
        x = self.features(self.graph)
        return NodeTask(x, self.graph, split, predictor, config, links)

    def _link_input(self, split: LinkSplit) -> Tensor:
        # Degrees are counted on messages only: a degree of the whole graph would tell of edges
        # that are to be predicted.
        if split.inductive:
            seen = [split.train.messages, split.val.messages, split.test.messages]
            return self.features(self.graph, torch.cat(seen, dim=1))
        return self.features(self.graph, split.train.messages)

    def _check_inductive(self, split: LinkSplit | NodeSplit, predictor: Predictor) -> None:
        if split.inductive and not predictor.encoder.inductive:
            raise ConfigError(
                f"Expected a model that can embed unseen graphs, got {self.config.model!r}, which "
                "learns a vector for each node that it has seen."
            )


def _parts(split: NodeSplit) -> dict[str, Tensor]:
    return {name: getattr(split, name) for name in SPLIT_PARTS}


def preset(source: object, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Settings that were chosen on validation for a named dataset; its name, and the settings."""
    check_names(settings)
    model = settings.get("model", "hgcn")
    if not isinstance(source, str):
        return "", {}
    folder = resources.files("hgcn") / "presets"
    # Looked up among those there are: a source may be anything, also no name of a file.
    files = list(folder.iterdir()) if folder.is_dir() else []
    tasks = (settings["task"],) if settings.get("task") else ("link", "node")
    for task in tasks:
        name = f"{source}-{task}-{model}.toml"
        file = next((file for file in files if file.name == name), None)
        if file is not None:
            with resources.as_file(file) as path:
                chosen = read_toml(Path(path))
            epochs = settings.get("epochs")
            if isinstance(epochs, int) and chosen.get("pretrain", 0) >= epochs:
                del chosen["pretrain"]  # a warm-up is for longer runs
            return name.removesuffix(".toml"), chosen
    return "", {}
