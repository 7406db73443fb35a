"""Edges for link prediction: in each part, those shown as messages and those to predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.pairs import Ints, distinct, find, keys, pairs_at
from hgcn.data.splits.negatives import NonEdges
from hgcn.data.splits.nodes import (
    FAULT,
    TEST,
    TRAIN,
    UNUSED,
    VAL,
    draw_graphs,
    draw_parts,
    own_parts,
    part_sizes,
    parts_of_graphs,
)
from hgcn.errors import GraphError
from hgcn.names import PARTS


@dataclass(frozen=True, eq=False)
class LinkPart:
    """The edges of one part: those shown to the network, and the pairs to predict.

    Made by :func:`hgcn.data.split_links`.

    Attributes:
        messages: edges on which messages may travel, as an ``edge_index``.
        message_weight: their weights, where the graph has weights.
        positives: edges to be predicted, each once, ``[2, M]``.
        negatives: pairs without an edge, to be told from the positives; None in training, which
            draws new ones.
        nodes: the nodes of the part's own graphs, sorted; None if all parts are of one graph.
    """

    messages: Tensor
    message_weight: Tensor | None
    positives: Tensor
    negatives: Tensor | None
    nodes: Tensor | None = None


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """Edges for training, validation and test; made by :func:`hgcn.data.splits.draw.split_links`.

    Made by :func:`hgcn.data.split_links`.

    Attributes:
        train, val, test: the parts.
        protocol: "clean" or "legacy".
        inductive: whether the parts are of different graphs.
        non_edges: the pairs that training negatives are drawn from.
    """

    train: LinkPart
    val: LinkPart
    test: LinkPart
    protocol: str
    inductive: bool
    non_edges: NonEdges = field(repr=False)

    def sample_negatives(self, count: int, generator: torch.Generator) -> Tensor:
        """Fresh training negatives ``[2, count]``, drawn independently.

        They are pairs of different nodes without a *training* edge. Validation and test edges may
        be among them: leaving those out would tell the model where they are.
        """
        return self.non_edges.draw(count, generator)


def links_of_one_graph(
    graph: Graph,
    shares: Sequence[float],
    generator: np.random.Generator,
    *,
    val_as_input: bool = False,
) -> LinkSplit:
    """The split of one graph: edges drawn at random; messages are the training edges.

    With ``val_as_input`` those of the test are the training and the validation edges.
    """
    edges = _EdgePairs(graph)
    part = torch.full((edges.pairs.shape[1],), UNUSED)
    sizes = part_sizes(len(part), shares, "edges")
    draw_parts(torch.arange(len(part)), sizes, part, generator)
    positives = [edges.among(part == code) for code in (TRAIN, VAL, TEST)]
    free = NonEdges(torch.cat(positives, dim=1), graph.num_nodes, directed=graph.directed)
    asked = [pairs.shape[1] for pairs in positives[1:]]
    negatives = free.distinct(torch.tensor([sum(asked)]), generator)
    messages = edges.messages(part == TRAIN)
    shown = edges.messages(part != TEST) if val_as_input else messages
    return LinkSplit(
        train=LinkPart(*messages, positives[TRAIN], None),
        val=LinkPart(*messages, positives[VAL], negatives[:, : asked[0]]),
        test=LinkPart(*shown, positives[TEST], negatives[:, asked[0] :]),
        protocol="clean",
        inductive=False,
        non_edges=NonEdges(positives[TRAIN], graph.num_nodes, directed=graph.directed),
    )


def links_by_graph(
    graph: Graph, shares: Sequence[float], generator: np.random.Generator
) -> LinkSplit:
    """The split by whole graphs; in those of validation and test some edges are held out."""
    edges = _EdgePairs(graph)
    graph_ids = graph.graph_ids
    if graph_ids is None:
        raise GraphError("Expected a graph with `graph_ids`, got one without.")
    part = None if graph.split is None else parts_of_graphs(graph, own_parts(graph))
    if part is None:
        part = draw_graphs(graph, shares, generator)
    parts, samplers = [], []
    for code in (TRAIN, VAL, TEST):
        ids = torch.where(part[graph_ids] == code, graph_ids, -1)
        inside = ids[edges.pairs[0]] >= 0
        asked = inside if code == TRAIN else _held_out(inside, shares[TEST], code, generator)
        shown = inside if code == TRAIN else inside & ~asked
        free = NonEdges(
            edges.among(inside), graph.num_nodes, directed=graph.directed, graph_ids=ids
        )
        positives = edges.among(asked)
        # As many in each graph as it has positives: else one could tell them by their graph.
        counts = torch.bincount(graph_ids[positives[0]])
        negatives = None if code == TRAIN else free.distinct(counts, generator)
        messages = edges.messages(shown, ids >= 0)
        nodes = (ids >= 0).nonzero()[:, 0]
        parts.append(LinkPart(*messages, positives, negatives, nodes))
        samplers.append(free)
    train, val, test = parts
    return LinkSplit(train, val, test, "clean", inductive=True, non_edges=samplers[TRAIN])


def own_links(graph: Graph, generator: np.random.Generator) -> LinkSplit:
    """The split that came with the graph: ``graph.links``.

    Training edges are all that are in no other part, if none are given; messages are the training
    edges. Negatives that are not given are drawn.
    """
    if graph.num_graphs > 1:
        raise GraphError(
            f"Expected one graph for a split of its pairs, got {graph.num_graphs} of them."
        )
    given, edges, n = graph.links or {}, _EdgePairs(graph), graph.num_nodes
    empty = torch.empty(2, 0, dtype=torch.long)

    def tidy(pairs: Tensor) -> Tensor:
        return pairs_at(distinct(keys(pairs, n, unordered=not graph.directed)), n)

    asked = {part: tidy(given.get(part, empty)) for part in PARTS[1:]}
    held_out = torch.isin(
        edges.keys, torch.cat([keys(pairs, n, unordered=True) for pairs in asked.values()])
    )
    train = tidy(given["train"]) if "train" in given else edges.among(~held_out)
    _check_own({"train": train, **asked}, graph)
    shown = torch.isin(edges.keys, keys(train, n, unordered=True)) & ~held_out
    usual = edges.messages(shown)
    every = torch.cat((graph.pairs(), train, *asked.values()), dim=1)
    free = NonEdges(every, n, directed=graph.directed)
    lacking = [part for part in PARTS[1:] if f"{part}_negatives" not in given]
    sizes = [asked[part].shape[1] for part in lacking]
    drawn = torch.split(free.distinct(torch.tensor([sum(sizes)]), generator), sizes, dim=1)
    negatives = {part: given.get(f"{part}_negatives") for part in PARTS} | dict(
        zip(lacking, drawn, strict=True)
    )
    parts = {}
    for part, positives in {"train": train, **asked}.items():
        messages = given.get(f"{part}_messages")
        own = usual if messages is None else edges.with_weights(messages)
        parts[part] = LinkPart(*own, positives, None if part == "train" else negatives[part])
    return LinkSplit(
        **parts,
        protocol="clean",
        inductive=False,
        non_edges=NonEdges(train, n, directed=graph.directed),
    )


def _check_own(parts: dict[str, Tensor], graph: Graph) -> None:
    """Refuse a split of the user's own that shows what is to be predicted, or predicts nothing."""
    n, seen = graph.num_nodes, torch.empty(0, dtype=torch.long)
    for name, pairs in parts.items():
        if bool((pairs[0] == pairs[1]).any()):
            raise GraphError(f"Expected pairs of different nodes in {name!r}, got a self-loop.")
        if name != "test" and not pairs.numel():
            raise GraphError(f"Expected pairs to predict in the {name} part, got none.")
        key = keys(pairs, n, unordered=True)
        twice = torch.isin(key, seen).nonzero()
        if len(twice):
            first, second = (graph.ids[int(end)] for end in pairs[:, int(twice[0])])
            raise GraphError(
                f"Expected each pair in one part of the split, got {first} and {second} in "
                f"{name!r} and in an earlier one. Undirected pairs count once: PyG's "
                "RandomLinkSplit needs is_undirected=True."
            )
        seen = torch.cat((seen, key))
    for name in PARTS:
        messages = (graph.links or {}).get(f"{name}_messages")
        if messages is None:
            continue
        shown = keys(messages, n, unordered=True)
        # The test may be shown the edges of validation, as PyG does it.
        for hidden in PARTS[1:] if name != "test" else PARTS[2:]:
            if bool(torch.isin(keys(parts[hidden], n, unordered=True), shown).any()):
                raise GraphError(
                    f"Expected pairs of the {hidden} part not to be shown in the {name} part, got "
                    "some among its messages."
                )


def check_links(split: LinkSplit, num_nodes: int) -> None:
    """Refuse a split that shows an edge which is to be predicted, however the split was made."""

    def edges_of(*lists: Tensor) -> Ints:
        # NumPy sorts integers ten times as fast as torch does.
        return np.sort(keys(torch.cat(lists, dim=1).numpy(), num_nodes, unordered=True))

    def overlap(few: Ints, many: Ints) -> bool:
        return bool(find(many, few)[1].any())

    parts = {"val": split.val, "test": split.test}
    asked = {name: edges_of(part.positives) for name, part in parts.items()}
    lists = [split.train.positives, split.train.messages]
    if split.inductive:
        lists += [part.messages for part in parts.values()]
    shown = edges_of(*lists)
    for name, edges in asked.items():
        if overlap(edges, shown):
            raise GraphError(f"An edge of the {name} part is shown in training. {FAULT}")
    if overlap(asked["test"], edges_of(split.test.messages)):
        raise GraphError(f"An edge of the test part is shown in the test. {FAULT}")
    if overlap(asked["val"], asked["test"]):
        raise GraphError(f"An edge is in the validation and in the test part. {FAULT}")


def _held_out(inside: Tensor, share: float, code: int, generator: np.random.Generator) -> Tensor:
    part = torch.full(inside.shape, UNUSED)
    members = inside.nonzero()[:, 0]
    if len(members):
        what = f"edges in the {PARTS[code]} graphs"
        draw_parts(members, part_sizes(len(members), (1 - share, share), what), part, generator)
    return part == 1


class _EdgePairs:
    """The edges of a graph grouped by unordered pairs of nodes: a split never divides a pair.

    Attributes:
        keys: the keys of the pairs of different nodes with an edge, sorted.
        pairs: these pairs, smaller node first.
        pair_of_edge: for each edge the number of its pair, or -1 for a self-loop.
    """

    def __init__(self, graph: Graph) -> None:
        source, target = graph.edge_index
        key = keys(graph.edge_index, graph.num_nodes, unordered=True)
        self.graph = graph
        # All self-loops together get the first number, which is then left out.
        key.masked_fill_(source == target, -1)
        known, self.pair_of_edge = torch.unique(key, return_inverse=True)
        if len(known) and known[0] < 0:
            known = known[1:]
            self.pair_of_edge -= 1
        self.keys = known
        self.pairs = pairs_at(known, graph.num_nodes)
        if not graph.directed:
            self._check_both_ways(source < target)
            self._check_both_ways(source > target)

    def _check_both_ways(self, columns: Tensor) -> None:
        seen = torch.zeros(self.pairs.shape[1], dtype=torch.bool)
        seen[self.pair_of_edge[columns]] = True
        if not seen.all():
            i, j = self.pairs[:, int((~seen).nonzero()[0])].tolist()
            raise GraphError(
                "Expected an undirected graph to hold each edge in both directions, got only one "
                f"between nodes {i} and {j}."
            )

    def among(self, chosen: Tensor) -> Tensor:
        """The edges of the chosen pairs, each once, without loops."""
        if not self.graph.directed:
            return self.pairs[:, chosen]
        ways = self.graph.pairs()
        position, _ = find(self.keys, keys(ways, self.graph.num_nodes, unordered=True))
        return ways[:, chosen[position]]

    def messages(self, chosen: Tensor, nodes: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """The edges of the chosen pairs, and their weights; self-loops tell nothing and stay.

        Args:
            chosen: a mask of the pairs.
            nodes: a mask of the nodes that edges and loops may start at; all if not given.
        """
        loops = torch.ones(1, dtype=torch.bool)
        columns = torch.cat((chosen, loops))[self.pair_of_edge]  # -1, a loop, is the last entry
        if nodes is not None:
            columns &= nodes[self.graph.edge_index[0]]
        weight = self.graph.edge_weight
        return self.graph.edge_index[:, columns], None if weight is None else weight[columns]

    def with_weights(self, edges: Tensor) -> tuple[Tensor, Tensor | None]:
        """Edges of the user's own, and the weights that the graph has for them; others weigh 1."""
        graph = self.graph
        if graph.edge_weight is None:
            return edges, None
        known, order = keys(graph.edge_index, graph.num_nodes).sort()
        position, found = find(known, keys(edges, graph.num_nodes))
        return edges, torch.where(found, graph.edge_weight[order[position]], 1.0)
