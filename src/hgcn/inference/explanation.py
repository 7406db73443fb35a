"""What a prediction rests on: attention, features of nodes, and what two nodes have in common.

The share of each feature is its *integrated gradient* (Sundararajan, Taly and Yan, 2017): the
gradient of the score along the straight way from no features to those of the graph. They add up to
the difference that the features make, so nothing is hidden, and nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import fixed_order
from hgcn.data.features import DEGREE_NAMES
from hgcn.data.graph import Graph
from hgcn.data.sparse import select_rows
from hgcn.errors import ConfigError, GraphError
from hgcn.inference.attention import attention_layers, shares_of
from hgcn.inference.predict import class_probabilities, link_probabilities
from hgcn.inference.trained import Trained

if TYPE_CHECKING:
    import polars as pl

STEPS = 32
"""Points of the way at which the gradient is taken; Gauss and Legendre's are the best ones."""


class Reason(NamedTuple):
    """One thing that a prediction rests on.

    Attributes:
        kind: "part", "node", "feature", "attention" or "common neighbour".
        of: the node whose attention or neighbour it is; empty for what concerns the whole.
        name: the name of the part, feature or node.
        value: of a part, node or feature, what it adds to the score; of attention, its share; of a
            common neighbour, 1/log(degree), its weight in the count of Adamic and Adar.
    """

    kind: str
    of: str
    name: str
    value: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a network predicts what it does of a node, or of a pair of nodes.

    Attributes:
        subject: the name of the node, or of both.
        prediction: what is predicted, such as a class.
        probability: how probable the network finds it.
        score: what the parts, and the features with the baseline, add up to: for a class, the
            logit less that of the next best class; for a link, its logit.
        baseline: the score without any features.
        reasons: what the score rests on, the largest of each kind first.
    """

    subject: str
    prediction: str
    probability: float
    score: float
    baseline: float
    reasons: tuple[Reason, ...]

    def of(self, kind: str) -> list[Reason]:
        """The reasons of one kind."""
        return [reason for reason in self.reasons if reason.kind == kind]

    def table(self, most: int = 10) -> pl.DataFrame:
        """A row for each reason, at most so many of each kind and node."""
        import polars as pl

        kept: list[Reason] = []
        seen: dict[tuple[str, str], int] = {}
        for reason in self.reasons:
            key = reason.kind, reason.of
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= most:
                kept.append(reason)
        return pl.DataFrame(kept, schema=list(Reason._fields), orient="row")


def explain(
    trained: Trained, graph: Graph, nodes: Sequence[int], names: Sequence[str]
) -> Explanation:
    """Why a network predicts the class of a node, or a link between two.

    Args:
        trained: the network.
        graph: the graph.
        nodes: the number of the node, or of both ends of a link.
        names: the name of each node of the graph.

    Returns:
        The :class:`Explanation`.
    """
    classifies = trained.predictor.classifier is not None
    if trained.config.task not in ("node", "link"):
        raise ConfigError(
            f"Expected a run for nodes or links to explain, got the task {trained.config.task!r}."
        )
    if len(nodes) != (1 if classifies else 2):
        wanted = "one node, whose class" if classifies else "two nodes, whose link"
        raise ConfigError(f"Expected {wanted} is explained, got {len(nodes)}.")
    if not classifies and nodes[0] == nodes[1]:
        raise GraphError("Expected two different nodes, got the same twice.")
    model = _Model(trained, graph, nodes)
    score = float(model.score(model.x).detach())
    reasons = [*model.parts(), *_features(model, names), *_attention(trained, graph, nodes, names)]
    if not classifies:
        reasons += _common(graph, nodes, names)
    return Explanation(
        " and ".join(names[k] for k in nodes),
        model.prediction,
        model.probability,
        score,
        float(model.score(torch.zeros_like(model.x)).detach()),
        tuple(reasons),
    )


class _Model:
    """The score of a prediction as a function of the features around the nodes it concerns.

    A layer reads the neighbours of a node, and some divide by their degrees: with one hop more than
    there are layers, the score on the small graph is that on the whole one.
    """

    def __init__(self, trained: Trained, graph: Graph, nodes: Sequence[int]) -> None:
        self.trained, self.graph, self.nodes = trained, graph, list(nodes)
        device, dtype = trained.device, getattr(torch, trained.config.dtype)
        self.predictor = trained.predictor.eval()
        encoder = self.predictor.encoder
        self.reads = encoder.inductive
        around, edges = _around(graph, nodes, encoder.hops + 1 if self.reads else None)
        self.around = around
        x = select_rows(trained.features(graph), around)
        self.x = (x if x.layout == torch.strided else x.to_dense()).to(device=device, dtype=dtype)
        at = torch.full((graph.num_nodes,), -1)
        at[around] = torch.arange(len(around))
        self.local = at[torch.tensor(self.nodes)]
        self.edge_index = at[graph.edge_index[:, edges]].to(device)
        weight = graph.edge_weight
        self.weight = None if weight is None else weight[edges].to(device=device, dtype=dtype)
        self.classes: tuple[int, int] | None = None
        if self.predictor.classifier is not None:
            chance = class_probabilities(trained, graph)[self.nodes[0]]
            best = chance.argsort(descending=True, stable=True)[:2].tolist()
            self.classes = best[0], best[-1]
            self.prediction = trained.names_of_classes()[best[0]]
            self.probability = float(chance[best[0]])
        else:
            pair = torch.tensor(self.nodes).unsqueeze(1)
            self.prediction = "link"
            self.probability = float(link_probabilities(trained, pair, graph))
            self.facts = self.predictor.facts(
                pair.to(device), graph.edge_index.to(device),
                None if weight is None else weight.to(device), graph.num_nodes,
            )  # fmt: skip

    def score(self, x: Tensor) -> Tensor:
        """The score, given features of the nodes around."""
        with fixed_order(self.graph.size):
            z = self.predictor.encoder.encode(x, self.edge_index, self.weight)
            if self.classes is not None:
                logits = self.predictor.classes(z[self.local])[0]
                if len(logits) == 1:
                    return logits[0]
                return logits[self.classes[0]] - logits[self.classes[1]]
            return self.predictor.links(z, self.local.to(z.device).unsqueeze(1), self.facts)[0]

    @torch.no_grad()
    def parts(self) -> Iterator[Reason]:
        """What distance and structure add to the logit of a link."""
        if self.classes is not None:
            return
        total = float(self.score(self.x))
        term = self.predictor.structure
        structure = 0.0 if term is None or self.facts is None else float(term(self.facts)[0])
        yield Reason("part", "", "distance", total - structure)
        if term is not None:
            yield Reason("part", "", "structure", structure)


def _around(graph: Graph, nodes: Sequence[int], hops: int | None) -> tuple[Tensor, Tensor]:
    """Nodes within some hops of others, and the edges among them; all of them for None."""
    source, target = graph.edge_index
    inside = torch.zeros(graph.num_nodes, dtype=torch.bool)
    if hops is None:
        inside[:] = True
    else:
        inside[list(nodes)] = True
        for _ in range(hops):
            inside[source[inside[target]]] = True
    return inside.nonzero().flatten(), (inside[source] & inside[target]).nonzero().flatten()


def integrated_gradients(model: _Model, steps: int = STEPS) -> Tensor:
    """What each feature of each node around adds to the score, ``[nodes, features]``."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    total = torch.zeros_like(model.x)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        x = (point * model.x).requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(model.score(x), x, allow_unused=True)
        if gradient is not None:
            total += weight * gradient
    return (total * model.x).cpu().double()


def _features(model: _Model, names: Sequence[str]) -> Iterator[Reason]:
    """The nodes and the features that add most, either way; none of a model without features."""
    if not model.reads:
        return
    added = integrated_gradients(model)
    features = model.trained.features
    known = list(features.names or [f"feature {k}" for k in range(features.num_raw)])
    known += DEGREE_NAMES if features.degrees or not features.num_raw else ()
    owners = torch.tensor(features.owners)
    of_features = torch.zeros(len(known), dtype=added.dtype).index_add_(0, owners, added.sum(0))
    for kind, values, labels in (
        ("node", added.sum(1), [names[k] for k in model.around.tolist()]),
        ("feature", of_features, known),
    ):
        for at in values.abs().argsort(descending=True, stable=True).tolist():
            if float(values[at]) != 0:
                yield Reason(kind, "", labels[at], float(values[at]))


def _attention(
    trained: Trained, graph: Graph, nodes: Sequence[int], names: Sequence[str]
) -> Iterator[Reason]:
    """The shares of the last layer in the means that the nodes take, their own included."""
    layers = attention_layers(trained, graph)
    for node in nodes if layers else ():
        heard = shares_of(layers[-1], node)
        # The node itself comes first: what is left is for the others.
        for other in sorted(heard, key=lambda k: (k != node, -heard[k], k)):
            share = heard[other]
            yield Reason("attention", names[node], names[other], share)


def _common(graph: Graph, nodes: Sequence[int], names: Sequence[str]) -> Iterator[Reason]:
    """Nodes with an edge to both, in any direction, the one with the fewest edges first."""
    i, j = nodes
    pairs = graph.pairs()
    degree = torch.bincount(pairs.flatten(), minlength=graph.num_nodes)

    def beside(node: int) -> set[int]:
        return {*pairs[1][pairs[0] == node].tolist(), *pairs[0][pairs[1] == node].tolist()}

    for k in sorted((beside(i) & beside(j)) - {i, j}, key=lambda k: (int(degree[k]), k)):
        yield Reason("common neighbour", "", names[k], 1 / float(np.log(int(degree[k]))))
