"""Settings chosen in a given time: a small portfolio of them, halved on validation.

All candidates are validated once, which also loads what they need; then each is trained for the
same time, the better half goes on from where it stopped, and so on until one is left or the time is
up. The first candidate, which is what would be trained without a choice, stays to the last round.
What is chosen depends on the clock. What is trained with it afterwards, from the start and in the
ordinary way, does not.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from hgcn.compiled import compile_timer, fixed_order
from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, HGCNError, explain
from hgcn.models import options_of
from hgcn.models.predictor import MODEL_OPTIONS
from hgcn.training.loop import State, train
from hgcn.training.problem import Problem, choose

ANY: tuple[Mapping[str, Any], ...] = (
    {},
    {"layers": 1},
    {"layers": 2},
    {"lr": 0.02, "weight_decay": 1e-3},
    {"dropout": 0.2, "feature_dropout": 0.3},
)
"""What is tried for a task of somebody else."""
PORTFOLIO: Mapping[str, tuple[Mapping[str, Any], ...]] = MappingProxyType(
    {
        "link": (
            {},
            {"hidden_share": 0.1},
            {"hidden_share": 0.3},
            {"layers": 1},
            {"layers": 2},
            {"attention": False, "aggregation": "origin"},
            {"dropout": 0.2, "feature_dropout": 0.3},
            {"lr": 0.04, "weight_decay": 1e-3},
            {
                "layers": 1, "attention": False, "aggregation": "origin", "lr": 0.04,
                "feature_dropout": 0.3,
            },
            {"model": "sage"},
        ),
        "node": (
            {},
            {"dropout": 0.5, "weight_decay": 5e-4},
            {"feature_dropout": 0.5, "weight_decay": 1e-3},
            {"layers": 1},
            {"layers": 2},
            {"attention": False, "aggregation": "origin", "dropout": 0.5, "weight_decay": 5e-4},
            {"lr": 0.02, "dropout": 0.5, "feature_dropout": 0.5, "weight_decay": 1e-3},
            {"dropout": 0.5, "consistency": 1.0, "weight_decay": 5e-4},
            {"model": "gcn", "dropout": 0.5, "weight_decay": 5e-4},
        ),
    }
)  # fmt: skip
"""The settings that are tried for each task, beside those that are given. Those that are the
defaults anyway fall away; the first are the defaults as they are."""
TOO_SHORT = (
    "The time did not suffice to validate every candidate: the first one was taken. Give more."
)
NO_CHOICE = "There was nothing to choose: the settings that are given leave one candidate."


@dataclass(frozen=True)
class Choosing:
    """How far the choice of settings is, as a display needs it.

    Attributes:
        rung: how many times candidates were halved.
        candidate: the one in training, from 1.
        candidates: how many there are in this rung.
        best: the best validation score so far, if there is one.
        seconds_left: time that is left for all of them.
    """

    rung: int
    candidate: int
    candidates: int
    best: float | None
    seconds_left: float


@dataclass(eq=False)
class _Candidate:
    """Settings that are tried, and what came of it so far."""

    wanted: Config
    config: Config
    settings: dict[str, Any]
    epochs: int = 0
    score: float | None = None
    seconds: float = 0.0
    dropped: int | None = None
    error: str = ""
    finished: bool = False
    tree: dict[str, Any] | None = None


class _Pause(Exception):
    """Leaves a training whose time is over; its state is stored."""


class _TooShort(Exception):
    """Ends the choice: the time is up before every candidate was validated."""


def check_seconds(seconds: Any) -> None:
    """Refuse what is no time for a choice."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ConfigError(f"Expected `auto` to be a number of seconds, got {seconds!r}.")
    if not 0 < seconds < math.inf:
        raise ConfigError(f"Expected `auto` to be a number of seconds above 0, got {seconds!r}.")


def choose_settings(
    graph: Graph,
    wanted: Config,
    given: Mapping[str, Any],
    seconds: float,
    *,
    preset: str = "",
    on_auto: Callable[[Choosing], None] | None = None,
) -> tuple[Config, dict[str, Any]]:
    """The settings of the best candidate, and a record of what was tried.

    Only the validation part is looked at: the split that candidates get has no test part.

    Args:
        graph: the graph to train on.
        wanted: the settings without a choice: those of a preset among them, if there is one.
        given: the settings that the user gave, which are not varied.
        seconds: time for the choice.
        preset: the name of the preset.
        on_auto: called after each epoch.
    """
    candidates = _candidates(graph, wanted, given)
    chosen, note = candidates[0], NO_CHOICE
    with compile_timer() as compiling, fixed_order(graph.size):
        trial = _Trial(graph, candidates, seconds, compiling, on_auto)
        if len(candidates) > 1:
            try:
                chosen, note = trial.run(), ""
            except _TooShort:
                note = TOO_SHORT
        spent = trial.now()
    record = {
        "seconds": seconds,
        "spent": round(spent, 2),
        "select": trial.select,
        "chosen": candidates.index(chosen),
        "note": note,
        "candidates": [
            {
                "preset": preset if one.wanted is wanted else "",
                "settings": one.settings,
                "epochs": one.epochs,
                "val": one.score,
                "dropped": one.dropped,
                "seconds": round(one.seconds, 2),
                "error": one.error,
            }
            for one in candidates
        ],
    }
    return chosen.wanted, record


def preset_of(record: Mapping[str, Any]) -> str:
    """The name of the preset that a record says was chosen; empty if other settings were."""
    name: str = record["candidates"][record["chosen"]]["preset"]
    return name


def settings_of(wanted: Config, given: Mapping[str, Any], record: Mapping[str, Any]) -> Config:
    """The settings that a record says were chosen; arguments as :func:`choose_settings` has."""
    chosen: Mapping[str, Any] = record["candidates"][record["chosen"]]["settings"]
    own = {name: value for name, value in chosen.items() if given.get(name) is None}
    return _without_preset(wanted, given).replace(**own)


def _without_preset(wanted: Config, given: Mapping[str, Any]) -> Config:
    """The settings that are given and the defaults, for the same task and source."""
    own = {name: value for name, value in given.items() if value is not None}
    return Config(**{"task": wanted.task, **own, "source": wanted.source})


def _candidates(graph: Graph, wanted: Config, given: Mapping[str, Any]) -> list[_Candidate]:
    """The candidates: the preset if there is one, the defaults, and what else can be tried."""
    plain = _without_preset(wanted, given)
    found: dict[Config, _Candidate] = {}

    def add(one: Config) -> None:
        changes = {
            field.name: getattr(one, field.name)
            for field in fields(one)
            if getattr(one, field.name) != getattr(plain, field.name)
        }
        config = choose(graph, one)
        found.setdefault(config, _Candidate(one, config, changes))

    add(wanted)  # settings that are wrong are refused here
    task = choose(graph, plain).task or ""
    for settings in PORTFOLIO.get(task, ANY):
        own = {name: value for name, value in settings.items() if given.get(name) is None}
        options = options_of(own.get("model", plain.model))
        own = {k: v for k, v in own.items() if k not in MODEL_OPTIONS or k in options}
        try:
            add(plain.replace(**own))
        except ConfigError:
            continue  # another model lacks a setting that is given
    return list(found.values())


class _Trial:
    """Successive halving of candidates on one graph and one split."""

    def __init__(
        self,
        graph: Graph,
        candidates: Sequence[_Candidate],
        seconds: float,
        compiling: Callable[[], float],
        on_auto: Callable[[Choosing], None] | None,
    ) -> None:
        self.graph, self.candidates, self.end = graph, candidates, seconds
        self.compiling, self.on_auto = compiling, on_auto
        self.start = time.monotonic()
        self.rung = 0
        first = Problem(graph, candidates[0].config)
        self.select = candidates[0].config.select or first.kind.default_score(graph)
        self.split = None if len(candidates) == 1 else first.kind.without_test(first.split)

    def now(self) -> float:
        """Seconds since the start, without those for compiling kernels, which happens once."""
        return time.monotonic() - self.start - self.compiling()

    def run(self) -> _Candidate:
        """The best candidate; the first one if all of them fail."""
        for k, one in enumerate(self.candidates):
            if self.now() >= self.end:
                raise _TooShort
            self._train(one, None, (k + 1, len(self.candidates)))
        left = [one for one in self.candidates if not one.error]
        while len(left) > 1:
            self._train_rung(left, rungs=len(left).bit_length() - 1)
            left = self._better(left)
            self.rung += 1
        return left[0] if left else self.candidates[0]

    def _better(self, left: Sequence[_Candidate]) -> list[_Candidate]:
        """The better half, with the first candidate as long as there are two; one at the end."""
        left = sorted((one for one in left if not one.error), key=self._rank)
        kept = left[: max(1, len(left) // 2) if self.now() < self.end else 1]
        first = self.candidates[0]
        if len(kept) > 1 and first in left and first not in kept:
            kept[-1] = first
        for one in left:
            if one not in kept:
                one.dropped, one.tree = self.rung, None
        return kept

    def _rank(self, one: _Candidate) -> tuple[float, int]:
        """The best score first; where scores are equal, the simpler settings."""
        return math.inf if one.score is None else -one.score, self.candidates.index(one)

    def _train_rung(self, left: Sequence[_Candidate], rungs: int) -> None:
        """Train each candidate for its share of the time that is left for this and later rungs."""
        for k, one in enumerate(left):
            if self.now() < self.end and not one.finished:
                self._train(one, len(left) * rungs - k, (k + 1, len(left)))

    def _train(self, one: _Candidate, shares: int | None, place: tuple[int, int]) -> None:
        """Train a candidate from where it stopped.

        Args:
            one: the candidate.
            shares: for one of so many shares of the time left; None for until it is validated.
            place: its number, and of how many, for a display.
        """
        begun = self.now()
        until: float | None = None

        def after(state: State) -> None:
            nonlocal until
            now = self.now()
            if until is None:  # what it takes to begin with is not counted against a candidate
                until = now if shares is None else now + (self.end - now) / shares
            one.epochs, one.score = state.epoch, state.best.score if state.best.epoch else None
            self._tell(place)
            if one.score is None and now >= self.end:
                raise _TooShort
            if one.score is not None and now >= until:
                one.tree = copy.deepcopy(state.to_tree())
                raise _Pause

        try:
            problem = Problem(self.graph, one.config, self.split)
            tree, one.tree = one.tree, None
            state = train(
                problem.task(problem.predictor()),
                resume=None if tree is None else lambda state: state.load_tree(tree),
                checkpoint=after,
            )
            if state.stopped == "interrupted":
                raise KeyboardInterrupt
            one.finished = True
            one.error = "" if state.stopped in ("patience", "epochs") else state.stopped
        except _Pause:
            pass
        except (HGCNError, MemoryError) as error:
            one.error = explain(error)
        finally:
            one.seconds += self.now() - begun
        if one.error:
            one.dropped = self.rung

    def _tell(self, place: tuple[int, int]) -> None:
        if self.on_auto is not None:
            scores = [one.score for one in self.candidates if one.score is not None]
            best = max(scores, default=None)
            left = max(0.0, self.end - self.now())
            self.on_auto(Choosing(self.rung, *place, best, left))
