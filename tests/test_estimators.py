import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from hgcn import estimators
from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, GraphError
from hgcn.estimators import HGCNClassifier, HGCNLinkPredictor, link_pairs, with_edges
from small_graphs import tree

QUICK = {"epochs": 30, "dim": 4, "lr": 0.05, "attention": False}
HALF = 40


def communities(**changes) -> Graph:
    """Two groups of nodes that keep to themselves, and can be told by their features."""
    draw = np.random.default_rng(0)
    y = np.arange(2 * HALF) % 2
    first, second = np.triu_indices(2 * HALF, k=1)
    chosen = draw.random(len(first)) < np.where(y[first] == y[second], 0.2, 0.01)
    pairs = torch.from_numpy(np.stack((first[chosen], second[chosen])))
    x = draw.normal(size=(2 * HALF, 3)) + np.stack((3 * y - 1.5, 0 * y, 0 * y), axis=1)
    fields = {
        "x": torch.from_numpy(x).float(),
        "y": torch.from_numpy(y),
        "edge_weight": torch.from_numpy(draw.random(2 * len(pairs[0])) + 0.5).float(),
    }
    edges = torch.cat((pairs, pairs.flip(0)), dim=1)
    return Graph(edges, num_nodes=2 * HALF, **fields | changes)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return communities(edge_weight=None)


@pytest.fixture(scope="module")
def nodes(graph):
    return np.arange(graph.num_nodes)


@pytest.fixture(scope="module")
def words(graph):
    return np.array(["odd", "even"])[graph.y.numpy()]  # sorted the other way round than the numbers


@pytest.fixture(scope="module")
def classifier(graph, nodes, words):
    return HGCNClassifier(graph, **QUICK).fit(nodes[:60], words[:60])


@pytest.fixture(scope="module")
def links(graph):
    return HGCNLinkPredictor(graph, **QUICK).fit()


# Parameters


@pytest.mark.parametrize("kind", [HGCNClassifier, HGCNLinkPredictor])
def test_parameters_are_those_of_scikit_learn(kind, graph):
    model = kind(graph, lr=0.02, dim=3)
    given = model.get_params()
    assert given["graph"] is graph
    assert (given["lr"], given["dim"], given["random_state"]) == (0.02, 3, 0)
    assert given["patience"] == Config().patience
    assert repr(model) == f"{kind.__name__}(graph={graph!r}, dim=3, lr=0.02)"
    copy = clone(model.set_params(layers=3))
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert (copy.layers, copy.graph) == (3, graph)
    assert is_classifier(model)
    with pytest.raises(ValueError, match="Invalid parameter 'learning_rate'"):
        model.set_params(learning_rate=1.0)
    with pytest.raises(ConfigError, match=r"no setting 'dropuot'.*'dropout'"):
        kind(graph, dropuot=0.1)
    for settled in ("seed", "test_share", "source"):
        with pytest.raises(ConfigError, match=f"`{settled}` is no parameter of {kind.__name__}"):
            kind(graph, **{settled: 1})


def test_an_estimator_must_be_fitted_first(graph):
    for model, call in (
        (HGCNClassifier(graph), "predict"),
        (HGCNClassifier(graph), "transform"),
        (HGCNLinkPredictor(graph), "predict_proba"),
    ):
        with pytest.raises(ValueError, match="not fitted yet"):
            getattr(model, call)([0])


# Classes of nodes


def test_classes_are_learnt(classifier, graph, nodes, words):
    assert classifier.classes_.tolist() == ["even", "odd"]
    share = classifier.predict_proba(nodes)
    np.testing.assert_allclose(share.sum(1), 1.0, atol=1e-6)
    guess = classifier.predict(nodes)
    np.testing.assert_array_equal(guess, classifier.classes_[share.argmax(1)])
    assert accuracy_score(words[60:], guess[60:]) > 0.9
    assert classifier.score(nodes[60:], words[60:]) == accuracy_score(words[60:], guess[60:])
    assert classifier.n_iter_ == QUICK["epochs"]
    assert classifier.run_.class_names == ("even", "odd")
    # Rows are answered in the order they are asked, as a column too, and as floats.
    some = np.array([7, 3, 3, 70])
    np.testing.assert_array_equal(classifier.predict_proba(some), share[some])
    np.testing.assert_array_equal(classifier.predict(some[:, None].astype(float)), guess[some])
    np.testing.assert_array_equal(classifier.transform(some), classifier.embedding_[some])
    assert classifier.transform(nodes).shape == (graph.num_nodes, 4)


def test_only_the_given_classes_are_known(classifier, graph, nodes, words):
    split = classifier.run_.graph.y
    assert (split[60:] == -1).all()
    assert (split[:60] >= 0).all()
    other = graph.replace(y=1 - graph.y)
    same = HGCNClassifier(other, **QUICK).fit(nodes[:60], words[:60])
    np.testing.assert_array_equal(same.predict_proba(nodes), classifier.predict_proba(nodes))
    bare = HGCNClassifier(graph.replace(y=None), **QUICK).fit(nodes[:60], words[:60])
    np.testing.assert_array_equal(bare.predict_proba(nodes), classifier.predict_proba(nodes))


def test_validation_nodes_come_from_each_class(graph, monkeypatch):
    seen = []
    train = estimators.run_problem
    monkeypatch.setattr(
        estimators,
        "run_problem",
        lambda problem, parts: seen.append(problem) or train(problem, parts=parts),
    )
    nodes = np.arange(0, 53)
    y = np.repeat([0, 1, 2], [40, 12, 1])
    model = HGCNClassifier(graph, validation_fraction=0.25, epochs=1).fit(nodes, y)
    split = seen[0].split
    assert np.bincount(y[split.val]).tolist() == [10, 3]
    assert np.bincount(y[split.train]).tolist() == [30, 9, 1]
    assert not len(split.test)
    assert sorted(np.concatenate((split.train, split.val))) == nodes.tolist()
    assert "test" not in model.run_.metrics
    HGCNClassifier(graph, validation_fraction=0.25, epochs=1, random_state=1).fit(nodes, y)
    assert not torch.equal(seen[1].split.val, split.val)


def test_equal_seeds_give_equal_models(graph, nodes, words, classifier):
    again = clone(classifier).fit(nodes[:60], words[:60])
    np.testing.assert_array_equal(again.embedding_, classifier.embedding_)
    other = clone(classifier).set_params(random_state=1).fit(nodes[:60], words[:60])
    assert not np.allclose(other.embedding_, classifier.embedding_)
    torch.manual_seed(5)
    free = [
        HGCNClassifier(graph, random_state=state, epochs=2).fit(nodes[:60], words[:60]).embedding_
        for state in (None, None, np.random.default_rng(1), np.random.default_rng(1))
    ]
    assert not np.allclose(free[0], free[1])
    np.testing.assert_array_equal(free[2], free[3])


def test_bad_nodes_and_classes_are_refused(graph, nodes, words):
    model = HGCNClassifier(graph, epochs=1)
    with pytest.raises(GraphError, match=r"nodes in 0\.\.79, got 80 in row 1"):
        model.fit([0, 80], [0, 1])
    with pytest.raises(GraphError, match="Features belong into the graph"):
        model.fit(graph.x.numpy(), words)
    with pytest.raises(GraphError, match="numbers of nodes"):
        model.fit([0.5, 1.0], [0, 1])
    with pytest.raises(GraphError, match="a class for each of the 2 nodes"):
        model.fit([0, 1], [0, 1, 1])
    with pytest.raises(GraphError, match="a node twice in X with two"):
        model.fit([0, 1, 1], [0, 1, 0])
    with pytest.raises(GraphError, match="a class with two nodes at least"):
        model.fit([0, 1], [0, 1])
    with pytest.raises(ConfigError, match="`validation_fraction` to be above 0 and below 1"):
        model.set_params(validation_fraction=1.0).fit(nodes, words)
    with pytest.raises(ConfigError, match="`lr` to be above 0"):
        HGCNClassifier(graph, lr=-1.0).fit(nodes, words)
    # Twice the same is no contradiction: resampling does that.
    HGCNClassifier(graph, epochs=1).fit([0, 0, 1, 1, 2, 3], [0, 0, 1, 1, 0, 1])


# Links


def test_links_are_learnt_from_all_edges(links, graph):
    X, y = link_pairs(graph)
    share = links.predict_proba(X)
    assert share.shape == (len(X), 2)
    np.testing.assert_allclose(share.sum(1), 1.0, atol=1e-12)
    assert links.score(X, y) == roc_auc_score(y, share[:, 1])
    # Who knows the two groups and nothing else has 0.753: edges within them are random.
    assert links.score(X, y) > 0.74
    np.testing.assert_array_equal(links.predict(X), (share[:, 1] > 0.5).astype(int))
    pairs = np.array([[3, 4], [9, 0]])
    both = np.concatenate((links.embedding_[[3, 9]], links.embedding_[[4, 0]]), axis=1)
    np.testing.assert_array_equal(links.transform(pairs), both)
    np.testing.assert_array_equal(links.transform([3, 9]), links.embedding_[[3, 9]])
    run = links.run_
    np.testing.assert_allclose(share[:, 1], run.predict_links(X.T.copy()).numpy(), atol=1e-7)


def test_edges_that_are_not_given_are_not_known(graph):
    X, y = link_pairs(graph)
    shown = np.random.default_rng(0).random(len(y)) < 0.5
    model = HGCNLinkPredictor(graph, **QUICK).fit(X[shown], y[shown])
    edges = {tuple(pair) for pair in model.run_.graph.pairs().T.tolist()}
    assert edges == {tuple(pair) for pair in X[shown & (y == 1)].tolist()}
    # A graph that never had the other edges gives the same network.
    bare = graph.replace(edge_index=graph.edge_index[:, :0])
    same = HGCNLinkPredictor(bare, **QUICK).fit(X[shown], y[shown])
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    assert model.score(X[~shown], y[~shown]) > 0.7


def test_pairs_without_a_link_serve_validation(graph, monkeypatch):
    seen = []
    train = estimators.run_problem
    monkeypatch.setattr(
        estimators,
        "run_problem",
        lambda problem, parts: seen.append(problem) or train(problem, parts=parts),
    )
    X, y = link_pairs(graph, negatives=0.5)
    HGCNLinkPredictor(graph, validation_fraction=0.2, epochs=1).fit(X, y)
    split = seen[0].split
    np.testing.assert_array_equal(split.val.negatives.T, X[y == 0])
    assert split.val.positives.shape[1] == round(0.2 * y.sum())
    assert split.test.positives.numel() == 0
    HGCNLinkPredictor(graph, validation_fraction=0.2, epochs=1).fit(X[y == 1])
    drawn = seen[1].split.val
    assert drawn.negatives.shape == drawn.positives.shape


def test_pairs_for_cross_validation(graph):
    X, y = link_pairs(graph, negatives=2.0, random_state=3)
    edges = set(map(tuple, graph.pairs().T.tolist()))
    assert {tuple(pair) for pair in X[y == 1].tolist()} == edges
    others = [tuple(pair) for pair in X[y == 0].tolist()]
    assert len(others) == len(set(others)) == 2 * len(edges)
    assert not edges & set(others)
    assert all(i < j for i, j in others)
    np.testing.assert_array_equal(link_pairs(graph, negatives=2.0, random_state=3)[0], X)
    assert not np.array_equal(link_pairs(graph, negatives=2.0, random_state=4)[0], X)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_follow_their_edges(directed):
    graph = communities(directed=directed)
    weights = dict(
        zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_weight.tolist(), strict=True)
    )
    kept = graph.pairs()[:, ::3]
    new = torch.tensor([[0], [1]])
    assert (0, 1) not in weights
    result = with_edges(graph, torch.cat((kept.flip(1), new), dim=1))
    wanted = {tuple(pair) for pair in kept.T.tolist()} | {(0, 1)}
    if not directed:
        wanted |= {(j, i) for i, j in wanted}
    got = dict(
        zip(map(tuple, result.edge_index.T.tolist()), result.edge_weight.tolist(), strict=True)
    )
    assert set(got) == wanted
    assert all(weight == weights.get(pair, 1.0) for pair, weight in got.items())


def test_bad_pairs_are_refused(graph):
    model = HGCNLinkPredictor(graph, epochs=1)
    for X, y, message in (
        ([[0, 1, 2]], [1], r"shape \[M, 2\], got int64 of shape \[1, 3\]"),
        ([[0, 1], [0, 99]], [1, 1], r"nodes in 0\.\.79, got 99 in row 1"),
        ([[0, 1], [2, 2]], [1, 1], "a node paired with itself"),
        ([[0, 1], [2, 3]], [1, 2], "`y` to be 0 or 1"),
        ([[0, 1], [2, 3]], [0, 0], "pairs with `y` = 1"),
        (None, [1], "pairs of nodes `X` for `y`"),
    ):
        with pytest.raises(GraphError, match=message):
            model.fit(X, y)
    ids = torch.arange(2).repeat_interleave(HALF)
    pair = torch.tensor([[0, 1], [1, 0]])
    many = Graph(pair, num_nodes=2 * HALF, x=graph.x, graph_ids=ids)
    with pytest.raises(GraphError, match="Expected one graph, got 2"):
        HGCNLinkPredictor(many).fit()


# Scikit-learn's tools


def test_nodes_can_be_cross_validated(graph, nodes, words):
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    model = HGCNClassifier(graph, **QUICK)
    scores = cross_val_score(model, nodes, words, cv=folds)
    by_hand = [
        clone(model).fit(nodes[train], words[train]).score(nodes[test], words[test])
        for train, test in folds.split(nodes, words)
    ]
    np.testing.assert_array_equal(scores, by_hand)
    assert scores.min() > 0.85
    assert cross_val_score(model, nodes, words, cv=folds, scoring="roc_auc").min() > 0.9


def test_a_grid_can_be_searched(graph, nodes, words):
    choices = {"lr": [1e-9, 0.05], "model": ["hnn", "mlp"]}
    grid = GridSearchCV(HGCNClassifier(graph, epochs=20, dim=4), choices, cv=2)
    grid.fit(nodes, words)
    assert grid.best_params_["lr"] == 0.05
    assert grid.best_estimator_.run_.config.model == grid.best_params_["model"]
    assert grid.predict(nodes).shape == words.shape


def test_links_can_be_cross_validated(graph):
    X, y = link_pairs(graph)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    scores = cross_val_score(HGCNLinkPredictor(graph, **QUICK), X, y, cv=folds)
    named = cross_val_score(HGCNLinkPredictor(graph, **QUICK), X, y, cv=folds, scoring="roc_auc")
    np.testing.assert_allclose(scores, named, atol=1e-12)
    assert scores.min() > 0.65


def test_embeddings_go_through_a_pipeline(graph, nodes, words):
    line = make_pipeline(HGCNClassifier(graph, **QUICK), LogisticRegression())
    line.fit(nodes[:60], words[:60])
    assert line.score(nodes[60:], words[60:]) > 0.9
    inner = LogisticRegression().fit(line[0].transform(nodes[:60]), words[:60])
    np.testing.assert_array_equal(line.predict(nodes), inner.predict(line[0].transform(nodes)))
    line.set_params(hgcnclassifier__dim=2).fit(nodes[:60], words[:60])
    assert line[0].embedding_.shape[1] == 2


def test_a_fitted_estimator_can_be_pickled(classifier, links, nodes, graph):
    for model, X in ((classifier, nodes), (links, link_pairs(graph)[0])):
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert copy.graph.fingerprint() == graph.fingerprint()


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_missing_classes_are_refused(missing: float | None) -> None:
    graph = tree()
    y = ["left", "right", missing, "left"]
    with pytest.raises(GraphError, match=r"position 2; 1 such.*Leave these nodes out"):
        HGCNClassifier(graph, **QUICK).fit(np.arange(4), np.array(y, dtype=object))
    numbers = np.array([0, 1, np.nan, 0])
    with pytest.raises(GraphError, match="position 2"):
        HGCNClassifier(graph, **QUICK).fit(np.arange(4), numbers)


def test_text_is_ids_of_nodes() -> None:
    graph = tree()
    labels = np.array(graph.class_names)[graph.y.numpy()]
    by_number = HGCNClassifier(graph, **QUICK).fit(np.arange(50), labels[:50])
    by_id = HGCNClassifier(graph, **QUICK).fit(graph.ids[:50].tolist(), labels[:50])
    np.testing.assert_array_equal(by_id.embedding_, by_number.embedding_)
    np.testing.assert_array_equal(by_id.predict(graph.ids[50:]), by_number.predict(range(50, 90)))
    np.testing.assert_array_equal(by_id.transform(["n3"]), by_id.embedding_[3:4])
    with pytest.raises(GraphError, match=r"ids of nodes.*'n3x'.*Did you mean"):
        by_id.predict(["n3x"])
    links = HGCNLinkPredictor(graph, **QUICK).fit()
    np.testing.assert_array_equal(
        links.predict_proba([["n0", "n1"], ["n5", "n80"]]), links.predict_proba([[0, 1], [5, 80]])
    )
