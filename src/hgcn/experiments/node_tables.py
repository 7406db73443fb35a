"""Tables of classes on all graphs, and of few dimensions, made from the store alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hgcn.experiments.cells import (
    DIMENSIONS,
    LOW_GRAPHS,
    LOW_METHODS,
    NODE_METHODS,
    NODES,
    Cell,
    lowdim,
    nodes,
)
from hgcn.experiments.paper import TITLES
from hgcn.experiments.scores import Column, by_seed, markdown, shown
from hgcn.experiments.store import Store


def nodes_markdown(store: Store, seeds: int) -> str:
    """Classes of nodes: a row for each graph, with HGCN against the best Euclidean network."""
    columns = {place[0]: column for place, column in _columns(store, nodes(), seeds).items()}
    rows = [[TITLES[graph], *_entries(columns[graph], NODE_METHODS, seeds)] for graph in NODES]
    header = ["F1", *[TITLES[model] for model in NODE_METHODS], "HGCN − best Euclidean"]
    return markdown(header, rows)


def lowdim_columns(store: Store, seeds: int) -> dict[tuple[str, str, int], Column]:
    """The scores in few dimensions, by data set, task and dimension."""
    found = {}
    for dim in DIMENSIONS:
        cells = [cell for cell in lowdim() if cell.row.endswith(f"-{dim}")]
        for (dataset, task), column in _columns(store, cells, seeds).items():
            found[dataset, task, dim] = column
    return found


def lowdim_markdown(store: Store, seeds: int) -> str:
    """Few dimensions: a row for each data set, task and dimension."""
    columns = lowdim_columns(store, seeds)
    rows = []
    for dataset in LOW_GRAPHS:
        for task, short in (("link", "LP"), ("node", "NC")):
            for dim in DIMENSIONS:
                title = f"{TITLES[dataset]} {short}, {dim}"
                column = columns[dataset, task, dim]
                rows.append([title, *_entries(column, LOW_METHODS, seeds)])
    header = ["dimensions", *[TITLES[model] for model in LOW_METHODS], "HGCN − best Euclidean"]
    return markdown(header, rows)


def _columns(store: Store, cells: Sequence[Cell], seeds: int) -> dict[tuple[str, str], Column]:
    """The scores of cells by data set and task, and within by model."""
    found: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for cell in cells:
        scores = found.setdefault((cell.dataset, cell.task), {})
        scores[cell.settings["model"]] = by_seed(store, cell, seeds)
    return {place: Column(scores) for place, scores in found.items()}


def _entries(column: Column, models: Sequence[str], seeds: int) -> list[str]:
    winner = column.winner()
    entries = [
        shown(column.values[model], seeds, column.mean(model) if model == winner else math.inf)
        for model in models
    ]
    return [*entries, column.against_euclidean()]
