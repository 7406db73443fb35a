"""Time and memory of reading an edge list of ten million rows.

    python benchmarks/read.py
    python benchmarks/read.py --rows 1000000

Each file is read in a process of its own, whose peak memory counts everything, imports included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

KINDS = ("whole numbers", "names", "names and weights", "whole numbers, Parquet")


def write(kind: str, rows: int, folder: Path) -> Path:
    """A random graph in which a node has ten edges or so."""
    generator = np.random.default_rng(0)
    source, target = generator.integers(0, max(rows // 10, 2), (2, rows))
    frame = pl.DataFrame({"source": source, "target": target})
    if kind.startswith("names"):
        frame = frame.select(pl.format("user_{}_name", pl.all()).name.keep())
    if kind.endswith("weights"):
        frame = frame.with_columns(weight=pl.Series(generator.random(rows) + 0.01))
    path = folder / ("edges.parquet" if kind.endswith("Parquet") else "edges.csv")
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    return path


def measure(path: Path) -> None:
    """Print seconds of the wall and of the processor, and the peak memory in GB."""
    import polars  # noqa: F401  not part of what is measured

    from hgcn.data import read

    wall, processor = time.perf_counter(), time.process_time()
    graph = read(path)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    print(f"{wall:6.1f} s, {processor:6.1f} s of processor time, peak {peak:.1f} GB  {graph}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.file is not None:
        measure(arguments.file)
        return
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = write(kind, arguments.rows, Path(folder))
            print(f"{kind:24s}", end="", flush=True)
            subprocess.run([sys.executable, __file__, "--file", str(path)], check=True)
            path.unlink()


if __name__ == "__main__":
    main()
