"""Graphs between processes: importing this module makes them picklable."""

from __future__ import annotations

import copyreg
from dataclasses import fields
from typing import Any

from hgcn.data.graph import Graph


def _make(values: dict[str, Any]) -> Graph:
    return Graph(**values)


def _reduce(graph: Graph) -> tuple[Any, ...]:
    values = {field.name: getattr(graph, field.name) for field in fields(Graph)}
    # Read-only mappings cannot be pickled.
    values["columns"] = dict(graph.columns)
    values["split"] = None if graph.split is None else dict(graph.split)
    return _make, (values,)


copyreg.pickle(Graph, _reduce)
