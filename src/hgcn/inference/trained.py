"""A trained network with all that it takes to apply it to a graph, and its embeddings."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hgcn.compiled import fixed_order
from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.inference.calibration import Calibration
from hgcn.inference.feature_map import FeatureMap
from hgcn.inference.layerwise import each_layer
from hgcn.inference.smoothing import Known
from hgcn.models.predictor import Predictor
from hgcn.sampling import Adjacency

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 17
"""Rows of a table that are put together at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """A trained network.

    Attributes:
        config: all settings, with those that were chosen for the user.
        predictor: the network, with the weights of the best epoch.
        features: the map from features of a graph to input of the network.
        num_nodes: number of nodes of the graph it was trained on.
        class_names: names of the classes, where it was trained on classes.
        calibration: from logits to probabilities.
    """

    config: Config
    predictor: Predictor
    features: FeatureMap
    num_nodes: int
    class_names: tuple[str, ...] | None = None
    calibration: Calibration = field(default_factory=Calibration)
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what is kept for a graph in this process, which is made again."""
        kept = {k: value for k, value in self._kept.items() if k not in ("layers", "warned")}
        return {**self.__dict__, "_kept": kept}

    @property
    def device(self) -> torch.device:
        """Where the network is, and so where it is applied, whatever the settings of training."""
        return self.predictor.device

    def known(self, graph: Graph) -> Known | None:
        """The nodes of a graph whose classes it was trained on, and these; None on other graphs."""
        return None

    def names_of_classes(self) -> tuple[str, ...]:
        """A name for each class: its number where the data have no names."""
        return self.class_names or tuple(map(str, range(self.predictor.num_classes)))


@torch.no_grad()
def embedding_layers(trained: Trained, graph: Graph) -> list[Tensor]:
    """Embeddings after each layer, from the features to the output, in normal coordinates.

    A network that was trained in mini-batches is applied layer by layer to blocks of nodes
    (:mod:`hgcn.inference.layerwise`), with the same result and less memory.

    Messages travel on all edges of the graph. Embeddings of the last graph are kept, and must not
    be changed in place. They are made anew when a weight or the graph has changed.
    """
    config, predictor = trained.config, trained.predictor.eval()
    device, dtype = trained.device, getattr(torch, config.dtype)
    # In mini-batches only these are on the device.
    home = "cpu" if config.batch_size else device
    x = trained.features(graph).to(device=home, dtype=dtype)
    stamp = predictor.stamp(), *(t._version for t in graph.tensors() if not t.is_inference())
    last = trained._kept.get("layers")
    if last is not None and last[0]() is graph and last[1] == stamp:
        return [x.cpu(), *last[2]] if len(predictor.encoder.spaces) > 1 else list(last[2])
    weight = graph.edge_weight
    with fixed_order(graph.size):
        if config.batch_size:
            rows = Adjacency.of(graph.edge_index, weight, graph.num_nodes)
            made = each_layer(predictor.encoder, x, rows, device, dtype)
            layers = [x, *made]
        else:
            if weight is not None:
                weight = weight.to(device=device, dtype=dtype)
            layers = predictor.encoder.encode_layers(x, graph.edge_index.to(device), weight)
    layers = [z.cpu() for z in layers]
    # The features are at hand anyway. Tensors of inference mode are of no use outside of it.
    kept = layers[1:] if len(layers) > 1 else layers
    if not any(z.is_inference() for z in kept):
        trained._kept["layers"] = weakref.ref(graph), stamp, kept
    return layers


def embeddings(trained: Trained, graph: Graph, *, coordinates: str = "normal") -> Tensor:
    """Embeddings ``[N, dim]`` of all nodes of a graph."""
    space = trained.predictor.encoder.space
    return space.coordinates(embedding_layers(trained, graph)[-1], coordinates)


def embedding_table(trained: Trained, graph: Graph, *, coordinates: str = "normal") -> pl.DataFrame:
    """Embeddings with ids, as a table."""
    import polars as pl

    return pl.concat(embedding_blocks(trained, graph, coordinates=coordinates))


def embedding_blocks(
    trained: Trained, graph: Graph, *, coordinates: str = "normal"
) -> Iterator[pl.DataFrame]:
    """Embeddings with ids, as tables of some rows each."""
    import polars as pl

    space, layer = trained.predictor.encoder.space, embedding_layers(trained, graph)[-1]
    for rows in row_blocks(graph.num_nodes):
        z = space.coordinates(layer[rows], coordinates).numpy()
        columns = {f"z{k}": z[:, k] for k in range(z.shape[1])}
        yield pl.DataFrame({"id": id_column(graph, rows), **columns})


def row_blocks(total: int) -> Iterator[slice]:
    """The rows of a table that is written some at a time; one block for small ones."""
    return (slice(start, min(start + BLOCK, total)) for start in range(0, total, BLOCK))


def id_column(graph: Graph, rows: slice | None = None) -> pl.Series:
    """The ids of all nodes, or of some, as a column of a table."""
    import polars as pl

    if graph.ids.dtype.kind == "O":  # what type the column has, all of them tell
        column = pl.Series(graph.ids.tolist(), strict=False)
        return column if rows is None else column[rows]
    return pl.Series(graph.ids[slice(None) if rows is None else rows].tolist(), strict=False)
