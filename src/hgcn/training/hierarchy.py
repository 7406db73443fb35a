"""Hierarchies: what is above each node."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn.config import Config
from hgcn.data.features import degree_features
from hgcn.data.graph import Graph
from hgcn.data.pairs import find, keys
from hgcn.data.sent import sent
from hgcn.data.splits.hierarchy import HierarchySplit, split_hierarchy
from hgcn.data.tree_layout import tree_layout
from hgcn.errors import GraphError
from hgcn.inference.calibration import Calibration
from hgcn.inference.feature_map import FeatureMap, replace_last_columns
from hgcn.inference.hierarchy import above_table, comparable_scores, upper_points
from hgcn.inference.ranks_above import ranks_above
from hgcn.inference.trained import Trained
from hgcn.kernels.numba_cpu.cone_ranking import ConeRankingLoss
from hgcn.kernels.numba_cpu.ranking import RankingLoss
from hgcn.models.base import Encoder
from hgcn.models.optim import CombinedOptimizer
from hgcn.models.predictor import Predictor
from hgcn.models.row_descent import RowDescent
from hgcn.models.shallow import Free
from hgcn.names import IS_A, MODELS
from hgcn.nn.is_a import Anchors, ConeScore, DistanceScore
from hgcn.nn.spaces import Hyperbolic
from hgcn.training.hierarchy_batches import HierarchyBatch, HierarchyDraws
from hgcn.training.is_a_baselines import popularity, text_votes
from hgcn.training.metrics import Score, best_threshold, f1_from
from hgcn.training.task import Input, Task
from hgcn.training.tree_start import tree_start

if TYPE_CHECKING:
    import polars as pl

LOOKED_AT = 1000
"""Nodes of the validation part that pick the best epoch, at most; scores are of all nodes."""
WRONG = 10
"""Wrong pairs for each right one in F1: half with another upper node, half with another lower."""
TOLLS, LEANS = (0.0, 1.0, 4.0, 16.0), (0.0, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Numbers of the score by distance that are tried on validation."""
FREE_LR, CONE_LR, PLANE_LR = 0.3, 0.1, 0.03
"""Learning rates of free points, with the score by distance, with cones, and with cones in a plane,
where points start from a drawing and cannot pass each other."""
FREE_STEP, CONE_STEP = 2.0, 0.6
"""How far from the node above it a free point starts, in units of the curvature radius."""
BURN_IN = 10
"""Epochs at the start with a tenth of the learning rate, while directions are found."""


@final
class HierarchyTask(Task):
    """Ancestors of nodes, found by a ranking loss over pairs of the transitive closure.

    In each step the ancestors of some nodes are to score higher than candidates drawn at random,
    the same ones for all these nodes: a softmax of an ancestor and all candidates, as Nickel and
    Kiela (2017) have it. If the encoder passes messages, they travel both ways along the training
    edges, and those from the nodes of a step to their parents are hidden in it.
    """

    scores: ClassVar[Mapping[str, Score]] = {"map": lambda first, second: float(first.mean())}
    colour = "depth"

    @classmethod
    def check(cls, graph: Graph) -> None:
        """Refuse a graph whose edges have no direction."""
        if not graph.directed:
            raise GraphError(
                "Expected a directed graph, whose edges go from child to parent, got an undirected "
                "one. Give `directed` when it is read."
            )

    @classmethod
    def default_score(cls, graph: Graph) -> str:
        """Mean average precision."""
        return "map"

    @classmethod
    def usual_model(cls, graph: Graph, config: Config) -> str:
        """Free points where there are no features: degrees say little of what is above a node."""
        return config.model if graph.x is not None else "free"

    @classmethod
    def defaults(cls, graph: Graph, config: Config) -> Mapping[str, Any]:
        """Free points take larger steps than the weights of an encoder, and many of them.

        In a small hierarchy all is found after few epochs. Later ones, whose loss is lower, have
        the better places and probabilities.
        """
        free = not MODELS[config.model].inductive
        is_a = config.is_a or ("cone" if config.model == "free" else "distance")
        cones = PLANE_LR if config.dim == 2 else CONE_LR
        return {
            "is_a": is_a,
            "ties_by_loss": True,
            "lr": (cones if is_a == "cone" else FREE_LR) if free else 0.01,
            "negatives": 1000.0,
            "hold_out": "pairs" if free else "edges",
            "step_nodes": max(64, min(256 if free else 8192, graph.num_nodes // 20)),
            "feature_dropout": 0.8 if graph.x is not None and not free else 0.0,
        }

    @classmethod
    def split(cls, graph: Graph, config: Config) -> HierarchySplit:
        """Pairs for training, validation and test."""
        return split_hierarchy(
            graph,
            hold_out=config.hold_out or "pairs",
            val=config.val_share,
            test=config.test_share,
            seed=config.seed_of_split,
        )

    @classmethod
    def without_test(cls, split: HierarchySplit) -> HierarchySplit:
        """The same split with no pairs in its test part."""
        return replace(split, test=split.test[:, :0])

    @classmethod
    def fitting_nodes(cls, graph: Graph, split: HierarchySplit) -> Tensor:
        """All nodes: their features are known, wherever they belong."""
        return torch.arange(graph.num_nodes)

    @classmethod
    def heads(cls, encoder: Encoder, config: Config) -> Mapping[str, nn.Module]:
        """The score of "is a", and points of upper nodes where an encoder makes the lower ones."""
        found: dict[str, nn.Module] = {"is_a": IS_A.find(config.is_a or "distance")(encoder.space)}
        if encoder.inductive:
            found["anchors"] = Anchors(encoder.trained_nodes, config.dim)
        return found

    @classmethod
    def search_space(cls, graph: Graph, config: Config) -> dict[str, Any]:
        """The score."""
        return {"is_a": ["distance", "cone"]}

    def __init__(
        self,
        graph: Graph,
        split: HierarchySplit,
        features: FeatureMap,
        predictor: Predictor,
        config: Config,
    ) -> None:
        super().__init__(graph, split, features, predictor, config)
        self.parts, n = split, graph.num_nodes
        both = torch.cat((split.edges, split.edges.flip(0)), dim=1)
        self.seen = Input(features(graph, both), both).to(self.device, self.dtype)
        self._draws = HierarchyDraws(split, n, int(config.negatives or 1))
        self._found: dict[Any, tuple[Tensor, Tensor]] = {}
        self._scored: dict[Any, tuple[Tensor, Tensor]] = {}

    @property
    def is_a(self) -> nn.Module:
        """The score of a lower and an upper point."""
        return self.predictor.heads["is_a"]

    def make_optimizer(self, lr: float, weight_decay: float) -> torch.optim.Optimizer:
        """Anchors are descended as free points are, beside an encoder with its own optimiser."""
        if "anchors" not in self.predictor.heads:
            return super().make_optimizer(lr, weight_decay)
        own = self.predictor.encoder.make_optimizer(lr, weight_decay, also=[self.is_a])
        (points,) = self.predictor.heads["anchors"].parameters()
        return CombinedOptimizer(own, RowDescent(points, lr=FREE_LR))

    def lr_factor(self, epoch: int) -> float:
        """Of free points a tenth at the start, then all of it, falling to nothing."""
        if self.predictor.encoder.inductive:
            return 1.0
        burn_in = min(BURN_IN, self.config.epochs // 10)
        return 0.1 if epoch <= burn_in else 1.0 - (epoch - 1) / self.config.epochs

    # ------------------------------------------------------------------ training

    def batches(self, epoch: int, generator: torch.Generator) -> Iterator[HierarchyBatch]:
        """Some nodes at a time; all of them in an epoch."""
        if epoch == 1:
            self._start(generator)
        learners = self._draws.learners
        order = learners[torch.randperm(len(learners), generator=generator).numpy()]
        size = self.config.step_nodes or len(order)
        for low in range(0, len(order), size):
            nodes = order[low : low + size]
            yield self._draws.batch(self._shown(nodes), nodes, generator)

    def _start(self, generator: torch.Generator) -> None:
        """Let free points of hyperbolic space start from the tree of what is known."""
        encoder, n = self.predictor.encoder, self.graph.num_nodes
        if not isinstance(encoder, Free):
            return
        root = math.sqrt(encoder.space.curvatures[0])
        if encoder.dim == 2:
            start = tree_layout(self.parts.edges, n) / root
        else:
            step = CONE_STEP if isinstance(self.is_a, ConeScore) else FREE_STEP
            start = tree_start(
                self.parts.known, n, encoder.dim, step=step, root=root, generator=generator
            )
        encoder.embedding.data.copy_(start)

    def _shown(self, nodes: np.ndarray) -> Input:
        """The input without the edges from nodes to their parents."""
        encoder = self.predictor.encoder
        if not (encoder.inductive and encoder.uses_edges):
            return self.seen
        hidden = torch.zeros(self.graph.num_nodes, dtype=torch.bool)
        hidden[torch.from_numpy(nodes)] = True
        edges = self.parts.edges[:, ~hidden[self.parts.edges[0]]]
        both = sent(torch.cat((edges, edges.flip(0)), dim=1), self.device)
        x = self.seen.x
        if self.config.degree_features:
            x = replace_last_columns(x, degree_features(both, len(x), directed=True).to(x))
        return Input(x, both)

    def loss(self, batch: HierarchyBatch) -> Tensor:
        """The mean over pairs of a node and an ancestor."""
        z = self.predictor.encode(*batch.seen.arguments)
        if "anchors" not in self.predictor.heads:
            return self._ranking(z, batch, 0)
        anchors = self.predictor.heads["anchors"]().to(z)
        both = torch.cat((z, anchors))
        # Anchors find their places among themselves, and the encoder finds the place of a node.
        return self._ranking(both, batch, len(z)) + self._ranking(anchors, batch, 0)

    def _ranking(self, z: Tensor, batch: HierarchyBatch, first: int) -> Tensor:
        """The loss of points, of which those of upper nodes begin at row ``first``."""
        space = self.predictor.encoder.space
        if isinstance(space, Hyperbolic) and z.device.type == "cpu":
            given: tuple[Any, ...] = (
                batch.nodes, batch.start, batch.above + first, batch.candidates + first,
                batch.out_start, batch.out, np.full(len(batch.nodes), 1.0 / len(batch.above)),
            )  # fmt: skip
            fused: Any = RankingLoss
            if isinstance(self.is_a, ConeScore):
                fused, given = ConeRankingLoss, (self.is_a.log_scale.exp(), *given)
            loss: Tensor = fused.apply(z, space.number(z), *given)
            return loss
        return self._plain_loss(z, batch, first)

    def _plain_loss(self, z: Tensor, batch: HierarchyBatch, first: int) -> Tensor:
        """The same with any score, on any device."""
        nodes, above, candidates = (
            sent(torch.from_numpy(part.astype(np.int64)), z.device)
            for part in (batch.nodes, batch.above, batch.candidates)
        )
        row, hit = (
            sent(torch.from_numpy(np.repeat(np.arange(len(nodes)), np.diff(part))), z.device)
            for part in (batch.start, batch.out_start)
        )
        wrong = self.is_a(z[nodes].unsqueeze(1), z[first + candidates].unsqueeze(0))
        wrong = wrong.index_put(
            (hit, sent(torch.from_numpy(batch.out), z.device)), wrong.new_full((), -1e9)
        )
        right = self.is_a(z[nodes[row]], z[first + above])
        return functional.softplus(wrong.logsumexp(1)[row] - right).mean()

    # ------------------------------------------------------------------ scores

    def _ranks(self, part: str, most: int | None = None) -> tuple[Tensor, Tensor]:
        pairs: Tensor = getattr(self.parts, part)
        nodes = torch.unique(pairs[0])
        if most is not None and len(nodes) > most:
            generator = torch.Generator().manual_seed(self.config.seed_of_split)
            nodes = nodes[torch.randperm(len(nodes), generator=generator)[:most]]
        if not len(nodes):
            return torch.zeros(1), torch.zeros(1)
        # Parts may be the same, and the scan of all pairs of a large hierarchy takes a minute.
        asked = self.predictor.stamp(), pairs.data_ptr(), most
        if asked not in self._found:
            given = *self._points(), self.predictor.encoder.space, self.is_a
            self._found = {asked: ranks_above(*given, pairs, self.parts.closure, nodes)}
        return self._found[asked]

    def _points(self) -> tuple[Tensor, Tensor]:
        """Points of all nodes as lower and as upper ones."""
        z = self._embed(self.seen)
        return z.cpu(), upper_points(self.predictor, z).cpu()

    @torch.no_grad()
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """Average precision and mean rank of some nodes of a part."""
        return self._ranks(part, LOOKED_AT)

    @classmethod
    def constants(cls, first: Tensor, second: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Nothing is ever found."""
        yield torch.zeros_like(first), second

    def guess(self, part: str) -> float:
        """The score of the best order that is the same for all nodes: by number of descendants."""
        return popularity(self.parts, part, self.graph.num_nodes)["map"]

    @torch.no_grad()
    def metrics(self, part: str) -> dict[str, float]:
        """MAP and mean rank over all nodes of a part, filtered, and F1 of "is a"."""
        self._choose_weights()
        precision, rank = self._ranks(part)
        threshold = best_threshold(*self._is_a_scores("val"))
        pairs = len(precision) and getattr(self.parts, part).shape[1]
        return {
            "map": float(precision.mean()),
            "mean_rank": float(rank.mean()),
            "f1": f1_from(*self._is_a_scores(part), threshold) if pairs else 0.0,
        }

    def _choose_weights(self) -> None:
        """Choose the toll and the lean of the score by distance on validation, once."""
        score = self.is_a
        if not isinstance(score, DistanceScore) or score.is_chosen:
            return
        found = {}
        for pair in itertools.product(TOLLS, LEANS):
            score.choose(*pair)
            found[pair] = self.score("val")
        score.choose(*max(found, key=found.__getitem__))

    def _is_a_scores(self, part: str) -> tuple[Tensor, Tensor]:
        """Scores of pairs of a part, and of ten wrong pairs for each, against those of all nodes.

        Of many pairs so many are looked at as :data:`LOOKED_AT` says.
        """
        pairs: Tensor = getattr(self.parts, part)
        asked = self.predictor.stamp(), pairs.data_ptr()
        if asked in self._scored:
            return self._scored[asked]
        n = self.graph.num_nodes
        generator = torch.Generator().manual_seed(self.config.seed_of_split)
        pairs = pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:LOOKED_AT]]
        others = torch.randint(n, (2, WRONG // 2, pairs.shape[1]), generator=generator)
        # The softmax of each lower node is over all nodes, so there are not too many of these.
        others[1] = others[1, 0].clone()
        lower = torch.cat((pairs[0].expand_as(others[0]), others[1]))
        upper = torch.cat((others[0], pairs[1].expand_as(others[1])))
        wrong = torch.stack((lower.reshape(-1), upper.reshape(-1)))
        right = find(keys(self.parts.closure, n), keys(wrong, n))[1] | (wrong[0] == wrong[1])
        both = torch.cat((pairs, wrong[:, ~right]), dim=1)
        found = comparable_scores(self.is_a.eval(), *self._points(), both)
        self._scored[asked] = found[: pairs.shape[1]], found[pairs.shape[1] :]
        return self._scored[asked]

    @torch.no_grad()
    def report(self, parts: Sequence[str]) -> dict[str, Any]:
        """How well training pairs are reconstructed, what needs no training, and calibration."""
        fitted = Calibration.fit(*self._is_a_scores("val"))
        found: dict[str, Any] = {
            "hold_out": self.config.hold_out,
            "calibration": {"scale": fitted.scale, "shift": fitted.shift},
            "untrained": {part: self._untrained(part) for part in parts},
        }
        if isinstance(self.is_a, DistanceScore):
            found["toll"], found["lean"] = self.is_a.toll, round(self.is_a.lean, 3)
        if self.config.hold_out != "nothing":
            precision, rank = self._ranks("train")
            found["reconstruction"] = {
                "map": float(precision.mean()), "mean_rank": float(rank.mean()),
            }  # fmt: skip
        return found

    def _untrained(self, part: str) -> dict[str, dict[str, float]]:
        found = {"popularity": popularity(self.parts, part, self.graph.num_nodes)}
        if self.graph.x is not None:
            found["text_votes"] = text_votes(self.parts, part, self.seen.x)
        return found

    # ------------------------------------------------------------------ a trained network

    @classmethod
    def evaluate(cls, trained: Trained, graph: Graph) -> dict[str, float]:
        """How well another hierarchy of the same nodes is reconstructed."""
        cls.check(graph)
        if graph.num_nodes != trained.num_nodes:
            raise GraphError(
                f"Expected the {trained.num_nodes:,} nodes of the run's own hierarchy, got "
                f"{graph.num_nodes:,}. New nodes are placed in it: run.place, hgcn place."
            )
        split = split_hierarchy(graph, hold_out="nothing")
        own = trained.predictor.eval()
        return cls(graph, split, trained.features, own, trained.config).metrics("test")

    @classmethod
    def predict(cls, trained: Trained, graph: Graph) -> pl.DataFrame:
        """The likeliest ancestor of each node."""
        return above_table(trained, graph, np.arange(graph.num_nodes), 1)
