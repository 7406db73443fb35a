"""Classes without a network, against scikit-learn and dense linear algebra."""

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss

from hgcn.commands._scores import advice, untrained_table
from hgcn.data.sparse import as_features
from hgcn.inference.calibration import Calibration, fit_temperature
from hgcn.training.metrics import confusion
from hgcn.training.problem import Problem
from hgcn.training.untrained_nodes import PENALTY, label_propagation, logistic_regression
from small_graphs import forest, quick_run, tree


@pytest.mark.parametrize("sparse", [False, True])
def test_the_logistic_regression_is_that_of_scikit_learn(sparse):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(120, 6, generator=generator).double()
    y = (x[:, 0] + 0.5 * torch.randn(120, generator=generator) > 0).long() + (x[:, 1] > 1).long()
    given = as_features(csr_matrix(x.numpy())).double() if sparse else x
    ours = logistic_regression(given, y, given, 3).softmax(-1)
    scaled = (x / x.square().sum(1).mean().sqrt()).numpy()
    theirs = LogisticRegression(C=1 / (PENALTY * len(x)), max_iter=5000, tol=1e-8).fit(scaled, y)
    np.testing.assert_allclose(ours.numpy(), theirs.predict_proba(scaled), atol=0.03)


def test_labels_spread_as_the_series_says():
    graph = tree()
    n = graph.num_nodes
    nodes = torch.tensor([1, 5, 8])
    scores = label_propagation(nodes, graph.y[nodes], graph.edge_index, None, n, 2)
    a = torch.zeros(n, n, dtype=torch.float64)
    a[graph.edge_index[1], graph.edge_index[0]] = 1
    root = a.sum(1).rsqrt()
    known = torch.zeros(n, 2, dtype=torch.float64)
    known[nodes, graph.y[nodes]] = 1
    exact = 0.1 * torch.linalg.solve(torch.eye(n) - 0.9 * root[:, None] * a * root, known)
    torch.testing.assert_close(scores.double(), exact, rtol=0, atol=0.9**50)


def test_confusions_are_counted_as_scikit_learn_counts_them():
    logits, y = torch.randn(200, 4), torch.randint(0, 4, (200,))
    assert confusion(logits, y) == confusion_matrix(y, logits.argmax(-1)).tolist()


@pytest.mark.parametrize("temperature", [0.2, 1.0, 5.0])
def test_the_temperature_of_drawn_classes_is_found(temperature):
    generator = torch.Generator().manual_seed(0)
    right = 2 * torch.randn(20_000, 5, generator=generator, dtype=torch.float64)
    y = torch.multinomial(right.softmax(-1), 1, generator=generator)[:, 0]
    found = fit_temperature(temperature * right, y)
    assert found.scale == pytest.approx(1 / temperature, rel=0.05)
    assert found.shift == 0


def test_a_temperature_is_finite_where_all_is_right_or_all_is_equal():
    y = torch.arange(3).repeat(5)
    assert 0 < fit_temperature(9 * torch.eye(3)[y], y).scale < 10
    assert fit_temperature(torch.ones(15, 3), y) == Calibration()
    assert fit_temperature(-9 * torch.eye(3)[y], y).scale > 0


def test_a_run_says_what_there_is_without_a_network():
    run = quick_run("node", model="gcn")
    split = Problem(run.graph, run.config).split
    metrics = run.metrics
    names = ["majority_class", "logistic_regression", "label_propagation"]
    assert list(metrics["untrained"]["val"]) == names
    assert sum(map(sum, metrics["confusion"]["test"])) == len(split.test)
    losses = metrics["calibration"]["log_loss"]["val"]
    assert losses["after"] <= losses["before"] + 0.02
    chance, val = run.predict_nodes(), split.val
    y = run.graph.y[val].numpy()
    assert losses["after"] == pytest.approx(log_loss(y, chance[val].numpy()), rel=1e-3)
    console = Console(width=80, record=True)
    console.print(untrained_table(metrics))
    text = console.export_text()
    assert "without a network" in text
    assert "label propagation" in text
    metrics["untrained"]["val"]["logistic_regression"][metrics["select"]] = 2.0
    assert "Without a network, logistic regression would be ahead" in advice(metrics)


def test_labels_do_not_spread_to_other_graphs():
    metrics = quick_run("node", forest(), model="gcn").metrics
    assert "label_propagation" not in metrics["untrained"]["test"]
