"""The scene: the layers of an embedding in two dimensions, the graph, and facts about nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from hgcn.errors import DataError
from hgcn.scenes.projection import ProjectionLoss

LONGEST_TEXT = 120
"""Texts are cut to so many characters, so that pages stay small."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What the model itself says of a layer that was projected, so that the drawing cannot.

    Args:
        radius: the distance of each node from the origin, ``[n]``.
        distance: the length of each edge, ``[m]``.
        kept: the share of the ten nearest nodes of each node that are among its ten nearest in the
            drawing, ``[n]``; NaN where it was not measured.
        nearest: the nearest nodes of each node, nearest first, ``[n, k]``; None in large graphs.
        nearest_distance: how far they are, ``[n, k]``.

    Example:
        >>> Measured(np.ones(3), np.ones(2), np.array([1.0, 0.9, np.nan])).kept[1]
        np.float64(0.9)
    """

    radius: np.ndarray
    distance: np.ndarray
    kept: np.ndarray
    nearest: np.ndarray | None = None
    nearest_distance: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of an encoder, in two dimensions.

    Made by :func:`hgcn.viewer.scene_from_embeddings`.

    Args:
        title: heading of the layer, for example "Input" or "Layer 1".
        points: normal coordinates, shape ``[n, 2]``, kept as float64: far from the origin, float32
            cannot tell neighbours apart.
        curvature: ``c > 0`` for a space of sectional curvature ``-c``; None for a flat one.
        lost: the loss of the projection to two dimensions; None where it is exact.
        attention: share of each edge in its neighbourhood, shape ``[2, m]``: row 0 for the message
            from ``edges[0]`` to ``edges[1]``, row 1 for the way back; NaN where there is none.
        own: the share of each node itself in its own neighbourhood, ``[n]``, beside attention.
        measured: what the model says of a layer that was projected; None where the drawing is
            exact and says it itself.
    """

    title: str
    points: np.ndarray
    curvature: float | None = None
    lost: ProjectionLoss | None = None
    attention: np.ndarray | None = None
    own: np.ndarray | None = None
    measured: Measured | None = None

    def __post_init__(self) -> None:
        points = np.ascontiguousarray(self.points, dtype=np.float64)
        _expect(
            points.ndim == 2 and points.shape[1] == 2 and bool(np.isfinite(points).all()),
            f"the points of layer {self.title!r} to be a finite matrix [n, 2]",
            f"shape {list(points.shape)}" + ", not finite" * (not np.isfinite(points).all()),
            "More dimensions are projected by scene_from_embeddings.",
        )
        _expect(
            self.curvature is None or 0 < self.curvature < float("inf"),
            f"the curvature of layer {self.title!r} to be None or a number c > 0",
            self.curvature,
            "Sectional curvature is -c.",
        )
        object.__setattr__(self, "points", points)


@dataclass(frozen=True, eq=False)
class Categories:
    """A fact about nodes with names for values: a code for each node, -1 where it is unknown.

    Made by :func:`hgcn.viewer.scene_from_embeddings`.
    """

    codes: np.ndarray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        _expect(
            codes.size == 0 or (codes.min() >= -1 and codes.max() < len(self.names)),
            f"codes in -1..{len(self.names) - 1}",
            f"{codes.min() if codes.size else ''}..{codes.max() if codes.size else ''}",
        )


@dataclass(frozen=True, eq=False)
class Numbers:
    """A fact about nodes that is a number; NaN where it is unknown.

    Made by :func:`hgcn.viewer.scene_from_embeddings`.
    """

    values: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.ascontiguousarray(self.values, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Texts:
    """A fact about nodes that is text of many values. It is shown and searched, but has no colours.

    Made by :func:`hgcn.viewer.scene_from_embeddings`.
    """

    values: Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(_cut(str(value)) for value in self.values))


Column = Categories | Numbers | Texts


@dataclass(frozen=True, eq=False)
class MissingLinks:
    """Pairs without an edge that a model finds probable, the most probable first.

    Made by :func:`hgcn.viewer.scene_from_embeddings`.

    Args:
        pairs: the nodes, ``[2, m]``.
        probability: how probable a link is, ``[m]``.
        distance: how far the two are in the space of the model, ``[m]``, where that is known.
    """

    pairs: np.ndarray
    probability: np.ndarray
    distance: np.ndarray | None = None

    def __post_init__(self) -> None:
        pairs = np.ascontiguousarray(self.pairs, dtype=np.int32)
        probability = np.ascontiguousarray(self.probability, dtype=np.float32)
        _expect(
            pairs.ndim == 2 and pairs.shape == (2, len(probability)),
            "as many missing links as probabilities, shape [2, m]",
            f"{list(pairs.shape)} and {list(probability.shape)}",
        )
        order = np.argsort(-probability, kind="stable")
        object.__setattr__(self, "pairs", np.ascontiguousarray(pairs[:, order]))
        object.__setattr__(self, "probability", probability[order])
        if self.distance is not None:
            distance = np.asarray(self.distance, dtype=np.float32)
            _expect(
                distance.shape == probability.shape,
                f"a distance for each of {len(probability)} missing links",
                list(distance.shape),
            )
            object.__setattr__(self, "distance", distance[order])


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that one picture shows.

    :func:`hgcn.viewer.scene_from_embeddings` builds it from tensors.

    Args:
        name: heading of the picture.
        layers: from the input to the last layer, all with the same nodes.
        ids: the id of each node, as the user calls it. It may be any text: it is shown, never run.
        edges: each edge once, shape ``[2, m]``.
        columns: facts by which nodes are coloured, described and found, in the order of the menu.
        missing: missing links that are probable; they are drawn dashed.
        metrics: rows of a small table, for example ``("test AUC", "96.9")``.
        directed: whether the direction of an edge means something.
        labels: a name for each node that people read in place of its id, such as a title.
        note: what a reader has to know of the picture as a whole, such as that it is a sample.
        rooted: whether the origin is the place of a root. Then the picture is seen from there at
            first, and else from the mean of all nodes.
    """

    name: str
    layers: Sequence[Layer]
    ids: np.ndarray
    edges: np.ndarray
    columns: Mapping[str, Column] = field(default_factory=dict)
    missing: MissingLinks | None = None
    metrics: Sequence[tuple[str, str]] = ()
    directed: bool = False
    labels: Sequence[str] | None = None
    note: str = ""
    rooted: bool = False

    def __post_init__(self) -> None:
        ids = np.asarray([str(one) for one in np.asarray(self.ids).tolist()], dtype=object)
        edges = np.ascontiguousarray(self.edges, dtype=np.int32)
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        object.__setattr__(self, "metrics", tuple((str(k), str(v)) for k, v in self.metrics))
        n, m = len(ids), edges.shape[1] if edges.ndim == 2 else -1
        _expect(n > 0, "a scene to have at least one node", n)
        _expect(len(self.layers) > 0, "a scene to have at least one layer", 0)
        _check_pairs("edges", edges, n)
        if self.missing is not None:
            _check_pairs("missing links", self.missing.pairs, n)
        for layer in self.layers:
            _expect(
                len(layer.points) == n,
                f"layer {layer.title!r} to have {n} nodes",
                len(layer.points),
            )
            shape = None if layer.attention is None else layer.attention.shape
            _expect(
                shape in (None, (2, m)),
                f"the attention of layer {layer.title!r} to have shape [2, {m}]",
                shape and list(shape),
            )
            for what, found, wanted in _sizes(layer, n, m):
                _expect(
                    found == wanted,
                    f"{what} of layer {layer.title!r} to have size {wanted}",
                    found,
                )
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(str(label) for label in self.labels))
            _expect(len(self.labels) == n, f"{n} labels, one a node", len(self.labels))
        for name, column in self.columns.items():
            size = len(column.codes if isinstance(column, Categories) else column.values)
            _expect(size == n, f"column {name!r} to have {n} entries", size)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.ids)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _sizes(layer: Layer, n: int, m: int) -> Iterator[tuple[str, int, int]]:
    """The arrays of a layer: what each is called, its length, and the length it should have."""
    if layer.own is not None:
        yield "the own shares", len(layer.own), n
    if (measured := layer.measured) is not None:
        yield "the radii", len(measured.radius), n
        yield "the distances", len(measured.distance), m
        yield "the shares kept", len(measured.kept), n
        if measured.nearest is not None:
            yield "the nearest nodes", len(measured.nearest), n


def _check_pairs(what: str, pairs: np.ndarray, n: int) -> None:
    _expect(
        pairs.ndim == 2 and pairs.shape[0] == 2,
        f"{what} to have shape [2, m]",
        list(pairs.shape),
    )
    _expect(
        pairs.size == 0 or (pairs.min() >= 0 and pairs.max() < n),
        f"{what} to hold nodes in 0..{n - 1}",
        f"{pairs.min() if pairs.size else ''}..{pairs.max() if pairs.size else ''}",
    )


def _expect(holds: bool, expected: str, got: object, hint: str = "") -> None:
    if not holds:
        raise DataError(f"Expected {expected}, got {got}.{hint and ' ' + hint}")
