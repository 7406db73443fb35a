"""Train the runs that are not in the store, in parallel, and store each result as it comes."""

from __future__ import annotations

import functools
import random
import subprocess  # nosec B404  # for git alone, below
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hgcn
from hgcn.cores import count_cores, deaf, worker_pool
from hgcn.data.graph import Graph
from hgcn.errors import HGCNError
from hgcn.experiments.cells import Cell
from hgcn.experiments.store import Store
from hgcn.training.presets import WHOLE

UNKNOWN_SECONDS = 60.0
"""The guessed time of a run, if the store has no run of its kind."""


@dataclass(frozen=True)
class Job:
    """One run to train: a cell and a seed."""

    cell: Cell
    seed: int


@dataclass
class Status:
    """The progress of a reproduction: runs done, failed and in all."""

    done: int
    total: int
    failed: int
    seconds_left: float
    last: str = ""


def missing(cells: Sequence[Cell], seeds: int, store: Store) -> list[Job]:
    """The runs that are not in the store; each request once, the first seeds first."""
    jobs: dict[str, Job] = {}
    for seed in range(seeds):
        for cell in cells:
            key = cell.key(seed)
            if key not in store.records:
                jobs.setdefault(key, Job(cell, seed))
    return list(jobs.values())


def reproduce(
    cells: Sequence[Cell],
    *,
    seeds: int,
    store: Store,
    processes: int | None = None,
    on_status: Callable[[Status], None] | None = None,
) -> list[str]:
    """Train the runs that are not in the store; returns a line for each that failed.

    Each process uses one thread and keeps the graphs that it has loaded.
    """
    jobs = missing(cells, seeds, store)
    if not jobs:
        return []
    workers = min(len(jobs), processes or count_cores())
    failures: list[str] = []
    with worker_pool(workers) as pool:
        queue = list(jobs)
        waiting: dict[Future[dict[str, Any]], Job] = {}
        while queue or waiting:
            while queue and len(waiting) < workers:
                job = longest(queue, store)
                queue.remove(job)
                with deaf():
                    waiting[pool.submit(run_job, job)] = job
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                job = waiting.pop(future)
                name = f"{job.cell.name}, seed {job.seed}"
                try:
                    store.add(future.result())
                except HGCNError as error:
                    failures.append(f"{name}: {error}")
                if on_status is not None:
                    left = seconds_left([*waiting.values(), *queue], store) / workers
                    done = len(jobs) - len(waiting) - len(queue)
                    on_status(Status(done, len(jobs), len(failures), left, name))
    return failures


def longest(jobs: Sequence[Job], store: Store) -> Job:
    """The longest job among those with the first seed: short jobs are left for the end."""
    first = min(job.seed for job in jobs)
    known = store.seconds()
    return max((job for job in jobs if job.seed == first), key=lambda job: _seconds(job, known))


def seconds_left(jobs: Sequence[Job], store: Store) -> float:
    """The processor time of all jobs, guessed from runs of their kind in the store."""
    known = store.seconds()
    return sum(_seconds(job, known) for job in jobs)


def _seconds(job: Job, known: Mapping[tuple[str, str, str], float]) -> float:
    kind = job.cell.source, job.cell.task, job.cell.settings["model"]
    return known.get(kind, UNKNOWN_SECONDS)


@functools.lru_cache(maxsize=4)
def _load(source: str) -> Graph:
    from hgcn.data import load

    return load(source)


@functools.lru_cache(maxsize=1)
def code_version() -> str:
    """The version, and the commit where the package is run from a git checkout."""
    try:
        git = subprocess.run(  # nosec B603 B607  # a fixed command, found as the user finds it
            ["git", "describe", "--always", "--dirty", "--abbrev=10"],
            cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return hgcn.__version__
    return f"{hgcn.__version__}+{git.stdout.strip()}"


def run_job(job: Job) -> dict[str, Any]:
    """Train and evaluate one run; returns its record for the store."""
    import warnings

    from hgcn.experiments.distortion import distortion
    from hgcn.runs.fit import fit

    request = job.cell.request(job.seed)
    graph = _load(request["source"])
    settings = {name: value for name, value in request.items() if name != "source"}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table itself says that legacy splits leak
        # The paper has no structural term.
        whole = WHOLE if job.cell.preset else {"structure": False}
        run = fit(graph, **{**whole, **settings})
    seconds = time.perf_counter() - start
    average, worst = distortion(run, graph, generator=random.Random(job.seed))
    beside: dict[str, Any] = {}
    if not job.cell.tuned:
        hard = run.link_task().hard_metrics("test")
        beside = {"untrained": run.metrics["untrained"]["test"], "hard": hard}
    config = {**run.config.to_dict(), "source": request["source"]}
    return {
        "key": job.cell.key(job.seed),
        "experiment": job.cell.experiment,
        "row": job.cell.row,
        "dataset": job.cell.dataset,
        "seed": job.seed,
        "protocol": config["protocol"],
        "config": {name: value for name, value in config.items() if value is not None},
        "version": code_version(),
        "select": run.metrics["select"],
        "val": run.metrics["val"],
        "test": run.metrics["test"],
        "distortion": {"average": average, "worst": worst},
        **beside,
        "curvatures": run.metrics["curvatures"],
        "best_epoch": run.metrics["best_epoch"],
        "epochs": run.metrics["epochs"],
        "seconds": round(seconds, 2),
    }
