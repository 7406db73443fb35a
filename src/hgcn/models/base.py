"""The contract that every encoder keeps."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hgcn.errors import GraphError, ModelError
from hgcn.geometry import Curvature, parameter_groups
from hgcn.models.optim import Adam
from hgcn.nn.spaces import Euclidean, Space, space_of
from hgcn.packages import require
from hgcn.sampling import Block


class Encoder(nn.Module, ABC):
    r"""A map from the nodes of a graph to vectors, together with the geometry of these vectors.

    .. math:: f: (V, E, (\mathbf{x}_i)_{i \in V}) \to Z \in \mathbb{R}^{|V| \times d}

    An encoder with a ``curvature`` returns normal coordinates: points of hyperbolic space, each
    stored as its logarithm at the origin. One without returns Euclidean vectors. Tasks need not
    know which: they measure with :meth:`squared_distance` and train with :meth:`make_optimizer`.
    Euclidean vectors are measured as they are, never squeezed into a ball first.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding.
        layers: number of layers.
        curvature: the curvature of the output space; ``None`` if it is flat.

    Shapes:
        - **input:** features :math:`(|V|, F)`, dense or sparse (CSR or COO); edge indices
          :math:`(2, |E|)`; edge weights :math:`(|E|)` *(optional)*.
        - **output:** embeddings :math:`(|V|, d)`.

    Attributes:
        inductive: whether the encoder works for nodes that it was not trained on.
        uses_edges: whether a layer passes messages; otherwise each node is on its own.
        normalised: whether messages are divided by the total weight of the edges of each node.
        package: a module of an extra that the encoder is made of; empty if there is none.
        trained_nodes: number of nodes of the graph that it is trained on, for heads that need it.

    Example:
        >>> class Halves(Encoder):  # a whole model: it returns the input and each layer
        ...     def _encode(self, x, edge_index, edge_weight):
        ...         return [x, x / 2]
        >>> Halves(2, 2, layers=1)(torch.ones(1, 2), torch.empty(2, 0, dtype=torch.long))
        tensor([[0.5000, 0.5000]])
    """

    inductive: bool = True
    uses_edges: ClassVar[bool] = True
    normalised: bool = False
    package: ClassVar[str] = ""
    curvature: Curvature | None
    trained_nodes: int = 0

    def __init__(
        self, in_channels: int, dim: int, *, layers: int, curvature: Curvature | None = None
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.dim = dim
        self.layers = layers
        self.curvature = curvature

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        """The result of :meth:`encode_layers`; the features have been checked.

        An encoder defines this, or :meth:`apply_layer`, and then it can be trained in mini-batches.
        """
        whole = Block(edge_index, len(x), len(x), edge_weight)
        out = [x]
        for number in range(self.layers):
            out.append(self.apply_layer(number, out[-1], whole))
        return out

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """The output of a layer, numbered from 0, at the targets of a block."""
        raise ModelError(f"Expected a model of layers, got {type(self).__name__}.")

    def node_map(self, number: int) -> Callable[[Tensor], Tensor] | None:
        """What a layer does to nodes before it needs edges, out of training; None for nothing.

        A node that is in many blocks is mapped once so. :meth:`from_mapped` does the rest.
        """
        return None

    def from_mapped(self, number: int, x: Tensor, block: Block) -> Tensor:
        """The output of a layer at the targets of a block, from what :meth:`node_map` made."""
        return self.apply_layer(number, x, block)

    @classmethod
    def layered(cls) -> bool:
        """Whether each layer can be applied on its own, to some of the nodes."""
        return cls.inductive and cls.apply_layer is not Encoder.apply_layer

    @classmethod
    def imported(cls) -> Any:
        """The module ``package``; where it is missing, an error says how to install it."""
        return require(cls.package, f"the model {cls.__name__}")

    @property
    def hops(self) -> int:
        """How far messages come: the number of layers that use edges."""
        return self.layers if self.uses_edges else 0

    @property
    def steps(self) -> int:
        """How often :meth:`apply_layer` is called; more than ``layers`` if the first takes some."""
        return self.layers

    def encode_blocks(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:
        """Embeddings of the targets of the last block, given features of the sources of the first.

        Args:
            x: features.
            blocks: one for each layer that uses edges.
        """
        self._check_features(x)
        if not self.hops:
            none = torch.empty(2, 0, dtype=torch.long, device=x.device)
            blocks = [Block(none, len(x), len(x))] * self.layers
        for number, block in enumerate(blocks):
            x = self.apply_layer(number, x, block)
        return x

    def encode_layers(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> list[Tensor]:
        """Embeddings after each layer, from the input of the first to the output of the last.

        The entry at position l belongs to ``spaces[l]``.
        """
        self._check_features(x)
        return self._encode(x, edge_index, edge_weight)

    def _check_features(self, x: Tensor) -> None:
        if x.dim() != 2 or x.shape[1] != self.in_channels:
            raise GraphError(
                f"Expected `x` to have shape [number of nodes, {self.in_channels}], got "
                f"{list(x.shape)}."
            )

    def encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Embeddings of all nodes; see the class for shapes."""
        return self.encode_layers(x, edge_index, edge_weight)[-1]

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """The same as :meth:`encode`."""
        return self.encode(x, edge_index, edge_weight)

    def attention_shares(
        self, layers: Sequence[Tensor], edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """The attention of each layer: edges ``[2, E]``, self-loops included, and shares ``[E]``.

        The share of an edge is how much its source counts in the mean that its target takes; heads
        are averaged. An encoder without attention has an empty list.

        Args:
            layers: the result of :meth:`encode_layers`.
            edge_index: edges of the graph.
            edge_weight: their weights.
        """
        return []

    @property
    def space(self) -> Space:
        """The space of the output."""
        return space_of(self.curvature)

    @property
    def spaces(self) -> list[Space]:
        """The spaces that :meth:`encode_layers` passes through."""
        return [Euclidean()] * self.layers + [self.space]

    def squared_distance(self, z_i: Tensor, z_j: Tensor) -> Tensor:
        """Squared distances ``[...]`` between embeddings ``[..., dim]``, in their own geometry."""
        return self.space.squared_distance(z_i, z_j)

    def make_optimizer(
        self, lr: float = 0.01, weight_decay: float = 0.0, *, also: Iterable[nn.Module] = ()
    ) -> torch.optim.Optimizer:
        """The optimiser that the paper trains this encoder with: Adam, unless documented otherwise.

        Curvatures are spared from weight decay.

        Args:
            lr: learning rate.
            weight_decay: factor of the L2 penalty.
            also: other modules to train, such as the decoder.
        """
        return Adam(self._parameter_groups(weight_decay, also), lr=lr)

    def _parameter_groups(
        self, weight_decay: float, also: Iterable[nn.Module]
    ) -> list[dict[str, Any]]:
        # One list of modules, so that a curvature shared by encoder and decoder is there once.
        return parameter_groups(nn.ModuleList([self, *also]), weight_decay=weight_decay)


def check_options(**options: float) -> None:
    """Refuse impossible numbers, all at once.

    A dropout is a probability, ``std`` and ``lr_factor`` are positive, the others are counts.
    """
    wrong = []
    for name, value in options.items():
        if name.endswith("dropout"):
            fine, kind = 0 <= value < 1, "at least 0 and below 1"
        elif name in ("std", "lr_factor"):
            fine, kind = 0 < value < float("inf"), "positive"
        else:
            fine, kind = isinstance(value, int) and value >= 1, "a whole number of at least 1"
        if not fine:
            wrong.append(f"Expected `{name}` to be {kind}, got {value!r}.")
    if wrong:
        raise ModelError(" ".join(wrong))
