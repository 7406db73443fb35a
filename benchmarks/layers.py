"""What does a hyperbolic layer cost? Training epochs of ours and of PyTorch Geometric's layers.

Writes its tables into docs/layers.md and the figure docs/layers_scaling.svg. Cora and PubMed are
read from the folder that the environment variable HGCN_DATA names: edges.csv with the columns
source and target, each undirected edge once; features.npz as scipy.sparse writes a CSR matrix;
labels.npy. A partial run, quick or without that folder, prints and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _dense import DenseConv
from _document import ROOT, Rows, markdown_table, text_table, write_between_markers
from _graphs import VARIABLE, Problem, citations, scale_free
from _inside import kernel_times, operators, shares
from _measure import Samples, number, peak_memory, set_threads, slope, spread, take_turns
from _models import (
    GAT,
    GCN,
    HIDDEN,
    LOCAL,
    LOCAL_ATTENTION,
    MODELS,
    Network,
    epoch,
)

from hgcn.nn import HGCNConv

GUIDE = ROOT / "docs" / "layers.md"
FIGURE = ROOT / "docs" / "layers_scaling.svg"
TITLES = {"cora": "Cora", "pubmed": "PubMed"}
# Which layer is to take at most so many times as long as which other one.
LIMITS = {LOCAL_ATTENTION: (1.0, GAT), LOCAL: (1.5, GCN)}
SLOPE_LIMIT, DENSE_FASTER, DENSE_SMALLER = 1.1, 100, 20
SWEEP = (GCN, GAT, LOCAL_ATTENTION, LOCAL)
FEATURES = 128
SWEEP_NODES = (1_000, 10_000, 100_000, 1_000_000)
TABLE_NODES = 100_000  # of the scale-free graph on which all layers run
DENSE_NODES = 2_000


class Report:
    """Prints tables as they come, keeps them for the document, and collects what was aimed at."""

    def __init__(self) -> None:
        self.sections: dict[str, list[str]] = {}
        self.aims: list[list[str]] = []

    def table(
        self, section: str, title: str, header: Sequence[str], rows: Rows, note: str = ""
    ) -> None:
        print(f"\n{title}\n\n{text_table(header, rows)}", flush=True)
        if note:
            print(f"\n{note}")
        text = f"**{title}**\n\n{markdown_table(header, rows)}"
        self.sections.setdefault(section, []).append(text + (f"\n\n{note}" if note else ""))

    def aim(self, what: str, where: str, limit: str, measured: str, met: bool) -> str:
        verdict = "met" if met else "not met"
        self.aims.append([what, where, limit, measured, verdict])
        return f"{limit}: {verdict}"

    def finish(self) -> None:
        header = ["what", "where", "aim", "measured", "verdict"]
        self.table("aims", "What was aimed at", header, self.aims)


def compare(report: Report, title: str, where: str, samples: dict[str, Samples]) -> None:
    """One table of epochs; a ratio is taken within each round, and the median of them shown."""
    rows = []
    for name, values in samples.items():
        ratios = {other: values / samples[other] for other in (GCN, GAT)}
        aim = ""
        if name in LIMITS:
            limit, other = LIMITS[name]
            ratio = float(np.median(ratios[other]))
            aim = report.aim(
                name, where, f"at most {limit}x {other}", f"{ratio:.2f}x", ratio <= limit
            )
        shown = (
            "1" if name == other else f"{np.median(ratios[other]):.2f}" for other in (GCN, GAT)
        )
        rows.append([name, spread(values, 1e3, 3), *shown, aim])
    report.table("epochs", title, ["layer", "ms an epoch", "/ GCN", "/ GAT", "aim"], rows)


def time_citations(report: Report, name: str, problem: Problem, *, seconds: float) -> None:
    """Dense and sparse features in the same rounds."""
    kinds = {
        "dense features": problem._replace(x=problem.x.to_dense()),
        # Of torch's layouts, COO is the faster one for PyTorch Geometric; ours takes any.
        "sparse features": problem._replace(x=problem.x.to_sparse(2).coalesce()),
    }
    calls = {f"{kind}/{m}": epoch(m, kinds[kind]) for kind in kinds for m in MODELS}
    samples = take_turns(calls, seconds=seconds)
    for kind in kinds:
        compare(
            report,
            f"{TITLES[name]}, {kind}: {problem.sizes()}",
            f"{TITLES[name]}, {kind}",
            {m: samples[f"{kind}/{m}"] for m in MODELS},
        )


def look_inside(report: Report, problems: dict[str, Problem], *, seconds: float) -> None:
    first = next(iter(problems))
    rows = [
        [name, *map(str, operators(epoch(name, problems[first])))] for name in (*SWEEP[:3], LOCAL)
    ]
    header = ["layer", "called", "with those inside them"]
    report.table("inside", f"Operators of torch in one training step on {first}", header, rows)

    for model in (LOCAL_ATTENTION, LOCAL):
        parts = {
            name: shares(epoch(model, problem), 3 if len(problem.x) > 50_000 else 20)
            for name, problem in problems.items()
        }
        names = list(dict.fromkeys(part for shown in parts.values() for part in shown))
        names = [*(n for n in names if n[0] == "`"), *(n for n in names if n[0] != "`")]
        rows = [[n, *(f"{100 * shown.get(n, 0):.0f} %" for shown in parts.values())] for n in names]
        report.table(
            "inside", f"Where the time of an epoch goes: {model}", ["part", *problems], rows
        )

    times = {name: kernel_times(problem, seconds=seconds) for name, problem in problems.items()}
    rows = []
    for part in times[first]:
        cells = (
            f"{number(float(np.median(t[part])) * 1e3)} "
            f"({np.median(t[part] / t['sparse product of torch']):.1f}x)"
            for t in times.values()
        )
        rows.append([part, *cells])
    report.table(
        "inside",
        f"Forward passes over the edges in {HIDDEN} dimensions, ms (in brackets: sparse products)",
        ["pass", *problems],
        rows,
    )


def dense_network(problem: Problem, *, dense: bool) -> Callable[[], torch.Tensor]:
    """A training step, without optimiser, on all pairs of nodes or on the edges."""

    def make(n: int, d: int) -> torch.nn.Module:
        conv = HGCNConv(n, d, act=None, trainable_c=False)
        return DenseConv(conv) if dense else conv

    torch.manual_seed(0)
    model = Network(make, problem.x.shape[1], problem.classes)

    def run() -> torch.Tensor:
        model.zero_grad()
        logits = model(problem.x, problem.edge_index)
        loss = torch.nn.functional.cross_entropy(logits, problem.y)
        loss.backward()
        return loss.detach()

    return run


def prepare_dense(nodes: int, dense: bool) -> Callable[[], Any]:
    dense_network(scale_free(50, features=FEATURES), dense=dense)()
    return dense_network(scale_free(nodes, features=FEATURES), dense=dense)


def compare_dense(report: Report) -> None:
    problem = scale_free(DENSE_NODES, features=FEATURES)
    calls = {
        "all pairs": dense_network(problem, dense=True),
        "HGCNConv": dense_network(problem, dense=False),
    }
    losses = [call() for call in calls.values()]
    torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-3)
    samples = take_turns(calls, seconds=0, fewest=3)
    faster = float(np.median(samples["all pairs"] / samples["HGCNConv"]))
    memory = [peak_memory(prepare_dense, DENSE_NODES, dense) for dense in (True, False)]
    # Less than a page-sized step cannot be seen from outside.
    smaller = memory[0] / max(memory[1], 1e5)
    rows = [
        [name, spread(samples[name], 1e3, 3), number(used / 1e6)]
        for name, used in zip(samples, memory, strict=True)
    ]
    where = f"scale-free, {DENSE_NODES:,} nodes"
    for what, least, ratio in (("time", DENSE_FASTER, faster), ("memory", DENSE_SMALLER, smaller)):
        report.aim(
            f"all pairs / HGCNConv, {what}", where, f"at least {least}x", f"{number(ratio, 3)}x",
            ratio >= least,
        )  # fmt: skip
    report.table(
        "dense",
        f"A training step of two layers with attention: {problem.sizes()}",
        ["implementation", "ms a step", "peak memory, MB"],
        rows,
        f"All pairs takes {number(faster, 3)} times as long and {number(smaller, 3)} times the "
        "memory.",
    )


def prepare_epochs(model: str, path: str) -> Callable[[], None]:
    epoch(model, scale_free(100, features=FEATURES))()
    problem = Problem(*torch.load(path, weights_only=True))

    def run() -> None:
        # Memory of the second epoch is the first's and what Adam and sorted edges hold.
        step = epoch(model, problem)
        step()
        step()

    return run


def scale(report: Report, *, seconds: float) -> Problem:
    """Time and memory against edges; returns the graph on which all layers ran."""
    sizes, times, memory = [], {m: [] for m in SWEEP}, {m: [] for m in SWEEP}
    for problem in map(lambda n: scale_free(n, features=FEATURES), SWEEP_NODES):
        nodes = len(problem.x)
        whole = nodes == TABLE_NODES
        calls = {m: epoch(m, problem) for m in (MODELS if whole else SWEEP)}
        samples = take_turns(calls, seconds=seconds, fewest=3 if nodes > TABLE_NODES else 5)
        if whole:
            kept = problem
            compare(report, f"Scale-free: {problem.sizes()}", "scale-free", samples)
        sizes.append(problem.edge_index.shape[1])
        for m in SWEEP:
            times[m].append(samples[m])
        del calls
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "problem.pt")
            torch.save(tuple(problem), path)
            for m in SWEEP:
                memory[m].append(peak_memory(prepare_epochs, m, path))
        print(f"scaling: {problem.sizes()} done", flush=True)
    rows_of = {"ms an epoch": [], "peak memory, MB": []}
    for m in SWEEP:
        middle = [float(np.median(t)) for t in times[m]]
        for kind, values, shown in (
            ("ms an epoch", middle, [spread(t, 1e3, 3) for t in times[m]]),
            ("peak memory, MB", memory[m], [number(b / 1e6, 3) for b in memory[m]]),
        ):
            # The smallest graph is all overhead, which would flatter the slope.
            steepness = slope(sizes[1:], values[1:])
            aim = ""
            if m in LIMITS:
                aim = report.aim(
                    f"{m}, slope of {kind.split(',')[0]}", "scale-free",
                    f"at most {SLOPE_LIMIT}", f"{steepness:.2f}", steepness <= SLOPE_LIMIT,
                )  # fmt: skip
            rows_of[kind].append([m, *shown, f"{slope(sizes, values):.2f}", f"{steepness:.2f}", aim])
    for kind, rows in rows_of.items():
        header = ["layer", *(f"{e:,} edges" for e in sizes), "slope", "without the first", "aim"]
        report.table("scaling", f"Scale-free graphs, {FEATURES} features: {kind}", header, rows)
    return kept
