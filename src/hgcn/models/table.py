"""Building encoders by name: those of the paper, and those that were registered."""

from __future__ import annotations

import inspect
from typing import Any

from hgcn.errors import ModelError
from hgcn.models.base import Encoder
from hgcn.names import MODELS
from hgcn.text import one_of


def options_of(name: str) -> dict[str, Any]:
    """The options of a model and their defaults.

    Example:
        >>> options_of("sgc")
        {'layers': 2, 'dropout': 0.0}
    """
    parameters = inspect.signature(_find(name)).parameters.values()
    return {
        p.name: p.default
        for p in parameters
        if p.name not in ("in_channels", "dim", "num_nodes") and p.default is not p.empty
    }


def build(
    name: str, in_channels: int, dim: int = 16, *, num_nodes: int | None = None, **options: Any
) -> Encoder:
    """Build an encoder by its name, in capitals or not.

    Args:
        name: a key of ``MODELS``.
        in_channels: size of each node's features.
        dim: size of each embedding.
        num_nodes: number of nodes of the graph. Only shallow models need it; others ignore it.
        options: options of the model; :func:`options_of` lists them.

    Example:
        >>> build("gat", in_channels=8, heads=4).dim
        16
    """
    model = _find(name)
    known = options_of(name)
    wrong = [one_of(f"option of {name}", given, known) for given in options if given not in known]
    if not model.inductive:
        if num_nodes is None:
            wrong.append(
                f"Expected `num_nodes`, the number of nodes of the graph: {name} learns a vector "
                "for each of them."
            )
        options["num_nodes"] = num_nodes
    if wrong:
        raise ModelError(" ".join(wrong))
    return model(in_channels, dim, **options)


def _find(name: str) -> type[Encoder]:
    known = str(name).lower()
    if known not in MODELS:
        raise ModelError(one_of("model", name, MODELS))
    model: type[Encoder] = MODELS[known]
    return model
