r"""A quick look at all nodes for those that may lie close to one.

The height H of a pair (:mod:`hgcn.inference.pair_search`) is at most L only if
:math:`\sinh\rho_i \sinh\rho_j |u_i - u_j|^2/4 \le L`, that is, if

.. math:: u_i \cdot u_j \ge |u_i|^2/2 + |u_j|^2/2 - 2 L / (\sinh\rho_i \sinh\rho_j).

Products in single precision, of one node with many at a time, leave few pairs whose H is to be
computed. What rounding may change is allowed for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled
from hgcn.kernels.rows import Doubles, Ints

Singles = NDArray[np.float32]

CHUNK = 512
"""Nodes that are looked at together."""


class Places(NamedTuple):
    """All nodes in the order in which they are looked at: by graph, then class, then rank.

    Attributes:
        rank: when each node is the one whose pairs are searched. A pair is looked at from the node
            of smaller rank, so that the first nodes have the most to choose from.
        least: the smallest number of a node in the pairs that are looked at from each node.
        order: the nodes.
        group: the graph of each node, numbered from 0.
        first: the first run of each graph, and at last the number of runs. A run is the nodes of
            one class.
        begin: the first place of each run, and at last the number of nodes.
        kind: the class of each run.
        columns: the points in this order, ``[d, N]``.
        half: half the squares of their lengths.
        inverse: one over their sinh(rho).
        slack: more than rounding changes in a product.
    """

    rank: Ints
    least: Ints
    order: Ints
    group: Ints
    first: Ints
    begin: Ints
    kind: Ints
    columns: Singles
    half: Doubles
    inverse: Doubles
    slack: float


Found = tuple[Singles, Ints]
"""Room for the products of a chunk, and for the nodes that are found in it."""


def places_of(
    form: tuple[Doubles, Doubles], group: NDArray[Any], kind: Ints, rows: Ints, both_ways: bool
) -> Places:
    """The nodes in order.

    Args:
        form: ``point`` and ``at`` of :class:`hgcn.inference.pair_search.Pairs`.
        group: the graph of each node.
        kind: the class of each node.
        rows: the nodes in the order in which their pairs are searched.
        both_ways: whether a pair is looked at from both its nodes, and has each of them first.
    """
    point, at = form
    rank = np.argsort(rows)
    least = np.arange(len(rows)) if both_ways else np.minimum.accumulate(rows[::-1])[::-1][rank]
    group = np.unique(group, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((rank, kind, group))
    changes = np.diff(group[order], prepend=-1), np.diff(kind[order], prepend=-1)
    begin = np.flatnonzero((changes[0] != 0) | (changes[1] != 0))
    graphs = np.arange(int(group.max(initial=-1)) + 2)
    square = (point**2).sum(1)
    with np.errstate(over="ignore"):  # then everything passes
        columns = np.ascontiguousarray(point[order].T, np.float32)
    return Places(
        rank, least, order, group, np.searchsorted(group[order][begin], graphs),
        np.append(begin, len(order)), kind[order][begin], columns, 0.5 * square[order],
        1 / np.maximum(at[order, 1], np.finfo(np.float64).tiny),
        float((point.shape[1] + 16) * 2.0**-23 * square.max(initial=0.0)),
    )  # fmt: skip


@compiled()
def room_for_found() -> Found:
    """Room for a thread."""
    return np.empty(CHUNK, np.float32), np.empty(CHUNK, np.int64)


@compiled(error_model="numpy")
def place_after(i: int, run: int, places: Places) -> int:
    """The first place of a run with a node of a larger rank than i."""
    low, high = places.begin[run], places.begin[run + 1]
    while low < high:
        middle = (low + high) >> 1
        if places.rank[places.order[middle]] <= places.rank[i]:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(error_model="numpy")
def find_close(
    i: int, low: int, high: int, limit: float, point: Doubles, at: Doubles, places: Places,
    found: Found,
) -> int:  # fmt: skip
    """Find all nodes at the places low to high whose pair with i may be up to the limit.

    Returns:
        Their number; they are the first ones of ``found``. Some of them may be higher.
    """
    products, near = found
    length, columns, dimensions = high - low, places.columns, point.shape[1]
    products[:length] = 0.0
    own = 0.0
    for d in range(dimensions):
        x = np.float32(point[i, d])
        own += point[i, d] * point[i, d]
        column = columns[d, low:high]
        for m in range(length):
            products[m] += x * column[m]
    reach = 2.0 * limit / max(at[i, 1], 1e-300)
    least = 0.5 * own - places.slack
    half, inverse = places.half[low:high], places.inverse[low:high]
    count = 0
    for m in range(length):
        near[count] = places.order[low + m]
        # Numbers that are not comparable, as those of points very far out, pass.
        count += not (products[m] + reach * inverse[m] < least + half[m])
    return count
