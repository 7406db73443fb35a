"""Hard negatives: each edge against pairs with one other end, which look like edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from hgcn.data.pairs import Ints, distinct, keys
from hgcn.training.metrics import HITS

HARD = 250
"""Negatives of each edge, half of them with another node at either end."""
MOST_SHARING = 1000
"""A common neighbour of more nodes than these says nothing of two of them."""
BLOCK = 1_000_000
"""Pairs, or ways of two steps, that are held at a time."""


def hard_ends(
    nodes: Tensor, visible: Tensor, known: Tensor, graph_ids: Tensor, *, count: int, seed: int
) -> Tensor:
    """For each of some nodes the other nodes of its graph that it is most likely taken to link to.

    These are the nodes without an edge to it that have most of its neighbours in common: of highest
    resource allocation on the visible edges, the sum of one over the degree of each common
    neighbour, where those of more than ``MOST_SHARING`` neighbours count nothing. Nodes of equal
    resources, and those without, which fill up the rest, come in a random order of all nodes that
    starts at another place for each node.

    Args:
        nodes: different nodes ``[A]``.
        visible: the edges that neighbours are counted on, ``[2, E]``.
        known: the edges that are left out, in either direction, ``[2, K]``.
        graph_ids: the graph of each node ``[N]``.
        count: how many.
        seed: of the random order.

    Returns:
        Nodes ``[A, count]``, -1 where there are no more.
    """
    n = len(graph_ids)
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(n)
    order = shuffled[np.argsort(graph_ids.cpu().numpy()[shuffled], kind="stable")]
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    graphs = graph_ids.cpu().numpy()[order]
    start, neighbours = _rows(known.cpu().numpy(), n)
    asked = nodes.cpu().numpy()
    low, high = (np.searchsorted(graphs, graphs[place[asked]], side) for side in ("left", "right"))
    first = low + (generator.random(len(asked)) * (high - low)).astype(np.int64)
    result = np.full((len(asked), count), -1)
    for at, reached, shared in _resources(asked, visible.cpu().numpy(), n):
        node = asked[at]
        linked = neighbours[start[node] : start[node + 1]]
        free = ~np.isin(reached, linked) & (reached != node)
        near, resources = reached[free], shared[free]
        turn = (place[near] - first[at]) % (high[at] - low[at])
        best = near[np.lexsort((turn, -resources))[:count]]
        taken = np.concatenate((best, linked, [node]))
        rest = _walk(order[low[at] : high[at]], first[at] - low[at], count - len(best), taken)
        result[at, : len(best) + len(rest)] = np.concatenate((best, rest))
    return torch.from_numpy(result)


def _walk(circle: Ints, first: int, count: int, others: Ints) -> Ints:
    """The first nodes around a circle that are not among some others."""
    # So many are enough even if all the others stand first.
    ahead = np.arange(first, first + min(len(circle), count + len(others)))
    nodes = np.take(circle, ahead, mode="wrap")
    return nodes[~np.isin(nodes, others)][:count]


def _rows(edges: Ints, n: int) -> tuple[Ints, Ints]:
    """The neighbours of all nodes: the first position of each node, and the neighbours, sorted."""
    both = np.concatenate((edges, edges[::-1]), axis=1)[:, np.tile(edges[0] != edges[1], 2)]
    source, target = np.divmod(distinct(keys(both, n)), n)
    return np.searchsorted(source, np.arange(n + 1)), target


def _resources(nodes: Ints, visible: Ints, n: int) -> Iterator[tuple[int, Ints, np.ndarray]]:
    """For each node its position, the nodes two steps away, and the resources they share."""
    from scipy.sparse import csr_array

    start, target = _rows(visible, n)
    degree = np.diff(start)
    graph = csr_array((np.ones(len(target)), target, start), (n, n))
    share = np.where((degree > 0) & (degree <= MOST_SHARING), 1 / np.maximum(degree, 1), 0.0)
    passing = graph.multiply(share[None, :]).tocsr()
    passing.eliminate_zeros()
    ways = (passing != 0).astype(np.int64) @ degree
    ends = np.cumsum(ways[nodes])
    low = 0
    while low < len(nodes):
        done = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, done + BLOCK)))
        product = (passing[nodes[low:high]] @ graph).tocsr()
        for row in range(high - low):
            own = slice(product.indptr[row], product.indptr[row + 1])
            yield low + row, product.indices[own].astype(np.int64), product.data[own]
        low = high


def hard_metrics(
    positives: Tensor,
    ends: Callable[[Tensor], Tensor],
    logits: Callable[[Tensor], Tensor],
) -> dict[str, float]:
    """Hits@k and MRR of each edge among its own negatives: one of its ends is another node.

    Its rank is one, plus the negatives with a higher score, plus half of those with the same.

    Args:
        positives: edges ``[2, M]``.
        ends: the other ends to take for each of some nodes, -1 for none.
        logits: the scores of pairs.
    """
    score = _in_blocks(logits, positives)
    above, ties = torch.zeros_like(score), torch.zeros_like(score)
    for side in (0, 1):
        nodes, row = torch.unique(positives[side], return_inverse=True)
        other = ends(nodes).to(positives.device)
        there = other >= 0
        kept, taken = nodes.unsqueeze(1).expand_as(other)[there], other[there]
        found = score.new_full(other.shape, -torch.inf)
        found[there] = _in_blocks(
            logits, torch.stack((kept, taken) if side == 0 else (taken, kept))
        )
        for block in torch.split(torch.arange(len(row)), max(1, BLOCK // max(1, other.shape[1]))):
            of_edge, own = found[row[block]], score[block].unsqueeze(1)
            above[block] += (of_edge > own).sum(1)
            ties[block] += (of_edge == own).sum(1)
    rank = (1 + above + 0.5 * ties).double()
    scores = {f"hits@{k}": float((rank <= k).double().mean()) for k in HITS}
    return {**scores, "mrr": float((1 / rank).mean())}


def _in_blocks(logits: Callable[[Tensor], Tensor], pairs: Tensor) -> Tensor:
    return torch.cat([logits(block) for block in torch.split(pairs, BLOCK, dim=1)])
