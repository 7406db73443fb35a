"""The description of a data set, and the registry of data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hgcn.data.graph import Graph
from hgcn.errors import ConfigError
from hgcn.names import TASKS
from hgcn.registry import Registry
from hgcn.text import one_of


@dataclass(frozen=True, eq=False)
class Dataset:
    """An entry of the registry of data sets.

    It says how the data are loaded, by ``load`` or ``folder``. Numbers that are 0 are not known,
    and names that are None are as they were read.

    Example:
        >>> from hgcn.data import random_tree
        >>> Dataset("oak", "a random tree", nodes=50, load=lambda: random_tree(50)).tasks
        ('link', 'node')

    Args:
        name: the name that :func:`hgcn.load` takes.
        description: a line for the table of `hgcn datasets`.
        nodes: number of nodes; data with another number are refused.
        edges: number of edges, each counted once, without self-loops.
        features: number of features; 0 for none.
        classes: number of classes; 0 for none.
        graphs: number of graphs; two or more are split by graph.
        licence: the licence of the data, as far as their source states one.
        source: the repository they come from, or "simulated".
        tasks: the tasks that the data are for: "link", "node" or both.
        delta: Gromov's hyperbolicity of the largest component, where it is known; a lower bound,
            from 20 million sampled quadruples, for twitch and email_enron.
        load: a function that makes or reads the graph.
        here: a function that tells whether the files that ``load`` reads are here, if it reads any.
        folder: the folder to read, of the layout that :func:`hgcn.data.read` takes: a path, or, as
            a string, the name of a folder in ``HGCN_DATA`` or in the cache.
        instead: unusual names of files of the folder, by what they hold (see
            :data:`hgcn.data.reading.folder.FILES`).
        columns: ``.npy`` files of the folder that hold further columns, by name of the column.
        ids: the columns that make the id of a node, joined by a colon.
        class_names: names of the classes; none if empty.
        feature_names: names of the features; none if empty.
        notes: remarks for users, a sentence each; they replace the notes on reading.
        ratios: the usual shares of training, validation and test nodes.
        presets: a folder of TOML files with chosen settings.
    """

    name: str
    description: str
    nodes: int = 0
    edges: int = 0
    features: int = 0
    classes: int = 0
    graphs: int = 1
    licence: str = "none stated"
    source: str = "registered"
    tasks: tuple[str, ...] = ("link", "node")
    delta: float | None = None
    load: Callable[[], Graph] | None = None
    folder: str | Path | None = None
    instead: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] | None = None
    ratios: tuple[float, float, float] | None = None
    presets: Path | None = None
    here: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        if (self.load is None) == (self.folder is None):
            got = "neither" if self.load is None else "both"
            raise ConfigError(
                f"Expected the data set {self.name!r} to have a `load` function or a `folder`, "
                f"got {got}."
            )
        if self.load is not None and not callable(self.load):
            raise ConfigError(
                f"Expected `load` of the data set {self.name!r} to be a function that returns a "
                f"Graph, got {self.load!r}."
            )
        for task in self.tasks:
            if task not in TASKS:
                raise ConfigError(one_of("tasks", task, TASKS) + f" (data set {self.name!r})")

    def fields(self) -> dict[str, Any]:
        """The fields of the graph that this entry sets."""
        found: dict[str, Any] = {"name": self.name}
        for name in ("class_names", "feature_names"):
            names = getattr(self, name)
            if names is not None:
                found[name] = names or None
        for name in ("notes", "ratios"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return found


class Datasets(Registry[Dataset]):
    """Data sets by name, to which anyone may add."""

    def register(self, name: str, value: Dataset | str) -> None:
        """Add a data set; a name that is taken, or not that of the data set, is refused."""
        if not isinstance(value, Dataset):
            raise ConfigError(
                f"Expected a Dataset under the name {name!r}, got {type(value).__name__}."
            )
        if value.name != name:
            raise ConfigError(
                f"Expected a data set to be registered under its own name {value.name!r}, got "
                f"{name!r}."
            )
        super().register(name, value)
