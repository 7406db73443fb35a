"""Simulated epidemics on trees: the Disease data of the paper, built anew.

The paper says: "We simulate the SIR disease spreading model, where the label of a node is whether
the node was infected or not. Based on the model, we build tree networks, where node features
indicate the susceptibility to the disease." It gives no more details, so the rest is ours: see
:func:`disease_spread`.
"""

from __future__ import annotations

import numpy as np
import torch

from hgcn.data.clean import clean_edges
from hgcn.data.graph import Graph
from hgcn.data.sparse import csr_matrix
from hgcn.errors import GraphError

DISEASE_NODES = 1_044
DISEASE_M_NODES = 43_193
DISEASE_M_TREES = 91  # the paper counts 43,193 nodes and 43,102 edges: 91 trees
SHARPNESS = 20.0  # how strongly susceptibility decides; at 20 the best possible F1 is about 0.8
RATIOS = (0.30, 0.10, 0.60)  # the shares of training, validation and test in the paper
DENSITY = 0.05  # share of the columns that a node has


def disease() -> Graph:
    """The data set ``disease``: one tree of 1,044 nodes.

    Example:
        >>> disease().num_nodes
        1044
    """
    return disease_spread(DISEASE_NODES, seed=0).replace(name="disease")


def disease_m() -> Graph:
    """The data set ``disease_m``: 91 trees of 43,193 nodes in all, split by tree 70/15/15.

    Example:
        >>> disease_m().num_graphs
        91
    """
    return disease_spread(DISEASE_M_NODES, DISEASE_M_TREES, seed=0).replace(name="disease_m")


def disease_spread(
    nodes: int = DISEASE_NODES,
    trees: int = 1,
    *,
    branching: tuple[int, int] = (2, 6),
    infection: float = 0.62,
    features: int = 1000,
    noise: float = 0.1,
    kinship: float = 0.2,
    seed: int = 0,
) -> Graph:
    r"""Simulate the SIR model on random trees; label 1 means that a node was infected.

    *Trees.* A tree grows breadth first: each node in turn gets a uniform number of children
    between the two numbers of ``branching``, until the tree has its size, which decides its depth.

    *Epidemic.* A node has a susceptibility :math:`s`, uniform in 0..1. The root is infected. An
    infected node recovers after a time :math:`T` drawn from :math:`\mathrm{Exp}(1)`; until then it
    passes the disease to each child at the rate :math:`\lambda = e^{k (s - 1 + p)}`, where
    :math:`s` is the susceptibility of the child, :math:`p` is ``infection`` and :math:`k = 20`.
    So a child of an infected node falls ill with probability
    :math:`\lambda / (1 + \lambda)`, which rises from 0 to 1 around :math:`s = 1 - p` and is
    :math:`p` on average. Nothing else is infectious: under a healthy node all are healthy.

    *Features.* Each node carries some of the loci 0, 1, ..., ``features/2 - 1``: a tenth of them
    (a few fewer, where one is drawn twice), each taken from its parent with probability
    ``kinship``, else drawn at random. At a locus it has a risk marker (column ``2 locus``) with
    probability :math:`s`, else a protective one (column ``2 locus + 1``); a share ``noise`` of them
    is tossed instead. So the kind of marker tells the susceptibility and says nothing of the
    parent, and the loci tell who is related to whom (which is what link prediction can use) and
    say nothing of the susceptibility.

    Random numbers come from ``numpy``'s PCG64 as uniform floats only, which are the same on every
    machine and in every version.

    Example:
        >>> disease_spread(100, seed=1)
        Graph('disease_spread': 100 nodes, 99 edges, 1,000 features, 2 classes)

    Args:
        nodes: number of nodes in all.
        trees: number of trees; their sizes differ by one at most. Two or more get ``graph_ids``
            and a ``split`` of whole trees, 70/15/15.
        branching: smallest and largest number of children.
        infection: share of the children of infected nodes that fall ill.
        features: number of columns of ``x``, an even number.
        noise: share of the markers that tell nothing.
        kinship: share of the loci that come from the parent.
        seed: seed of everything random.

    Returns:
        A graph with sparse 0/1 features. Its columns are ``depth``, ``parent`` (-1 at a root) and
        ``susceptibility``.
    """
    _check(
        nodes,
        trees,
        branching,
        features,
        {"infection": infection, "noise": noise, "kinship": kinship},
    )
    random = np.random.Generator(np.random.PCG64(seed))
    graph_ids = np.arange(nodes) * trees // nodes
    parent, depth = _grow(np.bincount(graph_ids), branching, random)
    susceptible = random.random(nodes)
    infected = _spread(parent, depth, np.exp(SHARPNESS * (susceptible - 1 + infection)), random)
    risk = (1 - noise) * susceptible + noise / 2
    x = _markers(parent, depth, risk, features, kinship, random)
    child = np.flatnonzero(parent >= 0)
    return Graph(
        clean_edges(parent[child], child, None, num_nodes=nodes, directed=False)[0],
        num_nodes=nodes,
        x=x,
        y=torch.from_numpy(infected.astype(np.int64)),
        graph_ids=torch.from_numpy(graph_ids) if trees > 1 else None,
        class_names=("healthy", "infected"),
        columns={"depth": depth, "parent": parent, "susceptibility": susceptible},
        split=_split(graph_ids, random) if trees > 1 else None,
        ratios=RATIOS,
        name="disease_spread",
    )


def _check(
    nodes: int, trees: int, branching: tuple[int, int], features: int, shares: dict[str, float]
) -> None:
    if not 1 <= trees <= nodes:
        raise GraphError(f"Expected `trees` to be in 1..{nodes} (`nodes`), got {trees}.")
    if not 1 <= branching[0] <= branching[1]:
        raise GraphError(f"Expected `branching` to be two rising numbers from 1, got {branching}.")
    if features < 2 or features % 2:
        raise GraphError(f"Expected `features` to be an even number from 2, got {features}.")
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise GraphError(f"Expected `{name}` to be in 0..1, got {share}.")


def _whole(random: np.random.Generator, below: int, shape: int | tuple[int, int]) -> np.ndarray:
    """Uniform whole numbers; `Generator.integers` may change between versions."""
    return (random.random(shape) * below).astype(np.int64)


def _grow(
    sizes: np.ndarray, branching: tuple[int, int], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Parent (-1 for a root) and depth of each node; a parent comes before its children."""
    parents = []
    first = 0
    for size in sizes.tolist():
        children = branching[0] + _whole(random, branching[1] - branching[0] + 1, size)
        # The children of node i follow those of all nodes before it.
        own = np.repeat(np.arange(size), children)[: size - 1]
        parents.append(np.concatenate(([-1], own + first)))
        first += size
    parent = np.concatenate(parents)
    depth = np.zeros(first, dtype=np.int64)
    above = parent
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    return parent, depth


def _levels(depth: np.ndarray) -> list[np.ndarray]:
    """The nodes of depth 1, 2, ..., so that parents are done before their children."""
    return [np.flatnonzero(depth == step) for step in range(1, int(depth.max()) + 1)]


def _spread(
    parent: np.ndarray, depth: np.ndarray, rate: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    recovery = -np.log1p(-random.random(len(parent)))
    contact = -np.log1p(-random.random(len(parent)))  # time to the first contact, at rate 1
    infected = depth == 0
    for level in _levels(depth):
        above = parent[level]
        infected[level] = infected[above] & (contact[level] < rate[level] * recovery[above])
    return infected


def _markers(
    parent: np.ndarray,
    depth: np.ndarray,
    risk: np.ndarray,
    features: int,
    kinship: float,
    random: np.random.Generator,
) -> torch.Tensor:
    shape = (len(parent), max(1, round(DENSITY * features)))
    carried = _whole(random, features // 2, shape)
    inherits = random.random(shape) < kinship
    for level in _levels(depth):
        carried[level] = np.where(inherits[level], carried[parent[level]], carried[level])
    carried.sort(axis=1)
    protective = random.random(shape) >= risk[:, None]
    first = np.ones(shape, dtype=bool)
    first[:, 1:] = carried[:, 1:] != carried[:, :-1]
    columns = (2 * carried + protective)[first]
    crow = np.concatenate(([0], np.cumsum(first.sum(axis=1))))
    return csr_matrix(
        torch.from_numpy(crow),
        torch.from_numpy(columns),
        torch.ones(len(columns)),
        (len(parent), features),
    )


def _split(graph_ids: np.ndarray, random: np.random.Generator) -> dict[str, torch.Tensor]:
    """Whole trees: 70 % to train, 15 % to validate, the rest to test."""
    trees = int(graph_ids[-1]) + 1
    order = np.argsort(random.random(trees), kind="stable")
    train, val = round(0.70 * trees), round(0.85 * trees)
    parts = {"train": order[:train], "val": order[train:val], "test": order[val:]}
    return {
        part: torch.from_numpy(np.flatnonzero(np.isin(graph_ids, chosen)))
        for part, chosen in parts.items()
    }
