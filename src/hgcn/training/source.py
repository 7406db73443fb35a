"""The graph that settings name, or one in memory, read as the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.pyg import asked_pairs, is_pyg
from hgcn.errors import ConfigError, GraphError

READING = (
    "features", "labels", "feature_columns", "drop", "text", "date_parts", "directed", "split",
)  # fmt: skip
"""The settings that say how a graph is read; each is a keyword of :func:`hgcn.data.read`."""


def reading_options(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings that a file can hold, and options of reading that it cannot: arrays, DataFrames.

    Lists of columns become text with commas, as the settings have it.
    """
    given, in_memory = dict(settings), {}
    for name in READING:
        value = given.get(name)
        if isinstance(value, Path):
            given[name] = str(value)
        elif isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            if any("," in item for item in value):
                raise ConfigError(f"Expected names of columns without commas, got {value!r}.")
            # A list of features names columns of the nodes; as a setting it has a name of its own.
            given["feature_columns" if name == "features" else name] = ",".join(value)
            if name == "features":
                del given[name]
        elif not isinstance(value, str | bool | int | float | None):
            in_memory[name] = given.pop(name)
    return given, in_memory


def load_graph(config: Config, data: Any = None, **options: Any) -> Graph:
    """The graph that the settings name, or one that is given, read as the settings say.

    Args:
        config: the settings.
        data: anything that :func:`hgcn.load` takes, in place of the source of the settings.
        options: keywords of :func:`hgcn.data.read` in place of settings.
    """
    from hgcn.data import load

    if data is None:
        data = config.source
    if data is None:
        raise ConfigError("Expected a `source`: the name of a data set, a file or a folder.")
    if is_pyg(data) and asked_pairs(data) is not None:
        raise GraphError(
            "Expected all three parts of RandomLinkSplit, fit((train, val, test)), got one of "
            "them: it has `edge_label_index`."
        )
    asked = {name: getattr(config, name) for name in READING}
    asked = {name: value for name, value in asked.items() if value not in (None, False)}
    directed = config.directed
    if directed is None and config.task == "hierarchy" and not isinstance(data, Graph):
        directed = True  # edges go from child to parent
    if directed is not None:
        asked["directed"] = directed
    return load(data, **{**asked, **options})
