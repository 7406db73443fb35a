"""The public operations on points and neighbourhoods, whatever the device.

Each is differentiable in its floating-point arguments, once. The work is done by a backend, see
:mod:`hgcn.kernels.backends`. Weights and other values of edges are in the order of
:class:`~hgcn.kernels.csr.Neighbourhoods`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hgcn.kernels.backends import backends_of, call
from hgcn.kernels.csr import Neighbourhoods, sparse_rows


def translate(v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
    """Walk from the points along a bias: ``geometry.translate(v, bias, c=c)``.

    Args:
        v: points, fused for shape ``[n, d]``.
        bias: tangent vectors at the origin, fused for shape ``[d]`` or ``[n, d]``.
        c: scalar; the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[n, d]``.
    """
    result: Tensor = call("translate", v, v, bias, c)
    return result


def squared_distance(v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    """Squared distances of points: ``geometry.squared_distance(v, w, c=c)``.

    Args:
        v, w: points, fused for two lists of the same shape ``[n, d]``.
        c: scalar; the space has sectional curvature ``-c``.

    Returns:
        Squared distances, shape ``[n]``.
    """
    result: Tensor = call("squared_distance", v, v, w, c)
    return result


def local_sum(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """The paper's aggregation: translate v_i by the sum of ``w_ij local_log(v_i, v_j)``.

    Args:
        target: points v_i, shape ``[num_targets, d]``.
        source: points v_j, shape ``[num_sources, d]``. If ``target`` is the same tensor,
            or ``source[:n]``, target i is source i, and edges from a node to itself are left out.
        weight: one number for each edge, shape ``[E]``.
        c: scalar; the space has sectional curvature ``-c``.
        graph: the edges.

    Returns:
        Points, shape ``[num_targets, d]``.
    """
    result: Tensor = call("local_sum", target, target, source, weight, c, graph)
    return result


def centroid(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Lorentz centroid of the neighbours of each target; :func:`hgcn.geometry.centroid` of them.

    Args:
        target: points from which the neighbours are seen first, shape ``[num_targets, d]``. The
            result does not depend on them but for rounding, and they get no gradient.
        source: points of the neighbours, shape ``[num_sources, d]``.
        weight: non-negative, shape ``[E]``.
        c: scalar; the space has sectional curvature ``-c``.
        graph: the edges.

    Returns:
        Points, shape ``[num_targets, d]``.
    """
    result: Tensor = call("centroid", target, target, source, weight, c, graph)
    return result


def frechet_mean(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
) -> Tensor:
    """Fréchet mean of the neighbours of each target; :func:`hgcn.geometry.frechet_mean` of them.

    Args:
        target: points from which the search begins, shape ``[num_targets, d]``. The result does not
            depend on them, and they get no gradient; one whose edges weigh nothing is its own mean.
        source: points of the neighbours, shape ``[num_sources, d]``.
        weight: non-negative numbers that add up to one over each neighbourhood, shape ``[E]``.
        c: scalar; the space has sectional curvature ``-c``.
        graph: the edges.

    Returns:
        Points, shape ``[num_targets, d]``.
    """
    result: Tensor = call("frechet_mean", target, target, source, weight, c, graph)
    return result


def ends(z: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of both ends of pairs: ``z[pairs[0]], z[pairs[1]]``.

    Args:
        z: shape ``[n, d]``.
        pairs: row numbers, shape ``[2, count]``.

    Returns:
        Two tensors of shape ``[count, d]``.
    """
    i, j = call("ends", z, z, pairs)
    return i, j


def weighted_sum(x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    """Sum of ``w_ij x_j`` over the neighbours of each target.

    Args:
        x: shape ``[num_sources, d]``.
        weight: one number for each edge, shape ``[E]``.
        graph: the edges.

    Returns:
        Shape ``[num_targets, d]``.
    """
    result: Tensor = call("weighted_sum", x, x, weight, graph)
    return result


def sparse_product(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight.T`` for a sparse ``x``, without a dense copy of it in either pass.

    Args:
        x: sparse matrix, shape ``[n, in_features]``.
        weight: shape ``[out_features, in_features]``.

    Returns:
        Shape ``[n, out_features]``.
    """
    graph, values = sparse_rows(x)
    return weighted_sum(weight.t(), values.to(weight.dtype), graph)


def attention(
    left: Tensor,
    right: Tensor | None,
    bias: Tensor,
    vector: Tensor,
    prior: Tensor | None,
    graph: Neighbourhoods,
    *,
    negative_slope: float,
) -> Tensor:
    """Softmax over the neighbours j of i of ``vector . leaky_relu(left_i + right_j + bias)``.

    Args:
        left: shape ``[num_targets, heads * hidden]``.
        right: shape ``[num_sources, heads * hidden]``. Without it, targets and sources are one set
            of nodes, and ``left`` has both side by side, ``[num_nodes, 2 * heads * hidden]``.
        bias: shape ``[heads * hidden]``.
        vector: shape ``[heads, hidden]``.
        prior: a non-negative factor for each edge, before normalisation; None for 1.
        graph: the edges.
        negative_slope: slope of the leaky ReLU for negative numbers.

    Returns:
        Shares that add up to one over each neighbourhood, shape ``[E, heads]``.
    """
    if prior is None and graph.counts is not None:
        prior = graph.ones(left.dtype)
    result: Tensor = call(
        "attention", left, left, right, bias, vector, prior, graph, negative_slope=negative_slope
    )
    return result


class Scores(NamedTuple):
    """What :func:`attention` computes scores from, where both ends are rows of one matrix h.

    Attributes:
        sides: maps h to ``left`` and ``right`` side by side, shape ``[2 * heads * hidden, d]``.
        bias, vector, negative_slope: as in :func:`attention`.
    """

    sides: Tensor
    bias: Tensor
    vector: Tensor
    negative_slope: float


def convolution(
    x: Tensor, weight: Tensor, bias: Tensor, c: Tensor, scores: Scores | None,
    prior: Tensor | None, graph: Neighbourhoods,
) -> Tensor | None:  # fmt: skip
    """A whole layer at once: ``local_sum(h, h, share)`` of ``h = translate(x @ weight.T, bias)``.

    It gives what the operations one by one do, and keeps less for the backward pass.

    Args:
        x: shape ``[n, in_features]``, dense or sparse.
        weight: shape ``[d, in_features]``.
        bias: shape ``[d]``.
        c: scalar; the space has sectional curvature ``-c``.
        scores: those of the attention, with one head; without it the mean is plain.
        prior: a factor for each edge, as in :func:`attention`.
        graph: the edges between n nodes.

    Returns:
        Points, shape ``[n, d]``; None if the first backend of the device does not have it.
    """
    whole = getattr(backends_of(x.device.type)[0], "convolution", None)
    if whole is None:
        return None
    entries = None
    if x.layout is not torch.strided:
        entries, values = sparse_rows(x)
        x = values.to(weight.dtype)
    result: Tensor = whole(x, entries, weight, bias, c, scores, prior, graph)
    return result


PAIR_COUNTS = (
    "common", "adamic_adar", "resources", "paths", "normalised_paths", "distance", "through",
    "back", "met", "split",
)  # fmt: skip
"""The columns of :func:`pair_counts`."""


def pair_counts(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Tensor:
    """Counts of what pairs of nodes have in common, the edge between the two left out.

    - ``common``: number of common neighbours;
    - ``adamic_adar``: the sum over them of one over the logarithm of their degree;
    - ``resources``: resource allocation, the sum of one over the degree; with weights, of the mean
      share that the two edges have in the weights of the common neighbour;
    - ``paths``: number of paths of three edges;
    - ``normalised_paths``: the same, each divided by the roots of the degrees of its inner nodes;
    - ``distance``: length of the shortest path, 0 if none of at most ``FARTHEST`` edges is found;
    - ``through``, ``back``, ``met``, ``split``: the common neighbours u of a pair (i, j) with edges
      i→u→j, j→u→i, i→u←j and i←u→j, which are all of them in an undirected graph.

    On the CPU work on a pair is bounded (:mod:`hgcn.kernels.numba_cpu.counts_of_pairs`): counts of
    nodes with thousands of neighbours are estimates without bias, and the search for a distance
    beyond three ends when it has looked at some hundred edges.

    Args:
        pairs: nodes, shape ``[2, M]``.
        weight: one number for each edge, shape ``[E]``, float64.
        direction: that of each edge, for the node in whose row it is: 1 if it goes to the
            neighbour, 2 if it comes from there, 3 for both; shape ``[E]``, int8.
        graph: the edges, each in both directions, without self-loops, the neighbours of a node in
            order.

    Returns:
        A row for each pair, shape ``[M, 10]``, float64; no gradient.
    """
    result: Tensor = call("pair_counts", pairs, pairs, weight, direction, graph)
    return result
