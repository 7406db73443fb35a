"""Files that are either whole or not there, and trees of tensors in safetensors files."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from hgcn.errors import RunError

if TYPE_CHECKING:
    import polars as pl


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place at the end, if all went well.

    Whoever reads ``path`` sees the old file or the new one, never a part: also after a crash.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(
            f"Expected to write {path}, but: {error.strerror or error}. What was there before is "
            "unchanged."
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once.

    What other packages make is put together in memory first: each of them has an error of its own
    for a full disk.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file at once."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file at once."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table at once: as CSV if the ending says so, else as Parquet."""
    if path.suffix.lower() == ".csv":
        write_text(path, table.write_csv())
    else:
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        write_bytes(path, buffer.getvalue())


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror}.") from error
    except ValueError as error:
        raise RunError(f"Expected {path} to be JSON, got something else: {error}.") from error


def make_folder(path: Path) -> None:
    """Create a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"Expected to create the folder {path}, but: {error.strerror}.") from error


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror}.") from error


def write_tree(path: Path, tree: Any) -> None:
    """Store dictionaries and lists of tensors, numbers and strings in one safetensors file.

    The tensors are the file's tensors; the rest is JSON in its header.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    outline = _outline(tree, "", tensors)
    write_bytes(path, save(tensors, metadata={"tree": json.dumps(outline)}))


def read_tree(path: Path) -> Any:
    """What :func:`write_tree` stored. Nothing in the file is ever executed."""
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
