"""Link prediction: which pairs of nodes have an edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import torch
from torch import Tensor
from torch.nn import functional

from hgcn.config import Config
from hgcn.data.features import degree_features
from hgcn.data.graph import Graph
from hgcn.data.sent import sent
from hgcn.data.splits import LinkPart, LinkSplit, split_links
from hgcn.data.splits.same_degrees import same_degree_negatives
from hgcn.errors import ConfigError
from hgcn.inference.calibration import Calibration, brier
from hgcn.inference.feature_map import FeatureMap, replace_last_columns
from hgcn.inference.trained import Trained
from hgcn.models.predictor import Predictor
from hgcn.names import PARTS
from hgcn.nn.structure import Shown, both_ways, facts_on
from hgcn.training.batches import Plan, num_batches
from hgcn.training.degree_negatives import DegreeNegatives
from hgcn.training.hard import HARD, hard_ends, hard_metrics
from hgcn.training.hiding import Hiding, Units
from hgcn.training.link_batches import LinkBatch, plan_links
from hgcn.training.link_defaults import link_defaults
from hgcn.training.memory import check_memory
from hgcn.training.metrics import LINK_SCORES, Score, link_metrics
from hgcn.training.task import Input, Task
from hgcn.training.untrained import untrained_scores

if TYPE_CHECKING:
    import polars as pl

TEST_SHARE = 0.10
"""Share of the edges of another graph that a run is evaluated on."""


@final
class LinkTask(Task):
    """Link prediction with Fermi-Dirac logits and fresh negatives in each step.

    In each step a random share of the training edges is hidden from message passing, and these are
    the ones to be predicted: a network that predicts edges which it is shown learns to recognise
    them, not to predict. A share of 0 hides none, which is the usual way. Degrees among the
    features are counted anew without the hidden edges, for they would tell of these edges too.
    """

    scores: ClassVar[Mapping[str, Score]] = LINK_SCORES
    batched = True
    colour = "depth"
    structured = True
    search_starts: ClassVar[Sequence[Mapping[str, Any]]] = ({
        "layers": 1, "attention": False, "aggregation": "origin", "lr": 0.02, "dropout": 0.2,
        "feature_dropout": 0.5, "hidden_share": 0.5, "trainable_decoder": True,
    },)  # fmt: skip

    @classmethod
    def check(cls, graph: Graph) -> None:
        """Accept any graph: the split refuses one with too few edges."""

    @classmethod
    def default_score(cls, graph: Graph) -> str:
        """ROC AUC."""
        return "roc_auc"

    @classmethod
    def defaults(cls, graph: Graph, config: Config) -> Mapping[str, Any]:
        """With the structural term, what was best over many graphs together; see docs/links.md."""
        return link_defaults(graph, config)

    @classmethod
    def split(cls, graph: Graph, config: Config) -> LinkSplit:
        """Edges for training, validation and test."""
        return split_links(
            graph,
            val=config.val_share,
            test=config.test_share,
            seed=config.seed_of_split,
            protocol=config.protocol,
            val_as_input=config.val_as_input,
        )

    @classmethod
    def without_test(cls, split: LinkSplit) -> LinkSplit:
        """The same split with no pairs in its test part."""
        none = split.test.positives[:, :0]
        return replace(split, test=replace(split.train, positives=none, negatives=none))

    @classmethod
    def fitting_nodes(cls, graph: Graph, split: LinkSplit) -> Tensor:
        """All nodes, but of many graphs only those of the training graphs."""
        if not split.inductive or graph.graph_ids is None:
            return torch.arange(graph.num_nodes)
        seen = torch.unique(graph.graph_ids[split.train.positives[0]])
        return torch.isin(graph.graph_ids, seen).nonzero()[:, 0]

    @classmethod
    def search_space(cls, graph: Graph, config: Config) -> dict[str, Any]:
        """The share of hidden edges, and whether the decoder is learnt."""
        return {"hidden_share": [0.0, 0.1, 0.3, 0.5], "trainable_decoder": [False, True]}

    def __init__(
        self,
        graph: Graph,
        split: LinkSplit,
        features: FeatureMap,
        predictor: Predictor,
        config: Config,
    ) -> None:
        super().__init__(graph, split, features, predictor, config)
        self.parts = split
        self.x = features(graph, _visible(split))
        self._inputs: dict[str, Input] = {}
        self._numbers: dict[str, Tensor | None] = {}
        self._pairs: dict[str, tuple[Tensor, Tensor]] = {}
        self._part_facts: dict[str, Tensor | None] = {}
        self._same_degrees: dict[str, Tensor] = {}
        for name in PARTS:
            self._prepare(name, getattr(split, name))
        # A negative has a number, two nodes, and the vectors of both.
        expected = (
            (config.negatives or 1) * (config.hidden_share or 1) * split.train.positives.shape[1]
        )
        need = int(expected) * (3 * 8 + 2 * 4 * config.dim)
        check_memory(need, "the negatives of a step", config)
        self._hiding = Hiding(split.train, self.home)
        self._negatives = DegreeNegatives(
            split, graph.num_nodes, graph.graph_ids, config.degree_negatives
        )

    def _prepare(self, name: str, part: LinkPart) -> None:
        """Put the input and the pairs of a part on the device, in a numbering of its own nodes."""
        if name != "train" and part.messages is self.parts.train.messages:
            seen, number = self._inputs["train"], self._numbers["train"]
        else:
            seen, number = Input(self._features(part), part.messages, part.message_weight), None
            if part.nodes is not None:
                seen, number = seen.within(part.nodes)
            seen = seen.to(self.home, self.dtype)
        self._inputs[name] = seen
        self._numbers[name] = number
        none = part.positives.new_empty(2, 0)
        negatives = none if part.negatives is None else part.negatives
        self._pairs[name] = self._numbered(name, part.positives), self._numbered(name, negatives)

    def _features(self, part: LinkPart) -> Tensor:
        """The features of all nodes, with the degrees that they have in a part."""
        counted = self.parts.inductive or part.messages is self.parts.train.messages
        if counted or not self.config.degree_features:
            return self.x
        return self._counted(self.x, part.messages)

    def _counted(self, x: Tensor, edges: Tensor) -> Tensor:
        """Features whose last columns are degrees, counted anew on edges."""
        directed = self.parts.non_edges.directed
        return replace_last_columns(x, degree_features(edges, len(x), directed=directed))

    def _numbered(self, part: str, pairs: Tensor) -> Tensor:
        """Pairs of nodes in the numbering of a part, on the device."""
        number = self._numbers[part]
        return sent(pairs if number is None else number[pairs], self.home)

    def batches(self, epoch: int, generator: torch.Generator) -> Iterator[LinkBatch]:
        """Some of the training edges, hidden from messages, and random other pairs."""
        if self.config.batch_size:
            yield from self.plan(epoch, generator).batches(self.config)
            return
        seen, positives, negatives, hidden = self._drawn(generator)
        if hidden is not None and self.config.degree_features:
            seen = replace(seen, x=self._counted(seen.x, seen.edge_index))
        batch = LinkBatch(seen, positives, negatives)
        if self.predictor.structure is not None:
            shown, units = self._shown
            if hidden is not None:
                shown = shown.within(units.within(~hidden))
            batch = replace(batch, facts=facts_on(batch.pairs, shown).to(self.dtype))
        yield batch

    def plan(self, epoch: int, generator: torch.Generator) -> Plan[LinkBatch]:
        """The mini-batches of an epoch: what would be its full batch, divided."""
        seen, positives, negatives, _ = self._drawn(generator)
        return plan_links(
            seen,
            positives,
            negatives,
            predictor=self.predictor,
            config=self.config,
            epoch=epoch,
            directed=self.parts.non_edges.directed,
            generator=generator,
        )

    def _drawn(self, generator: torch.Generator) -> tuple[Input, Tensor, Tensor, Tensor | None]:
        """What an epoch shows, with all degrees, what it predicts, and a mask of what it hides."""
        config, positives = self.config, self._pairs["train"][0]
        share, hidden = config.hidden_share or 0.0, None
        seen = self._inputs["train"]
        if share:
            hidden = self._hiding.draw(share, generator)
            shown = self._hiding.messages.within(~hidden)
            # Degrees are still of all edges.
            seen = replace(
                seen,
                edge_index=_picked(seen.edge_index, shown),
                edge_weight=None if seen.edge_weight is None else seen.edge_weight[shown],
            )
            positives = _picked(positives, self._hiding.positives.within(hidden))
        count = round((config.negatives or 1) * positives.shape[1])
        count = max(count, num_batches(positives.shape[1], config))
        return (
            seen,
            positives,
            self._numbered("train", self._negatives.draw(count, generator)),
            hidden,
        )

    @cached_property
    def _shown(self) -> tuple[Shown, Units]:
        """The messages of training in the rows of both their nodes, and to which pair each belongs.

        A pair is hidden as a whole, so those that a step shows are some of these: nothing has to be
        sorted, and a GPU is not waited for.
        """
        seen = self._inputs["train"]
        shown = both_ways(seen.edge_index, seen.edge_weight, len(seen.x))
        ends = torch.stack((shown.graph.source, shown.graph.target))
        return shown, self._hiding.units_of(ends, seen.edge_index)

    def _facts(self, pairs: Tensor, seen: Input) -> Tensor | None:
        edges, weight, n = seen.edge_index, seen.edge_weight, len(seen.x)
        facts = self.predictor.facts(pairs.to(self.home), edges, weight, n)
        return None if facts is None else facts.to(self.device)

    def loss(self, batch: LinkBatch) -> Tensor:
        """Mean cross-entropy of the edges, plus that of the other pairs."""
        if not len(batch.seen.x):
            return torch.zeros(())
        count, sizes = batch.positives.shape[1], batch.sizes
        logits = self.network(*batch.seen.arguments, pairs=batch.pairs, facts=batch.facts)
        return (
            functional.softplus(-logits[:count]).sum() / sizes[0]
            + functional.softplus(logits[count:]).sum() / sizes[1]
        )

    @torch.no_grad()
    def outputs(self, part: str) -> tuple[Tensor, Tensor]:
        """Logits of the edges of a part, and of its fixed negatives."""
        positives, negatives = self._pairs[part]
        pairs = torch.cat((positives, negatives), dim=1)
        if part not in self._part_facts:
            self._part_facts[part] = self._facts(pairs, self._inputs[part])
        z = self._embed(self._inputs[part])
        logits = self.predictor.links(z, pairs.to(self.device), self._part_facts[part])
        return logits[: positives.shape[1]], logits[positives.shape[1] :]

    def part_loss(self, first: Tensor, second: Tensor) -> float | None:
        """Mean cross-entropy of the edges, plus that of the other pairs."""
        if not len(first) or not len(second):
            return None
        return float(functional.softplus(-first).mean() + functional.softplus(second).mean())

    @torch.no_grad()
    def logits(self, part: str, pairs: Tensor) -> Tensor:
        """Logits of pairs of nodes, numbered as in the part, on the edges that it shows."""
        seen = self._inputs[part]
        facts = self._facts(pairs, seen)
        return self.predictor.links(self._embed(seen), pairs.to(self.device), facts)

    @classmethod
    def constants(cls, first: Tensor, second: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Equal logits for edges and other pairs."""
        yield torch.zeros_like(first), torch.zeros_like(second)

    def metrics(self, part: str) -> dict[str, float]:
        """ROC AUC, also against negatives of the same degrees, average precision, hits@k, MRR."""
        return link_metrics(*self.outputs(part), self.logits(part, self._alike(part)))

    def _alike(self, part: str) -> Tensor:
        """Negatives of a part that have the degrees of its positives, in its numbering."""
        if part not in self._same_degrees:
            own: LinkPart = getattr(self.parts, part)
            drawn = same_degree_negatives(
                own.positives,
                own.messages,
                self._known(),
                self.graph.num_nodes,
                seed=self.config.seed_of_split,
                graph_ids=self.graph.graph_ids,
            )
            self._same_degrees[part] = self._numbered(part, drawn)
        return self._same_degrees[part]

    def _known(self) -> Tensor:
        """All edges of the graph and of all parts: none of them is a negative."""
        asked = [getattr(self.parts, name).positives for name in PARTS]
        return torch.cat((self.graph.edge_index, *asked), dim=1)

    def hard_metrics(self, part: str) -> dict[str, float]:
        """Hits@k and MRR of each edge against its own hard negatives, ``HARD`` where there are."""
        seen, number = self._inputs[part], self._numbers[part]
        known, ids = self._known(), self.graph.graph_ids
        if ids is None:
            ids = torch.zeros(self.graph.num_nodes, dtype=torch.long)
        if number is not None:
            known = number[known]
            known, ids = known[:, (known >= 0).all(0)], ids[number >= 0]

        def ends(nodes: Tensor) -> Tensor:
            seed = self.config.seed_of_split
            return hard_ends(nodes, seen.edge_index, known, ids, count=HARD // 2, seed=seed)

        return hard_metrics(self._pairs[part][0], ends, lambda pairs: self.logits(part, pairs))

    def report(self, parts: Sequence[str]) -> dict[str, Any]:
        """The scores of what needs no training, on the same pairs, and the calibration."""
        fitted = Calibration.fit(*self.outputs("val"))
        errors = {}
        for part in parts:
            logits = self.outputs(part)
            errors[part] = {
                when: brier(*map(probability, logits))
                for when, probability in (("before", Calibration()), ("after", fitted))
            }
        return {
            "untrained": {part: self._untrained(part) for part in parts},
            "calibration": {"scale": fitted.scale, "shift": fitted.shift, "brier": errors},
        }

    def _untrained(self, part: str) -> dict[str, dict[str, float]]:
        lists, seen = (*self._pairs[part], self._alike(part)), self._inputs[part]
        sizes = [pairs.shape[1] for pairs in lists]
        scores = untrained_scores(
            torch.cat(lists, dim=1),
            seen.edge_index,
            seen.edge_weight,
            len(seen.x),
            directed=self.graph.directed,
        )
        return {name: link_metrics(*torch.split(score, sizes)) for name, score in scores.items()}

    @classmethod
    def evaluate(cls, trained: Trained, graph: Graph) -> dict[str, float]:
        """Scores where a tenth of the edges is hidden and predicted from the others.

        There are as many pairs without an edge; which ones depends on the seed of the run's split.
        Of many graphs, a tenth of the edges of each is hidden.
        """
        return cls.unseen(trained, graph).metrics("test")

    @classmethod
    def unseen(cls, trained: Trained, graph: Graph) -> LinkTask:
        """The task of a trained network on another graph, as :meth:`evaluate` takes it."""
        seed = trained.config.seed_of_split
        if graph.num_graphs > 1:
            graph = graph.replace(split={"test": torch.arange(graph.num_nodes)})
        split = split_links(graph, val=0.0, test=TEST_SHARE, seed=seed)
        return cls(graph, split, trained.features, trained.predictor.eval(), trained.config)

    @classmethod
    def predict(cls, trained: Trained, graph: Graph) -> pl.DataFrame:
        """Refuse: this task predicts nothing of single nodes."""
        raise ConfigError(
            "Expected --pairs FILE or --top-k K: the run was trained for links, not for classes."
        )


def _visible(split: LinkSplit) -> Tensor:
    """The edges that degrees are counted on: those that carry messages.

    A degree in the whole graph would tell of edges that are to be predicted.
    """
    if not split.inductive:
        return split.train.messages
    return torch.cat([getattr(split, name).messages for name in PARTS], dim=1)


def _picked(edges: Tensor, numbers: Tensor) -> Tensor:
    return torch.stack([ends.index_select(0, numbers) for ends in edges])
