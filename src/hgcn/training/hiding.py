"""Edges that a step of training hides from its messages, to predict them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hgcn.data import pairs as node_pairs
from hgcn.data.sent import sent
from hgcn.data.splits import LinkPart


class Hiding:
    """Draws edges of a part that a step hides from its messages and predicts.

    They are drawn on the CPU, and counted there, so that a GPU is not waited for. A pair of nodes
    is hidden as a whole: in a directed graph one direction would tell of the other.

    Args:
        part: the part, whose positives may be hidden.
        home: where the numbers of edges are wanted.

    Attributes:
        messages, positives: of the part, to which pair each edge belongs.
    """

    def __init__(self, part: LinkPart, home: torch.device) -> None:
        size = max(_top(part.messages), _top(part.positives)) + 1
        positives = node_pairs.keys(part.positives, size, unordered=True)
        known, of_positive = torch.unique(positives, return_inverse=True)
        messages = node_pairs.keys(part.messages, size, unordered=True)
        position, found = node_pairs.find(known, messages)
        # A message between nodes that are no positive, such as a self-loop, is never hidden.
        of_message = torch.where(found, position, len(known))
        self._home, self._count = home, len(known)
        self.messages, self.positives = map(self._units, (of_message, of_positive))
        self._of_message = of_message

    def draw(self, share: float, generator: torch.Generator) -> Tensor:
        """A mask of the pairs to hide: this share of them, at least one."""
        hidden = torch.rand(self._count, generator=generator) < share
        if not hidden.any():
            hidden[int(torch.randint(self._count, (), generator=generator))] = True
        return torch.cat((hidden, hidden.new_zeros(1)))

    def units_of(self, edges: Tensor, messages: Tensor) -> Units:
        """Other edges between the nodes of messages, all of them in a numbering of one's own."""
        edges, messages = edges.cpu().long(), messages.cpu()
        size = _top(messages) + 1
        there, order = node_pairs.keys(messages, size, unordered=True).sort()
        position, _ = node_pairs.find(there, node_pairs.keys(edges, size, unordered=True))
        return self._units(self._of_message[order[position]])

    def _units(self, of_edge: Tensor) -> Units:
        return Units(of_edge.to(self._home), torch.bincount(of_edge, minlength=self._count + 1))


class Units(NamedTuple):
    """To which pair each of many edges belongs, and the number of edges of each pair."""

    of_edge: Tensor
    sizes: Tensor

    def within(self, chosen: Tensor) -> Tensor:
        """Numbers of the edges that belong to chosen pairs."""
        size = int(self.sizes[chosen].sum())
        there = sent(chosen, self.of_edge.device)[self.of_edge]
        return torch.nonzero_static(there, size=size)[:, 0]


def _top(pairs: Tensor) -> int:
    return int(pairs.max()) if pairs.numel() else 0
