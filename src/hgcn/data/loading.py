"""The one function that loads any graph: a data set by its name, or a graph of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hgcn.data.datasets.table import DATASETS, load_dataset
from hgcn.data.graph import Graph
from hgcn.data.reading.bounds import STDIN
from hgcn.data.reading.source import read
from hgcn.errors import DataError
from hgcn.text import near_miss


def load(source: Any, **options: Any) -> Graph:
    """Load a data set by its name, or read anything that :func:`hgcn.data.read` takes.

    A name of a data set wins over a file or folder of that name; write ``./cora`` for the folder.

    Example:
        >>> load((["ann", "bob"], ["bob", "cem"]))
        Graph(3 nodes, 2 edges)

    Args:
        source: a name, or anything that :func:`hgcn.data.read` takes, such as ``"-"``, an edge list
            in CSV on standard input.
        options: other arguments of :func:`hgcn.data.read`, such as ``features`` and ``labels``;
            they win over what a data set brings.
    """
    if not isinstance(source, str):
        return read(source, **options)
    if source in DATASETS:
        directed = options.get("directed")
        graph = load_dataset(source, directed=directed)  # nosec B615  # ours, not Hugging Face's
        return read(graph, **options) if options else graph
    if _exists(source) or source == str(STDIN):
        return read(source, **options)
    near = near_miss(source, [*DATASETS, *_beside(source)])
    raise DataError(
        "Expected `source` to be the path of an existing file or folder, or the name of a data "
        f"set, got {source!r}.{near} `hgcn datasets` lists the data sets."
    )


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # longer than a path may be, or with a null character
        return False


def _beside(path: str) -> list[str]:
    """Paths of what is in the folder where something was looked for."""
    try:
        return [str(Path(path).with_name(found.name)) for found in Path(path).parent.iterdir()]
    except (OSError, ValueError):
        return []
