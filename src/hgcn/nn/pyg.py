"""The layer as a ``MessagePassing`` module, by which PyTorch Geometric's tools know layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing  # type: ignore[import-untyped]

from hgcn.errors import GraphError, ModelError
from hgcn.kernels import Neighbourhoods
from hgcn.nn import conv


class _OwnAggregation(MessagePassing):  # type: ignore[misc]
    """``MessagePassing`` without a sum of its own."""

    explain: bool | None
    _edge_mask: Tensor | None
    _loop_mask: Tensor
    _apply_sigmoid: bool
    _message_forward_pre_hooks: dict[int, Callable[..., Any]]
    _message_forward_hooks: dict[int, Callable[..., Any]]

    def __init__(self) -> None:
        super().__init__(aggr=None)


class HGCNConv(conv.HGCNConv, _OwnAggregation):
    """:class:`hgcn.nn.HGCNConv` for ``to_hetero``, explainers and whatever else asks for the type.

    ``hgcn.nn.HGCNConv(...)`` makes one of these if ``torch_geometric.nn`` is loaded by then. The
    message of a neighbour is its weight in the mean; hooks on messages see and change that.
    """

    def propagate(self, *_: Any, **__: Any) -> Tensor:
        """Refused: the kernels compute messages and their mean at once."""
        raise ModelError(
            "Expected HGCNConv to be called, got a call of `propagate`: messages and their mean "
            "are computed at once."
        )

    def message(self, share: Tensor) -> Tensor:
        """The weight of each edge, from a column of weights for each head."""
        return share.mean(-1, keepdim=True)

    def _is_watched(self) -> bool:
        messages = self._message_forward_pre_hooks or self._message_forward_hooks
        return bool(self.explain or messages) or super()._is_watched()

    def _weights(self, share: Tensor, graph: Neighbourhoods) -> Tensor:
        before, after = self._message_forward_pre_hooks, self._message_forward_hooks
        if not (self.explain or before or after):
            return super()._weights(share, graph)
        # Here edges are in the order of the list given, and added self-loops last.
        share = torch.empty_like(share).index_copy(0, graph.order.long(), share)
        name = "edge_weight" if self.attention is None else "alpha"
        given: dict[str, Tensor] = {name: share}
        for hook in before.values():
            changed = hook(self, (given,))
            if changed is not None:
                given = changed[0] if isinstance(changed, tuple) else changed
        weight = self.message(given[name])
        for hook in after.values():
            changed = hook(self, (given,), weight)
            weight = weight if changed is None else changed
        if self.explain:
            if "explain_message" in vars(self):
                raise ModelError(
                    "Expected an explainer that masks edges, got one that replaces messages, as "
                    "GraphMaskExplainer does: the message of HGCNConv is a weight, not a vector."
                )
            weight = self.explain_message(weight)
        return weight.squeeze(-1)[graph.order]

    def explain_message(self, inputs: Tensor, dim_size: int | None = None) -> Tensor:
        """Weights times the mask of an explainer; self-loops that the layer adds have no mask."""
        mask = self._edge_mask
        if mask is None or len(mask) > len(inputs):
            found = "none" if mask is None else f"one of {len(mask)}"
            raise GraphError(
                f"Expected a mask of the edges, of which there are at most {len(inputs)}, got "
                f"{found}."
            )
        if self._apply_sigmoid:
            mask = mask.sigmoid()
        if self.add_self_loops:  # then self-loops are the layer's, also where they were given
            mask = torch.where(self._loop_mask, mask, 1.0)
        loops = mask.new_ones(len(inputs) - len(mask))
        return inputs * torch.cat((mask, loops)).unsqueeze(-1)
