"""First derivatives only, a second one is refused; and which tensors have their gradient in common.

The backward passes of kernels are derived by hand and have no derivative. torch's
``once_differentiable`` would refuse only where the incoming gradient has a derivative of its own:
that of ``out.sum()`` has none, and a second derivative would lack a term without a word. The
formulas in plain torch take the gradient of a length at zero as zero, which is right once, not
twice, and the Fréchet mean has an implicit gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import hooks

from hgcn.errors import DerivativeError

Gradients = tuple[Tensor | None, ...]


def once(backward: Callable[..., Gradients]) -> Callable[..., Gradients]:
    """Decorate the backward pass of an autograd function that has no derivative of its own."""

    @functools.wraps(backward)
    def checked(ctx: Any, *gradients: Tensor) -> Gradients:
        _refuse_second(*gradients)
        return backward(ctx, *gradients)

    return checked


def first_only(out: Tensor) -> Tensor:
    """The same tensor, which refuses to be differentiated twice."""
    if out.requires_grad and not torch.compiler.is_compiling():
        out.register_hook(_refuse_second)  # type: ignore[no-untyped-call]
    return out


def _refuse_second(*_: Tensor) -> None:
    # In a backward pass gradients are recorded if and only if they are to be differentiated.
    if torch.is_grad_enabled():
        raise DerivativeError(
            "Expected to differentiate once, got `create_graph=True`. Second derivatives of "
            "hyperbolic operations are not computed."
        )


# A tensor may be stored without a word about its hook.
hooks.unserializable_hook(_refuse_second)  # type: ignore[no-untyped-call]


def one_set(target: Tensor, source: Tensor) -> bool:
    """Whether targets are the sources, or the first of them: ``source`` or ``source[:n]``.

    A node's logarithm of itself is zero, and so are its gradients. Taken as two nodes, it would
    have two gradients of size sinh(radius) that cancel but for rounding. So it must be known which
    targets are sources; two tensors with equal entries are not enough, as their gradients differ.
    """
    if source is target or torch.compiler.is_compiling():
        return source is target
    base = source if source._base is None else source._base
    return (
        target._base is base
        and target.data_ptr() == source.data_ptr()
        and target.stride() == source.stride()
        and len(target) <= len(source)
    )
