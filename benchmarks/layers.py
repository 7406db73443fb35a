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
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _dense import DenseConv
from _document import ROOT, Rows, markdown_table, text_table, write_between_markers
from _graphs import Problem, citations, scale_free
from _inside import kernel_times, operators, shares
from _measure import Samples, number, peak_memory, ratios, set_threads, slope, spread, take_turns
from _models import GAT, GCN, HIDDEN, LOCAL, LOCAL_ATTENTION, MODELS, Network, epoch
from _scaling_figure import draw_scaling

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
        ratio = {other: float(np.median(ratios(values, samples[other]))) for other in (GCN, GAT)}
        aim = ""
        if name in LIMITS:
            limit, other = LIMITS[name]
            aim = report.aim(
                name, where, f"at most {limit}x {other}", f"{ratio[other]:.2f}x",
                ratio[other] <= limit,
            )  # fmt: skip
        shown = ("1" if name == other else f"{ratio[other]:.2f}" for other in ratio)
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


def compare_on_one_thread(
    report: Report, problems: dict[str, Problem], *, threads: int, seconds: float
) -> None:
    """The same epochs for those who give each worker one thread."""
    set_threads(1)
    rows = []
    for where, problem in problems.items():
        samples = take_turns({m: epoch(m, problem) for m in SWEEP}, seconds=seconds)
        cells = [spread(samples[m], 1e3, 3) for m in SWEEP]
        for model, (limit, other) in LIMITS.items():
            ratio = float(np.median(ratios(samples[model], samples[other])))
            report.aim(
                model, f"{where}, one thread", f"at most {limit}x {other}", f"{ratio:.2f}x",
                ratio <= limit,
            )  # fmt: skip
            cells.append(f"{ratio:.2f}")
        rows.append([where, *cells])
    set_threads(threads)
    quotients = (f"{model} / {other}" for model, (_, other) in LIMITS.items())
    report.table(
        "one thread", "One thread, dense features: ms an epoch", ["graph", *SWEEP, *quotients], rows
    )


def look_inside(report: Report, problems: dict[str, Problem], *, seconds: float) -> None:
    first = next(iter(problems))
    rows = [
        [name, *map(str, operators(epoch(name, problems[first])))] for name in (*SWEEP[:3], LOCAL)
    ]
    header = ["layer", "that compute", "with views and the like"]
    report.table("inside", f"Operators of torch in one training step on {first}", header, rows)

    for model in (LOCAL_ATTENTION, LOCAL):
        parts = {
            name: shares(epoch(model, problem), 3 if len(problem.x) > 50_000 else 20)
            for name, problem in problems.items()
        }
        names = list(dict.fromkeys(part for shown in parts.values() for part in shown))
        names = [*(n for n in names if n[0] == "`"), *(n for n in names if n[0] != "`")]
        for shown in parts.values():
            shown["our kernels together"] = sum(v for n, v in shown.items() if n[0] == "`")
        names.append("our kernels together")
        rows = [[n, *(f"{100 * shown.get(n, 0):.0f} %" for shown in parts.values())] for n in names]
        report.table(
            "inside", f"Where the time of an epoch goes: {model}", ["part", *problems], rows
        )

    times = {name: kernel_times(problem, seconds=seconds) for name, problem in problems.items()}
    rows = []
    for part in times[first]:
        cells = (
            f"{number(float(np.median(t[part])) * 1e3)} "
            f"({np.median(ratios(t[part], t['sparse product of torch'])):.1f}x)"
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
    small = scale_free(200, features=FEATURES)
    losses = [dense_network(small, dense=dense)() for dense in (True, False)]
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)
    samples = take_turns(calls, seconds=0, fewest=2)
    faster = float(np.median(samples["all pairs"] / samples["HGCNConv"]))
    memory = peak_memory(prepare_dense, [(DENSE_NODES, True), (DENSE_NODES, False)], at_once=2)
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


def prepare_epoch(model: str, path: str) -> Callable[[], Any]:
    epoch(model, scale_free(100, features=FEATURES))()
    problem = Problem(*torch.load(path, weights_only=True))

    return epoch(model, problem)


def measure_sweep(
    report: Report, *, seconds: float
) -> tuple[list[int], dict[str, list[Samples]], dict[str, list[float]]]:
    """Edges, and for each layer seconds and bytes; on the graph in the middle all layers run."""
    edges = []
    times: dict[str, list[Samples]] = {m: [] for m in SWEEP}
    memory: dict[str, list[float]] = {m: [] for m in SWEEP}
    for nodes in SWEEP_NODES:
        problem = scale_free(nodes, features=FEATURES)
        models = MODELS if nodes == TABLE_NODES else SWEEP
        samples = take_turns(
            {m: epoch(m, problem) for m in models},
            seconds=seconds,
            fewest=3 if nodes > TABLE_NODES else 5,
        )
        if models is MODELS:
            compare(report, f"Scale-free: {problem.sizes()}", "scale-free", samples)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "problem.pt")
            torch.save(tuple(problem), path)
            jobs = [(m, path) for m in SWEEP]
            peaks = peak_memory(prepare_epoch, jobs, at_once=2)
        edges.append(problem.edge_index.shape[1])
        for m, peak in zip(SWEEP, peaks, strict=True):
            times[m].append(samples[m])
            memory[m].append(peak)
    return edges, times, memory


def scale(report: Report, *, seconds: float) -> None:
    edges, times, memory = measure_sweep(report, seconds=seconds)
    medians = {m: [float(np.median(t)) for t in times[m]] for m in SWEEP}
    shown = {
        "ms an epoch": ({m: [spread(t, 1e3, 3) for t in times[m]] for m in SWEEP}, medians),
        "MB at the peak": ({m: [number(b / 1e6, 3) for b in memory[m]] for m in SWEEP}, memory),
    }
    # The smallest graph is mostly overhead, which flatters the slope through all.
    spans = {"slope": 0, "slope from the second": 1}
    header = ["layer", *(f"{e:,} edges" for e in edges), *spans]
    for kind, (cells, values) in shown.items():
        rows = []
        for m in SWEEP:
            slopes = {name: slope(edges[i:], values[m][i:]) for name, i in spans.items()}
            for name, steepness in slopes.items() if m in LIMITS else ():
                report.aim(
                    f"{m}, {kind}: {name}", "scale-free", f"at most {SLOPE_LIMIT}",
                    f"{steepness:.2f}", steepness <= SLOPE_LIMIT,
                )  # fmt: skip
            rows.append([m, *cells[m], *(f"{steepness:.2f}" for steepness in slopes.values())])
        report.table("scaling", f"Scale-free, {FEATURES} features: {kind}", header, rows)
    draw_scaling(
        FIGURE,
        edges=edges,
        seconds=medians,
        gigabytes={m: [b / 1e9 for b in memory[m]] for m in SWEEP},
    )


def settings(threads: int, load: float) -> str:
    packages = ", ".join(
        f"{name} {version(name).split('+')[0]}" for name in ("torch", "torch_geometric", "numba")
    )
    plural = "" if threads == 1 else "s"
    return (
        f"Measured with {threads} thread{plural} on {platform.machine()} with {os.cpu_count()} "
        f"cores, whose load was {load:.1f} before the start; {packages}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count() or 1, help="of torch and of numba; all cores"
    )
    parser.add_argument("--quick", action="store_true", help="Cora only, less than a minute")
    options = parser.parse_args()
    start, load = time.perf_counter(), os.getloadavg()[0]
    warnings.simplefilter("ignore")  # of torch, on sparse tensors
    set_threads(options.threads)
    report, problems = Report(), {}
    for name in ("cora",) if options.quick else TITLES:
        problem, reason = citations(name)
        if problem is None:
            print(reason)
        else:
            time_citations(report, name, problem, seconds=8 if options.quick else 20)
            problems[TITLES[name]] = problem._replace(x=problem.x.to_dense())
    if options.quick:
        if problems:
            compare_on_one_thread(report, problems, threads=options.threads, seconds=4)
            look_inside(report, problems, seconds=1)
    else:
        compare_dense(report)
        scale(report, seconds=20)
        problems["scale-free"] = scale_free(TABLE_NODES, features=FEATURES)
        compare_on_one_thread(report, problems, threads=options.threads, seconds=20)
        look_inside(report, problems, seconds=5)
    report.finish()
    about = settings(options.threads, load)
    print(f"\n{about}")
    if options.quick or len(problems) < 3:
        print(f"{GUIDE.relative_to(ROOT)} stays as it is: this was not a whole run.")
    else:
        for section, parts in report.sections.items():
            write_between_markers(GUIDE, section, "\n\n".join(parts))
        write_between_markers(GUIDE, "settings", about)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
