"""The search space: ranges and choices of settings, the same for every model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hgcn.config import TYPES, Config, check_names, read_toml
from hgcn.data.sparse import is_csr
from hgcn.errors import ConfigError
from hgcn.models import options_of
from hgcn.models.predictor import MODEL_OPTIONS
from hgcn.training.problem import task_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from hgcn.data.graph import Graph

COMMON: Mapping[str, Any] = MappingProxyType(
    {
        "lr": {"low": 1e-3, "high": 5e-2, "log": True},
        "weight_decay": {"low": 1e-5, "high": 3e-3, "log": True, "zero": True},
        "dropout": {"low": 0.0, "high": 0.6},
        "point_dropout": {"low": 0.0, "high": 0.6},
        "feature_dropout": {"low": 0.0, "high": 0.8},
        "layers": {"low": 1, "high": 4},
        "act": ["relu", "elu", "tanh", "none"],
        "normalise": ["none", "row", "standard", "bins"],
        "degree_features": [False, True],
        "c": {"low": 0.01, "high": 10.0, "log": True},
        "aggregation": ["local", "origin"],
        "attention": [True, False],
        "root_weight": [False, True],
    }
)
FIXED = ("model", "epochs", "patience", "eval_every")
"""Settings that are not searched: the model, and those that limit the time of a trial."""
TUNABLE = tuple(
    setting.name
    for setting in fields(Config)
    if setting.name in ("normalise", "degree_features")
    or (setting.metadata["group"] in ("model", "decoder", "training") and setting.name not in FIXED)
)


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``.

    Attributes:
        low, high: the ends of the range, both included.
        log: whether orders of magnitude are equally likely.
        zero: whether 0 is possible too, with a fifth of the probability.
        whole: whether only whole numbers are possible.
    """

    low: float
    high: float
    log: bool = False
    zero: bool = False
    whole: bool = False

    @property
    def start(self) -> float:
        """The smallest number that is drawn: numbers below ``low`` stand for 0.

        So one number decides, and the sampler learns from all trials how far down to go.
        """
        if not self.zero:
            return self.low
        if self.log:
            return self.low * (self.low / self.high) ** 0.25
        return self.low - (self.high - self.low) / 4

    def distribution(self) -> BaseDistribution:
        """The distribution that Optuna draws from."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log)
        return FloatDistribution(self.start, self.high, log=self.log)

    def value(self, drawn: Any) -> Any:
        """The value of the setting that a drawn number stands for."""
        return 0.0 if self.zero and drawn < self.low else drawn

    def drawn(self, value: Any) -> Any:
        """A drawn number that stands for a value of the setting; None if there is none."""
        if self.zero and value == 0:
            return self.start
        return value if value is not None and self.low <= value <= self.high else None


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def distribution(self) -> BaseDistribution:
        """The distribution that Optuna draws from."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)

    def value(self, drawn: Any) -> Any:
        """The value itself."""
        return drawn

    def drawn(self, value: Any) -> Any:
        """The value itself; None if it is not among the choices."""
        return value if value in self.values else None


SearchSpace = dict[str, Range | Choice]


def make_space(
    given: Mapping[str, Any] | str | Path | None, graph: Graph, config: Config
) -> SearchSpace:
    """The settings to vary, without those that are fixed or that the model does not have.

    Args:
        given: a table of ranges and choices, or a TOML file with one; by default the library's.
        graph: the graph to train on.
        config: the settings that are fixed; the task must be set.
    """
    if given is None:
        table, where = {**COMMON, **task_of(config).search_space(graph, config)}, ""
        if graph.x is not None and is_csr(graph.x):
            table["normalise"] = [how for how in table["normalise"] if how != "bins"]
    elif isinstance(given, str | Path):
        table, where = read_toml(given), f"In {given}:\n"
    else:
        table, where = dict(given), ""
    try:
        space = parse_space(table)
    except ConfigError as error:
        raise ConfigError(f"{where}{error}") from error
    options = options_of(config.model)
    absent = {name for name in MODEL_OPTIONS if name not in options}
    if "layers" not in options:
        # Such a model learns a vector for each node and has no use for features.
        absent |= {"normalise", "feature_dropout", "degree_features", "propagation", "node_dropout"}
    if graph.x is None:
        absent |= {"normalise", "degree_features"}
    space = {name: spec for name, spec in space.items() if name not in absent}
    if not space:
        raise ConfigError(
            f"Expected something to search for, but {config.model} has none of the settings "
            f"{', '.join(table)}."
        )
    return space


def parse_space(table: Mapping[str, Any]) -> SearchSpace:
    """A search space from ``{low = ..., high = ..., log = true, zero = true}`` and lists of values.

    Example:
        >>> parse_space({"act": ["relu", "tanh"]})
        {'act': Choice(values=('relu', 'tanh'))}
    """
    check_names(table)
    space: SearchSpace = {}
    wrong = []
    for name, spec in table.items():
        try:
            if name not in TUNABLE:
                raise ConfigError(f"`{name}` cannot be searched; give it as a setting.")
            space[name] = _parse(name, spec)
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("\n".join(wrong))
    return space


def _parse(name: str, spec: Any) -> Range | Choice:
    if isinstance(spec, list | tuple) and spec:
        for value in spec:
            Config(**{name: value})
        return Choice(tuple(spec))
    if not isinstance(spec, Mapping) or not {"low", "high"} <= set(spec):
        raise ConfigError(
            f"Expected `{name}` to be a list of values or a table with low and high, got {spec!r}."
        )
    unknown = set(spec) - {"low", "high", "log", "zero"}
    if unknown:
        raise ConfigError(
            f"Expected only low, high, log and zero for `{name}`, got {', '.join(sorted(unknown))}."
        )
    whole = TYPES[name] is int
    if TYPES[name] not in (int, float):
        raise ConfigError(f"Expected a list of values for `{name}`, which is no number.")
    low, high = spec["low"], spec["high"]
    for value in (low, high):
        Config(**{name: value})
    if not low <= high:
        raise ConfigError(f"Expected low to be at most high for `{name}`, got {low} and {high}.")
    log, zero = bool(spec.get("log", False)), bool(spec.get("zero", False))
    if log and low <= 0:
        raise ConfigError(f"Expected low above 0 for `{name}`, whose scale is log, got {low}.")
    if zero:
        Config(**{name: spec["low"] * 0})
        if whole or low <= 0 or math.isclose(low, high):
            raise ConfigError(
                f"Expected low above 0 and below high, and a setting with a decimal point, for "
                f"zero in `{name}`. A list can hold 0 beside other values."
            )
    return Range(low, high, log, zero, whole)
