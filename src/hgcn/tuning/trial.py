"""One trial of a search, and many of them: in this process, or in others."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import optuna
import torch
from optuna.trial import TrialState

from hgcn.config import Config
from hgcn.cores import deaf, process_context, worker_pool
from hgcn.errors import DivergenceError, RunError
from hgcn.training.loop import Progress, train
from hgcn.training.problem import Problem, choose
from hgcn.tuning.study import Plan, count_finished, give_up, values_of

STOP_SECONDS = 2.0
"""How long trials in other processes may take to stop before they are killed."""


@dataclass(frozen=True)
class Trials:
    """The state of a search after a trial, as a display needs it.

    Attributes:
        done: trials that are finished, pruned and failed ones included.
        total: trials that are asked for.
        best: the best validation score so far, if there is one.
    """

    done: int
    total: int
    best: float | None


class Worker:
    """Runs trials of a plan one after the other.

    Args:
        plan: the search.
        study: the study of the plan.
        stop: a function that tells whether to give up.
    """

    def __init__(
        self, plan: Plan, study: optuna.Study, stop: Callable[[], bool] = lambda: False
    ) -> None:
        self.plan, self.study, self.stop = plan, study, stop
        self.distributions = {name: spec.distribution() for name, spec in plan.space.items()}
        self.splits: dict[int, Any] = {}

    def run(self, total: int) -> float | None:
        """Run one trial, unless there are enough; returns its score, or None if it has none."""
        if self.stop() or count_finished(self.study) >= total:
            return None
        trial = self.study.ask(self.distributions)
        try:
            value = self._score(trial)
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except (DivergenceError, RunError) as error:
            trial.set_user_attr("error", str(error))
            self.study.tell(trial, state=TrialState.FAIL)
        except BaseException:
            give_up(self.study, trial)
            raise
        else:
            self.study.tell(trial, value)
            return value
        return None

    def _score(self, trial: optuna.Trial) -> float:
        """The mean validation score over the seeds; the first seed decides whether to go on."""
        plan = self.plan
        settings = values_of(plan.space, trial.params)
        scores = []
        for k in range(plan.seeds):
            config = choose(plan.graph, plan.config.replace(seed=plan.config.seed + k, **settings))
            problem = Problem(plan.graph, config, self._split(config))
            task = problem.task(problem.predictor())
            trial.set_user_attr("score", task.select)
            watch = self._watch(trial if k == 0 else None, config.pretrain)
            state = train(task, on_epoch=watch)
            if state.stopped == "interrupted":
                raise KeyboardInterrupt
            scores.append(state.best.score)
        return statistics.fmean(scores)

    def _watch(self, trial: optuna.Trial | None, warm_up: int) -> Callable[[Progress], None]:
        def after(progress: Progress) -> None:
            if self.stop():
                raise KeyboardInterrupt
            if trial is not None and progress.score is not None:
                trial.report(progress.best.score, progress.epoch - warm_up)
                if trial.should_prune():
                    raise optuna.TrialPruned

        return after

    def _split(self, config: Config) -> Any:
        """The split of a seed, without its test part."""
        seed = config.seed_of_split
        if seed not in self.splits:
            problem = Problem(self.plan.graph, config)
            self.splits[seed] = problem.kind.without_test(problem.split)
        return self.splits[seed]


def run_trials(
    plan: Plan,
    study: optuna.Study,
    total: int,
    processes: int,
    on_trial: Callable[[Trials], None] | None,
) -> bool:
    """Run trials until there are ``total``; returns whether Ctrl-C ended that."""
    done = count_finished(study)
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    best = max((t.value for t in complete if t.value is not None), default=None)
    left = total - done
    if left <= 0:
        return False
    run = _here if processes == 1 else _in_processes
    try:
        for value in run(plan, study, total, left, min(processes, left)):
            done += 1
            best = value if best is None else best if value is None else max(best, value)
            if on_trial is not None:
                on_trial(Trials(done, total, best))
    except KeyboardInterrupt:
        return True
    return False


def _here(
    plan: Plan, study: optuna.Study, total: int, left: int, processes: int
) -> Iterator[float | None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        worker = Worker(plan, study)
        for _ in range(left):
            yield worker.run(total)
    finally:
        torch.set_num_threads(threads)


def _in_processes(
    plan: Plan, study: optuna.Study, total: int, left: int, processes: int
) -> Iterator[float | None]:
    stop = process_context().Event()
    with worker_pool(processes, _begin, plan, stop) as pool:
        with deaf():
            futures = [pool.submit(_work, total) for _ in range(left)]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise RunError(
                "A process of the search died, perhaps for want of memory. The same command goes "
                "on with the other trials; use fewer `processes`."
            ) from error
        finally:
            stop.set()
            # Trials stop after an epoch and say so; a process that still starts says nothing.
            wait([future for future in futures if future.running()], timeout=STOP_SECONDS)


_worker: Worker | None = None
"""The worker of a process that was started for trials."""


def _begin(plan: Plan, stop: Any) -> None:
    global _worker  # noqa: PLW0603
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _worker = Worker(plan, plan.study(), stop.is_set)


def _work(total: int) -> float | None:
    if _worker is None:
        raise RunError("The process was not prepared for trials.")
    return _worker.run(total)
