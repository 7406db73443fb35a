"""Tables of results, made from the store alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
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
from hgcn.experiments.paper import TITLES
from hgcn.experiments.store import Store

SCORES = {"link": "roc_auc", "node": "f1"}
HYPERBOLIC = ("hyp", "hyp-mixed", "hnn", "hgcn")


@dataclass(frozen=True)
class Value:
    """The score of a cell: mean and standard deviation in per cent, and the number of seeds."""

    mean: float
    std: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.std:.1f}"


def value(store: Store, cell: Cell, seeds: int) -> Value | None:
    """The test score of a cell, from the seeds that were run; None if there is none."""
    scores = [100 * r["test"][SCORES[cell.task]] for r in store.of(cell, seeds)]
    return _value(scores)


def _value(scores: Sequence[float]) -> Value | None:
    if not scores:
        return None
    spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return Value(statistics.fmean(scores), spread, len(scores))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: first column to the left, the others to the right."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


Column = tuple[str, str]
"""A column of Table 1: a data set and a task."""


class Scores:
    """The values of a table, by model and column."""

    def __init__(self, store: Store, cells: Sequence[Cell], seeds: int) -> None:
        self.seeds = seeds
        self.cells = {(c.row, (c.dataset, c.task)): c for c in cells}
        self.values = {key: value(store, cell, seeds) for key, cell in self.cells.items()}
        self.columns = [column for column in SOURCES if any(key[1] == column for key in self.cells)]

    def of_column(self, column: Column) -> dict[str, float]:
        """The means of a column that are known, by model."""
        return {row: v.mean for (row, at), v in self.values.items() if at == column and v}

    def line(self, model: str, columns: Sequence[Column]) -> list[str]:
        """The row of a model; the best value of each column is bold."""
        entries = []
        for column in columns:
            best = max(self.of_column(column).values(), default=math.inf)
            meant = (model, column) in self.cells
            entry = self.values.get((model, column))
            entries.append(_entry(entry, self.seeds, best) if meant else "–")
        return [TITLES[model], *entries]

    def reduction(self, column: Column) -> str:
        """The change of the error from the best Euclidean model to HGCN, in per cent."""
        means = self.of_column(column)
        others = [mean for row, mean in means.items() if row not in HYPERBOLIC]
        if "hgcn" not in means or not others:
            return ""
        return f"{100 * ((100 - means['hgcn']) / (100 - max(others)) - 1):+.1f} %"


def _published(model: str, columns: Sequence[Column], title: str = "*paper*") -> list[str]:
    numbers = [paper.TABLE1.get((model, *column)) for column in columns]
    return [title, *[f"*{number:.1f}*" if number is not None else "" for number in numbers]]


def _header(columns: Sequence[Column]) -> list[str]:
    return ["", *[f"{TITLES[d]} {'LP' if t == 'link' else 'NC'}" for d, t in columns]]


def table1_markdown(store: Store, seeds: int, protocol: str = "clean") -> str:
    """Table 1, ours and the paper's, with the error of HGCN against the best Euclidean model."""
    scores = Scores(store, table1(protocol), seeds)
    columns = scores.columns
    rows = []
    for model in _order():
        rows += [scores.line(model, columns), _published(model, columns)]
    rows.append(["error reduction", *[scores.reduction(column) for column in columns]])
    rows.append(["delta", *[_delta(SOURCES[column]) for column in columns]])
    rows.append(["*paper*", *[f"*{paper.DELTA[dataset]:g}*" for dataset, _ in columns]])
    return markdown(_header(columns), rows)


def summary_markdown(store: Store, seeds: int) -> str:
    """Table 1 in short: the models and columns that have results, and the paper's HGCN."""
    scores = Scores(store, table1(), seeds)
    columns = [column for column in scores.columns if "hgcn" in scores.of_column(column)]
    run = {row for (row, _), entry in scores.values.items() if entry}
    rows = [scores.line(model, columns) for model in _order() if model in run]
    return markdown(_header(columns), [*rows, _published("hgcn", columns, "*HGCN in the paper*")])


def _order() -> list[str]:
    return list(paper.METHODS)


def _entry(entry: Value | None, seeds: int, best: float = math.inf) -> str:
    if entry is None:
        return "missing"
    text = f"**{entry}**" if entry.mean >= best - 0.05 else str(entry)
    return text if entry.seeds == seeds else f"{text} ({entry.seeds})"


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
            line += [_entry(entry, seeds), f"{paper.ABLATION[row, dataset]}"]
        rows.append(line)
    return markdown(["", "Disease LP", "*paper*", "Airport LP", "*paper*"], rows)


def curvature_markdown(store: Store, seeds: int) -> str:
    """Figure 4 in numbers: ROC AUC on Disease against a fixed curvature."""
    rows = [
        [f"c = {cell.row}" if cell.row != "gcn" else "Euclidean GCN", _entry(entry, seeds)]
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


Place = tuple[str, str]
"""Where a score is in a record: the part of it, and the name of the score."""


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
    entries = {row: _value(list(by_seed.values())) for row, by_seed in scores.items()}
    # A column that is hardly begun is neither the best nor the one to compare with.
    most = max(len(by_seed) for by_seed in scores.values())
    begun = [row for row, by_seed in scores.items() if by_seed and 2 * len(by_seed) >= most]
    best = max((entry.mean for row in begun if (entry := entries[row])), default=math.inf)
    line = [
        _entry(entry, seeds, best if row in begun else math.inf) for row, entry in entries.items()
    ]
    name = max(untrained, key=lambda name: statistics.fmean(untrained[name].values()), default="")
    line.append(f"{_value(list(untrained[name].values()))} ({name})" if name else "")
    others = [scores[row] for row in begun if row != "HGCN"]
    others += [untrained[name]] if name else []
    rival = max(others, key=lambda by_seed: statistics.fmean(by_seed.values()), default={})
    return [*line, _gain(scores["HGCN"], rival)]


def _gain(own: dict[int, float], rival: dict[int, float]) -> str:
    """The mean difference over the seeds that both have, and its standard error."""
    gains = [own[seed] - rival[seed] for seed in own if seed in rival]
    if len(gains) < 2:
        return ""
    error = statistics.stdev(gains) / math.sqrt(len(gains))
    return f"{statistics.fmean(gains):+.1f} ± {error:.1f}"


def seal_markdown(store: Store, seeds: int) -> str:
    """Links of the graphs of SEAL, beside what it published."""
    cells = {(cell.row, cell.dataset): cell for cell in seal()}
    networks = list(dict.fromkeys(cell.row for cell in seal()))
    rows = []
    for graph, published in paper.SEAL.items():
        entries = [value(store, cells[row, graph], seeds) for row in networks]
        best = max(entry.mean for entry in entries if entry) if any(entries) else math.inf
        rows.append([graph, *(_entry(entry, seeds, best) for entry in entries), published])
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
        rows.append([graph, *(_entry(entry, seeds, best) for entry in entries)])
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
                _value([100 * r["distortion"][k] for r in records]) for k in ("average", "worst")
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
        "distortion": distortion_markdown(store, seeds),
        "datasets": datasets_markdown(),
    }
