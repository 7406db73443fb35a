"""Train a network on a graph, from Python: the same as `hgcn train`."""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from hgcn import files
from hgcn.config import Config, check_names, read_toml
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, RunError
from hgcn.runs import trees
from hgcn.runs.run import Run, environment, history_csv, read_history
from hgcn.training.loop import Progress, State, train
from hgcn.training.problem import Problem, choose, preset

CHECKPOINT_SECONDS = float(os.environ.get("HGCN_CHECKPOINT_SECONDS", "10"))
"""Time between two writings of the state that an interrupted training resumes from."""


def fit(
    data: Any,
    *,
    task: str | None = None,
    out: str | Path | None = None,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> Run:
    """Train a network and evaluate it.

    Settings come, each overruled by the next, from the defaults, from the preset of a named
    dataset, from ``config``, and from the keywords.

    Args:
        data: a dataset name, a path, a :class:`hgcn.Graph`, a PyG ``Data`` or anything else that
            :func:`hgcn.load` takes.
        task: "link" or "node"; by default "node" where there are labels.
        out: run folder to write; without, nothing is written.
        config: a TOML file, a dictionary, or a :class:`~hgcn.config.Config` with every setting.
        on_epoch: called after each epoch with a :class:`~hgcn.training.loop.Progress`.
        settings: any field of :class:`~hgcn.config.Config`.

    Example:
        >>> import hgcn
        >>> run = hgcn.fit("disease", task="node", epochs=5, dim=4)
        >>> sorted(run.metrics["test"])
        ['accuracy', 'f1', 'f1_macro']
    """
    folder = None if out is None else Path(out)
    if folder is not None and (folder / "config.toml").exists():
        raise RunError(
            f"Expected a new folder, but {folder} holds a run already. Choose another one, or go "
            "on with an unfinished run by `resume`."
        )
    given = {**_mapping(config), **settings}
    if task is not None:
        given["task"] = task
    wanted, name = settle(str(data) if isinstance(data, (str, Path)) else None, given)
    if isinstance(data, (str, Path)):
        graph = load_source(wanted)
    else:
        from hgcn.data import as_graph

        graph = as_graph(data)
    problem = Problem(graph, choose(graph, wanted))
    return run_problem(problem, folder=folder, on_epoch=on_epoch, preset_name=name)


def resume(
    path: str | Path, data: Any = None, *, on_epoch: Callable[[Progress], None] | None = None
) -> Run:
    """Go on with a run that was interrupted, to the same end as if it had not been.

    Args:
        path: the run folder.
        data: the graph, if the run was trained on one held in memory.
        on_epoch: called after each epoch.
    """
    folder = Path(path)
    if (folder / "environment.json").exists():
        raise RunError(f"The run in {folder} is finished: there is nothing to resume.")
    if not (folder / "config.toml").is_file():
        raise RunError(f"Expected a run folder to resume, but {folder} has no config.toml.")
    config = Config(**read_toml(folder / "config.toml"))
    if data is not None:
        from hgcn.data import as_graph

        graph = as_graph(data)
    elif config.source is None:
        raise RunError("Expected `data`: the run was started on a graph held in memory.")
    else:
        graph = load_source(config)
    name = preset(config.source, {"task": config.task, "model": config.model})[0]
    problem = Problem(graph, config)
    return run_problem(problem, folder=folder, on_epoch=on_epoch, preset_name=name)


def settle(source: str | None, given: Mapping[str, Any]) -> tuple[Config, str]:
    """The settings that are asked for, and the name of the preset among them."""
    check_names(given)
    name, base = preset(source, given)
    merged = {**base, **{k: v for k, v in given.items() if v is not None}}
    merged["source"] = source
    return Config(**merged), name


def load_source(config: Config) -> Graph:
    """The graph that the settings name."""
    from hgcn.data import load

    if config.source is None:
        raise ConfigError("Expected a `source`: a dataset name, a file or a folder.")
    options = {
        name: getattr(config, name)
        for name in ("features", "labels", "directed")
        if getattr(config, name) is not None
    }
    return load(config.source, **options)


def _mapping(config: Config | Mapping[str, Any] | str | Path | None) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Config):
        return config.to_dict()
    return read_toml(config) if isinstance(config, (str, Path)) else dict(config)


def run_problem(
    problem: Problem,
    *,
    folder: Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    preset_name: str = "",
    parts: tuple[str, ...] = ("val", "test"),
) -> Run:
    """Train on a problem and evaluate on some parts of its split.

    Args:
        problem: the graph, the settled settings, the split.
        folder: run folder to write or to go on with.
        on_epoch: called after each epoch.
        preset_name: of the preset that the settings are from.
        parts: which parts to evaluate on.
    """
    start = time.perf_counter()
    graph, config = problem.graph, problem.config
    predictor = problem.predictor()
    task = problem.task(predictor)
    keeper = None if folder is None else _Keeper(folder, problem)
    state = train(
        task,
        on_epoch=on_epoch,
        resume=None if keeper is None else keeper.restore,
        checkpoint=None if keeper is None else keeper.checkpoint,
    )
    seconds = time.perf_counter() - start
    metrics = {
        "task": config.task,
        "model": config.model,
        "source": config.source or graph.name,
        "preset": preset_name,
        "select": task.select,
        **{part: task.metrics(part) for part in parts},
        "best_epoch": state.best.epoch,
        "epochs": state.epoch,
        "stopped": state.stopped,
        "curvatures": predictor.curvature_values(),
        "parameters": sum(p.numel() for p in predictor.parameters()),
        "seed": config.seed,
        "seconds": round(seconds, 2),
    }
    run = Run(
        config=config,
        metrics=metrics,
        history=state.history,
        predictor=predictor,
        features=problem.features,
        num_nodes=graph.num_nodes,
        class_names=graph.class_names,
        environment=environment(graph, seconds),
        _graph=graph,
    )
    if folder is not None and keeper is not None:
        run.save(folder)
        keeper.remove()
        _draw(run, folder)
    return run


def _draw(run: Run, folder: Path) -> None:
    """The page of the run. Whatever goes wrong with it, the run is there and is returned."""
    try:
        from hgcn.scenes.from_run import write_run_page

        write_run_page(folder / "disk.html", run)
    except Exception as error:
        warnings.warn(
            f"The page disk.html cannot be drawn: {error} Everything else of the run is in "
            f"{folder}; `hgcn view` tries again.",
            stacklevel=2,
        )


class _Keeper:
    """Stores the state of training from time to time, and restores it."""

    def __init__(self, folder: Path, problem: Problem) -> None:
        self.history = folder / "history.csv"
        self.file = folder / "resume.safetensors"
        self.about = {
            "data": problem.graph.fingerprint(),
            "settings": problem.config.to_toml(),
        }
        self.last = time.monotonic()
        # Only now: settings that no network can be built from leave no folder behind.
        files.make_folder(folder)
        if not (folder / "config.toml").exists():
            files.write_text(folder / "config.toml", problem.config.to_toml())

    def checkpoint(self, state: State) -> None:
        if time.monotonic() - self.last < CHECKPOINT_SECONDS:
            return
        # The history first: rows after the stored epoch are dropped when it is read again.
        files.write_text(self.history, history_csv(state.history))
        trees.write_tree(self.file, {**self.about, "state": state.to_tree()})
        self.last = time.monotonic()

    def restore(self, state: State) -> None:
        if not self.file.exists():
            return
        tree = trees.read_tree(self.file)
        for name, value in self.about.items():
            if not isinstance(tree, dict) or tree.get(name) != value:
                raise RunError(
                    f"Expected the {name} that {self.file.parent} was started with, but they have "
                    "changed since. Start a new run."
                )
        try:
            state.load_tree(tree["state"])
        except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
            raise RunError(
                f"Expected {self.file} to hold the state of this training, got: {error}."
            ) from error
        state.history = [row for row in read_history(self.history) if row["epoch"] <= state.epoch]

    def remove(self) -> None:
        """Remove the stored state, and parts of one that a killed process may have left."""
        self.file.unlink(missing_ok=True)
        for file in (self.file, self.history):
            for part in file.parent.glob(f".{file.name}.*"):
                part.unlink(missing_ok=True)


def fit_seeds(
    source: str, seeds: int, *, out: str | Path, processes: int | None = None, **settings: Any
) -> dict[str, Any]:
    """Train with the seeds 0, 1, ... in parallel processes, each into a folder of its own.

    Returns:
        Mean and standard deviation of each score, as also written to ``metrics.json``.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    folder = Path(out)
    if (folder / "metrics.json").exists():
        raise RunError(f"Expected a new folder, but {folder} holds runs already.")
    settle(source, settings)  # wrong settings are refused here, before any process is started
    files.make_folder(folder)
    first = settings.pop("seed", 0) or 0
    workers = min(seeds, processes or len(os.sched_getaffinity(0)))
    jobs = [
        (source, str(folder / f"seed-{seed}"), {**settings, "seed": seed})
        for seed in range(first, first + seeds)
    ]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        results = list(pool.map(_one_seed, jobs))
    summary = summarise(results)
    files.write_json(folder / "metrics.json", summary)
    return summary


def _one_seed(job: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    # Several processes with several threads each would slow one another down.
    torch.set_num_threads(1)
    source, out, settings = job
    return fit(source, out=out, **settings).metrics


def summarise(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sample standard deviation of the scores of several runs."""
    summary: dict[str, Any] = {
        key: results[0][key] for key in ("task", "model", "source", "preset", "select")
    }
    summary["seeds"] = [result["seed"] for result in results]
    for part in ("val", "test"):
        summary[part] = {}
        for name in results[0][part]:
            values = [result[part][name] for result in results]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            summary[part][name] = {"mean": statistics.fmean(values), "std": spread}
    return summary
