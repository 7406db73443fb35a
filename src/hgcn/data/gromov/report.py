"""How tree-like a graph is: Gromov's four-point delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hgcn.data.convert import as_graph
from hgcn.data.graph import Graph
from hgcn.errors import GraphError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from hgcn.data.gromov.distances import Hops, Ints

EXACT_NODES = 2_500
"""Largest block for which the exact value is found unasked; it takes seconds up to a minute."""
MOST_EXACT_NODES = 30_000
"""Largest block for which it is found at all: its distances take 2 GB."""
SEARCHES = (512, 4_096)
"""Fewest and most nodes of which distances are found for sampling."""
SEARCH_WORK = 2**28
"""Edges to follow in these searches, where that is more than the fewest: a few seconds."""
TREE_LIKE, RANDOM = 0.5, 0.9
"""Bounds of the ratio to a random graph; docs/hyperbolicity.md has the measurements behind them."""


@dataclass(frozen=True)
class Hyperbolicity:
    """The result of :func:`hyperbolicity`; ``print`` shows it as a report.

    Attributes:
        name: name of the graph.
        total_nodes: number of nodes of the graph.
        nodes, edges: numbers of nodes and edges of its largest component, which all that follows
            is about.
        delta: the largest delta of any four nodes if ``exact``, else of those sampled.
        exact: whether ``delta`` is exact or a lower bound.
        quadruple: four nodes that have this delta, by the user's ids.
        diameter: the largest distance.
        diameter_exact: whether it is exact or a lower bound.
        average: the mean delta of the sampled quadruples.
        average_distance: the mean distance of two nodes in them.
        counts: the number of sampled quadruples with each delta.
        samples: number of random quadruples.
        sources: number of random nodes from which the quadruples were drawn.
        random_average: the relative average of a random graph with as many nodes and edges.
    """

    name: str
    total_nodes: int
    nodes: int
    edges: int
    delta: float
    exact: bool
    quadruple: tuple[Any, ...]
    diameter: int
    diameter_exact: bool
    average: float
    average_distance: float
    counts: Mapping[float, int]
    samples: int
    sources: int
    random_average: float

    @property
    def relative(self) -> float:
        """Twice delta over the diameter: 0 for a tree, 1 at most."""
        return 2 * self.delta / self.diameter if self.diameter else 0.0

    @property
    def relative_average(self) -> float:
        """Twice the average delta over the average distance: 0 for a tree."""
        return 2 * self.average / self.average_distance if self.average_distance else 0.0

    @property
    def against_random(self) -> float:
        """The relative average over that of a random graph: 0 for a tree, about 1 for random.

        The relative average alone falls as graphs grow, also in random graphs.
        """
        return self.relative_average / self.random_average if self.random_average else 0.0

    @property
    def advice(self) -> str:
        """Whether hyperbolic geometry is likely to help, in plain words."""
        if self.samples == 0:
            return "Too few nodes or samples to say whether hyperbolic geometry should help."
        value = f"{self.against_random:.2f} of a random graph of its size"
        if self.against_random < TREE_LIKE:
            return (
                f"Tree-like ({value}; below {TREE_LIKE}): hyperbolic geometry should help, most of "
                "all in few dimensions."
            )
        if self.against_random < RANDOM:
            return (
                f"Partly tree-like ({value}; from {TREE_LIKE} to {RANDOM}, as flight, citation and "
                "e-mail networks): hyperbolic geometry may help. Compare with a Euclidean model."
            )
        return (
            f"Not tree-like ({value}; {RANDOM} or more, as random graphs and grids): do not expect "
            "hyperbolic geometry to help."
        )

    def as_dict(self) -> dict[str, Any]:
        """All attributes and ratios, for JSON."""
        return {
            **asdict(self),
            "relative": self.relative,
            "relative_average": self.relative_average,
            "against_random": self.against_random,
            "advice": self.advice,
        }

    def __str__(self) -> str:
        kind = "exact" if self.exact else "at least: the largest one sampled"
        shares = "   ".join(
            f"{delta:g}: {100 * count / self.samples:.3g} %" for delta, count in self.counts.items()
        )
        drawn = f"{self.samples:,} random quadruples"
        if self.sources < self.nodes:
            drawn += f" of {self.sources:,} random nodes"
        rows = [
            ("delta", f"{self.delta:g}", kind),
            ("diameter", f"{self.diameter:,}", "" if self.diameter_exact else "at least"),
            ("relative delta", f"{self.relative:.3f}", "2 delta / diameter"),
            ("average delta", f"{self.average:.3f}", drawn),
            ("average distance", f"{self.average_distance:.2f}", "in the same quadruples"),
            ("relative average", f"{self.relative_average:.3f}", "2 average delta / distance"),
            ("against random", f"{self.against_random:.2f}", "of a random graph of its size"),
        ]
        lines = [
            f"{self.name}: {self.nodes:,} of {self.total_nodes:,} nodes in the largest component, "
            f"{self.edges:,} edges",
            "",
            *(f"  {name:<18}{value:>8}   {note}".rstrip() for name, value, note in rows),
            f"  {'distribution':<18}   {shares}",
            f"  {'largest at nodes':<18}   {', '.join(map(str, self.quadruple))}",
            "",
            self.advice,
        ]
        return "\n".join(lines)


def hyperbolicity(
    graph: Any, *, samples: int = 50_000, exact: bool | None = None, seed: int = 0
) -> Hyperbolicity:
    """Gromov's hyperbolicity of the largest component, in hops.

    Of four nodes, take the three ways to pair them and add the two distances of each: delta is half
    the difference of the two largest sums. It is 0 for every four nodes of a tree. The delta of a
    graph is the largest one. Directions and weights of edges do not count.

    Example:
        >>> import networkx
        >>> hyperbolicity(networkx.cycle_graph(8)).delta
        2.0

    Args:
        graph: a graph, or anything that :func:`hgcn.data.as_graph` takes.
        samples: number of random quadruples for the average and the distribution, and for a lower
            bound of delta where the exact value takes too long.
        exact: find the exact delta. Left open, it is found where the largest block (a subgraph that
            no single node cuts) has at most 2,500 nodes.
        seed: seed of the random nodes.
    """
    from hgcn.data.gromov.distances import diameter
    from hgcn.data.gromov.four_point import blocks_of, exact_delta, sample_deltas

    graph = as_graph(graph)
    if samples < 0:
        raise GraphError(f"Expected `samples` to be 0 or more, got {samples}.")
    generator = np.random.default_rng(seed)
    matrix, nodes = _largest_component(graph)
    start, other = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)

    tree = len(other) == 2 * (len(nodes) - 1)
    blocks = []
    if not tree and (exact or (exact is None and len(nodes) <= MOST_EXACT_NODES)):
        blocks = _feasible(blocks_of(matrix), exact)

    sources, hops, farthest = _distances(start, other, samples, generator)
    longest, certain = int(farthest.max()), len(sources) == len(nodes)
    if not certain:
        found, certain = diameter(start, other, _searches(other))
        longest = max(longest, found)
    samples = samples if len(nodes) >= 4 else 0
    sample = sample_deltas(hops, samples, generator)
    best = int(np.flatnonzero(sample.counts).max(initial=0))
    quadruple = sources[sample.quadruple]
    if blocks:
        best, quadruple = exact_delta(matrix, blocks, best, quadruple)
    deltas = np.arange(len(sample.counts)) / 2
    return Hyperbolicity(
        name=graph.name,
        total_nodes=graph.num_nodes,
        nodes=len(nodes),
        edges=len(other) // 2,
        delta=best / 2,
        exact=tree or bool(blocks),
        quadruple=tuple(graph.ids[nodes[quadruple]].tolist()),
        diameter=longest,
        diameter_exact=certain,
        average=float(deltas @ sample.counts) / max(1, samples),
        average_distance=sample.average_distance,
        counts={float(deltas[i]): int(sample.counts[i]) for i in np.flatnonzero(sample.counts)},
        samples=samples,
        sources=len(sources),
        random_average=_random_average(len(nodes), len(other) // 2, samples, generator),
    )


def _searches(other: Ints) -> int:
    return int(np.clip(SEARCH_WORK // max(1, len(other)), *SEARCHES))


def _distances(
    start: Ints, other: Ints, samples: int, generator: np.random.Generator
) -> tuple[Ints, Hops, Ints]:
    """Random nodes, the distances among them, and their eccentricities.

    Quadruples are drawn of these nodes: a search from each node of each quadruple would take weeks
    in a large graph. The average is as unbiased as with fresh nodes.
    """
    from hgcn.data.gromov.distances import hop_distances

    nodes = len(start) - 1
    count = min(nodes, _searches(other), max(4, 4 * samples))
    sources = np.sort(generator.choice(nodes, count, replace=False))
    return sources, *hop_distances(start, other, sources)


def _random_average(nodes: int, edges: int, samples: int, generator: np.random.Generator) -> float:
    """The relative average of a random graph, of its largest component as everywhere."""
    from hgcn.data.gromov.four_point import sample_deltas

    if samples == 0:
        return 0.0
    ends = torch.from_numpy(generator.integers(nodes, size=(2, edges)))
    matrix, kept = _largest_component(Graph(ends, nodes, directed=True))
    if len(kept) < 4:
        return 0.0
    start, other = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    sample = sample_deltas(_distances(start, other, samples, generator)[1], samples, generator)
    average = float(np.arange(len(sample.counts)) @ sample.counts) / samples
    return average / sample.average_distance


def _feasible(blocks: list[Ints], exact: bool | None) -> list[Ints]:
    """The blocks if the exact delta is to be found, else none."""
    largest = len(blocks[0])
    if exact and largest > MOST_EXACT_NODES:
        raise GraphError(
            f"Expected a largest block of at most {MOST_EXACT_NODES:,} nodes for the exact delta, "
            f"got {largest:,}: their distances would not fit in memory. Sample it instead."
        )
    return blocks if exact or largest <= EXACT_NODES else []


def _largest_component(graph: Graph) -> tuple[csr_array, Ints]:
    """The adjacency matrix of the largest component, without loops, and its nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    source, target = graph.edge_index.numpy()
    proper = source != target
    source, target = source[proper], target[proper]
    if graph.directed:
        source, target = np.concatenate((source, target)), np.concatenate((target, source))
    shape = (graph.num_nodes, graph.num_nodes)
    matrix = coo_array((np.ones(len(source), np.int8), (source, target)), shape).tocsr()
    component = connected_components(matrix, directed=False)[1]
    nodes = np.flatnonzero(component == np.argmax(np.bincount(component)))
    return (matrix[nodes][:, nodes] if len(nodes) < graph.num_nodes else matrix), nodes
