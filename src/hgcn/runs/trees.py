"""Trees, that is, nested dictionaries and lists of tensors, numbers and strings, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from hgcn import files
from hgcn.errors import RunError


def write_tree(path: Path, tree: Any) -> None:
    """Store dictionaries and lists of tensors, numbers and strings in one safetensors file.

    The tensors are the file's tensors; the rest is JSON in its header.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    outline = _outline(tree, "", tensors)
    files.write_bytes(path, save(tensors, metadata={"tree": json.dumps(outline)}))


def read_tree(path: Path) -> Any:
    """The tree that :func:`write_tree` stored. Nothing in the file is ever executed."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            outline = json.loads((file.metadata() or {})["tree"])
            return _fill(outline, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror or error}.") from error
    except (SafetensorError, LookupError, TypeError, ValueError) as error:
        raise RunError(
            f"Expected {path} to be a whole file of hgcn, got a truncated or foreign one: {error}."
        ) from error


def _outline(tree: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(tree, Tensor):
        # A copy: safetensors refuses tensors that share memory.
        tensors[name] = tree.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(tree, dict):
        # Keys of an optimiser's state are numbers, which JSON has not.
        pairs = [[key, _outline(value, f"{name}/{key}", tensors)] for key, value in tree.items()]
        return {"dict": pairs}
    if isinstance(tree, (list, tuple)):
        return {"list": [_outline(v, f"{name}/{i}", tensors) for i, v in enumerate(tree)]}
    return {"value": tree}


def _fill(outline: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(outline, dict) or len(outline) != 1:
        raise ValueError("its outline is not one that hgcn writes")
    ((kind, content),) = outline.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {key: _fill(value, tensors) for key, value in content}
    if kind == "list":
        return [_fill(value, tensors) for value in content]
    return content
