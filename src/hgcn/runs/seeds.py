"""Several seeds of one training, in parallel processes, and their mean."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Unpack

from hgcn import files
from hgcn.cores import count_cores, worker_pool
from hgcn.errors import RunError
from hgcn.runs.fit import fit, settle
from hgcn.runs.folder import METRICS
from hgcn.settings import Settings


def fit_seeds(
    source: str,
    seeds: int,
    *,
    out: str | Path,
    processes: int | None = None,
    **settings: Unpack[Settings],
) -> dict[str, Any]:
    """Train with the seeds 0, 1, ... in parallel processes, each into a folder of its own.

    Returns:
        Mean and standard deviation of each score, as also written to ``metrics.json``.
    """
    folder = Path(out)
    if (folder / METRICS).exists():
        raise RunError(f"Expected a new folder, but {folder} holds runs already.")
    settle(source, settings)  # wrong settings are refused here, before any process is started
    files.make_folder(folder)
    first = settings.pop("seed", 0) or 0
    workers = min(seeds, processes or count_cores())
    jobs = [
        (source, str(folder / f"seed-{seed}"), {**settings, "seed": seed})
        for seed in range(first, first + seeds)
    ]
    with worker_pool(workers) as pool:
        results = list(pool.map(_one_seed, jobs))
    summary = summarise(results)
    files.write_json(folder / METRICS, summary)
    return summary


def _one_seed(job: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    source, out, settings = job
    return fit(source, out=out, **settings).metrics


def summarise(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sample standard deviation of the scores of several runs."""
    summary: dict[str, Any] = {
        key: results[0][key] for key in ("task", "model", "source", "preset", "select")
    }
    summary["seeds"] = [result["seed"] for result in results]
    for part in ("val", "test"):
        summary[part] = _averaged([result[part] for result in results])
    untrained = [result["untrained"] for result in results if "untrained" in result]
    if len(untrained) == len(results):
        summary["untrained"] = _averaged(untrained)
    return summary


def _averaged(trees: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sample standard deviation of each number that all of some nested tables have."""
    found: dict[str, Any] = {}
    for name in trees[0]:
        values = [tree[name] for tree in trees if name in tree]
        if len(values) < len(trees):
            continue
        if isinstance(values[0], dict):
            found[name] = _averaged(values)
        else:
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            found[name] = {"mean": statistics.fmean(values), "std": spread}
    return found
