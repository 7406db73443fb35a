"""Trees, that is, nested dictionaries and lists of tensors, numbers and strings, as files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hgcn import files
from hgcn.errors import RunError

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
"""What safetensors calls each type of numbers."""


def write_tree(path: Path, tree: Any, *, sealed: bool = False) -> None:
    """Store dictionaries and lists of tensors, numbers and strings in one safetensors file.

    The tensors are the file's tensors; the rest is JSON in its header. A sealed file has a checksum
    of its content in the header, too.
    """
    tensors: dict[str, Tensor] = {}
    outline = json.dumps(_outline(tree, "", tensors))
    metadata = {"tree": outline}
    if sealed:
        metadata["sha256"] = _checksum(outline, tensors)
    _write_safetensors(path, tensors, metadata)


def _write_safetensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write tensors as safetensors, one after the other.

    The package itself puts the whole file together in memory, and may wait without end if that does
    not suffice.
    """
    header: dict[str, Any] = {"__metadata__": metadata}
    # Those of large numbers first, so that each tensor begins at a multiple of its numbers' size.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    end = 0
    for name in names:
        value = tensors[name]
        begin, end = end, end + value.nbytes
        about = {"dtype": DTYPES[value.dtype], "shape": list(value.shape)}
        header[name] = {**about, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    size = len(text).to_bytes(8, "little")
    files.write_bytes(path, size, text, *(_raw(tensors[name]) for name in names))


def read_tree(path: Path, *, sealed: bool = False) -> Any:
    """The tree that :func:`write_tree` stored. Nothing in the file is ever executed."""
    from safetensors import SafetensorError, safe_open

    with files.reading(path):
        pass  # a regular file: safetensors would wait for a pipe without end
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if sealed and metadata["sha256"] != _checksum(metadata["tree"], tensors):
            raise ValueError("its checksum does not fit")
        return _fill(files.parse_json(metadata["tree"]), tensors)
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror or error}.") from error
    except (SafetensorError, LookupError, TypeError, ValueError) as error:
        raise RunError(
            f"Expected {path} to be a whole file of hgcn, got a truncated or foreign one: {error}."
        ) from error


def _checksum(outline: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(outline.encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name}{value.dtype}{list(value.shape)}".encode())
        digest.update(_raw(value))
    return digest.hexdigest()


def _raw(value: Tensor) -> memoryview:
    """The bytes of a tensor, where they are."""
    return value.contiguous().view(-1).view(torch.uint8).numpy().data


def _outline(tree: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(tree, Tensor):
        tensors[name] = tree.detach().cpu().contiguous()
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
