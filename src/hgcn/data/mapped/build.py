"""From any source to a folder of arrays, in bounded memory, and on after an interruption."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hgcn import files
from hgcn.data.datasets.table import DATASETS
from hgcn.data.graph import Graph
from hgcn.data.loading import load
from hgcn.data.mapped import blocks, sorting
from hgcn.data.mapped.arrays import told
from hgcn.data.mapped.blocks import open_blocks
from hgcn.data.mapped.edges import EdgeSorter
from hgcn.data.mapped.journal import Journal
from hgcn.data.mapped.load import ABOUT, FORMAT, is_mapped, read_about
from hgcn.data.mapped.nodes import NodeWriter, open_given
from hgcn.data.mapped.numbering import EdgeIds, Numbering, distinct_ids, survey
from hgcn.data.mapped.save import describe_graph, write_fields, write_graph
from hgcn.data.pairs import Ints
from hgcn.data.reading.assemble import Given, check_groups, open_nodes, refuse_crossing
from hgcn.data.reading.edges import Edges, edge_columns, is_edge_header, read_weights
from hgcn.data.reading.folder import OF_NODES, folder_given, json_split_fields
from hgcn.data.reading.ids import as_array
from hgcn.data.reading.nodes import number_nodes
from hgcn.data.reading.source import column_names
from hgcn.data.reading.tables import Table, is_table
from hgcn.errors import DataError
from hgcn.locks import locked_or

if TYPE_CHECKING:
    import polars as pl

BUILDING, LOCK = ".building", ".lock"


def convert(
    source: Any, out: str | Path, *, tell: Callable[[str], None] | None = None, **options: Any
) -> Path:
    r"""Write the graph of a source as a folder of arrays, which :func:`hgcn.load` maps.

    Edge lists and tables of nodes, in text or Parquet, may be larger than memory; other sources are
    loaded first. If it is interrupted, the same call goes on where it stopped.

    Example:
        >>> import hgcn, pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> edges = pathlib.Path(folder.name) / "friends.csv"
        >>> _ = edges.write_text("source,target\nann,bob\nbob,cem\n")
        >>> hgcn.load(convert(edges, pathlib.Path(folder.name) / "graph"))
        Graph('friends': 3 nodes, 2 edges)
        >>> folder.cleanup()

    Args:
        source: anything that :func:`hgcn.load` takes.
        out: the folder to make.
        tell: a function that is called with the name of each step.
        options: keywords of :func:`hgcn.data.read`: ``features``, ``labels``, ``directed``, ...

    Returns:
        The folder.
    """
    out = Path(out)
    _check_out(out)
    files.make_folder(out)
    busy = DataError(f"Another process is writing to {out}. Wait for it, or choose another folder.")
    with told(out), locked_or(out / LOCK, busy):
        try:
            made = _streamed(source, options) or _InMemory(load(source, **options))
            _build(out, made, tell)
        finally:
            (out / LOCK).unlink(missing_ok=True)
    return out


def _check_out(out: Path) -> None:
    """Refuse a path at which there is something else."""
    if files.exists(out) and not out.is_dir():
        raise DataError(f"Expected a new folder for the graph, got a file ({out}).")
    if not files.exists(out) or is_mapped(out) or (out / BUILDING).is_dir():
        return
    there = sorted(path.name for path in out.iterdir() if path.name != LOCK)
    if there:
        raise DataError(
            f"Expected a new or empty folder for the graph, got {out}, which has "
            f"{', '.join(there[:5])}. Choose another one."
        )


def _build(out: Path, made: Streamed | _InMemory, tell: Callable[[str], None] | None) -> None:
    building, made_from = out / BUILDING, made.digest()
    if is_mapped(out):
        written = (out / ABOUT).stat().st_mtime_ns
        newer = any(changed > written for changed in made.changes())
        if newer or read_about(out).get("made_from") != made_from:
            raise DataError(
                f"Expected a new folder for the graph, but {out} holds another one, or one of a "
                "source that has changed since. Remove it, or choose another folder."
            )
        shutil.rmtree(building, ignore_errors=True)
        return
    journal = Journal(building, _digest([made_from, made.changes()]), tell)
    arrays = building / "arrays"
    arrays.mkdir(exist_ok=True)

    def describe() -> dict[str, Any]:
        about = journal.step("nodes and edges", made.write, journal, arrays)
        return describe_graph(arrays, about, made_from)

    about = journal.step("describe", describe)
    for name in about["arrays"]:
        if (arrays / name).exists():
            (arrays / name).replace(out / name)
    for path in out.glob("*.npy"):  # of an earlier try with another source
        if path.name not in about["arrays"]:
            path.unlink()
    files.write_json(out / ABOUT, about)
    shutil.rmtree(building, ignore_errors=True)


def _digest(of: Any) -> str:
    constants = [FORMAT, blocks.BLOCK_ROWS, blocks.BLOCK_BYTES, sorting.RANGE]
    return hashlib.sha256(json.dumps([of, constants], default=str).encode()).hexdigest()


@dataclass(frozen=True)
class _InMemory:
    """A graph that was loaded, on its way to arrays."""

    graph: Graph

    def digest(self) -> str:
        """A text that changes when the graph does."""
        return _digest([self.graph.fingerprint(), self.graph.name, self.graph.notes])

    def changes(self) -> list[int]:
        """When files that it is made of were changed: whatever it is, it was read just now."""
        return []

    def write(self, journal: Journal, folder: Path) -> dict[str, Any]:
        """Write all arrays; returns the description of their fields."""
        return write_graph(self.graph, folder)


@dataclass(frozen=True)
class _FoundEdges(Edges):
    """Distinct ids of edges, with the location of the first edge that has one of them."""

    found: EdgeIds | None = None

    def location_of_end(self, position: int) -> str:
        """The location of the first edge with an id."""
        return self.found.find(self.ids[position]) if self.found is not None else self.path


@dataclass(frozen=True)
class Streamed:
    """A table of edges, and perhaps of nodes, on their way to arrays.

    Attributes:
        edges: the table of edges.
        given: what is said of nodes.
        name: the name of the graph.
        directed: whether direction means something.
        parts: a ``split.json``, if there is one.
    """

    edges: Table
    given: Given
    name: str
    directed: bool
    parts: Path | None

    def _files(self) -> list[Path]:
        values = (getattr(self.given, what) for what in (*OF_NODES, "split"))
        paths: list[Path] = []
        for value in (self.edges, self.parts, *values):
            named = value.path if isinstance(value, Table) else value
            if isinstance(named, str | Path) and files.exists(Path(named)):
                path = Path(named)
                paths += sorted(path.iterdir()) if path.is_dir() else [path]
        return paths

    def digest(self) -> str:
        """A text that changes when an option or the size of a file does."""
        return _digest([repr(self), [(str(p), p.stat().st_size) for p in self._files()]])

    def changes(self) -> list[int]:
        """When each file was changed."""
        return [path.stat().st_mtime_ns for path in self._files()]

    def write(self, journal: Journal, folder: Path) -> dict[str, Any]:
        """Write all arrays; returns the description of their fields."""
        import polars as pl

        frame = open_blocks(self.edges, is_edge_header, journal, "edges")
        source, target, weight, notes = edge_columns(frame, self.edges)
        ends = EdgeIds(frame, source, target)
        path = journal.folder / "ids.parquet"
        kind = journal.step("ids", _write_ids, ends, path)
        ends = replace(ends, kind=kind)
        distinct = pl.read_parquet(path).get_column("id")
        edges = _FoundEdges(distinct, None, frame.path, frame.location, found=ends)
        given = open_given(self.given, journal)
        values = open_nodes(None, given)
        ids, numbers = number_nodes(edges, None, values.tables(), values.rows())
        nodes = NodeWriter(journal, folder, ids, edges)
        fields = nodes.fields(values, given)
        nodes.write_ids()
        number = Numbering(distinct, numbers)
        if "graph_ids" in fields:
            journal.step("groups", _check_groups, fields["graph_ids"].numpy(), ids, ends, number)

        def block(k: int) -> tuple[Ints, Ints, Any]:
            one, other = np.split(number(ends.ids(k)), 2)
            if weight is None:
                return one, other, None
            column = frame.data.read(k, [weight]).get_column(weight)  # type: ignore[attr-defined]
            return one, other, read_weights(column, ends.location(k))

        sorter = EdgeSorter(journal, folder, len(ids), self.directed, weight is not None)
        cleaned = sorter.run(len(ends.blocks.sizes), block)
        fields |= {"num_nodes": len(ids), "directed": self.directed, "name": self.name}
        fields["notes"] = (*notes, *fields["notes"], *cleaned)
        if self.parts is not None:
            known = {"graph_ids": None, **fields, "ids": as_array(ids)}
            fields |= json_split_fields(self.parts, known)
        return write_fields(folder, fields)


def _write_ids(ends: EdgeIds, path: Path) -> str:
    """Write the distinct ids of edges; returns what they are."""
    import polars as pl

    kind, numbers = survey(ends)
    ids = distinct_ids(replace(ends, kind=kind)) if numbers is None else pl.Series("id", numbers)
    pl.DataFrame({"id": ids}).write_parquet(path)
    return kind


def _check_groups(group: Ints, ids: pl.Series, ends: EdgeIds, number: Numbering) -> None:
    check_groups(group, ids)
    first, total = "", 0
    for k in range(len(ends.blocks.sizes)):
        one, other = np.split(group[number(ends.ids(k))], 2)
        crossing = np.flatnonzero(one != other)
        if len(crossing) and not total:
            first = ends.location(k)(int(crossing[0]))
        total += len(crossing)
    if total:
        refuse_crossing(first, total)


def _streamed(source: Any, options: dict[str, Any]) -> Streamed | None:
    """A source of tables in files, as it is streamed; None for every other."""
    if isinstance(source, str) and source in DATASETS:
        return None
    options = dict(options)
    directed, name = options.pop("directed", None), options.pop("name", None)
    for what in ("feature_columns", "drop", "text"):
        options[what] = column_names(options.get(what))
    given, parts = Given(**options), None
    if isinstance(given.split, str | Path) and Path(given.split).suffix.lower() == ".json":
        parts, given = Path(given.split), replace(given, split=None)
    if isinstance(source, str | Path) and Path(source).is_dir() and not is_mapped(Path(source)):
        folder = Path(source)
        found, given = folder_given(folder, given)
        if parts is None and given.split is None:
            parts = found.get("split")
        return Streamed(
            Table(found["edges"]), given, name or folder.resolve().name, bool(directed), parts
        )
    table = source if isinstance(source, Table) else None
    if isinstance(source, str | Path) and Path(source).is_file() and is_table(Path(source)):
        table = Table(source)
    if table is None or not _in_files(given):
        return None
    return Streamed(
        table, given, name or Path(table.path).name.split(".")[0], bool(directed), parts
    )


def _in_files(given: Given) -> bool:
    """Whether all that is said of nodes is text, names of files and columns."""
    values = (given.nodes, given.features, given.labels, given.graph_ids, given.split)
    return all(isinstance(value, str | Path | Table | list | None) for value in values)
