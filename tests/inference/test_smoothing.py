"""Classes smoothed along edges: a dense solution is the oracle, and a run says what it scored."""

import pytest
import torch

from hgcn.config import Config
from hgcn.errors import ConfigError
from hgcn.inference.smoothing import smoothed, spread
from hgcn.runs.folder import load_run
from hgcn.training.problem import Problem, choose
from small_graphs import forest, quick_run, tree

TREE = tree(40)
EDGES = TREE.edge_index


def dense_step(weight: torch.Tensor | None) -> torch.Tensor:
    a = torch.zeros(40, 40, dtype=torch.float64)
    a[EDGES[1], EDGES[0]] = 1.0 if weight is None else weight
    root = a.sum(1).rsqrt()
    return root[:, None] * a * root


@pytest.mark.parametrize("weighted", [False, True])
def test_many_steps_solve_the_linear_equations(weighted):
    weight = 0.5 + (EDGES.sum(0) % 3).double() if weighted else None
    start = torch.rand(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    out = spread(start, EDGES, weight, share=0.7, steps=200)
    wanted = 0.3 * torch.linalg.solve(
        torch.eye(40, dtype=torch.float64) - 0.7 * dense_step(weight), start
    )
    torch.testing.assert_close(out, wanted, rtol=1e-10, atol=1e-12)


def test_a_small_share_changes_little_and_a_known_class_is_believed():
    logits = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    nearly = smoothed(logits, EDGES, None, None, share=1e-6)
    torch.testing.assert_close(nearly.softmax(-1), logits.softmax(-1), rtol=1e-4, atol=1e-5)
    nodes = torch.tensor([3, 7])
    classes = (logits[nodes].argmax(-1) + 1) % 3
    before = logits.clone()
    out = smoothed(logits, EDGES, None, (nodes, classes), share=0.3)
    assert torch.equal(logits, before)
    assert torch.equal(out[nodes].argmax(-1), classes)
    assert out.isfinite().all()
    torch.testing.assert_close(out.exp().sum(-1), torch.ones(40, dtype=torch.float64))


def test_a_node_that_differs_from_all_around_it_is_outvoted():
    logits = torch.zeros(40, 2)
    logits[:, 0] = 1.0
    logits[0] = torch.tensor([0.0, 0.5])
    assert smoothed(logits, EDGES, None, None, share=0.1)[0].argmax() == 1
    assert smoothed(logits, EDGES, None, None, share=0.8)[0].argmax() == 0


def test_a_run_predicts_what_it_was_scored_on(tmp_path):
    """Training labels are known in its own graph, read again as well, and in no other."""
    graph = tree(120, seed=3)
    run = quick_run("node", graph, smooth=0.8, out=tmp_path / "run")
    test = Problem(graph, run.config).split.test
    right = (run.predict_nodes(graph).argmax(-1) == graph.y)[test].double().mean()
    assert float(right) == pytest.approx(run.metrics["test"]["accuracy"])
    again = load_run(tmp_path / "run")
    own = again.predict_nodes(tree(120, seed=3))
    torch.testing.assert_close(own, run.predict_nodes(graph), rtol=0, atol=0)
    other = graph.replace(y=1 - graph.y)
    unknown = again.predict_nodes(other)
    torch.testing.assert_close(unknown, again.predict_nodes(graph.replace(y=None)))
    assert (unknown - own).abs().max() > 0.01


def test_smoothing_helps_where_neighbours_are_alike_and_features_say_little():
    graph = tree(200, seed=5)
    noise = torch.randn(200, 4, generator=torch.Generator().manual_seed(2))
    graph = graph.replace(x=noise)
    settings = {"model": "mlp", "epochs": 40}
    plain, smooth = (
        quick_run("node", graph, **settings, **more).metrics["val"]["f1_macro"]
        for more in ({}, {"smooth": 0.8})
    )
    assert smooth > plain + 0.1


def test_graphs_apart_smooth_their_predictions_without_labels():
    graph = forest(split={"train": torch.arange(70), "val": torch.arange(70, 105),
                          "test": torch.arange(105, 150)})  # fmt: skip
    run = quick_run("node", graph, smooth=0.5)
    chances = run.predict_nodes(graph)
    assert torch.isfinite(chances).all()
    y = graph.y.clone()
    right = (chances.argmax(-1) == y)[105:].double().mean()
    assert float(right) == pytest.approx(run.metrics["test"]["accuracy"])


def test_the_legacy_protocol_is_refused():
    """Its test nodes are training nodes in part, whose classes would be given away."""
    with pytest.raises(ConfigError, match="training nodes are tested"):
        choose(TREE, Config(task="node", smooth=0.5, protocol="legacy"))
