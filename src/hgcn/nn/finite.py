"""The check of a layer's output: a number that is none is told of where it comes up."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hgcn.errors import DivergenceError, GraphError


def check_finite(
    out: Tensor, source: Tensor, target: Tensor | None, edge_weight: Tensor | None
) -> None:
    """Raise what is wrong if the output of a layer is not finite."""
    # Only on the CPU: the check would make another device wait. A finite sum means finite
    # entries; an infinite one may just have overflown.
    if out.device.type != "cpu" or torch.compiler.is_compiling():
        return
    if math.isfinite(out.sum().item()) or out.isfinite().all():
        return
    for x in (source,) if target is None else (source, target):
        values = x.to_dense() if x.layout is not torch.strided else x
        bad = (~values.isfinite()).nonzero()
        if len(bad):
            row, column = bad[0].tolist()
            raise GraphError(
                f"Expected finite features, got {values[row, column].item()} at node {row}, "
                f"feature {column}."
            )
    if edge_weight is not None and not bool(((edge_weight >= 0) & edge_weight.isfinite()).all()):
        raise GraphError("Expected edge weights that are finite and not negative, got others.")
    raise DivergenceError(
        "The output of the layer is not finite although its input is: its weights have "
        "diverged. A smaller learning rate helps."
    )
