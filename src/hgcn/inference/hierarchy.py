"""What is above a node: ancestors of known and of new nodes, and the top of a hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, GraphError
from hgcn.inference.trained import Trained, embedding_layers, id_column
from hgcn.models.predictor import Predictor
from hgcn.nn.is_a import ConeScore

if TYPE_CHECKING:
    import polars as pl

AT_ONCE = 1 << 19
"""Pairs that are scored at a time."""


def numbers_of(graph: Graph, ids: Any) -> np.ndarray:
    """The numbers of nodes, given their ids; text is as good as numbers."""
    known = {str(name): number for number, name in enumerate(graph.ids.tolist())}
    asked = [ids] if isinstance(ids, str | int) else list(ids)
    wrong = [name for name in asked if str(name) not in known]
    if wrong:
        from hgcn.text import near_miss

        raise GraphError(
            f"Expected ids of nodes of the graph, got {wrong[0]!r}."
            f"{near_miss(str(wrong[0]), known)}"
        )
    return np.array([known[str(name)] for name in asked], np.int64)


def above_table(
    trained: Trained, graph: Graph, nodes: np.ndarray, k: int, *, new: Graph | None = None
) -> pl.DataFrame:
    """The k likeliest ancestors of each node: its id, theirs, the rank, and the probability.

    Args:
        trained: a network trained for a hierarchy.
        graph: the hierarchy, whose nodes are to choose from.
        nodes: numbers of nodes, in ``new`` if it is given.
        k: how many for each.
        new: another graph, with the nodes that are asked for.
    """
    import polars as pl

    _check(trained)
    upper = upper_points(trained.predictor, z := messages_both_ways(trained, graph))
    if len(upper) != graph.num_nodes:
        raise GraphError(
            f"Expected the {len(upper):,} nodes of the run's own hierarchy to choose from, got "
            f"{graph.num_nodes:,}."
        )
    lower = z if new is None else messages_both_ways(trained, new)
    k = min(k, graph.num_nodes - (new is None))
    found, chance = _best(trained, lower[nodes], upper, k, None if new else nodes)
    own = graph if new is None else new
    names, above = id_column(own), id_column(graph)
    return pl.DataFrame(
        {
            "id": names[np.repeat(nodes, k).tolist()],
            "ancestor": above[found.reshape(-1).tolist()],
            "rank": np.tile(np.arange(1, k + 1), len(nodes)),
            "probability": chance.reshape(-1).numpy(),
        }
    )


def new_nodes(trained: Trained, features: Any) -> Graph:
    """New nodes as a graph without edges.

    Args:
        trained: a network that reads features.
        features: a table of nodes, a file or a DataFrame, or an array.
    """
    from hgcn.data.reading.source import read

    _check(trained)
    if not trained.predictor.encoder.inductive:
        raise ConfigError(
            f"Expected a model that reads features to place new nodes, got "
            f"{trained.config.model!r}, which learns a point for each node that it has seen. Train "
            "one such as hgcn, hnn or mlp, with --features or --text."
        )
    none = np.empty((2, 0), np.int64)
    if isinstance(features, np.ndarray | Tensor):
        x = torch.as_tensor(features)
        return Graph(torch.from_numpy(none), len(x), x=x.float(), directed=True, name="new nodes")
    return read(
        (none[0], none[1]), features=features, directed=True, name="new nodes",
        encoding=trained.features.encoding,
    )  # fmt: skip


@torch.no_grad()
def _best(
    trained: Trained, lower: Tensor, upper: Tensor, k: int, own: np.ndarray | None
) -> tuple[Tensor, Tensor]:
    """The k upper points of the highest score for each lower one, and their probabilities."""
    score = trained.predictor.heads["is_a"].eval()
    rows = max(1, AT_ONCE // len(upper))
    places, chances = [], []
    for low in range(0, len(lower), rows):
        some = lower[low : low + rows]
        value = score(some.unsqueeze(1).expand(-1, len(upper), -1), upper.expand(len(some), -1, -1))
        if own is not None:
            value[torch.arange(len(some)), torch.from_numpy(own[low : low + rows])] = -torch.inf
        best = value.topk(k, dim=1)
        places.append(best.indices)
        level = 0.0 if isinstance(score, ConeScore) else value.logsumexp(1, keepdim=True)
        chances.append(trained.calibration(best.values - level))
    return torch.cat(places), torch.cat(chances)


@torch.no_grad()
def comparable_scores(score: nn.Module, below: Tensor, above: Tensor, pairs: Tensor) -> Tensor:
    """Scores of pairs as numbers that are comparable between lower nodes.

    How far inside a cone a node is, is such a number. Minus a distance is not: of a deep node all
    ancestors are far. There it is the logarithm of the share that a pair has in the softmax of the
    lower node over all nodes but itself.
    """
    own = score(below[pairs[0]], above[pairs[1]])
    if isinstance(score, ConeScore):
        return own
    lower, place = torch.unique(pairs[0], return_inverse=True)
    level = []
    for some in lower.split(max(1, AT_ONCE // len(above))):
        value = score(
            below[some].unsqueeze(1).expand(-1, len(above), -1), above.expand(len(some), -1, -1)
        )
        value[torch.arange(len(some)), some] = -torch.inf
        level.append(value.logsumexp(1))
    return own - torch.cat(level)[place]


def roots_table(trained: Trained, graph: Graph, k: int) -> pl.DataFrame:
    """The k nodes nearest to the top: with the smallest radius, and what the graph says of them."""
    import polars as pl

    _check(trained)
    z = messages_both_ways(trained, graph)
    radius = upper_points(trained.predictor, z).double().norm(dim=1)
    nearest = radius.argsort(stable=True)[:k]
    child, parent = graph.edge_index
    counts = [torch.bincount(end, minlength=graph.num_nodes)[nearest] for end in (child, parent)]
    return pl.DataFrame(
        {
            "id": id_column(graph)[nearest.tolist()],
            "radius": radius[nearest].numpy(),
            "parents": counts[0].numpy(),
            "children": counts[1].numpy(),
        }
    )


@torch.no_grad()
def upper_points(predictor: Predictor, z: Tensor) -> Tensor:
    """Points of all nodes as upper ones: anchors where there are some, else the embeddings."""
    return predictor.heads["anchors"]().to(z) if "anchors" in predictor.heads else z


def messages_both_ways(trained: Trained, graph: Graph) -> Tensor:
    """Embeddings of a hierarchy: messages travel up and down, as they do in training."""
    kept: dict[str, Any] = trained._kept.setdefault("both_ways", {})
    if kept.get("of") is not graph:
        edges = graph.edge_index
        both = graph.replace(
            edge_index=torch.cat((edges, edges.flip(0)), dim=1),
            edge_weight=None, split=None, links=None,
        )  # fmt: skip
        kept.update(of=graph, both=both)
    return embedding_layers(trained, kept["both"])[-1].cpu()


def _check(trained: Trained) -> None:
    if "is_a" not in trained.predictor.heads:
        raise ConfigError(
            f"Expected a run of the task 'hierarchy', got one of {trained.config.task!r}. Train "
            "one: hgcn train EDGES --task hierarchy --model free"
        )
