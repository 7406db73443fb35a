"""The structural term and the graph as it counts on it, for the search of the best pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hgcn.compiled import compiled
from hgcn.inference.structural_term import Box, Network, network_of, new_box, upper
from hgcn.kernels.numba_cpu.counts_of_pairs import MOST_PATHS, MOST_SHARED, visible
from hgcn.kernels.rows import FARTHEST, Bytes, Doubles, Ints
from hgcn.nn.structure import both_ways

if TYPE_CHECKING:
    from hgcn.data.graph import Graph
    from hgcn.nn.structure import StructureTerm


class Model(NamedTuple):
    """The structural term, and the graph as it counts on it.

    Attributes:
        start, other, weight: the edges in both directions.
        strength: the sum of the weights of each node.
        direction: that of each edge (:func:`hgcn.kernels.pair_counts`).
        directed: 1 if some edge has no reverse.
        outward, inward: the degrees of each node in either direction.
        hidden, out, direct: the weights of the network.
        adamic: one over the logarithm of the degree of each node.
        root: one over the root of the degree.
        ways: the sum of the degrees of the neighbours.
        lightest, heaviest: the smallest and the largest weight of the edges of each node.
        kind: the class of each node; classes are ranges of degrees.
        least, most: the smallest and the largest degree in each class.
        scale: what a path from a node of each class is counted as, at most.
        bucket: the bucket of each number of common neighbours.
        alike: a number for each node, the same for nodes of the same degrees.
        far: for each such number and class, the largest term at a distance of four or more.
    """

    start: Ints
    other: Ints
    weight: Doubles
    strength: Doubles
    direction: Bytes
    directed: int
    outward: Doubles
    inward: Doubles
    hidden: Doubles
    out: Doubles
    direct: Doubles
    adamic: Doubles
    root: Doubles
    ways: Doubles
    lightest: Doubles
    heaviest: Doubles
    kind: Ints
    least: Doubles
    most: Doubles
    scale: Doubles
    bucket: Ints
    alike: Ints
    far: Doubles


def model_of(term: StructureTerm, graph: Graph) -> Model:
    """What the search asks of a structural term and a graph."""
    n = graph.num_nodes
    shown = both_ways(graph.edge_index, graph.edge_weight, n)
    edges = visible(shown.weight, shown.direction, shown.graph)
    start, other, weight, _, direction = edges
    degree, node = np.diff(start), shown.graph.target.numpy()
    outward: Doubles = np.bincount(node, direction & 1, n).astype(np.float64)
    inward: Doubles = np.bincount(node, direction >> 1, n).astype(np.float64)
    ways = np.bincount(node, degree[other], n).astype(np.float64)
    lightest, heaviest = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(lightest, node, weight)
    np.maximum.at(heaviest, node, weight)
    # 0, 1, ..., 8, and then steps by a quarter.
    level = np.where(degree <= 8, degree, 9 + np.log(np.maximum(degree, 9) / 9) // np.log(1.25))
    kind = np.unique(level, return_inverse=True)[1].reshape(-1)
    count = int(kind.max(initial=-1)) + 1
    least, most, scale = np.full(count, np.inf), np.zeros(count), np.zeros(count)
    np.minimum.at(least, kind, degree)
    np.maximum.at(most, kind, degree)
    np.maximum.at(
        scale, kind, np.maximum(1, degree / MOST_SHARED) * np.maximum(1, ways / MOST_PATHS)
    )
    numbers = np.arange(degree.max(initial=0) + 1)
    bucket = np.where(numbers > 0, 1 + np.ceil(np.log2(np.maximum(numbers, 1))), 0)
    _, alone, alike = np.unique(
        np.stack((degree, outward, inward)), axis=1, return_index=True, return_inverse=True
    )
    model = Model(
        *edges, int((direction < 3).any()), outward, inward, *network_of(term),
        1 / np.log(np.maximum(degree, 2)), 1 / np.sqrt(np.maximum(degree, 1)), ways, lightest,
        heaviest, kind, least, most, scale, bucket.astype(np.int64), alike.reshape(-1),
        np.zeros((len(alone), count)),
    )  # fmt: skip
    _fill_far(alone, model, new_box(len(model.out)))
    return model


def no_model(n: int) -> Model:
    """In place of a structural term where there is none: all n nodes are of one class."""
    none, zero = np.zeros(n, np.int64), np.zeros(1)
    return Model(
        start=none, other=none, weight=zero, strength=zero,
        direction=np.zeros(1, np.int8), directed=0, outward=zero, inward=zero,
        hidden=np.zeros((1, 1)), out=zero, direct=zero, adamic=zero, root=zero, ways=zero,
        lightest=zero, heaviest=zero, kind=none,
        least=zero, most=zero, scale=zero, bucket=none, alike=none, far=np.zeros((1, 1)),
    )  # fmt: skip


@compiled(inside=True)
def weights_of(model: Model) -> Network:
    """The network of the term."""
    return model.hidden, model.out, model.direct


@compiled(inside=True, error_model="numpy")
def own_ways(i: int, end: int, model: Model, low: Doubles, high: Doubles) -> None:
    """How much the degrees of a node in either direction differ from its degree, at its end."""
    degree = math.log1p(float(model.start[i + 1] - model.start[i]))
    low[10 + end] = high[10 + end] = math.log1p(model.outward[i]) - degree
    low[12 + end] = high[12 + end] = math.log1p(model.inward[i]) - degree


@compiled(inside=True, error_model="numpy")
def any_ways(i: int, kind: int, model: Model, low: Doubles, high: Doubles) -> None:
    """The same of node i and of the nodes of a class, of which only degrees are known."""
    if model.directed:
        own_ways(i, 0, model, low, high)
        low[11] = low[13] = -math.log1p(model.most[kind])


@compiled(error_model="numpy")
def _fill_far(nodes: Ints, model: Model, box: Box) -> None:
    """The bounds ``far`` of the model, from one node of each kind of degrees."""
    low, high = box[0], box[1]
    for i in nodes:
        own = float(model.start[i + 1] - model.start[i])
        for kind in range(len(model.most)):
            least, most = model.least[kind], model.most[kind]
            if own == 0.0 or most == 0.0:
                continue
            low[:] = 0.0
            high[:] = 0.0
            any_ways(i, kind, model, low, high)
            bound = 0.0  # none has been found
            for distance in range(4, FARTHEST + 1):
                low[5] = high[5] = distance
                bound = max(bound, upper(own, least, most, weights_of(model), box))
            model.far[model.alike[i], kind] = bound
