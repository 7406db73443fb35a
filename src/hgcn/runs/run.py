"""A trained network with everything about it, and the folder that it is kept in."""

from __future__ import annotations

import csv
import io
import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import hgcn
from hgcn import files, geometry
from hgcn.config import Config, read_toml
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, DataError, GraphError, HGCNError, RunError
from hgcn.models.predictor import Predictor
from hgcn.runs import trees
from hgcn.text import one_of
from hgcn.training.feature_map import FeatureMap
from hgcn.training.problem import Problem, has_device

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

FORMAT = 1
COORDINATES = ("normal", "hyperboloid", "ball")
SEALED = ("config.toml", "metrics.json", "history.csv", "model.safetensors")
"""Files whose checksums are in environment.json."""


@dataclass(eq=False)
class Run:
    """A trained network, its settings, its scores, and the graph it was trained on.

    Made by :func:`hgcn.fit` or :func:`hgcn.load_run`.

    Attributes:
        config: all settings, with those that were chosen for the user.
        metrics: scores of the best epoch on validation and test, and how training went.
        history: one row for each validation.
        predictor: the network, with the weights of the best epoch.
        features: how features of a graph become input of the network.
        class_names: names of the classes, for the task "node".
        environment: versions, and checksums of data and files.
        path: the run folder, once there is one.
    """

    config: Config
    metrics: dict[str, Any]
    history: list[dict[str, Any]]
    predictor: Predictor
    features: FeatureMap
    num_nodes: int
    class_names: tuple[str, ...] | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    _graph: Graph | None = None

    def __repr__(self) -> str:
        name = self.metrics.get("select", "")
        test = self.metrics.get("test", {}).get(name, math.nan)
        return f"Run({self.config.model} on {self.config.source}: test {name} {100 * test:.2f})"

    @property
    def graph(self) -> Graph:
        """The graph that the network was trained on; read again where necessary."""
        if self._graph is None:
            if self.config.source is None:
                raise RunError(
                    "Expected `graph`: this run was trained on a graph held in memory, which is "
                    "not part of the run folder."
                )
            from hgcn.runs.fit import load_source

            try:
                graph = load_source(self.config)
            except DataError as error:
                raise RunError(
                    f"Expected the graph that the run was trained on, but: {error} Paths are taken "
                    "from the folder that training was started in; `graph` gives another one."
                ) from error
            known = self.environment.get("data_sha256")
            if known is not None and graph.fingerprint() != known:
                raise RunError(
                    f"Expected {self.config.source} to hold the data that the run was trained on, "
                    "but they have changed since. Give the graph explicitly if that is meant."
                )
            self._graph = graph
        return self._graph

    def resolve(self, graph: Any = None) -> Graph:
        """The graph that is meant: the run's own if none is given, else one it can be applied to.

        Args:
            graph: anything that :func:`hgcn.load` or :func:`hgcn.data.as_graph` takes.
        """
        if graph is None or graph is self._graph:
            return self.graph
        from hgcn.data import as_graph, load

        graph = load(graph) if isinstance(graph, (str, Path)) else as_graph(graph)
        if not self.predictor.encoder.inductive:
            own = self.environment.get("data_sha256")
            if graph.num_nodes != self.num_nodes or own not in (None, graph.fingerprint()):
                raise GraphError(
                    f"Expected the graph that {self.config.model} was trained on, got another one: "
                    "it learns a vector for each node. Train an inductive model, such as hgcn, to "
                    "embed other graphs."
                )
        return graph

    @torch.no_grad()
    def embedding_layers(self, graph: Any = None) -> list[Tensor]:
        """Embeddings after each layer, from the features to the output, in normal coordinates."""
        graph = self.resolve(graph)
        device, dtype = self.config.device, getattr(torch, self.config.dtype)
        x = self.features(graph).to(device=device, dtype=dtype)
        weight = graph.edge_weight
        if weight is not None:
            weight = weight.to(device=device, dtype=dtype)
        layers = self.predictor.eval().encoder.encode_layers(x, graph.edge_index.to(device), weight)
        return [layer.cpu() for layer in layers]

    def embeddings(self, graph: Any = None, *, coordinates: str = "normal") -> Tensor:
        """Embeddings ``[N, dim]`` of all nodes, of the run's own graph or of another one.

        Messages travel on all edges of the graph.

        Args:
            graph: anything that :func:`hgcn.load` or :func:`hgcn.data.as_graph` takes.
            coordinates: "normal" (logarithms at the origin), "hyperboloid" (``dim + 1`` numbers)
                or "ball" (the Poincaré ball). Euclidean models have plain vectors: "normal".
        """
        return self._convert(self.embedding_layers(graph)[-1], coordinates)

    def _convert(self, z: Tensor, coordinates: str) -> Tensor:
        if coordinates not in COORDINATES:
            raise ConfigError(one_of("coordinates", coordinates, COORDINATES))
        curvature = self.predictor.encoder.curvature
        if coordinates == "normal":
            return z
        if curvature is None:
            raise ConfigError(
                f"Expected coordinates 'normal' for {self.config.model}, whose embeddings are "
                f"Euclidean, got {coordinates!r}."
            )
        c = curvature().detach().cpu().double()
        to = geometry.to_hyperboloid if coordinates == "hyperboloid" else geometry.to_ball
        return to(z.double(), c=c)

    def embedding_table(self, graph: Any = None, *, coordinates: str = "normal") -> pl.DataFrame:
        """Embeddings with ids, as a table."""
        import polars as pl

        graph = self.resolve(graph)
        z = self.embeddings(graph, coordinates=coordinates).numpy()
        columns = {f"z{k}": z[:, k] for k in range(z.shape[1])}
        return pl.DataFrame({"id": _id_column(graph), **columns})

    @torch.no_grad()
    def predict_nodes(self, graph: Any = None) -> Tensor:
        """Probabilities ``[N, classes]`` of the classes of all nodes."""
        z = self.embedding_layers(graph)[-1].to(self.config.device)
        return self.predictor.classes(z).softmax(-1).cpu()

    def class_table(self, graph: Any = None) -> pl.DataFrame:
        """The most probable class of each node with its probability, and those of all classes."""
        import polars as pl

        graph = self.resolve(graph)
        chance = self.predict_nodes(graph)
        best, number = chance.max(-1)
        names = self.class_names or tuple(map(str, range(chance.shape[1])))
        return pl.DataFrame(
            {
                "id": _id_column(graph),
                "class": [names[k] for k in number.tolist()],
                "probability": best.numpy(),
                **{f"p({name})": chance[:, k].numpy() for k, name in enumerate(names)},
            }
        )

    @torch.no_grad()
    def predict_links(self, pairs: Any, graph: Any = None) -> Tensor:
        """Probabilities ``[M]`` of links between pairs of nodes ``[2, M]``, numbered from 0."""
        graph = self.resolve(graph)
        pairs = torch.as_tensor(pairs)
        if pairs.dim() != 2 or len(pairs) != 2 or pairs.is_floating_point():
            raise GraphError(
                f"Expected `pairs` to be integers of shape [2, number of pairs], got {pairs.dtype} "
                f"of shape {list(pairs.shape)}."
            )
        wrong = ((pairs < 0) | (pairs >= graph.num_nodes)).any(0).nonzero()
        if len(wrong):
            raise GraphError(
                f"Expected nodes in 0..{graph.num_nodes - 1}, got {pairs[:, wrong[0, 0]].tolist()} "
                f"as pair {int(wrong[0])}."
            )
        z = self.embedding_layers(graph)[-1].to(self.config.device)
        return self.predictor.links(z, pairs.to(z.device)).sigmoid().cpu()

    def top_links(
        self, k: int, graph: Any = None, *, per_node: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The k most probable links that a graph has not: :mod:`hgcn.inference.predict`."""
        from hgcn.inference.predict import top_links

        return top_links(self, k, graph, per_node=per_node)

    def plot_disk(self, ax: Axes | None = None, color: Any = "label", **options: Any) -> Axes:
        """Draw the embeddings with matplotlib; options as :func:`hgcn.figures.plot_disk` has."""
        from hgcn.figures import plot_disk

        return plot_disk(self, ax=ax, color=color, **options)

    def view(self, path: str | Path | None = None, graph: Any = None, *, open: bool = True) -> Path:
        """Write the interactive page, by default into the run folder, and show it in a browser."""
        from hgcn.scenes.from_run import view

        return view(self, path, graph, open_browser=open)

    def evaluate(self, graph: Any = None) -> dict[str, float]:
        """Scores on the run's own test part, or on another graph, all of which is then a test.

        Of another graph, all labelled nodes are classified; or a tenth of its edges is hidden and
        predicted from the others.
        """
        if graph is None:
            return Problem(self.graph, self.config).task(self.predictor).metrics("test")
        from hgcn.inference.predict import evaluate_on

        return evaluate_on(self, self.resolve(graph))

    def save(self, path: str | Path) -> Path:
        """Write the run folder; docs/run_folder.md describes its files."""
        path = Path(path)
        if (path / "environment.json").exists():
            raise RunError(f"Expected a new folder, but {path} holds a finished run already.")
        files.make_folder(path)
        files.write_text(path / "config.toml", self.config.to_toml())
        files.write_text(path / "history.csv", history_csv(self.history))
        files.write_json(path / "metrics.json", self.metrics)
        about = {
            "format": FORMAT,
            "in_channels": self.features.num_features,
            "num_nodes": self.num_nodes,
            "class_names": None if self.class_names is None else list(self.class_names),
            "features": self.features.to_tree(),
        }
        weights = self.predictor.state_dict()
        trees.write_tree(path / "model.safetensors", {"about": about, "weights": weights})
        if self._graph is not None:
            files.write_table(path / "embeddings.parquet", self.embedding_table())
        self.environment["files"] = {name: files.checksum(path / name) for name in SEALED}
        files.write_json(path / "environment.json", self.environment)
        self.path = path
        return path


def _id_column(graph: Graph) -> pl.Series:
    import polars as pl

    return pl.Series(graph.ids.tolist(), strict=False)


def load_run(path: str | Path) -> Run:
    """Read a run folder; a truncated, changed or foreign one is refused."""
    path = Path(path)
    if not path.is_dir():
        raise RunError(f"Expected a run folder, but there is none at {path}.")
    if not (path / "environment.json").is_file():
        unfinished = (path / "resume.safetensors").is_file()
        hint = f" Go on with: hgcn train --resume {path}" if unfinished else ""
        raise RunError(f"Expected a finished run in {path}, got no environment.json.{hint}")
    environment = files.read_json(path / "environment.json")
    if not isinstance(environment, dict) or environment.get("format") != FORMAT:
        raise RunError(
            f"Expected {path}/environment.json to be of format {FORMAT}, got something else. Was "
            "the run made by another version of hgcn?"
        )
    seals = environment.get("files")
    for name in SEALED:
        if not isinstance(seals, dict) or files.checksum(path / name) != seals.get(name):
            raise RunError(
                f"Expected {path / name} as the run left it, but it was changed or truncated since."
            )
    try:
        return _read(path, environment)
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, HGCNError):
            raise
        # The checksums fit, so somebody has written both the file and its checksum.
        raise RunError(
            f"Expected {path} to be a run of hgcn, got a foreign one: {error}"
        ) from error


def _read(path: Path, environment: dict[str, Any]) -> Run:
    config = Config(**read_toml(path / "config.toml"))
    if not has_device(config.device):
        config = config.replace(device="cpu")
    tree = trees.read_tree(path / "model.safetensors")
    about = tree["about"]
    names = about["class_names"]
    predictor = Predictor(
        config,
        in_channels=about["in_channels"],
        num_nodes=about["num_nodes"],
        num_classes=_num_classes(tree["weights"]),
    )
    if config.dtype == "float64":
        predictor = predictor.double()
    predictor.load_state_dict(tree["weights"])
    return Run(
        config=config,
        metrics=files.read_json(path / "metrics.json"),
        history=read_history(path / "history.csv"),
        predictor=predictor.to(config.device).eval(),
        features=FeatureMap.from_tree(about["features"]),
        num_nodes=about["num_nodes"],
        class_names=None if names is None else tuple(names),
        environment=environment,
        path=path,
    )


def environment(graph: Graph, seconds: float) -> dict[str, Any]:
    """What a reader needs to know to repeat a run."""
    from importlib.metadata import version

    packages = ("torch", "torch_geometric", "numba", "numpy", "scikit-learn", "geoopt")
    return {
        "format": FORMAT,
        "hgcn": hgcn.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "packages": {name: version(name) for name in packages},
        "data_sha256": graph.fingerprint(),
        "seconds": round(seconds, 2),
    }


def history_csv(history: Sequence[dict[str, Any]]) -> str:
    """The history as CSV; numbers are written so that they are read back exactly."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(history[0]) if history else ["epoch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def read_history(path: Path) -> list[dict[str, Any]]:
    """The rows of a history file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [{k: int(v) if k == "epoch" else float(v) for k, v in row.items()} for row in rows]
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror}.") from error
    except (TypeError, ValueError) as error:
        raise RunError(f"Expected {path} to be a table of numbers, got: {error}.") from error


def _num_classes(weights: dict[str, Tensor]) -> int:
    sizes = [len(v) for k, v in weights.items() if k in ("classifier.weight", "classifier.normal")]
    return sizes[0] if sizes else 0
