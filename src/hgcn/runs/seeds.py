"""Several seeds of one training, in parallel processes, and their mean."""

from __future__ import annotations

import contextlib
import logging
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from hgcn import files
from hgcn.config import Config
from hgcn.cores import count_cores
from hgcn.errors import ConfigError, HGCNError, RunError
from hgcn.locks import locked_or
from hgcn.ranks import refuse_several
from hgcn.runs.auto import Choosing, check_seconds, choose_settings, settings_of
from hgcn.runs.checkpoint import checkpoint_seconds
from hgcn.runs.fit import fit, resume, settle
from hgcn.runs.folder import load_run, read_auto, seed_folders
from hgcn.runs.layout import AUTO, CONFIG, ENVIRONMENT, LOCK, METRICS
from hgcn.runs.run import Run
from hgcn.runs.workers import Job, work
from hgcn.settings import Settings
from hgcn.training.loop import Progress
from hgcn.training.problem import choose, with_usual_model
from hgcn.training.source import load_graph

SEEDS = "seeds.json"
"""The file of a folder of seeds that says what they are trained with."""
MOST_SEEDS = 10_000


@dataclass
class Seeds:
    """The state of a training with several seeds.

    Attributes:
        folder: the folder that holds a run folder for each seed.
        asked: the seeds that are wanted.
        finished: metrics of those that are finished.
        failed: what was wrong with those that failed.
        running: progress of those in training; None before their first epoch.
        auto: how the settings were chosen, if they were.
        interrupted: whether Ctrl-C ended the training before all seeds were done.
    """

    folder: Path
    asked: list[int]
    finished: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    running: dict[int, Progress | None] = field(default_factory=dict)
    auto: dict[str, Any] | None = None
    interrupted: bool = False

    @property
    def missing(self) -> list[int]:
        """The seeds that have no result."""
        return [seed for seed in self.asked if seed not in self.finished]

    def summary(self) -> dict[str, Any]:
        """Mean and deviation of each score over the finished seeds; which of them are missing."""
        metrics = [self.finished[seed] for seed in self.asked if seed in self.finished]
        summary = {**summarise(metrics), "missing": self.missing}
        return summary if self.auto is None else {**summary, "auto": self.auto}


def fit_seeds(
    source: str,
    seeds: int,
    *,
    out: str | Path,
    processes: int | None = None,
    on_change: Callable[[Seeds], None] | None = None,
    auto: float | None = None,
    on_auto: Callable[[Choosing], None] | None = None,
    **settings: Unpack[Settings],
) -> Seeds:
    """Train with several seeds in parallel processes, each into a folder of its own.

    Each run is the same, to the last bit, as that of :func:`hgcn.fit` with its seed. A folder that
    has some of the runs is gone on with: finished seeds are taken as they are, unfinished ones go
    on from their checkpoints. A seed that fails is told by a warning, and the others go on.

    Args:
        source: the name of a data set, or a path.
        seeds: number of seeds; the first one is the setting ``seed``, by default 0.
        out: the folder; a file ``metrics.json`` in it has mean and deviation of each score.
        processes: number of seeds to train at a time, by default one for each processor.
        on_change: called whenever something has changed.
        auto: seconds to spend on the choice of settings, with the first seed; all seeds are trained
            with what was chosen. A folder that has a choice keeps it.
        on_auto: called while settings are chosen.
        settings: settings as :func:`hgcn.fit` takes them.
    """
    refuse_several("several seeds")
    folder = Path(out)
    if not 1 <= seeds <= MOST_SEEDS:
        raise ConfigError(f"Expected `seeds` to be in 1..{MOST_SEEDS}, got {seeds}.")
    # Settings and data that are wrong are refused here, before any process is started.
    checkpoint_seconds()
    wanted, name = settle(source, settings)
    if auto is not None:
        check_seconds(auto)
    graph = load_graph(wanted)
    wanted = with_usual_model(graph, wanted, settings)
    choose(graph, wanted)
    state = Seeds(folder, list(range(wanted.seed, wanted.seed + seeds)))
    wanted.replace(seed=state.asked[-1])  # refused if no seed can be so large
    files.make_folder(folder)
    state.auto = read_auto(folder) if holds_seeds(folder) else None
    if auto is not None and state.auto is None:
        if holds_seeds(folder):
            raise ConfigError(
                f"Expected no `auto`, or another folder: the seeds in {folder} were begun without."
            )
        _, state.auto = choose_settings(graph, wanted, settings, auto, preset=name, on_auto=on_auto)
    if state.auto is not None:
        wanted = settings_of(wanted, settings, state.auto)
    plan = _plan(wanted, seeds, graph.fingerprint())
    del graph
    busy = RunError(f"Another process trains seeds in {folder}. Wait for it.")
    with locked_or(folder / LOCK, busy):
        try:
            _agree(folder, plan)
            if state.auto is not None:
                files.write_json(folder / AUTO, state.auto)
            _train(state, plan["settings"], processes or count_cores(), on_change)
            if state.finished:
                files.write_json(folder / METRICS, state.summary())
        finally:
            with contextlib.suppress(OSError):  # some systems keep a file that is open
                (folder / LOCK).unlink()
    return state


def resume_seeds(path: str | Path, **options: Any) -> Seeds:
    """Go on with the seeds of a folder; options as :func:`fit_seeds` has them."""
    plan = read_plan(Path(path))
    settings = {key: value for key, value in plan["settings"].items() if key != "source"}
    return fit_seeds(plan["settings"]["source"], plan["seeds"], out=path, **settings, **options)


def holds_seeds(path: Path) -> bool:
    """Whether a folder is one of several seeds."""
    return files.exists(path / SEEDS)


def read_plan(path: Path) -> dict[str, Any]:
    """What the seeds of a folder are trained with: their number, the settings and the data."""
    plan = files.read_json(path / SEEDS)
    try:
        config, seeds = Config(**plan["settings"]), plan["seeds"]
        if config.source is None or not isinstance(seeds, int) or seeds < 1:
            raise ValueError("no source, or no number of seeds")
        return _plan(config, seeds, str(plan["data"]))
    except (LookupError, TypeError, ValueError) as error:
        raise RunError(f"Expected {path / SEEDS} as hgcn writes it, got: {error}.") from error


def finished_seeds(path: Path) -> tuple[list[Run], int]:
    """The finished runs of a folder of seeds, and how many there are to be."""
    found = seed_folders(path)
    total = read_plan(path)["seeds"] if holds_seeds(path) else len(found)
    runs = [load_run(one) for one in found if (one / ENVIRONMENT).exists()]
    if not runs:
        raise RunError(
            f"Expected a finished seed in {path}, got none. Go on with: hgcn train --resume {path}"
        )
    return runs, total


def summarise(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sample standard deviation of the scores of several runs."""
    summary: dict[str, Any] = {
        key: results[0][key] for key in ("task", "model", "source", "preset", "select")
    }
    summary["seeds"] = [result["seed"] for result in results]
    for part in ("val", "test"):
        summary[part] = _averaged([result[part] for result in results])
    if all("radius" in result for result in results):
        summary["radius"] = max(result["radius"] for result in results)
    untrained = [result["untrained"] for result in results if "untrained" in result]
    if len(untrained) == len(results):
        summary["untrained"] = _averaged(untrained)
    return summary


def _averaged(trees: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sample standard deviation of each number that all of some nested tables have."""
    found: dict[str, Any] = {}
    for name in trees[0]:
        values = [tree[name] for tree in trees if name in tree]
        if len(values) == len(trees):
            nested = isinstance(values[0], dict)
            found[name] = _averaged(values) if nested else mean_and_deviation(values)
    return found


def mean_and_deviation(values: Sequence[float]) -> dict[str, float]:
    """Mean and sample standard deviation, which is 0 for a single value."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.fmean(values), "std": spread}


def _plan(config: Config, seeds: int, data: str) -> dict[str, Any]:
    settings = {key: value for key, value in config.to_dict().items() if value is not None}
    return {"seeds": seeds, "settings": settings, "data": data}


def _agree(folder: Path, plan: dict[str, Any]) -> None:
    """Write down what the seeds are trained with; refuse what differs from those that are there."""
    begun = any((one / CONFIG).exists() for one in seed_folders(folder))
    if begun and not holds_seeds(folder):
        raise RunError(
            f"Expected a new folder, but {folder} holds runs of unknown settings. Choose another."
        )
    if begun:
        before = read_plan(folder)
        old, new = before["settings"], plan["settings"]
        changed = [
            f"`{name}` was {old.get(name)!r} and is {new.get(name)!r} now."
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        if not changed and before["data"] != plan["data"]:
            changed = [f"The data of {new['source']} have changed since."]
        if not changed and before["seeds"] > plan["seeds"]:
            changed = [f"There were {before['seeds']} seeds and there are {plan['seeds']} now."]
        if changed:
            raise ConfigError(
                f"The seeds in {folder} were begun otherwise, and cannot be put together with new "
                "ones. Choose another folder.\n" + "\n".join(changed)
            )
    files.write_json(folder / SEEDS, plan)


def _train(
    state: Seeds,
    settings: dict[str, Any],
    processes: int,
    on_change: Callable[[Seeds], None] | None,
) -> None:
    """Train the seeds that are not finished; Ctrl-C keeps those that are."""

    def changed() -> None:
        if on_change is not None:
            on_change(state)

    others = {key: value for key, value in settings.items() if key not in ("source", "seed")}
    jobs = []
    said: set[str] = set()
    try:
        for seed in state.asked:
            path = state.folder / f"seed-{seed}"
            if not _take(state, seed, path):
                one = {**others, "seed": seed, "auto": state.auto}
                arguments = (settings["source"], str(path), one)
                jobs.append(Job(seed, _one_seed, arguments))
            changed()
        for event in work(jobs, processes):
            if event.kind in ("started", "epoch"):
                state.running[event.key] = event.value
            elif event.kind == "log" and event.value not in said:
                said.add(event.value)
                logging.getLogger("hgcn").warning(event.value)
            elif event.kind == "warning":
                warnings.warn(event.value, stacklevel=2)
            elif event.kind == "done":
                del state.running[event.key]
                state.finished[event.key] = event.value
            elif event.kind == "failed":
                del state.running[event.key]
                _fail(state, event.key, event.value)
            changed()
    except KeyboardInterrupt:
        state.running.clear()
        state.interrupted = bool(state.missing)


def _take(state: Seeds, seed: int, path: Path) -> bool:
    """Take the result of a seed that is finished; returns whether there is nothing left to do."""
    if not (path / ENVIRONMENT).exists():
        return False
    try:
        run = load_run(path)
    except HGCNError as error:
        _fail(state, seed, str(error))
        return True
    from hgcn.runs.pictures import is_drawn

    if not is_drawn(run, path):
        return False
    state.finished[seed] = run.metrics
    return True


def _fail(state: Seeds, seed: int, error: str) -> None:
    state.failed[seed] = error
    warnings.warn(f"Seed {seed} failed: {error}", stacklevel=2)


def _one_seed(
    on_epoch: Callable[[Progress], None], source: str, out: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """Train one seed in a process of its own, or go on with it."""
    if (Path(out) / CONFIG).exists():
        return resume(out, on_epoch=on_epoch).metrics
    return fit(source, out=out, on_epoch=on_epoch, **settings).metrics
