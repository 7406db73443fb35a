"""The rank of each ancestor of a node among all nodes, by a compiled scan of all pairs."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from hgcn.compiled import compiled, in_chunks
from hgcn.data.neighbours import neighbours
from hgcn.kernels.numba_cpu.cone_ranking import APERTURE
from hgcn.kernels.numba_cpu.ranking import polar_numbers
from hgcn.kernels.numba_cpu.scalars import log
from hgcn.kernels.rows import Doubles, Ints
from hgcn.nn.is_a import ConeScore, DistanceScore
from hgcn.nn.spaces import Space

CHUNK = 16
"""Nodes that are ranked in one call of a thread."""
DISTANCE, CONE = range(2)


@compiled(inside=True, error_model="numpy")
def _angles(across: Doubles, along: Doubles, aperture: Doubles, last: float) -> None:
    """Put angles less apertures in the place of ``across``, infinity where beyond ``last``.

    The angle x between 0 and pi of tangent across/along is at most y, if y is one too, where
    across cos(y) <= along sin(y). So most nodes of a large hierarchy need no arc tangent.
    """
    cosine, sine = math.cos(last), math.sin(last)
    for j in range(len(across)):
        # With y = last + aperture; a little more than rounding is let through.
        x = across[j] * (cosine * aperture[1, j] - sine * aperture[2, j])
        y = along[j] * (sine * aperture[1, j] + cosine * aperture[2, j])
        near = x <= y + 1e-9 * (across[j] + abs(along[j]))
        near |= last + aperture[0, j] > math.pi
        along[j] = along[j] if near else np.nan
    for j in range(len(across)):
        if math.isnan(along[j]):
            across[j] = np.inf
        else:
            across[j] = math.atan2(across[j], along[j]) - aperture[0, j]


@compiled(error_model="numpy", nogil=True)
def rank_nodes(  # noqa: PLR0912, PLR0913, PLR0917
    first_chunk: int, last_chunk: int, nodes: Ints, unit: Doubles, low: Doubles, columns: Doubles,
    at: Doubles, kind: int, flat: bool, toll: float, lean: float, aperture: Doubles, start: Ints,
    above: Ints, known_start: Ints, known: Ints, precision: Doubles, rank: Doubles,
) -> None:  # fmt: skip
    """Average precision of each node, and the mean rank of its ancestors.

    Args:
        nodes: the nodes.
        unit, low: directions ``[N, d]`` and numbers ``[N, 5]`` of all nodes as lower ones.
        columns, at: those of upper ones, ``[d, N]`` and ``[5, N]``.
        kind: the score.
        flat: points are plain vectors, in ``unit`` as they are.
        toll: what an upper node pays for each unit that it is farther out than the lower one.
        lean: what it pays for each unit of its radius.
        aperture: half the aperture of the cone of each node, its cosine and its sine, ``[3, N]``.
        start, above: the ancestors that are asked for, by node.
        known_start, known: all ancestors of each node: those not asked for are no wrong answers.
        precision, rank: the results. Of equal scores the wrong node comes first.
    """
    d, n = columns.shape
    for chunk in range(first_chunk, last_chunk):
        cost, along = np.empty(n), np.empty(n)
        for b in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(nodes))):
            u = nodes[b]
            cost[:] = 0.0
            for k in range(d):
                x, column = unit[u, k], columns[k]
                for j in range(n):
                    cost[j] += (column[j] - x) * (column[j] - x)
            sinh, grow, decay = low[u, 1], low[u, 3], low[u, 4]
            if flat:
                for j in range(n):
                    cost[j] = math.sqrt(cost[j]) + lean * at[0, j]
                    cost[j] += toll * max(0.0, at[0, j] - low[u, 0])
            elif kind == DISTANCE:
                for j in range(n):
                    gap = 0.5 * (grow * at[4, j] - at[3, j] * decay)
                    h = gap * gap + 0.25 * sinh * at[1, j] * cost[j]
                    far = 2.0 * log(math.sqrt(h) + math.sqrt(1.0 + h))
                    cost[j] = far + lean * at[0, j] + toll * max(0.0, at[0, j] - low[u, 0])
            else:
                for j in range(n):
                    gap = 0.5 * (grow * at[4, j] - at[3, j] * decay)
                    s = min(0.25 * cost[j], 1.0)
                    along[j] = 2.0 * (gap * math.sqrt(1.0 + gap * gap) - at[2, j] * sinh * s)
                    cost[j] = 2.0 * sinh * math.sqrt(s * (1.0 - s))
            asked = np.empty(start[u + 1] - start[u])
            for position in range(len(asked)):
                v = above[start[u] + position]
                asked[position] = cost[v]
                if kind == CONE and not flat:
                    asked[position] = math.atan2(cost[v], along[v]) - aperture[0, v]
            asked.sort()
            if kind == CONE and not flat:
                _angles(cost, along, aperture, asked[-1])
            cost[u] = np.inf
            for position in range(known_start[u], known_start[u + 1]):
                cost[known[position]] = np.inf
            wrong = np.zeros(len(asked) + 1)
            last = asked[-1]
            for j in range(n):
                if cost[j] <= last:
                    place = 0
                    while asked[place] < cost[j]:
                        place += 1
                    wrong[place] += 1.0
            before, right, places = 0.0, 0.0, 0.0
            for place in range(len(asked)):
                before += wrong[place]
                right += (1.0 + place) / (1.0 + place + before)
                places += 1.0 + before
            precision[b], rank[b] = right / len(asked), places / len(asked)


def ranks_above(
    lower: Tensor, upper: Tensor, space: Space, score: nn.Module, pairs: Tensor, closure: Tensor,
    nodes: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Average precision of the ancestors of each node, and their mean rank, both as published.

    An ancestor is ranked among all nodes that are no ancestors: rank 1 is before all of them.

    Args:
        lower, upper: points ``[N, d]`` of all nodes as lower and as upper ones.
        space: their space.
        score: the score of "is a".
        pairs: the pairs that are asked for, ``[2, M]``.
        closure: all pairs that are right.
        nodes: the nodes to rank for; each of them has pairs.
    """
    n = len(upper)
    low, points = (z.detach().cpu().double().numpy() for z in (lower, upper))
    flat = not space.curvatures
    root = 1.0 if flat else math.sqrt(space.curvatures[0])
    (unit, at), (low_unit, low_at) = polar_numbers(points, root), polar_numbers(low, root)
    kind = CONE if isinstance(score, ConeScore) else DISTANCE
    toll, lean = (score.toll, score.lean) if isinstance(score, DistanceScore) else (0.0, 0.0)
    narrow = np.arcsin(2 * APERTURE / np.maximum(at[:, 1], 2 * APERTURE))
    aperture = np.stack((narrow, np.cos(narrow), np.sin(narrow)))
    if flat:
        unit, low_unit = points, low
    rows = [
        neighbours(edges[0].cpu().numpy(), edges[1].cpu().numpy(), n) for edges in (pairs, closure)
    ]
    lists = [part.astype(np.int64) for row in rows for part in (row.start, row.node)]
    asked = nodes.cpu().numpy()
    precision, rank = np.empty((2, len(asked)))
    in_chunks(
        rank_nodes, -(-len(asked) // CHUNK), asked, low_unit, low_at,
        np.ascontiguousarray(unit.T), np.ascontiguousarray(at.T), kind, flat, toll, lean,
        aperture, *lists, precision, rank,
    )  # fmt: skip
    return torch.from_numpy(precision), torch.from_numpy(rank)
