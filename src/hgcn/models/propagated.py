"""Features propagated over many hops before a network reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import final

import torch
from torch import Tensor, nn

from hgcn import kernels
from hgcn.errors import ModelError
from hgcn.models.base import Encoder, check_options
from hgcn.models.linear import Linear
from hgcn.nn.spaces import Euclidean, Space
from hgcn.sampling import Block


@final
class Propagated(Encoder):
    r"""Any encoder on features propagated over many hops, as in GRAND (Feng et al., 2020).

    .. math:: \bar{X} = \frac{1}{K + 1} \sum_{k=0}^{K}
        (\hat{D}^{-1/2} \hat{A} \hat{D}^{-1/2})^k X W

    with :math:`\hat{A} = A + I` and its degrees :math:`\hat{D}`, and a learnt map :math:`W` without
    bias to ``dim`` channels. Propagation is linear, so it does not matter that the map comes first;
    it costs :math:`K` products with ``dim`` columns, however many features there are, and sparse
    features stay sparse.

    In mini-batches each hop is one of the sampler's: a node takes the mean over the neighbours that
    were drawn for it, which is that of all its neighbours in expectation.

    Args:
        encoder: the encoder that reads the result; its ``in_channels`` are those of the map.
        in_channels: size of each node's features.
        hops: number :math:`K` of hops.

    Example:
        >>> from hgcn.models import build
        >>> encoder = Propagated(build("hgcn", 16, 16), in_channels=100, hops=8)
        >>> encoder(torch.randn(3, 100), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 16])
    """

    def __init__(self, encoder: Encoder, *, in_channels: int, hops: int) -> None:
        check_options(in_channels=in_channels, hops=hops)
        if not encoder.layers:
            raise ModelError(
                f"Expected no `propagation` of features, got {hops} hops: "
                f"{type(encoder).__name__} has no use for features."
            )
        super().__init__(
            in_channels, encoder.dim, layers=encoder.layers + 1, curvature=encoder.curvature
        )
        self.inductive = encoder.inductive
        self.normalised = True
        self.propagation = hops
        self.linear = Linear(in_channels, encoder.in_channels, bias=False)
        self.encoder = encoder

    @property
    def hops(self) -> int:
        """How far messages come."""
        return self.propagation + self.encoder.hops

    @property
    def steps(self) -> int:
        """How often :meth:`apply_layer` is called: once for each hop of the first layer."""
        return self.propagation + self.encoder.steps

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        spread = propagate(self.linear(x), edge_index, edge_weight, hops=self.propagation)
        return [x, *self.encoder.encode_layers(spread, edge_index, edge_weight)]

    def apply_layer(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`; between hops ``x`` holds the last one and the sum."""
        if number >= self.propagation:
            if not self.encoder.hops:
                x = x[: block.num_targets]
            return self.encoder.apply_layer(number - self.propagation, x, block)
        first, last = number == 0, number == self.propagation - 1
        x, total = (self.linear(x),) * 2 if first else x.chunk(2, dim=1)
        x = kernels.weighted_sum(x, *_weighted(block, x.dtype))
        total = total[: block.num_targets] + x
        return total / (self.propagation + 1) if last else torch.cat((x, total), dim=1)

    def node_map(self, number: int) -> Callable[[Tensor], Tensor] | None:
        """See :class:`~hgcn.models.Encoder`."""
        own = number - self.propagation
        return self.encoder.node_map(own) if own >= 0 and self.encoder.hops else None

    def from_mapped(self, number: int, x: Tensor, block: Block) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        own = number - self.propagation
        if own >= 0 and self.encoder.hops:
            return self.encoder.from_mapped(own, x, block)
        return self.apply_layer(number, x, block)

    def encode_blocks(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:
        """See :class:`~hgcn.models.Encoder`."""
        self._check_features(x)
        for number, block in enumerate(blocks[: self.propagation]):
            x = self.apply_layer(number, x, block)
        return self.encoder.encode_blocks(x, blocks[self.propagation :])

    def attention_shares(
        self, layers: Sequence[Tensor], edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """See :class:`~hgcn.models.Encoder`; those of the encoder that reads the result."""
        return self.encoder.attention_shares(layers[1:], edge_index, edge_weight)

    @property
    def space(self) -> Space:
        """The space of the output."""
        return self.encoder.space

    @property
    def spaces(self) -> list[Space]:
        """The spaces that :meth:`encode_layers` passes through."""
        return [Euclidean(), *self.encoder.spaces]

    def make_optimizer(
        self, lr: float = 0.01, weight_decay: float = 0.0, *, also: Iterable[nn.Module] = ()
    ) -> torch.optim.Optimizer:
        """The optimiser of the encoder, which trains the map too."""
        return self.encoder.make_optimizer(lr, weight_decay, also=(self.linear, *also))


def propagate(
    x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, *, hops: int
) -> Tensor:
    """The mean of vectors ``[n, d]`` over 0 to ``hops`` steps of the symmetric normalisation."""
    step = _weighted(Block(edge_index, len(x), len(x), edge_weight), x.dtype)
    total = x
    for _ in range(hops):
        x = kernels.weighted_sum(x, *step)
        total = total + x
    return total / (hops + 1)


def _weighted(block: Block, dtype: torch.dtype) -> tuple[Tensor, kernels.Neighbourhoods]:
    """Kipf and Welling's weights of the edges of a block, and the edges."""
    graph = block.neighbourhoods(add_self_loops=True)
    return block.symmetric(graph, dtype), graph
