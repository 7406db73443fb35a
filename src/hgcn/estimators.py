"""Estimators in the manner of scikit-learn: the graph is a parameter, the data are nodes or pairs.

Scikit-learn cuts data into rows. A graph cannot be cut, so it goes into the constructor, and the
rows are numbers of nodes, or their ids where these are text: of one node for
:class:`HGCNClassifier`, of both nodes of a pair for :class:`HGCNLinkPredictor`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self, Unpack, final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hgcn.config import Config, check_names
from hgcn.data import as_graph
from hgcn.data import pairs as node_pairs
from hgcn.data.graph import Graph
from hgcn.data.reading.dataframes import is_missing
from hgcn.data.splits import LinkSplit, NodeSplit, split_links
from hgcn.data.splits.negatives import NonEdges
from hgcn.data.splits.nodes import draw_parts, part_sizes
from hgcn.errors import ConfigError, GraphError
from hgcn.runs.fit import run_problem
from hgcn.runs.run import Run
from hgcn.settings import NetworkSettings
from hgcn.text import near_miss
from hgcn.training.problem import Problem, choose

__all__ = ["HGCNClassifier", "HGCNLinkPredictor", "link_pairs"]

SETTINGS = {
    setting.name: setting.default
    for setting in fields(Config)
    if setting.name in NetworkSettings.__annotations__
}
"""The settings of a run that are parameters of an estimator, and their defaults."""


class _Estimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The base of both estimators: parameters, training, embeddings."""

    _task: str

    def __init__(
        self,
        graph: Any,
        *,
        validation_fraction: float = 0.1,
        random_state: int | np.random.Generator | None = 0,
        **settings: Unpack[NetworkSettings],
    ) -> None:
        check_names(settings)
        wrong = [name for name in settings if name not in SETTINGS]
        if wrong:
            raise ConfigError(
                "\n".join(f"`{name}` is no parameter of {type(self).__name__}." for name in wrong)
            )
        self.graph = graph
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        for name, default in SETTINGS.items():
            setattr(self, name, settings.get(name, default))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters: those of the constructor, every setting included."""
        names = ("graph", "validation_fraction", "random_state", *SETTINGS)
        return {name: getattr(self, name) for name in names}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        usual = {"validation_fraction": 0.1, "random_state": 0, **SETTINGS}
        own = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items() if usual.get(k, k) != v)
        return f"{type(self).__name__}({own})"

    def __sklearn_clone__(self) -> Self:
        # A graph never changes, so copies of an estimator share it.
        return type(self)(**self.get_params())

    def _fit(self, graph: Graph, split: NodeSplit | LinkSplit, seed: int) -> Self:
        """Train; there is no test part, and none is evaluated."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        config = choose(graph, Config(**settings, task=self._task, seed=seed))
        self.run_: Run = run_problem(Problem(graph, config, split), parts=("val",))
        self.embedding_: NDArray[Any] = self.run_.embeddings().numpy()
        self.n_iter_: int = self.run_.metrics["epochs"]
        return self

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(np.random.default_rng(self.random_state).integers(2**31))

    def _fraction(self) -> float:
        if not 0 < self.validation_fraction < 1:
            raise ConfigError(
                "Expected `validation_fraction` to be above 0 and below 1, got "
                f"{self.validation_fraction!r}."
            )
        return self.validation_fraction

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Embeddings, in normal coordinates: of nodes ``[M]``, or of both ends of pairs ``[M, 2]``.

        Args:
            X: numbers of nodes, or pairs of them.

        Returns:
            A row for each node of ``dim`` numbers, or for each pair of twice as many.
        """
        check_is_fitted(self)
        X = np.asarray(X)
        nodes = _numbers(X, self.run_.graph, "X", X.shape)
        return self.embedding_[nodes].reshape(len(nodes), -1)


@final
class HGCNClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Node classification: ``X`` holds numbers of nodes of the graph, ``y`` their classes.

    All nodes and edges of the graph carry messages; classes are known of the nodes in ``X`` only.
    Classes that the graph itself has are not used. Some of the nodes are held out to stop
    training early, drawn from each class.

    Args:
        graph: a :class:`hgcn.Graph`, a PyG ``Data`` or anything else that is a graph in memory.
        validation_fraction: share of the nodes in ``X`` that is held out.
        random_state: seed of weights, dropout and validation nodes. ``None`` draws one.
        settings: any setting of a model, of its decoder or of training, such as ``model``, ``dim``,
            ``lr``: see :class:`hgcn.Config`.

    Attributes:
        classes_: the classes, sorted.
        embedding_: embeddings of all nodes, ``[N, dim]``.
        run_: the whole :class:`hgcn.Run`: to save, or to predict on other graphs.
        n_iter_: number of epochs.

    Example:
        >>> import hgcn, numpy as np
        >>> graph = hgcn.load("disease")
        >>> nodes, y = np.arange(graph.num_nodes), graph.y.numpy()
        >>> model = HGCNClassifier(graph, epochs=10).fit(nodes[:800], y[:800])
        >>> model.predict(nodes[800:]).shape
        (244,)
    """

    _task = "node"

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on nodes and their classes, which may be numbers or words."""
        graph, seed = as_graph(self.graph), self._seed()
        nodes = _numbers(X, graph, "X")
        labels = np.asarray(y)
        _check_known(labels)
        if labels.shape != nodes.shape:
            raise GraphError(
                f"Expected a class for each of the {len(nodes)} nodes in X, got `y` of shape "
                f"{list(labels.shape)}."
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        known = torch.full((graph.num_nodes,), -1)
        known[torch.from_numpy(nodes)] = torch.from_numpy(codes)
        if bool((known[nodes].numpy() != codes).any()):
            raise GraphError("Expected one class for each node, got a node twice in X with two.")
        names = tuple(map(str, self.classes_.tolist()))
        graph = graph.replace(y=known, class_names=names, split=None)
        return self._fit(graph, self._split(known, seed), seed)

    def _split(self, known: Tensor, seed: int) -> NodeSplit:
        """Validation nodes from each class that has two at least."""
        fraction, generator = self._fraction(), np.random.default_rng(seed)
        part = torch.full(known.shape, -1)
        for label in range(len(self.classes_)):
            members = (known == label).nonzero()[:, 0]
            sizes = [1]
            if len(members) > 1:
                sizes = part_sizes(len(members), (1 - fraction, fraction), "nodes")
            draw_parts(members, sizes, part, generator)
        train, val = ((part == code).nonzero()[:, 0] for code in (0, 1))
        if not len(val):
            raise GraphError(
                "Expected a class with two nodes at least, one to learn from and one to validate "
                f"on, got {len(train)} nodes of {len(self.classes_)} classes."
            )
        return NodeSplit(train, val, val[:0], "clean", inductive=False)

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Probabilities ``[M, classes]``, in the order of ``classes_``."""
        check_is_fitted(self)
        nodes = _numbers(X, self.run_.graph, "X")
        return self.run_.predict_nodes().numpy()[nodes]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely class of each node."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]


@final
class HGCNLinkPredictor(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Link prediction: ``X`` holds pairs of nodes ``[M, 2]``, ``y`` is 1 for a link and 0 for none.

    Without ``X`` it learns from all edges of the graph. With it, the pairs with ``y = 1`` are all
    the edges there are: others of the graph are not used, neither as messages nor to learn from, so
    that cross-validation is honest. Pairs to learn from that are no links are drawn at
    random; those with ``y = 0`` are for validation, together with the edges that are held out.

    Args:
        graph: a :class:`hgcn.Graph`, a PyG ``Data`` or anything else that is a graph in memory.
        validation_fraction: share of the edges that is held out to stop training early.
        random_state: seed of weights, dropout and sampling. ``None`` draws one.
        settings: any setting of a model, of its decoder or of training: see :class:`hgcn.Config`.

    Attributes:
        classes_: 0 and 1.
        embedding_: embeddings of all nodes, ``[N, dim]``.
        run_: the whole :class:`hgcn.Run`.
        n_iter_: number of epochs.

    Example:
        >>> import hgcn
        >>> graph = hgcn.load("disease")
        >>> model = HGCNLinkPredictor(graph, epochs=10).fit()
        >>> model.predict_proba([[0, 1], [5, 1000]]).shape
        (2, 2)
    """

    _task = "link"

    def fit(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        """Train on all edges of the graph, or on pairs."""
        graph, seed = as_graph(self.graph), self._seed()
        if graph.num_graphs > 1:
            raise GraphError(
                f"Expected one graph, got {graph.num_graphs} of them: hgcn.fit keeps whole graphs "
                "for validation and test."
            )
        negatives = torch.empty(2, 0, dtype=torch.long)
        if X is not None:
            pairs, links = _pairs(X, y, graph)
            graph, negatives = with_edges(graph, pairs[:, links]), pairs[:, ~links]
        elif y is not None:
            raise GraphError("Expected pairs of nodes `X` for `y`, got none.")
        self.classes_ = np.array([0, 1])
        graph = graph.replace(split=None)
        split = split_links(graph, val=self._fraction(), test=0.0, seed=seed)
        if negatives.numel():
            split = replace(split, val=replace(split.val, negatives=negatives))
        return self._fit(graph, split, seed)

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Probabilities ``[M, 2]`` of no link and of a link."""
        check_is_fitted(self)
        pairs = torch.from_numpy(_numbers(X, self.run_.graph, "X", (-1, 2)).T)
        links = self.run_.predict_links(pairs).double().numpy()
        return np.stack((1 - links, links), axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """1 where a link is more likely than none, else 0."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """ROC AUC."""
        links = self.predict_proba(X)[:, 1]
        return float(roc_auc_score(np.asarray(y), links, sample_weight=sample_weight))


def link_pairs(
    graph: Any, *, negatives: float = 1.0, random_state: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs ``X`` and answers ``y`` for scikit-learn: all edges, and other pairs at random.

    Args:
        graph: a graph, or anything that is one in memory.
        negatives: number of other pairs for each edge; all are different.
        random_state: equal numbers give equal pairs.

    Example:
        >>> import hgcn
        >>> X, y = link_pairs(hgcn.load("disease"))
        >>> X.shape, int(y.sum())
        ((2086, 2), 1043)
    """
    graph = as_graph(graph)
    edges = graph.pairs()
    free = NonEdges(edges, graph.num_nodes, directed=graph.directed)
    count = round(negatives * edges.shape[1])
    others = free.distinct(torch.tensor([count]), np.random.default_rng(random_state))
    X = torch.cat((edges, others), dim=1).T.contiguous().numpy()
    return X, np.repeat([1, 0], [edges.shape[1], count])


def with_edges(graph: Graph, pairs: Tensor) -> Graph:
    """The graph with other edges; those that it has already keep their weight, others get 1."""
    n = graph.num_nodes
    wanted = torch.unique(node_pairs.keys(pairs, n, unordered=not graph.directed))
    edges = node_pairs.pairs_at(wanted, n)
    if not graph.directed:
        edges = torch.cat((edges, edges.flip(0)), dim=1)
    weight = None
    if graph.edge_weight is not None:
        known, order = node_pairs.keys(graph.edge_index, n).sort()
        position, found = node_pairs.find(known, node_pairs.keys(edges, n))
        weight = torch.where(found, graph.edge_weight[order[position]], 1.0)
    return graph.replace(edge_index=edges, edge_weight=weight)


def _pairs(X: ArrayLike, y: ArrayLike | None, graph: Graph) -> tuple[Tensor, Tensor]:
    pairs = _numbers(X, graph, "X", (-1, 2))
    links = np.ones(len(pairs)) if y is None else np.asarray(y)
    if links.shape != (len(pairs),) or not np.isin(links, (0, 1)).all():
        raise GraphError(
            f"Expected `y` to be 0 or 1 for each of the {len(pairs)} pairs in X, got {links.dtype} "
            f"of shape {list(links.shape)}."
        )
    if not (links == 1).any():
        raise GraphError("Expected pairs with `y` = 1 to learn from, got none.")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise GraphError("Expected pairs of different nodes in X, got a node paired with itself.")
    return torch.from_numpy(pairs.T.copy()), torch.from_numpy(links == 1)


def _check_known(labels: NDArray[Any]) -> None:
    """Refuse missing classes."""
    values = labels.ravel().tolist()
    missing = [at for at, value in enumerate(values) if is_missing(value)]
    if missing:
        raise GraphError(
            f"Expected a class for each node in X, got {values[missing[0]]} at position "
            f"{missing[0]}; {len(missing)} such. Leave these nodes out of X: they take part in "
            "messages all the same."
        )


def _numbers_of_ids(ids: NDArray[Any], graph: Graph, name: str) -> NDArray[np.int64]:
    number = {str(node): at for at, node in enumerate(graph.ids.tolist())}
    unknown = [value for value in ids.ravel().tolist() if value not in number]
    if unknown:
        raise GraphError(
            f"Expected `{name}` to hold ids of nodes of the graph, got {unknown[0]!r}."
            f"{near_miss(unknown[0], number)}"
        )
    return np.array([number[value] for value in ids.ravel().tolist()], int).reshape(ids.shape)


def _numbers(
    X: ArrayLike, graph: Graph, name: str, shape: tuple[int, ...] = (-1,)
) -> NDArray[np.int64]:
    """Numbers of nodes as int64, from numbers, or from text that is their ids.

    Scikit-learn may hand them on as a column, or as floats.
    """
    given, num_nodes = np.asarray(X), graph.num_nodes
    if given.dtype.kind in "OUT" and all(isinstance(value, str) for value in given.flat):
        given = _numbers_of_ids(given, graph, name)
    if given.ndim == 2 and given.shape[1] == 1 and len(shape) == 1:
        given = given[:, 0]
    fits = given.ndim == len(shape) and given.shape[1:] == shape[1:]
    if not fits or given.dtype.kind not in "iuf" or not np.array_equal(given, np.rint(given)):
        wanted = "[M]" if len(shape) == 1 else f"[M, {shape[1]}]"
        raise GraphError(
            f"Expected `{name}` to hold numbers of nodes, shape {wanted}, got {given.dtype} of "
            f"shape {list(given.shape)}. Features belong into the graph."
        )
    wrong = np.argwhere((given < 0) | (given >= num_nodes))
    if len(wrong):
        raise GraphError(
            f"Expected `{name}` to hold nodes in 0..{num_nodes - 1}, got "
            f"{given[tuple(wrong[0])]} in row {wrong[0][0]}."
        )
    return given.astype(np.int64)
