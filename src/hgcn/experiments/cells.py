"""The runs that each table is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hgcn.experiments.paper import METHODS, SEAL
from hgcn.training.presets import STRUCTURE, preset

SHALLOW = ("euc", "hyp", "euc-mixed", "hyp-mixed")

SOURCES: Mapping[tuple[str, str], str] = {
    ("disease", "link"): "disease_lp",
    ("disease", "node"): "disease",
    ("disease_m", "link"): "disease_m",
    ("disease_m", "node"): "disease_m",
    ("ppi", "link"): "tissue_ppi",
    ("airport", "link"): "airport_lp",
    ("airport", "node"): "airport",
    ("pubmed", "link"): "pubmed",
    ("pubmed", "node"): "pubmed",
    ("cora", "link"): "cora",
    ("cora", "node"): "cora",
}
"""Our data for each column of the paper's table. Human PPI has no public classes."""

INDUCTIVE = ("disease_m", "ppi")


@dataclass(frozen=True)
class Cell:
    """One entry of a table: the settings of its runs, one run for each seed.

    With ``tuned`` they start from the preset of the data set, else from the defaults.
    """

    experiment: str
    row: str
    dataset: str
    task: str
    settings: Mapping[str, Any] = field(hash=False)
    tuned: bool = True

    @property
    def source(self) -> str:
        """The data set by its name in :func:`hgcn.load`."""
        known = (self.dataset, self.task) in SOURCES
        return SOURCES[self.dataset, self.task] if self.tuned and known else self.dataset

    @property
    def name(self) -> str:
        """The name of the cell: experiment/row/dataset/task."""
        return f"{self.experiment}/{self.row}/{self.dataset}/{self.task}"

    def request(self, seed: int) -> dict[str, Any]:
        """All settings of a run: those of the preset, overruled by those of the cell."""
        wanted = {**self.settings, "task": self.task}
        _, base = self._preset()
        return {**base, **wanted, "source": self.source, "seed": seed}

    @property
    def preset(self) -> str:
        """The name of the preset that its runs start from; empty for the defaults."""
        return self._preset()[0]

    def _preset(self) -> tuple[str, dict[str, Any]]:
        if not self.tuned:
            return "", {}
        return preset(self.source, {"structure": False, **self.settings, "task": self.task})

    def key(self, seed: int) -> str:
        """The key of a run in the store: equal for equal requests, whatever table they are for."""
        text = json.dumps(self.request(seed), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def table1(protocol: str = "clean") -> list[Cell]:
    """Table 1: all eleven models on all columns; shallow ones where no graph is unseen."""
    cells = []
    for model in METHODS:
        for dataset, task in SOURCES:
            if model in SHALLOW and dataset in INDUCTIVE:
                continue
            settings = {"model": model, "protocol": protocol}
            if protocol == "clean" or dataset not in INDUCTIVE:
                name = "table1" if protocol == "clean" else "legacy"
                cells.append(Cell(name, model, dataset, task, settings))
    return cells


def legacy() -> list[Cell]:
    """The transductive columns of Table 1, split by the legacy protocol."""
    return table1("legacy")


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "HGCN": {"attention": False, "trainable_c": False, "aggregation": "local"},
    "HGCN-Att_o": {"attention": True, "trainable_c": False, "aggregation": "origin"},
    "HGCN-Att": {"attention": True, "trainable_c": False, "aggregation": "local"},
    "HGCN-C": {"attention": False, "trainable_c": True, "aggregation": "local"},
    "HGCN-Att-C": {"attention": True, "trainable_c": True, "aggregation": "local"},
}
"""The rows of the paper's ablation; a name tells what is added."""


def ablation() -> list[Cell]:
    """Table 2: HGCN with and without attention and trained curvature."""
    return [
        Cell("ablation", row, dataset, "link", {"model": "hgcn", **settings})
        for row, settings in VARIANTS.items()
        for dataset in ("disease", "airport")
    ]


CURVATURES = (1e-4, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def curvature() -> list[Cell]:
    """Figure 4: fixed curvatures on Disease, and the Euclidean network."""
    fixed = [
        Cell("curvature", f"{c:g}", "disease", "link",
             {"model": "hgcn", "c": c, "trainable_c": False, "attention": False})
        for c in CURVATURES
    ]  # fmt: skip
    return [*fixed, Cell("curvature", "gcn", "disease", "link", {"model": "gcn"})]


GRAPHS = (
    "usair", "netscience", "yeast", "power", "wordnet_mammal", "openflights", "airport_lp",
    "disease_lp", "cora", "citeseer", "pubmed", "email_enron", "tissue_ppi", "debian",
)  # fmt: skip
"""Graphs on which the defaults are tried as they are."""
ROWS: Mapping[str, Mapping[str, Any]] = {
    "HGCN": {"model": "hgcn", "structure": True},
    "SAGE": {"model": "sage", "structure": True},
    "GCN": {"model": "gcn", "structure": True},
    "GAT": {"model": "gat", "structure": True},
    "HGCN without structure": {"model": "hgcn", "structure": False},
}
"""Networks with and without the structural term, all with the defaults."""


def strangers() -> list[Cell]:
    """Links of graphs that nobody tuned for: the defaults, nothing chosen for a data set."""
    return [
        Cell("strangers", row, dataset, "link", settings, tuned=False)
        for row, settings in ROWS.items()
        for dataset in GRAPHS
    ]


def seal() -> list[Cell]:
    """The graphs of SEAL, split as there: the test sees nine tenths of the links."""
    return [
        Cell("seal", row, dataset, "link", {**ROWS[row], "val_as_input": True}, tuned=False)
        for row in ("HGCN", "SAGE")
        for dataset in SEAL
    ]


WITH_PRESETS = ("cora", "citeseer", "pubmed")
"""Graphs whose settings were searched anew with the structural term."""


def presets() -> list[Cell]:
    """Links with the structural term, with settings that were searched for each data set."""
    settings = {"model": "hgcn", "structure": True}
    row = f"hgcn{STRUCTURE}"
    return [Cell("presets", row, dataset, "link", settings) for dataset in WITH_PRESETS]


NODES = ("disease", "disease_m", "airport", "cora", "citeseer", "pubmed", "twitch", "debian")
"""Graphs with classes. Those without a preset are run with the defaults."""
NODE_METHODS = ("gcn", "gat", "sage", "sgc", "hgcn")
"""The networks that use edges."""


def nodes() -> list[Cell]:
    """Classes of nodes on all graphs; the cells of Table 1 are the same runs."""
    return [
        Cell("nodes", model, dataset, "node", {"model": model, "protocol": "clean"})
        for model in NODE_METHODS
        for dataset in NODES
    ]


DIMENSIONS = (2, 4, 8, 16)
LOW_METHODS = ("gcn", "gat", "sage", "hgcn")
LOW_GRAPHS = ("disease_m", "airport", "pubmed", "cora")


def lowdim() -> list[Cell]:
    """Links and nodes in few dimensions; all other settings are those of Table 1.

    The cells of 16 dimensions are those of Table 1.
    """
    return [
        Cell("lowdim", f"{model}-{dim}", dataset, task,
             {"model": model, "protocol": "clean", **({} if dim == 16 else {"dim": dim})})
        for model in LOW_METHODS
        for dataset in LOW_GRAPHS
        for task in ("link", "node")
        for dim in DIMENSIONS
    ]  # fmt: skip


EXPERIMENTS: Mapping[str, Callable[[], list[Cell]]] = {
    "table1": table1,
    "legacy": legacy,
    "ablation": ablation,
    "curvature": curvature,
    "strangers": strangers,
    "seal": seal,
    "presets": presets,
    "nodes": nodes,
    "lowdim": lowdim,
}
"""Experiments by name."""
