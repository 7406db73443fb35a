"""A finished training: its record, and methods for everything that can be done with it."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from hgcn.data.graph import FINGERPRINT, Graph
from hgcn.errors import ConfigError, DataError, GraphError, RunError
from hgcn.inference import hierarchy, predict, trained
from hgcn.inference.missing_links import top_links
from hgcn.inference.smoothing import Known
from hgcn.inference.trained import Trained
from hgcn.nearest.paths import path_between
from hgcn.nearest.points import Points
from hgcn.text import one_of
from hgcn.training.links import LinkTask
from hgcn.training.problem import Problem, task_of
from hgcn.training.source import load_graph

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from hgcn.inference.explanation import Explanation


NEGATIVES = ("random", "hard")
"""Negatives that links are evaluated against."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Run(Trained):
    """A trained network, its settings, its scores, and the graph it was trained on.

    Made by :func:`hgcn.fit` or :func:`hgcn.load_run`.

    Attributes:
        config: all settings, with those that were chosen for the user.
        metrics: scores of the best epoch on validation and test, and how training went.
        history: one row for each validation.
        predictor: the network, with the weights of the best epoch.
        features: the map from features of a graph to input of the network.
        class_names: names of the classes, for the task "node".
        environment: versions, and checksums of data and files.
    """

    metrics: dict[str, Any]
    history: list[dict[str, Any]]
    environment: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        name = self.metrics.get("select", "")
        test = self.metrics.get("test", {}).get(name, math.nan)
        return f"Run({self.config.model} on {self.config.source}: test {name} {100 * test:.2f})"

    @property
    def path(self) -> Path | None:
        """The run folder, once there is one."""
        return self._kept.get("path")

    @property
    def graph(self) -> Graph:
        """The graph that the network was trained on; read again where necessary."""
        if "graph" not in self._kept:
            self._kept["graph"] = self._read_graph()
        graph: Graph = self._kept["graph"]
        return graph

    def _read_graph(self) -> Graph:
        if self.config.source is None:
            raise RunError(
                "Expected `graph`: this run was trained on a graph held in memory, which is not "
                "part of the run folder."
            )
        try:
            graph = load_graph(self.config)
        except DataError as error:
            raise RunError(
                f"Expected the graph that the run was trained on, but: {error} Paths are taken "
                "from the folder that training was started in; `graph` gives another one."
            ) from error
        known = self._fingerprint()
        if known is not None and graph.fingerprint() != known:
            raise RunError(
                f"Expected {self.config.source} to hold the data that the run was trained on, but "
                "they have changed since. Give the graph explicitly if that is meant."
            )
        return graph

    def _fingerprint(self) -> str | None:
        """The fingerprint of the run's own graph; None where an older version took another one."""
        if self.environment.get("fingerprint") != FINGERPRINT:
            return None
        return self.environment.get("data_sha256")

    def known(self, graph: Graph) -> Known | None:
        """The nodes of a graph whose classes it was trained on, and these; None on other graphs."""
        own = graph is self._kept.get("graph") or graph.fingerprint() == self._fingerprint()
        split = Problem(graph, self.config).split if own and self.config.task == "node" else None
        if split is None or split.inductive or graph.y is None:
            return None
        return split.train, graph.y[split.train]

    def resolve(self, graph: Any = None, **options: Any) -> Graph:
        """The graph to apply the run to: its own if none is given, else the one given, checked.

        Columns of a table become features as they did in training: they are found by their names,
        and what training has not seen is counted in a warning.

        Args:
            graph: anything that :func:`hgcn.load` takes.
            options: keywords of :func:`hgcn.data.read`, such as ``features``.
        """
        if graph is None or graph is self._kept.get("graph"):
            return self.graph
        encoding = self.features.encoding
        if not isinstance(graph, Graph) or options:
            from hgcn.data import load

            directed = True if self.config.task == "hierarchy" else self.config.directed
            known = {"directed": directed, "encoding": encoding}
            known = {name: value for name, value in known.items() if value is not None}
            graph = load(graph, **{**known, **options})
        self._warn_of_strange(graph)
        if not self.predictor.encoder.inductive:
            own = self._fingerprint()
            if graph.num_nodes != self.num_nodes or own not in (None, graph.fingerprint()):
                raise GraphError(
                    f"Expected the graph that {self.config.model} was trained on, got another one: "
                    "it learns a vector for each node. Train an inductive model, such as hgcn, to "
                    "embed other graphs."
                )
        return graph

    def _warn_of_strange(self, graph: Graph) -> None:
        """Say once of a graph which of its values training has not seen."""
        encoding, last = self.features.encoding, self._kept.get("warned")
        if encoding is None or graph.table is None or (last is not None and last() is graph):
            return
        self._kept["warned"] = weakref.ref(graph)
        encoding.check(graph.table)
        for sentence in encoding.strange(graph.table):
            warnings.warn(f"{graph.table.path}: {sentence}", stacklevel=3)

    def embedding_layers(self, graph: Any = None) -> list[Tensor]:
        """Embeddings after each layer, from the features to the output, in normal coordinates."""
        return [z.clone() for z in trained.embedding_layers(self, self.resolve(graph))]

    def embeddings(self, graph: Any = None, *, coordinates: str = "normal") -> Tensor:
        """Embeddings ``[N, dim]`` of all nodes, of the run's own graph or of another one.

        Messages travel on all edges of the graph.

        Args:
            graph: anything that :func:`hgcn.load` takes.
            coordinates: "normal" (logarithms at the origin), "hyperboloid" (``dim + 1`` numbers)
                or "ball" (the Poincaré ball). Euclidean models have plain vectors: "normal".
        """
        return trained.embeddings(self, self.resolve(graph), coordinates=coordinates).clone()

    def embedding_table(
        self, graph: Any = None, *, coordinates: str = "normal", only_new: bool = False
    ) -> pl.DataFrame:
        """Embeddings with ids, as a table; ``only_new`` leaves out the nodes of the run's graph."""
        import polars as pl

        return pl.concat(self.embedding_blocks(graph, coordinates=coordinates, only_new=only_new))

    def embedding_blocks(
        self, graph: Any = None, *, coordinates: str = "normal", only_new: bool = False
    ) -> Iterator[pl.DataFrame]:
        """The table of embeddings, some rows at a time."""
        blocks = trained.embedding_blocks(self, self.resolve(graph), coordinates=coordinates)
        return map(self.without_known, blocks) if only_new else blocks

    def without_known(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table of nodes without those of the graph that the run was trained on."""
        import polars as pl

        return table.filter(~pl.col("id").cast(pl.String).is_in(self._known_ids.implode()))

    @cached_property
    def _known_ids(self) -> pl.Series:
        """The ids of the run's own graph, as text; from the run folder if the data are gone."""
        import polars as pl

        stored = None if self.path is None else self.path / "embeddings.parquet"
        if stored is not None and stored.is_file() and "graph" not in self._kept:
            from hgcn.data.reading.tables import Table, read_table

            ids = read_table(Table(stored), lambda top: True).data["id"]
        else:
            ids = trained.id_column(self.graph)
        return ids.cast(pl.String)

    def predict_nodes(self, graph: Any = None) -> Tensor:
        """Probabilities ``[N, classes]`` of the classes of all nodes."""
        return predict.class_probabilities(self, self.resolve(graph))

    def class_table(self, graph: Any = None) -> pl.DataFrame:
        """A table: the most probable class of each node, and the probabilities of all classes."""
        return predict.class_table(self, self.resolve(graph))

    def predict_links(self, pairs: Any, graph: Any = None) -> Tensor:
        """Probabilities ``[M]`` of links between pairs of nodes ``[2, M]``, numbered from 0."""
        return predict.link_probabilities(self, pairs, self.resolve(graph))

    def top_links(
        self, k: int, graph: Any = None, *, per_node: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The k most probable missing links of a graph, and their probabilities.

        Args:
            k: number of links.
            graph: a graph to search; by default the run's own.
            per_node: k links of each node, rather than k of the whole graph.

        Example:
            >>> import hgcn
            >>> run = hgcn.fit("disease", task="link", epochs=5, dim=4)
            >>> pairs, probability = run.top_links(10)
            >>> pairs.shape, probability.shape
            (torch.Size([2, 10]), torch.Size([10]))
        """
        return top_links(self, k, self.resolve(graph), per_node=per_node)

    def points(self, graph: Any = None) -> Points:
        """The embeddings as points with ids, which have neighbours and paths between them."""
        graph = self.resolve(graph)
        z = trained.embeddings(self, graph)
        return Points(z, self.predictor.encoder.space, graph.ids, "the graph")

    def neighbours(self, ids: Any = None, k: int = 10, graph: Any = None) -> pl.DataFrame:
        """The k nearest nodes of nodes, in the distance of the model, exactly: a row for each.

        Args:
            ids: the id of a node, or several; by default all.
            k: how many for each node.
            graph: another graph than the run's own.
        """
        import polars as pl

        asked = [ids] if isinstance(ids, str | int) else ids
        return pl.concat(self.points(graph).neighbour_blocks(asked, k))

    def path_between(self, first: Any, last: Any, graph: Any = None) -> pl.DataFrame:
        """The nodes nearest to the geodesic between two, in their order on the way."""
        return path_between(self.points(graph), first, last)

    def ancestors(self, ids: Any, k: int = 10, graph: Any = None) -> pl.DataFrame:
        """The k likeliest ancestors of nodes, for the task "hierarchy": a row for each.

        Args:
            ids: the id of a node, or several.
            k: how many for each node.
            graph: a hierarchy; by default the run's own.
        """
        graph = self.resolve(graph)
        return hierarchy.above_table(self, graph, hierarchy.numbers_of(graph, ids), k)

    def place(self, features: Any, k: int = 5) -> pl.DataFrame:
        """Where new nodes belong: the k nodes of the hierarchy likeliest to be above each.

        Args:
            features: a table of new nodes, with an id and the columns of training: a file or a
                DataFrame; or an array with a row for each node.
            k: how many for each node.
        """
        new = hierarchy.new_nodes(self, features)
        self._warn_of_strange(new)
        return hierarchy.above_table(self, self.graph, np.arange(new.num_nodes), k, new=new)

    def roots(self, k: int = 10, graph: Any = None) -> pl.DataFrame:
        """The k nodes nearest to the top of a hierarchy, those with the smallest radius."""
        return hierarchy.roots_table(self, self.resolve(graph), k)

    def predict(self, graph: Any = None) -> pl.DataFrame:
        """A row for each node with what the task of the run predicts of it, such as its class."""
        graph = self.resolve(graph)
        return task_of(self.config).predict(self, graph)

    def prediction_blocks(
        self, graph: Any = None, *, only_new: bool = False
    ) -> Iterator[pl.DataFrame]:
        """The table of predictions, some rows at a time."""
        blocks = task_of(self.config).prediction_blocks(self, self.resolve(graph))
        return map(self.without_known, blocks) if only_new else blocks

    def evaluate(self, graph: Any = None, *, negatives: str = "random") -> dict[str, float]:
        """Scores on the run's own test part, or on another graph, all of which is then a test.

        Of another graph, all labelled nodes are classified; or a tenth of its edges is hidden and
        predicted from the others.

        Args:
            graph: anything that :func:`hgcn.load` takes; by default the run's own.
            negatives: of links, "random" pairs, or "hard": hits@k and MRR of each edge against
                250 pairs that have one end of it and another node, one with many neighbours in
                common (:mod:`hgcn.training.hard`).
        """
        if negatives not in NEGATIVES:
            raise ConfigError(one_of("negatives", negatives, NEGATIVES))
        if negatives == "hard":
            return self.link_task(graph).hard_metrics("test")
        if graph is None:
            return Problem(self.graph, self.config).task(self.predictor).metrics("test")
        return task_of(self.config).evaluate(self, self.resolve(graph))

    def link_task(self, graph: Any = None) -> LinkTask:
        """The pairs, with and without an edge, that the run is evaluated on, and their logits.

        They are those of its own split, or of another graph as :meth:`evaluate` takes it.
        """
        if self.config.task != "link":
            raise ConfigError(
                f"Expected a run trained for links, got one for the task {self.config.task!r}."
            )
        if graph is not None:
            return LinkTask.unseen(self, self.resolve(graph))
        problem = Problem(self.graph, self.config)
        return LinkTask(problem.graph, problem.split, problem.features, self.predictor, self.config)

    def explain(
        self, *nodes: Any, graph: Any = None, label_column: str | None = None
    ) -> Explanation:
        """What the prediction of a node's class, or of a link between two nodes, rests on.

        Example:
            >>> import hgcn
            >>> run = hgcn.fit("disease", task="node", epochs=5, dim=4)
            >>> why = run.explain(17)
            >>> why.table().columns
            ['kind', 'of', 'name', 'value']

        Args:
            nodes: the id of a node, or its name if no other has it; for a run trained on links, of
                two.
            graph: another graph than the run's own.
            label_column: the column of the data that names nodes.
        """
        from hgcn.inference.explanation import explain
        from hgcn.scenes.columns import ids_of, labels_of

        graph = self.resolve(graph)
        names = labels_of(graph, label_column) or [str(one) for one in graph.ids.tolist()]
        ids = ids_of(graph, nodes, names)
        return explain(self, graph, hierarchy.numbers_of(graph, ids).tolist(), names)

    def report(self, path: str | Path | None = None, *, beside: Sequence[Run] = ()) -> Path:
        """Write a page about the run, and scores of others ``beside`` it on the same split."""
        from hgcn.runs.report import report

        return report(self, path, beside=beside)

    def plot_disk(self, ax: Axes | None = None, color: Any = "label", **options: Any) -> Axes:
        """Draw the embeddings with matplotlib; options as :func:`hgcn.figures.plot_disk` has."""
        from hgcn.runs.pictures import plot_disk

        return plot_disk(self, ax=ax, color=color, **options)

    def view(
        self,
        path: str | Path | None = None,
        graph: Any = None,
        *,
        open: bool = True,
        label_column: str | None = None,
    ) -> Path:
        """Write the interactive page, by default into the run folder, and show it in a browser."""
        from hgcn.runs.pictures import view

        return view(self, path, graph, open_browser=open, label_column=label_column)

    def push(self, target: str | Path) -> Path:
        """Write the run to a folder or, if the name ends in ``.zip``, to one file to hand on.

        Beside a zip file stands its checksum: ``load_run("https://...zip#sha256=CHECKSUM")`` reads
        it from wherever it was put.
        """
        from hgcn.runs.sharing import push

        return push(self, target)

    def save(self, path: str | Path) -> Path:
        """Write the run folder; docs/run_folder.md describes its files."""
        from hgcn.runs.folder import save

        return save(self, path)
