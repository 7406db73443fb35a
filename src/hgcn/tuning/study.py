"""The study that holds the trials of a search: its storage, and how settings are drawn."""

from __future__ import annotations

import time
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import optuna
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, HGCNError, RunError
from hgcn.training.problem import PATIENCE
from hgcn.tuning.journal import Journal
from hgcn.tuning.space import SearchSpace

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


@dataclass(frozen=True)
class Plan:
    """The description of a search that each process works from.

    Attributes:
        name: name of the study.
        graph: the graph to train on.
        config: the settings that are fixed.
        space: the search space: the settings that vary.
        seeds: number of seeds of a trial.
        starts: the settings of the first trials, as drawn numbers.
        where: file or address of the storage; None for this process's memory.
    """

    name: str
    graph: Graph
    config: Config
    space: SearchSpace
    seeds: int
    starts: list[dict[str, Any]]
    where: str | None = None

    def at(self, where: str | None) -> Plan:
        """The same plan with another storage."""
        return replace(self, where=where)

    def study(self) -> optuna.Study:
        """The study in its storage, made if it is not there."""
        storage, alone = _storage(self.where)
        study = optuna.create_study(
            storage=storage,
            sampler=_ByPlace(self.config.seed, self.starts),
            # Slow learners get as many epochs as early stopping would give them.
            pruner=optuna.pruners.MedianPruner(
                n_startup_trials=5,
                n_warmup_steps=self.config.patience or PATIENCE,
                n_min_trials=5,
            ),
            study_name=self.name,
            direction="maximize",
            load_if_exists=True,
        )
        if alone:
            _give_up_running(study)
        return study

    def describe(self) -> dict[str, Any]:
        """All that the score of a trial depends on, as JSON holds it."""
        fixed = self.config.to_dict().items()
        about: dict[str, Any] = {k: v for k, v in fixed if v is not None and k != "source"}
        about |= {"data": self.graph.fingerprint()[:16], "seeds": self.seeds}
        for name, spec in self.space.items():
            stored = asdict(spec)
            about[f"space of {name}"] = list(stored["values"]) if "values" in stored else stored
        return about


def values_of(space: SearchSpace, drawn: dict[str, Any]) -> dict[str, Any]:
    """The settings that drawn numbers stand for."""
    return {name: spec.value(drawn[name]) for name, spec in space.items() if name in drawn}


def interrupted(trial: FrozenTrial) -> bool:
    """Whether a trial was cut off half-way, for no fault of its settings, or is still running."""
    return _given_up(trial) or not trial.state.is_finished()


def give_up(study: optuna.Study, trial: FrozenTrial | optuna.Trial) -> None:
    """Mark a trial as one that was cut off: another one takes its place."""
    # In this order: nothing can be said of a trial that has ended.
    optuna.Trial(study, trial._trial_id).set_user_attr("interrupted", True)
    study.tell(trial.number, state=TrialState.FAIL)


def places(study: optuna.Study) -> dict[int, FrozenTrial]:
    """The trials by the numbers that they would have in a search without a break.

    A trial that was cut off gives its place to the next one.
    """
    found: dict[int, FrozenTrial] = {}
    place = 0
    for trial in study.get_trials(deepcopy=False):
        if trial.state is not TrialState.WAITING:
            found[place] = trial
            place += not _given_up(trial)
    return found


def _given_up(trial: FrozenTrial) -> bool:
    return bool(trial.user_attrs.get("interrupted"))


def _give_up_running(study: optuna.Study) -> None:
    """Nobody else works on the study: whoever ran these trials is dead."""
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        give_up(study, trial)


def count_finished(study: optuna.Study) -> int:
    """Number of finished trials, those that were interrupted left out."""
    trials = study.get_trials(deepcopy=False, states=FINISHED)
    return sum(not interrupted(trial) for trial in trials)


def _storage(where: str | None) -> tuple[optuna.storages.BaseStorage, bool]:
    """The storage, and whether it is known that no other process uses it."""
    if where is None:
        return optuna.storages.InMemoryStorage(), True
    try:
        if "://" in where:
            return _database(where), False
        journal = Journal(where)
        return optuna.storages.JournalStorage(journal), journal.alone
    except OSError as error:
        raise RunError(f"Expected to write {where}, but: {error.strerror or error}.") from error
    except ImportError as error:
        kind = where.split("://")[0]
        hint = ' Install it: pip install "psycopg[binary]".' if kind == "postgresql" else ""
        raise ConfigError(f"Expected a database driver for {kind}, but: {error}{hint}") from error
    except Exception as error:
        # SQLAlchemy has a tree of exceptions of its own, and it need not be there for journals.
        if type(error).__module__.split(".")[0] not in ("sqlalchemy", "optuna"):
            raise
        reason = str(error).splitlines()[0]
        raise RunError(
            f"Expected a database at {_without_password(where)}, but: {reason}"
        ) from error


TRIES = 5
"""How often the tables of a new database are made, when others make them at the same time."""


def _database(where: str) -> optuna.storages.RDBStorage:
    from sqlalchemy.exc import DatabaseError

    for again in range(1, TRIES + 1):
        try:
            storage = optuna.storages.RDBStorage(where)
            weakref.finalize(storage, storage.engine.dispose)  # its connections are closed
            return storage
        except DatabaseError:  # perhaps another machine was first
            if again == TRIES:
                raise
            time.sleep(0.2 * again)
    raise AssertionError


@contextmanager
def understood(where: str | None) -> Iterator[None]:
    """Refuse a journal that was changed: Optuna takes each line of it at its word."""
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, HGCNError) or where is None or "://" in where:
            raise
        raise RunError(
            f"Expected the journal of a search in {where}, got a damaged or foreign one "
            f"({type(error).__name__}: {error}). Choose another file."
        ) from error


def _without_password(address: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


class _ByPlace(BaseSampler):
    """The starts, then Optuna's TPE, seeded anew for each trial by its place.

    A search that goes on draws what it would have drawn without the break, and two processes never
    draw the same.
    """

    def __init__(self, seed: int, starts: list[dict[str, Any]]) -> None:
        self.seed, self.starts = seed, starts
        self._number = -1
        self._start: dict[str, Any] = {}
        self._sampler = TPESampler()

    def _of(self, study: optuna.Study, trial: FrozenTrial) -> TPESampler:
        if trial.number != self._number:
            self._number = trial.number
            before = study.get_trials(deepcopy=False)[: trial.number]
            place = sum(not _given_up(other) for other in before)
            self._start = self.starts[place] if place < len(self.starts) else {}
            # Places of different seeds must not meet; a search has far fewer than 100,003 of them.
            seed = (self.seed * 100_003 + place) % 2**32
            with warnings.catch_warnings():
                # Optuna 4 calls `multivariate` an experiment.
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                self._sampler = TPESampler(seed=seed, multivariate=True)
        return self._sampler

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> Any:
        return self._of(study, trial).infer_relative_search_space(study, trial)

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Any) -> Any:
        drawn = self._of(study, trial).sample_relative(study, trial, search_space)
        return {name: self._start.get(name, value) for name, value in drawn.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        sampler = self._of(study, trial)
        if param_name in self._start:
            return self._start[param_name]
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self._of(study, trial).after_trial(study, trial, state, values)
