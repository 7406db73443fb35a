"""Predictions of a trained network: classes of nodes, and links between pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hgcn.compiled import fixed_order
from hgcn.data.graph import Graph
from hgcn.errors import GraphError
from hgcn.inference.smoothing import smoothed
from hgcn.inference.trained import Trained, embedding_layers, id_column, row_blocks

if TYPE_CHECKING:
    import polars as pl


def class_probabilities(trained: Trained, graph: Graph) -> Tensor:
    """Probabilities ``[N, classes]`` of the classes of all nodes."""
    return torch.cat(list(_chances(trained, graph)))


@torch.no_grad()
def _chances(trained: Trained, graph: Graph) -> Iterator[Tensor]:
    """Probabilities of the classes, some rows at a time."""
    for logits in _smoothed(trained, graph) if trained.config.smooth else _logits(trained, graph):
        yield trained.calibration.classes(logits)


def _logits(trained: Trained, graph: Graph) -> Iterator[Tensor]:
    """What the classifier says of each node, some rows at a time."""
    z = embedding_layers(trained, graph)[-1]
    for rows in row_blocks(graph.num_nodes):
        with fixed_order(graph.size):
            yield trained.predictor.classes(z[rows].to(trained.config.device)).cpu()


def _smoothed(trained: Trained, graph: Graph) -> Iterator[Tensor]:
    """The same, smoothed along edges: this takes the logits of all nodes at once."""
    logits, known = torch.cat(list(_logits(trained, graph))), trained.known(graph)
    with fixed_order(graph.size):
        given = logits, graph.edge_index, graph.edge_weight, known
        logits = smoothed(*given, share=trained.config.smooth)
    return (logits[rows] for rows in row_blocks(graph.num_nodes))


def class_table(trained: Trained, graph: Graph) -> pl.DataFrame:
    """A table: the most probable class of each node, and the probabilities of all classes."""
    import polars as pl

    return pl.concat(class_blocks(trained, graph))


def class_blocks(trained: Trained, graph: Graph) -> Iterator[pl.DataFrame]:
    """The table of classes, some rows at a time."""
    import polars as pl

    names = trained.names_of_classes()
    chances = _chances(trained, graph)
    for rows, chance in zip(row_blocks(graph.num_nodes), chances, strict=True):
        best, number = chance.max(-1)
        yield pl.DataFrame(
            {
                "id": id_column(graph, rows),
                "class": [names[k] for k in number.tolist()],
                "probability": best.numpy(),
                **{f"p({name})": chance[:, k].numpy() for k, name in enumerate(names)},
            }
        )


@torch.no_grad()
def link_probabilities(trained: Trained, pairs: Any, graph: Graph) -> Tensor:
    """Probabilities ``[M]`` of links between pairs of nodes ``[2, M]``, numbered from 0."""
    pairs = torch.as_tensor(pairs)
    if pairs.dim() != 2 or len(pairs) != 2 or pairs.is_floating_point():
        raise GraphError(
            f"Expected `pairs` to be integers of shape [2, number of pairs], got {pairs.dtype} "
            f"of shape {list(pairs.shape)}."
        )
    wrong = ((pairs < 0) | (pairs >= graph.num_nodes)).any(0).nonzero()
    if len(wrong):
        raise GraphError(
            f"Expected nodes in 0..{graph.num_nodes - 1}, got {pairs[:, wrong[0, 0]].tolist()} "
            f"as pair {int(wrong[0])}."
        )
    z = embedding_layers(trained, graph)[-1].to(trained.config.device)
    with fixed_order(graph.size):
        weight = None if graph.edge_weight is None else graph.edge_weight.to(z.device)
        pairs, edges = pairs.to(z.device), graph.edge_index.to(z.device)
        facts = trained.predictor.facts(pairs, edges, weight, graph.num_nodes)
        return trained.calibration(trained.predictor.links(z, pairs, facts)).cpu()


def known_classes(trained: Trained, graph: Graph) -> Tensor:
    """The class of each node of a graph, with the numbers that the network has for them."""
    if graph.y is None:
        raise GraphError(
            "Expected a graph with labels to evaluate on, got one without. Give them with `labels`."
        )
    known, used = trained.class_names, torch.unique(graph.y[graph.y >= 0])
    if known is None or graph.class_names is None:
        count = trained.predictor.num_classes
        if len(used) and int(used[-1]) >= count:
            raise GraphError(
                f"Expected classes 0..{count - 1}, as the run was trained on, got {int(used[-1])}."
            )
        return graph.y
    unknown = [graph.class_names[k] for k in used.tolist() if graph.class_names[k] not in known]
    if unknown:
        raise GraphError(
            f"Expected classes among {_listed(known)}, as the run was trained on, got "
            f"{_listed(unknown)}."
        )
    number = torch.tensor([known.index(n) if n in known else -1 for n in graph.class_names] + [-1])
    return number[graph.y]  # -1, unknown, is the last entry


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
