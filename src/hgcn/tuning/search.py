"""Hyper-parameter search on the validation part, with Optuna: resumable, in many processes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import optuna
from optuna.trial import FrozenTrial, TrialState

from hgcn.config import Config, check_names
from hgcn.errors import ConfigError, RunError
from hgcn.ranks import refuse_several
from hgcn.settings import Settings
from hgcn.text import short_name
from hgcn.training.problem import choose, task_of, with_usual_model
from hgcn.training.source import load_graph, reading_options
from hgcn.tuning.space import SearchSpace, make_space
from hgcn.tuning.study import Plan, count_finished, interrupted, places, understood, values_of
from hgcn.tuning.trial import Trials, run_trials

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search.

    Attributes:
        name: name of the study in its storage.
        config: the best settings, ready for :func:`hgcn.fit` or, as TOML, `hgcn train --config`.
        value: their validation score, the mean over the seeds.
        score: name of this score.
        trials: a row for each trial: number, state, value, seconds, error, and each setting. A
            pruned trial has the value at which it was stopped. One that was cut off by a crash or
            by Ctrl-C is done again when the search goes on, and has its row only until then.
        importance: the share of the variance of the score that each setting explains; the shares
            add up to 1. Empty if there are too few trials to tell.
        interrupted: whether Ctrl-C ended the search before all trials were done.
    """

    name: str
    config: Config
    value: float
    score: str
    trials: pl.DataFrame = field(repr=False)
    importance: dict[str, float] = field(repr=False)
    interrupted: bool = False


def search(
    data: Any,
    *,
    trials: int = 50,
    seeds: int = 1,
    processes: int = 1,
    storage: str | Path | None = None,
    space: Mapping[str, Any] | str | Path | None = None,
    name: str | None = None,
    on_trial: Callable[[Trials], None] | None = None,
    **settings: Unpack[Settings],
) -> SearchResult:
    """Search for the settings with the best validation score.

    The test part of the data is taken away before the first trial. Settings that are given are
    fixed; the others of the search space vary. Trials that are worse than the median of the others
    after the same number of epochs are stopped early. The first trials are the defaults, simpler
    forms of them, and some that suit few data or graphs whose edges say most.

    With a storage, the search goes on where it was interrupted, and other processes and machines
    may work on it at the same time. One process gives the same result for the same seed.

    Args:
        data: the name of a data set, a path, a graph, or anything else that :func:`hgcn.fit` takes.
        trials: number of trials in all, earlier ones of the same study included.
        seeds: number of seeds to train each trial with; its score is their mean.
        processes: number of trials to run at a time, with one thread each.
        storage: a file (a journal that many processes may write), or the address of an SQL
            database, such as ``postgresql://...``; by default nothing is kept.
        space: the search space: a dictionary or a TOML file; docs/good_settings.md shows the form.
        name: name of the study in the storage; by default made of data, task and model.
        on_trial: called after each trial.
        settings: fixed settings, any field of :class:`~hgcn.config.Config`: ``task``, ``model``,
            ``dim``, ``seed`` ...

    Example:
        >>> import hgcn
        >>> result = hgcn.search("disease", task="node", trials=2, epochs=5, dim=4)
        >>> result.config.dim, len(result.trials)
        (4, 2)
    """
    refuse_several("a search")
    for label, number in (("trials", trials), ("seeds", seeds), ("processes", processes)):
        if not isinstance(number, int) or number < 1:
            raise ConfigError(f"Expected `{label}` to be a whole number above 0, got {number!r}.")
    plan = _plan(data, seeds, space, name, settings)
    with _storage(storage, processes) as where, _quiet():
        plan = plan.at(where)
        with understood(plan.where):
            study = plan.study()
            _check_same(study, plan)
        stopped = run_trials(plan, study, trials, processes, on_trial)
        with understood(plan.where):
            return _result(study, plan, stopped)


def _plan(
    data: Any,
    seeds: int,
    space: Mapping[str, Any] | str | Path | None,
    name: str | None,
    settings: Mapping[str, Any],
) -> Plan:
    check_names(settings)
    given, in_memory = reading_options(settings)
    given = {key: value for key, value in given.items() if value is not None}
    named = isinstance(data, str | Path)
    config = Config(**{**given, "source": str(data) if named else None})
    graph = load_graph(config, data, **in_memory)
    config = with_usual_model(graph, config, given)
    settled = choose(graph, config)
    config = config.replace(task=settled.task)
    free = {k: v for k, v in make_space(space, graph, config).items() if k not in given}
    if not free:
        raise ConfigError("Expected something to search for, but all of the space is given.")
    if name is None:
        label = short_name(config.source) if config.source else graph.name
        name = f"{label}-{config.task}-{config.model}"
    start = {
        key: drawn
        for key, spec in free.items()
        if (drawn := spec.drawn(getattr(settled, key))) is not None
    }
    return Plan(name, graph, config, free, seeds, _starts(start, free, config))


@contextlib.contextmanager
def _storage(storage: str | Path | None, processes: int) -> Iterator[str | None]:
    """The storage of the trials; several processes need a file even if nothing is to be kept."""
    if storage is not None or processes == 1:
        yield None if storage is None else str(storage)
        return
    with tempfile.TemporaryDirectory(prefix="hgcn-search-") as folder:
        yield str(Path(folder) / "journal.log")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna's log out of the way of ours."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


STRUCTURAL = {"degree_features": True, "root_weight": True, "class_weights": True}
"""Settings of a first trial that suit features which say less than the edges do."""
MEASURED = {**STRUCTURAL, "normalise": "standard"}
"""The same for sparse features that are not words."""
BINNED = {"normalise": "bins", "root_weight": True, "attention": False, "c": 0.1}
"""Settings of a first trial that suit a few columns of numbers."""


def _starts(first: dict[str, Any], space: SearchSpace, config: Config) -> list[dict[str, Any]]:
    """Trials to begin with: the defaults, simpler forms, and some that suit other data.

    All but the first weight the classes, which makes no difference where these are even.
    """

    def possible(changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes that the search space allows, as drawn numbers."""
        if "point_dropout" in changes and "point_dropout" not in space:
            changes = {**changes, "dropout": changes["point_dropout"]}
        drawn = {name: space[name].drawn(changes[name]) for name in changes if name in first}
        return {name: value for name, value in drawn.items() if value is not None}

    starts = [first] if first else []
    for simpler in ({"act": "none"}, {"attention": False}):
        changes = possible(simpler)
        starts += [{**start, **changes} for start in starts if changes]
    weighted = possible({"class_weights": True})
    starts[1:] = [{**start, **weighted} for start in starts[1:]]
    for other in (*task_of(config).search_starts, STRUCTURAL, MEASURED, BINNED):
        changes = possible(other)
        starts += [{**first, **changes}] if changes else []
    return [start for at, start in enumerate(starts) if start not in starts[:at]]


def _check_same(study: optuna.Study, plan: Plan) -> None:
    """Refuse a study that was begun for another plan: scores could not be compared."""
    now = plan.describe()
    before = study.user_attrs.get("plan")
    if before is None:
        study.set_user_attr("plan", now)
        return
    changed = [
        f"`{key}` was {before.get(key)!r} and is {now.get(key)!r} now."
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]
    if changed:
        raise ConfigError(
            f"The search {plan.name!r} was begun with other settings, and its trials cannot be "
            "compared with new ones. Choose another `name` or `storage`.\n" + "\n".join(changed)
        )


def _result(study: optuna.Study, plan: Plan, stopped: bool) -> SearchResult:
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not done:
        if stopped:
            raise KeyboardInterrupt
        errors = [t.user_attrs["error"] for t in study.trials if "error" in t.user_attrs]
        raise RunError(
            f"None of {count_finished(study)} trials came to an end. "
            + (f"The last one: {errors[-1]}" if errors else "Ask for more trials.")
        )
    best = max(done, key=lambda t: (t.value, -t.number))
    return SearchResult(
        name=plan.name,
        config=plan.config.replace(**values_of(plan.space, best.params)),
        value=float(best.value or 0.0),
        score=best.user_attrs["score"],
        trials=_table(study, plan.space),
        importance=_importance(study, done),
        interrupted=stopped,
    )


def _table(study: optuna.Study, space: SearchSpace) -> pl.DataFrame:
    import polars as pl

    rows = []
    for number, trial in places(study).items():
        seconds = None if trial.duration is None else round(trial.duration.total_seconds(), 2)
        row = {
            "number": number,
            "state": "interrupted" if interrupted(trial) else trial.state.name.lower(),
            "value": trial.value,
            "seconds": seconds,
            "error": trial.user_attrs.get("error"),
        }
        rows.append(row | dict.fromkeys(space) | values_of(space, trial.params))
    types = {"value": pl.Float64, "seconds": pl.Float64, "error": pl.String}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def _importance(study: optuna.Study, done: list[FrozenTrial]) -> dict[str, float]:
    """Shares by functional analysis of variance; a handful of trials has nothing to say."""
    if len(done) < 10 or len({trial.value for trial in done}) < 3:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in shares.items()}
