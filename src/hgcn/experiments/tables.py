"""Tables of results, made from the store alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from hgcn.experiments import paper
from hgcn.experiments.cells import (
    CURVATURES,
    GRAPHS,
    ROWS,
    SOURCES,
    VARIANTS,
    WITH_PRESETS,
    Cell,
    ablation,
    curvature,
    presets,
    seal,
    strangers,
    table1,
)
from hgcn.experiments.node_tables import lowdim_markdown, nodes_markdown
from hgcn.experiments.paper import TITLES
from hgcn.experiments.scores import (
    Column,
    Value,
    begun,
    by_seed,
    gain_of,
    markdown,
    shown,
    value,
    value_of,
)
from hgcn.experiments.store import Store

Place = tuple[str, str]
"""A column of Table 1: a data set and a task. In a record: a part of it, and a score."""


class Scores:
    """The values of a table, by model and column."""

    def __init__(self, store: Store, cells: Sequence[Cell], seeds: int) -> None:
        self.seeds = seeds
        self.cells = {(c.row, (c.dataset, c.task)): c for c in cells}
        self.columns = {
            place: Column(
                {
                    row: by_seed(store, c, seeds)
                    for (row, at), c in self.cells.items()
                    if at == place
                }
            )
            for place in SOURCES
            if any(key[1] == place for key in self.cells)
        }

    def line(self, model: str, places: Iterable[Place]) -> list[str]:
        """The row of a model; bold where it is the best and ahead of the other kind of space."""
        entries = []
        for place in places:
            column = self.columns[place]
            best = column.mean(model) if column.winner() == model else math.inf
            meant = (model, place) in self.cells
            entries.append(shown(column.values[model], self.seeds, best) if meant else "–")
        return [TITLES[model], *entries]

    def reduction(self, place: Place) -> str:
        """The change of the error from the best Euclidean model to HGCN, in per cent."""
        column = self.columns[place]
        own, rival = column.values.get("hgcn"), column.best(hyperbolic=False)
        if own is None or rival is None:
            return ""
        return f"{100 * ((100 - own.mean) / (100 - column.mean(rival)) - 1):+.1f} %"


def _published(model: str, columns: Iterable[Place], title: str = "*paper*") -> list[str]:
    numbers = [paper.TABLE1.get((model, *column)) for column in columns]
    return [title, *[f"*{number:.1f}*" if number is not None else "" for number in numbers]]


def _header(columns: Iterable[Place]) -> list[str]:
    return ["", *[f"{TITLES[d]} {'LP' if t == 'link' else 'NC'}" for d, t in columns]]


def table1_markdown(store: Store, seeds: int, protocol: str = "clean") -> str:
    """Table 1, ours and the paper's, with the error of HGCN against the best Euclidean model."""
    scores = Scores(store, table1(protocol), seeds)
    columns = list(scores.columns)
    rows = []
    for model in _order():
        rows += [scores.line(model, columns), _published(model, columns)]
    compared = [scores.columns[column].against_euclidean() for column in columns]
    rows.append(["HGCN − best Euclidean", *compared])
    rows.append(["error reduction", *[scores.reduction(column) for column in columns]])
    rows.append(["delta", *[_delta(SOURCES[column]) for column in columns]])
    rows.append(["*paper*", *[f"*{paper.DELTA[dataset]:g}*" for dataset, _ in columns]])
    return markdown(_header(columns), rows)


def summary_markdown(store: Store, seeds: int) -> str:
    """Table 1 in short: the models and columns that have results, and the paper's HGCN."""
    scores = Scores(store, table1(), seeds)
    columns = [place for place, column in scores.columns.items() if column.values["hgcn"]]
    run = {row for column in scores.columns.values() for row, one in column.values.items() if one}
    rows = [scores.line(model, columns) for model in _order() if model in run]
    return markdown(_header(columns), [*rows, _published("hgcn", columns, "*HGCN in the paper*")])


def _order() -> list[str]:
    return list(paper.METHODS)


def _delta(source: str) -> str:
    from hgcn.data.datasets import DATASETS

    delta = DATASETS[source].delta
    return "" if delta is None else f"{delta:g}"


def ablation_markdown(store: Store, seeds: int) -> str:
    """Table 2: attention and curvature, ours and the paper's."""
    cells = {(c.row, c.dataset): c for c in ablation()}
    rows = []
    for row in VARIANTS:
        line = [row]
        for dataset in ("disease", "airport"):
            entry = value(store, cells[row, dataset], seeds)
            line += [shown(entry, seeds), f"{paper.ABLATION[row, dataset]}"]
        rows.append(line)
    return markdown(["", "Disease LP", "*paper*", "Airport LP", "*paper*"], rows)


def curvature_markdown(store: Store, seeds: int) -> str:
    """Figure 4 in numbers: ROC AUC on Disease against a fixed curvature."""
    rows = [
        [f"c = {cell.row}" if cell.row != "gcn" else "Euclidean GCN", shown(entry, seeds)]
        for cell in curvature()
        if (entry := value(store, cell, seeds)) is not None
    ]
    if not rows:
        rows = [["missing", ""]]
    return markdown([f"{len(CURVATURES)} fixed curvatures -c", "Disease LP"], rows)


STRANGERS = {
    "ROC AUC": ("test", "roc_auc"),
    "ROC AUC against pairs of the same degrees": ("test", "roc_auc_degrees"),
    "MRR against hard negatives": ("hard", "mrr"),
}
"""The tables of graphs that nobody tuned for, and the score of each in a record."""


def strangers_markdown(store: Store, seeds: int) -> str:
    """Links of graphs that nobody tuned for, by three scores."""
    cells: dict[str, dict[str, Cell]] = {}
    for cell in strangers():
        cells.setdefault(cell.dataset, {})[cell.row] = cell
    parts = []
    for title, place in STRANGERS.items():
        rows = []
        for graph in GRAPHS:
            found = {row: store.of(cell, seeds) for row, cell in cells[graph].items()}
            if any(found.values()):
                rows.append([graph, *_stranger(found, place, seeds)])
        header = [title, *ROWS, "best untrained", "HGCN − best other"]
        parts.append(markdown(header, rows or [["missing", *[""] * (len(header) - 1)]]))
    return "\n\n".join(parts)


def _stranger(found: dict[str, list[dict[str, Any]]], place: Place, seeds: int) -> list[str]:
    """The row of one graph: a score of each network, of the best untrained, and the gain."""
    part, score = place
    scores = {
        row: {r["seed"]: 100 * r[part][score] for r in records if score in r[part]}
        for row, records in found.items()
    }
    untrained: dict[str, dict[int, float]] = {}
    if part == "test":
        for record in (record for records in found.values() for record in records):
            for name, values in record["untrained"].items():
                if score in values:
                    untrained.setdefault(name, {})[record["seed"]] = 100 * values[score]
    entries = {row: value_of(list(by_seed.values())) for row, by_seed in scores.items()}
    rows = begun(scores)
    best = max((entry.mean for row in rows if (entry := entries[row])), default=math.inf)
    line = [
        shown(entry, seeds, best if row in rows else math.inf) for row, entry in entries.items()
    ]
    name = max(untrained, key=lambda name: statistics.fmean(untrained[name].values()), default="")
    line.append(f"{value_of(list(untrained[name].values()))} ({name})" if name else "")
    others = [scores[row] for row in rows if row != "HGCN"]
    others += [untrained[name]] if name else []
    rival = max(others, key=lambda one: statistics.fmean(one.values()), default={})
    gain = gain_of(scores["HGCN"], rival)
    return [*line, "" if gain is None else str(gain)]


def seal_markdown(store: Store, seeds: int) -> str:
    """Links of the graphs of SEAL, beside what it published."""
    cells = {(cell.row, cell.dataset): cell for cell in seal()}
    networks = list(dict.fromkeys(cell.row for cell in seal()))
    rows = []
    for graph, published in paper.SEAL.items():
        entries = [value(store, cells[row, graph], seeds) for row in networks]
        best = max(entry.mean for entry in entries if entry) if any(entries) else math.inf
        rows.append([graph, *(shown(entry, seeds, best) for entry in entries), published])
    return markdown(["ROC AUC", *networks, "*SEAL*"], rows)


def presets_markdown(store: Store, seeds: int) -> str:
    """Links with the structural term: the defaults, and settings searched for each data set."""
    defaults = {(cell.row, cell.dataset): cell for cell in strangers()}
    searched = {cell.dataset: cell for cell in presets()}
    rows = []
    for graph in WITH_PRESETS:
        cells = (defaults["SAGE", graph], defaults["HGCN", graph], searched[graph])
        entries = [value(store, cell, seeds) for cell in cells]
        best = max((entry.mean for entry in entries if entry), default=math.inf)
        rows.append([graph, *(shown(entry, seeds, best) for entry in entries)])
    return markdown(["ROC AUC", "SAGE, defaults", "HGCN, defaults", "HGCN, searched"], rows)


def distortion_markdown(store: Store, seeds: int) -> str:
    """The distortion of the embeddings of link prediction, average and worst."""
    columns = [column for column in SOURCES if column[1] == "link"]
    cells = {(c.row, c.dataset, c.task): c for c in table1()}
    rows = []
    for model in _order():
        line = [TITLES[model]]
        for column in columns:
            cell = cells.get((model, *column))
            records = [] if cell is None else store.of(cell, seeds)
            pairs = [
                value_of([100 * r["distortion"][k] for r in records]) for k in ("average", "worst")
            ]
            line.append(_distortion(pairs) if pairs[0] is not None else "")
        if any(line[1:]):
            rows.append(line)
    return markdown(["", *[f"{TITLES[dataset]} LP" for dataset, _ in columns]], rows)


def _distortion(pairs: Sequence[Value | None]) -> str:
    return " / ".join(f"{entry.mean:.0f}" for entry in pairs if entry is not None)


def datasets_rows() -> list[list[str]]:
    """Counts of nodes, edges, classes and features, ours and the paper's, and why they differ."""
    from hgcn.data.datasets import DATASETS

    ours = {"ppi": "tissue_ppi"}
    rows = []
    for name, counts in paper.DATASETS.items():
        entry = DATASETS[ours.get(name, name)]
        mine = (entry.nodes, entry.edges, entry.classes, entry.features)
        pairs = [
            f"{a:,}" if a == b else f"{a:,} ({b:,})" for a, b in zip(mine, counts, strict=True)
        ]
        rows.append([TITLES[name], *pairs, REASONS[name]])
    return rows


REASONS = {
    "cora": "the paper counts 151 repeated citations twice",
    "pubmed": "the paper counts both directions and 3 self-loops",
    "ppi": "the paper's data were never released: tissue graphs instead, another task",
    "airport": "without one self-loop",
    "disease": "simulated anew: the features of the paper were never released",
    "disease_m": "simulated anew: the data were never released",
}
"""Why our counts differ from the paper's."""


def datasets_markdown() -> str:
    """The statistics of the data, ours and, where they differ, the paper's in parentheses."""
    return markdown(["", "nodes", "edges", "classes", "features", "why"], datasets_rows())


def blocks(store: Store, seeds: int) -> dict[str, Any]:
    """All tables by the name of their block in docs/results.md and README.md."""
    return {
        "table1": table1_markdown(store, seeds),
        "summary": summary_markdown(store, seeds),
        "legacy": table1_markdown(store, seeds, "legacy"),
        "ablation": ablation_markdown(store, seeds),
        "curvature": curvature_markdown(store, seeds),
        "strangers": strangers_markdown(store, seeds),
        "seal": seal_markdown(store, seeds),
        "presets": presets_markdown(store, seeds),
        "nodes": nodes_markdown(store, seeds),
        "lowdim": lowdim_markdown(store, seeds),
        "distortion": distortion_markdown(store, seeds),
        "datasets": datasets_markdown(),
    }
