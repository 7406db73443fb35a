"""Time and memory of `hgcn convert`, and of loading what it made.

    python benchmarks/convert.py
    python benchmarks/convert.py --rows 10000000 --kind names --features 64
    python benchmarks/convert.py --rows 1000000 --kind csv --folder /data

A Parquet file (or CSV) of random edges is made, ten to a node, then converted by a process of its
own. The peak of its memory counts everything: imports, and pages of files that it maps. Memory of
its own is what other processes cannot share and the system cannot give away.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

KINDS = ("numbers", "names", "csv")
BLOCK = 5_000_000
TRAIN = (
    "--task", "link", "--batch-size", "1024", "--fanout", "15,10", "--epochs", "1",
    "--hidden-share", "0.01", "--no-structure", "--val-share", "0.001", "--test-share", "0.001",
    "--quiet",
)  # fmt: skip
"""A hundredth of the edges is predicted, then all nodes are embedded to score validation."""
LOAD = """
import sys, hgcn.data
graph = hgcn.data.load(sys.argv[1])
graph.fingerprint()
print("   ", graph)
"""


def blocks(rows: int, nodes: int, names: bool):
    """Random edges, some at a time."""
    generator = np.random.default_rng(0)
    for start in range(0, rows, BLOCK):
        ends = generator.integers(0, nodes, (2, min(BLOCK, rows - start)))
        frame = pl.DataFrame({"source": ends[0], "target": ends[1]})
        yield frame.select(pl.format("user_{}", pl.all()).name.keep()) if names else frame


def write_edges(kind: str, rows: int, nodes: int, folder: Path) -> Path:
    """A file of edges, written in bounded memory."""
    path = folder / ("edges.csv" if kind == "csv" else "edges.parquet")
    dtype = pl.String if kind == "names" else pl.Int64

    def source(columns, predicate, n_rows, size):
        yield from blocks(rows, nodes, kind == "names")

    lazy = register_io_source(source, schema={"source": dtype, "target": dtype})
    if kind == "csv":
        lazy.sink_csv(path)
    else:
        lazy.sink_parquet(path)
    return path


def write_features(nodes: int, width: int, folder: Path) -> Path:
    """An array of random features, written in bounded memory."""
    path = folder / "features.npy"
    generator = np.random.default_rng(1)
    array = np.lib.format.open_memmap(path, "w+", np.float32, (nodes, width))
    for start in range(0, nodes, 100_000):
        array[start : start + 100_000] = generator.random((min(100_000, nodes - start), width))
    return path


def measure(what: str, command: list[str]) -> None:
    """Run a command; print its seconds, its peak of memory, and that of its own memory."""
    begin = time.perf_counter()
    peak = own = 0
    with subprocess.Popen(command) as child:
        while child.poll() is None:
            status = Path(f"/proc/{child.pid}/status").read_text()
            facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            peak = max(peak, int(facts.get("VmHWM", "0 kB").split()[0]))
            own = max(own, int(facts.get("RssAnon", "0 kB").split()[0]))
            time.sleep(0.05)
    seconds = time.perf_counter() - begin
    if child.returncode:
        raise SystemExit(f"{what} failed.")
    print(f"{what:8s}{seconds:8.1f} s, peak {peak / 1e6:.2f} GB, of its own {own / 1e6:.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--kind", choices=KINDS, default="numbers")
    parser.add_argument("--features", type=int, default=0, metavar="WIDTH")
    parser.add_argument("--directed", action="store_true")
    parser.add_argument("--train", action="store_true", help="train some steps on the result")
    parser.add_argument("--folder", type=Path, help="where to work; 15 GB for 100 million rows")
    arguments = parser.parse_args()
    nodes = max(arguments.rows // 10, 2)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        edges = write_edges(arguments.kind, arguments.rows, nodes, folder)
        print(f"{arguments.rows:,} edges, {arguments.kind}: {edges.stat().st_size / 1e9:.2f} GB")
        command = [sys.executable, "-m", "hgcn", "convert", str(edges), "-o", str(folder / "graph")]
        command += ["--directed"] * arguments.directed
        if arguments.features:
            command += ["--features", str(write_features(nodes, arguments.features, folder))]
        measure("convert", command)
        size = sum(path.stat().st_size for path in (folder / "graph").iterdir())
        print(f"    {size / 1e9:.2f} GB of arrays")
        measure("load", [sys.executable, "-c", LOAD, str(folder / "graph")])
        measure(
            "check", [sys.executable, "-m", "hgcn", "convert", "--check", str(folder / "graph")]
        )
        if arguments.train:
            train = [sys.executable, "-m", "hgcn", "train", *TRAIN]
            measure("train", [*train, str(folder / "graph"), "--out", str(folder / "run")])


if __name__ == "__main__":
    main()
