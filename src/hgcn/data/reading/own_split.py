"""Splits that users bring: a column, a file, masks, or the parts of PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.reading.encode import clean_text
from hgcn.data.reading.ids import positions, tidy
from hgcn.data.reading.nodes import Keyed
from hgcn.data.reading.tables import Frame, Table, is_table, read_table
from hgcn.errors import DataError
from hgcn.names import PARTS
from hgcn.text import near_miss, one_of

if TYPE_CHECKING:
    import polars as pl

WORDS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
"""What a column may say, and the part that it means."""
ENDS = ("source", "target")


def split_fields(value: Any, table: Keyed | None, ids: pl.Series) -> dict[str, Any]:
    """The field of a graph that a split sets: ``split`` of its nodes, or ``links`` of its pairs.

    Args:
        value: a column of the table of nodes, a table in a file, a folder, or a mapping, as
            :func:`hgcn.data.read` takes them.
        table: the table of nodes.
        ids: the ids of all nodes, in order.
    """
    if all(hasattr(value, part) for part in PARTS):
        value = _mapping_of(value)
    if isinstance(value, Mapping):
        return _from_mapping(value, len(ids))
    if isinstance(value, str) and table is not None and value in table.columns:
        frame = table.frame
        parts = _parts(frame.data.get_column(value), frame)
        return {"split": _nodes_of(parts, positions(table.ids, ids), frame)}
    path = Path(value) if isinstance(value, str | Path) else None
    if path is not None and path.is_dir():
        return {"links": _from_folder(path, ids)}
    if path is not None and is_table(path):
        return _from_table(read_table(Table(path), lambda top: True), ids)
    known = () if table is None else table.columns
    raise DataError(
        "Expected `split` to be a column of the table of nodes "
        f"({', '.join(known) or 'there is none'}), a table of nodes or pairs with a column 'part', "
        "a split.json, a folder with val.csv and test.csv, or masks, ids or pairs by part, got "
        f"{value if path is not None else type(value).__name__!r}.{near_miss(value, known)}"
    )


def _mapping_of(split: Any) -> dict[str, Tensor]:
    """A split that :func:`hgcn.data.split_nodes` or :func:`hgcn.data.split_links` made."""
    parts = {part: getattr(split, part) for part in PARTS}
    if all(isinstance(nodes, Tensor) for nodes in parts.values()):
        return parts
    if split.inductive:
        raise DataError("Expected a split of one graph, got one by whole graphs: see `graph_ids`.")
    found: dict[str, Tensor] = {}
    for part, links in parts.items():
        lists = {"": links.positives, "_negatives": links.negatives, "_messages": links.messages}
        found |= {part + name: pairs for name, pairs in lists.items() if pairs is not None}
    return found


def _from_mapping(value: Mapping[str, Any], num_nodes: int) -> dict[str, Any]:
    """Nodes by part, as masks or numbers; or pairs of nodes by part, ``[2, M]``."""
    tensors = {str(name): torch.as_tensor(values) for name, values in value.items()}
    pairs = {name: values.dim() == 2 for name, values in tensors.items()}
    if all(pairs.values()) and pairs:
        return {"links": {name: values.long() for name, values in tensors.items()}}
    if any(pairs.values()):
        raise DataError("Expected `split` to hold nodes in all parts or pairs in all, got both.")
    return {"split": {name: _nodes(name, values, num_nodes) for name, values in tensors.items()}}


def _nodes(name: str, values: Tensor, num_nodes: int) -> Tensor:
    if values.is_floating_point():
        raise DataError(f"Expected numbers of nodes or a mask for {name!r}, got fractions.")
    if values.dtype != torch.bool:
        return values.long()
    if len(values) != num_nodes:
        raise DataError(
            f"Expected a mask of {num_nodes} nodes for {name!r}, got {len(values)} entries."
        )
    return values.nonzero()[:, 0]


def _parts(column: pl.Series, frame: Frame) -> np.ndarray:
    """The part of each row; "" where it has none."""
    import polars as pl

    words = clean_text(column).cast(pl.String).str.to_lowercase()
    for row, word in enumerate(words.to_list()):
        if word is not None and word not in WORDS:
            raise DataError(one_of("part", word, PARTS, "or nothing") + f" ({frame.location(row)})")
    return np.array([WORDS.get(word or "", "") for word in words.to_list()])


def _nodes_of(parts: np.ndarray, number: np.ndarray, frame: Frame) -> dict[str, Tensor]:
    unknown = number < 0
    if unknown.any():
        where = frame.location(int(unknown.argmax()))
        raise DataError(f"Expected nodes of the graph, got an unknown id ({where}).")
    return {part: torch.from_numpy(np.sort(number[parts == part])) for part in PARTS}


def _from_table(frame: Frame, ids: pl.Series) -> dict[str, Any]:
    """Nodes (id, part) or pairs (source, target, part and perhaps label) of a table."""
    names = {name.lower(): name for name in frame.data.columns}
    if "part" not in names:
        raise DataError(
            f"Expected a column 'part' with train, val or test, got {', '.join(names.values())} "
            f"({frame.path})."
        )
    parts = _parts(frame.data.get_column(names["part"]), frame)
    if all(end in names for end in ENDS):
        return {"links": _pairs_of(frame, names, parts, ids)}
    first = tidy(frame.data.to_series(0), frame.location)
    return {"split": _nodes_of(parts, positions(first, ids), frame)}


def _from_folder(folder: Path, ids: pl.Series) -> dict[str, Tensor]:
    """Pairs from a table for each part."""
    links: dict[str, Tensor] = {}
    for part in PARTS:
        found = [path for path in sorted(folder.glob(f"{part}.*")) if is_table(path)]
        if not found and part != "train":
            raise DataError(f"Expected a file {part}.csv with pairs in {folder}, got none.")
        for path in found[:1]:
            frame = read_table(Table(path), lambda top: True)
            names = {name.lower(): name for name in frame.data.columns}
            if not all(end in names for end in ENDS):
                names |= dict(zip(ENDS, frame.data.columns, strict=False))
            links |= _pairs_of(frame, names, np.full(frame.data.height, part), ids)
    return links


def _pairs_of(
    frame: Frame, names: Mapping[str, str], parts: np.ndarray, ids: pl.Series
) -> dict[str, Tensor]:
    """Pairs by part; those with the label 0 are negatives."""
    ends = []
    for end in ENDS:
        number = positions(tidy(frame.data.get_column(names[end]), frame.location), ids)
        if (number < 0).any():
            row = int((number < 0).argmax())
            raise DataError(
                f"Expected ids of nodes of the graph, got {frame.data[names[end]][row]!r} "
                f"({frame.location(row)}). Give a table of all nodes with `features` if the edges "
                "do not name them all."
            )
        ends.append(number)
    pairs = torch.from_numpy(np.stack(ends))
    is_link = np.ones(len(parts), bool)
    if "label" in names:
        is_link = _labels(frame, names["label"])
    links = {}
    for part in PARTS:
        for name, wanted in ((part, is_link), (f"{part}_negatives", ~is_link)):
            chosen = torch.from_numpy((parts == part) & wanted)
            if bool(chosen.any()):
                links[name] = pairs[:, chosen]
    return links


def _labels(frame: Frame, name: str) -> np.ndarray:
    import polars as pl

    values = frame.data.get_column(name).cast(pl.Float64, strict=False)
    wrong = ~values.is_in([0.0, 1.0]).fill_null(False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise DataError(
            f"Expected 1 for a link and 0 for none in the column {name!r}, got "
            f"{frame.data[name][row]!r} ({frame.location(row)})."
        )
    return (values == 1.0).to_numpy()
