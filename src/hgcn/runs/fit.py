"""Train a network on a graph, from Python: the same as `hgcn train`."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

import hgcn
from hgcn import files
from hgcn.compiled import fixed_order
from hgcn.config import Config, check_names, read_toml
from hgcn.errors import RunError
from hgcn.inference.calibration import Calibration
from hgcn.inference.trained import embeddings
from hgcn.kernels.ahead import compile_beside
from hgcn.nn.spaces import Hyperbolic
from hgcn.ranks import current, goes_on, refuse_several, restarted, together
from hgcn.runs import folder as run_folder
from hgcn.runs.auto import Choosing, check_seconds, choose_settings, preset_of, settings_of
from hgcn.runs.checkpoint import (
    Checkpoint,
    checkpoint_seconds,
    remove_checkpoint,
    restore_all,
)
from hgcn.runs.checks import check_auto
from hgcn.runs.layout import CONFIG, ENVIRONMENT, PAGE, REPORT
from hgcn.runs.loggers import logging_to
from hgcn.runs.run import Run
from hgcn.settings import Settings
from hgcn.training.loop import Progress, State, train
from hgcn.training.presets import WHOLE, preset
from hgcn.training.problem import Problem, check_device, choose, with_usual_model
from hgcn.training.source import load_graph, reading_options
from hgcn.training.task import Task


@together
def fit(
    data: Any,
    *,
    out: str | Path | None = None,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    auto: float | Mapping[str, Any] | None = None,
    on_auto: Callable[[Choosing], None] | None = None,
    log: str | None = None,
    **settings: Unpack[Settings],
) -> Run:
    """Train a network and evaluate it.

    Settings come, each overruled by the next, from the defaults, from the preset of a named
    data set, from ``config``, and from the keywords.

    In a script that torchrun has started, all processes call this and train one network together;
    each gets the same run (docs/many_machines.md).

    Args:
        data: the name of a data set, a path, a :class:`hgcn.Graph`, a PyG ``Data``, a NetworkX
            graph, a DataFrame or anything else that :func:`hgcn.load` takes.
        out: run folder to write; if not given, nothing is written.
        config: a TOML file, a dictionary, or a :class:`~hgcn.config.Config` with every setting.
        on_epoch: called after each epoch with a :class:`~hgcn.training.loop.Progress`.
        auto: seconds to spend on the choice of settings that are not given: a few candidates are
            tried on validation, then the best of them is trained. ``run.metrics["auto"]`` says what
            was tried; given in place of seconds, it trains with what was chosen there.
        on_auto: called while settings are chosen with a :class:`~hgcn.runs.auto.Choosing`.
        log: "tensorboard", "mlflow" or "wandb", to be told of each epoch (docs/logging.md).
        settings: any field of :class:`~hgcn.config.Config`, such as ``task``, which is by default
            "node" where there are labels. ``features``, ``labels``, ``split`` and the other
            settings of reading may also be arrays, DataFrames or lists of columns, as
            :func:`hgcn.data.read` takes them.

    Example:
        >>> import hgcn
        >>> run = hgcn.fit("disease", task="node", epochs=5, dim=4)
        >>> sorted(run.metrics["test"])
        ['accuracy', 'f1', 'f1_macro']
    """
    folder = None if out is None else Path(out)
    if auto is not None:
        refuse_several("a choice of settings")
    if folder is not None:
        finished = current().on_first(lambda: _find_run(folder))
        if finished is not None:
            return finished
    given, in_memory = reading_options({**_mapping(config), **settings})
    if auto is not None and not isinstance(auto, Mapping):
        check_seconds(auto)
    named = isinstance(data, (str, Path))
    wanted, name = settle(str(data) if named else None, given)
    if (wanted.model, wanted.device) == ("hgcn", "cpu") and current().first:
        compile_beside(wanted.dtype)
    graph = load_graph(wanted, data, **in_memory)
    wanted = with_usual_model(graph, wanted, given)
    record = None
    if isinstance(auto, Mapping):
        record = check_auto(dict(auto))
        wanted, name = settings_of(wanted, given, record), preset_of(record)
    elif auto is not None:
        wanted, record = choose_settings(graph, wanted, given, auto, preset=name, on_auto=on_auto)
        name = preset_of(record)
    problem = Problem(graph, choose(graph, wanted))
    with logging_to(log, folder, problem.config, on_epoch) as told:
        run = run_problem(problem, folder=folder, on_epoch=told, preset_name=name, auto=record)
        told.finish(run.metrics)
    return run


def _find_run(folder: Path) -> Run | None:
    """Refuse a folder with a run, except if torchrun starts the same training again.

    Returns:
        The run, if it was finished before torchrun started again; an unfinished one is gone on
        with.
    """
    if not files.exists(folder / CONFIG):
        return None
    finished = files.exists(folder / ENVIRONMENT)
    if finished and restarted():
        found = run_folder.load_run(folder)
        if not _is_drawn(found, folder):
            _draw(found, folder)
        return found
    if finished or not goes_on():
        raise RunError(
            f"Expected a new folder, but {folder} holds a run already. Choose another one, or go "
            "on with an unfinished run by `resume`."
        )
    return None


@together
def resume(
    path: str | Path,
    data: Any = None,
    *,
    on_epoch: Callable[[Progress], None] | None = None,
    log: str | None = None,
    **options: Any,
) -> Run:
    """Go on with a run that was interrupted, to the same end as if it had not been.

    See :func:`fit`: what it leaves in ``out`` when it is interrupted can be gone on with.

    Args:
        path: the run folder.
        data: the graph, if the run was trained on one held in memory.
        on_epoch: called after each epoch.
        log: as in :func:`fit`; it is told of the epochs that are left.
        options: features, labels, a split and the like that were held in memory, too.
    """
    folder, ranks = Path(path), current()
    if ranks.on_first(lambda: files.exists(folder / ENVIRONMENT)):
        return ranks.on_first(lambda: _find_run(folder) if restarted() else None) or (
            ranks.on_first(lambda: _finish_page(folder, data))
        )
    config, auto = ranks.on_first(lambda: _begun(folder))
    check_device(config)
    if data is None and config.source is None:
        raise RunError("Expected `data`: the run was started on a graph held in memory.")
    graph = load_graph(config, data, **options)
    asked = {name: getattr(config, name) for name in ("task", "model", "structure")}
    name = preset(config.source, asked)[0] if auto is None else preset_of(auto)
    problem = Problem(graph, config)
    with logging_to(log, folder, config, on_epoch) as told:
        run = run_problem(problem, folder=folder, on_epoch=told, preset_name=name, auto=auto)
        told.finish(run.metrics)
    return run


def _begun(folder: Path) -> tuple[Config, dict[str, Any] | None]:
    """The settings of an unfinished run, and how they were chosen."""
    if not files.exists(folder / CONFIG):
        raise RunError(f"Expected a run folder to resume, but {folder} has no config.toml.")
    return Config(**read_toml(folder / CONFIG)), run_folder.read_auto(folder)


def _finish_page(folder: Path, data: Any) -> Run:
    """A finished run that was killed before its page was written; an error if nothing is missing.

    What a killed process left, the state of training and a lock, goes too.
    """
    finished = run_folder.load_run(folder)
    if data is not None:
        finished._kept["graph"] = load_graph(finished.config, data)
    with run_folder.claimed(folder, finished.config):
        remove_checkpoint(folder)
        if _is_drawn(finished, folder):
            raise RunError(f"The run in {folder} is finished: there is nothing to resume.")
        _draw(finished, folder)
    return finished


def _is_drawn(run: Run, folder: Path) -> bool:
    """Whether a run has its pages, or is too large for them."""
    from hgcn.runs.pictures import is_drawn

    return is_drawn(run, folder)


def settle(source: str | None, given: Mapping[str, Any]) -> tuple[Config, str]:
    """All settings of a request, and the name of the preset that some of them are from."""
    check_names(given)
    name, base = preset(source, given)
    merged = {**base, **{k: v for k, v in given.items() if v is not None}}
    merged["source"] = source
    if name:
        merged = {**WHOLE, **merged}
    return Config(**merged), name


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
    auto: dict[str, Any] | None = None,
    parts: tuple[str, ...] = ("val", "test"),
) -> Run:
    """Train on a problem and evaluate on some parts of its split.

    Args:
        problem: the problem: a graph with settled settings and a split.
        folder: run folder to write or to go on with.
        on_epoch: called after each epoch.
        preset_name: name of the preset that settings are from.
        auto: the record of how the settings were chosen.
        parts: the parts to evaluate on.
    """
    start = time.perf_counter()
    ranks = current()
    ranks.check_same("version of hgcn", hgcn.__version__)
    ranks.check_same("settings", problem.config.to_toml())
    if ranks.world > 1:
        ranks.check_same("graph", problem.graph.fingerprint())
    predictor = problem.predictor()
    with ExitStack() as held:
        with fixed_order(problem.graph.size):
            task = problem.task(predictor)
            # Only now: settings that no network can be built from leave no folder behind.
            checkpoint = None
            if folder is not None:
                ranks.on_first(lambda: _begin(held, folder, problem.config, auto))
                checkpoint = Checkpoint(folder, problem) if ranks.first else None
            state = train(
                task,
                on_epoch=on_epoch,
                resume=lambda state: restore_all(ranks, checkpoint, state),
                checkpoint=None if checkpoint is None else checkpoint.store,
            )
            seconds = time.perf_counter() - start
            scores: dict[str, Any] = {part: task.metrics(part) for part in parts}
            scores["guessing"] = {part: {task.select: task.guess(part)} for part in parts}
            scores |= task.report(parts)
            scores |= {} if auto is None else {"auto": auto}
        run = _record(problem, task, state, scores, seconds, preset_name)
        if folder is not None:
            run._kept["task"] = task  # until its pages are drawn
            ranks.on_first(lambda: _finish(run, folder))
            del run._kept["task"]
    if ranks.world > 1:  # times differ, and perhaps last digits of the scores
        run.metrics.update(ranks.on_first(lambda: run.metrics))
        run.environment.update(ranks.on_first(lambda: run.environment))
        run._kept["path"] = folder
    return run


def _begin(held: ExitStack, folder: Path, config: Config, auto: dict[str, Any] | None) -> None:
    """Take the folder of a run for as long as something is held."""
    checkpoint_seconds()
    held.enter_context(run_folder.claimed(folder, config, auto))
    run_folder.check_unfinished(folder, config)


def _finish(run: Run, folder: Path) -> None:
    """Write the results of a run, and its page."""
    run_folder.finish(run, folder)
    remove_checkpoint(folder)
    _draw(run, folder)


def _record(
    problem: Problem,
    task: Task,
    state: State,
    scores: dict[str, Any],
    seconds: float,
    preset_name: str,
) -> Run:
    """The run of a training that has come to its end."""
    graph, config, predictor = problem.graph, problem.config, task.predictor
    metrics = {
        "task": config.task,
        "model": config.model,
        "source": config.source or graph.name,
        "preset": preset_name,
        "select": task.select,
        **scores,
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
        calibration=Calibration.from_tree(metrics.get("calibration")),
        environment=run_folder.describe_environment(graph, seconds),
    )
    run._kept["graph"] = graph
    if (radius := _radius(run)) is not None:
        metrics["radius"] = radius
    return run


def _radius(run: Run) -> float | None:
    """How far out embeddings lie in units of the curvature radius; None if they are not curved."""
    space = run.predictor.encoder.space
    if not isinstance(space, Hyperbolic):
        return None
    (c,) = space.curvatures
    return math.sqrt(c) * float(embeddings(run, run.graph).norm(dim=1).max())


def _draw(run: Run, folder: Path) -> None:
    """Write the pages of the run; an error only warns, for the run itself is complete."""
    try:
        from hgcn.runs.pictures import write_run_page

        write_run_page(folder / PAGE, run)
    except Exception as error:
        _warn_of_page(PAGE, "hgcn view", error, folder)
    if current().world > 1:
        return  # a report asks the ranks for predictions, and only the first one is here
    try:
        from hgcn.runs.report import write_run_report

        write_run_report(folder / REPORT, run)
    except Exception as error:
        _warn_of_page(REPORT, "hgcn report", error, folder)


def _warn_of_page(name: str, command: str, error: Exception, folder: Path) -> None:
    warnings.warn(
        f"The page {name} cannot be drawn: {error} Everything else of the run is in {folder}; "
        f"`{command}` tries again.",
        stacklevel=3,
    )
