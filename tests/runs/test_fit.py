import contextlib
import dataclasses
import math
import random
from importlib import import_module

import numpy as np
import pytest
import torch

from hgcn.config import Config
from hgcn.data.datasets import DATASETS
from hgcn.data.sparse import csr_matrix
from hgcn.errors import ConfigError, DataError, DivergenceError, ModelError
from hgcn.runs.fit import fit, settle
from hgcn.runs.folder import load_run
from hgcn.training import presets
from hgcn.training.links import LinkTask
from hgcn.training.loop import train
from hgcn.training.presets import preset
from hgcn.training.problem import Problem, choose
from small_graphs import QUICK, forest, quick_run, same_weights, tree, write_files

# The package has a function of that name.
fit_module = import_module("hgcn.runs.fit")


@pytest.fixture(autouse=True)
def _no_page(monkeypatch):
    """The page takes longer than the training."""
    monkeypatch.setattr(fit_module, "_draw", lambda run, folder: None)


class Rigged(LinkTask):
    """A task whose loss moves one weight by about the learning rate, with scores as given."""

    select = "score"

    def __init__(self, scores, losses=None, **settings):
        graph = tree()
        given = Config(task="link", eval_every=1, dim=2, lr=0.1, model="gcn", **settings)
        config = choose(graph, given)
        predictor = Problem(graph, config).predictor()
        self.predictor, self.config = predictor, config
        self.given, self.losses = list(scores), losses
        self.weight = next(predictor.encoder.parameters())
        self.seen = []

    def batches(self, epoch, generator):
        yield epoch

    def loss(self, epoch):
        loss = 10 + self.weight.sum()
        return loss * self.losses[epoch - 1] if self.losses else loss

    def part_loss(self, *outputs):
        return None

    def validate(self):
        return self.score("val"), self.part_loss()

    def score(self, part):
        self.seen.append(self.weight.detach().clone())
        score = self.given[len(self.seen) - 1]
        if isinstance(score, BaseException):
            raise score
        return score

    def metrics(self, part):
        return {}


def test_the_weights_of_the_best_epoch_are_kept():
    task = Rigged([0.1, 0.5, 0.9, 0.3, 0.9], epochs=5)
    state = train(task)
    assert (state.best.epoch, state.best.score, state.epoch) == (3, 0.9, 5)
    assert torch.equal(task.weight, task.seen[2])
    assert not torch.equal(task.weight, task.seen[4])
    assert [row["score"] for row in state.history] == task.given


@pytest.mark.parametrize(("by_loss", "best"), [(False, 2), (True, 4)])
def test_ties_are_broken_by_the_loss_if_asked(by_loss, best):
    """A lower loss never outweighs a better score."""
    task = Rigged([0.1, 0.9, 0.9, 0.9, 0.3, 0.9], epochs=6)
    task.config = task.config.replace(ties_by_loss=by_loss)
    ties = iter([0.1, 0.5, 0.6, 0.4, 0.1, 0.4])
    task.part_loss = lambda *outputs: next(ties)
    state = train(task)
    assert [row["val_loss"] for row in state.history] == [0.1, 0.5, 0.6, 0.4, 0.1, 0.4]
    assert (state.best.epoch, state.best.score) == (best, 0.9)
    assert torch.equal(task.weight, task.seen[best - 1])


@pytest.mark.parametrize("kind", ["node", "link"])
def test_the_loss_of_validation_is_the_cross_entropy(kind):
    graph = tree()
    problem = Problem(graph, choose(graph, Config(task=kind, dim=3, ties_by_loss=True)))
    task = problem.task(problem.predictor().eval())
    first, second = task.outputs("val")
    if kind == "node":
        expected = -first.log_softmax(-1)[torch.arange(len(second)), second].mean()
    else:
        expected = -(first.sigmoid().log().mean() + (-second).sigmoid().log().mean())
    assert task.validate()[1] == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize(("by_loss", "best"), [(False, 1), (True, 3)])
def test_ties_are_broken_by_the_loss_of_training_where_parts_have_none(by_loss, best):
    task = Rigged([0.9, 0.9, 0.9, 0.9], losses=[1.0, 2.0, 0.5, 2.0], epochs=4)
    task.config = task.config.replace(ties_by_loss=by_loss)
    assert train(task).best.epoch == best


def test_training_stops_when_patience_ends():
    task = Rigged([0.5, 0.4, 0.6, 0.1, 0.1, 0.1, 0.9], epochs=7, patience=3)
    state = train(task)
    assert (state.stopped, state.epoch, state.best.epoch) == ("patience", 6, 3)
    assert torch.equal(task.weight, task.seen[2])


def test_ctrl_c_keeps_the_best_so_far():
    task = Rigged([0.5, 0.9, 0.2, KeyboardInterrupt()], epochs=9)
    state = train(task)
    assert (state.stopped, state.epoch, state.best.epoch) == ("interrupted", 3, 2)
    assert torch.equal(task.weight, task.seen[1])


def test_ctrl_c_before_the_first_validation_has_nothing_to_keep():
    with pytest.raises(KeyboardInterrupt):
        train(Rigged([KeyboardInterrupt()], epochs=9))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_training(bad):
    task = Rigged([0.5, 0.6], losses=[1.0, 1.0, bad], epochs=9)
    state = train(task)
    assert state.stopped == f"The loss is {bad} in epoch 3."
    assert torch.equal(task.weight, task.seen[1])
    with pytest.raises(
        DivergenceError, match=r"before any validation: .* in epoch 1.*learning rate"
    ):
        train(Rigged([0.5], losses=[bad], epochs=9))


def test_a_score_that_is_no_number_ends_training():
    task = Rigged([0.5, math.nan, 0.7], epochs=3)
    assert train(task).stopped == "The validation score is nan in epoch 2."
    assert torch.equal(task.weight, task.seen[0])


@pytest.mark.parametrize("task", ["link", "node"])
def test_divergence_never_leaves_weights_that_are_not_finite(task):
    with contextlib.suppress(DivergenceError):
        run = quick_run(task, lr=1e30, clip=0.0, eval_every=1, model="gcn")
        assert bool(run.embeddings().isfinite().all())


def test_the_last_epoch_is_validated():
    assert [row["epoch"] for row in quick_run(epochs=5, eval_every=2).history] == [2, 4, 5]


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("link", {"dropout": 0.3, "attention": True}),
        ("link", {"model": "hyp"}),
        ("link", {"model": "gat", "dropout": 0.3}),
        ("node", {"pretrain": 2, "dropout": 0.3, "feature_dropout": 0.2}),
        ("node", {"link_regulariser": 0.5, "classifier": "mlr", "class_weights": True}),
    ],
)
def test_the_same_seed_gives_the_same_weights(task, settings):
    first = quick_run(task, **settings)
    other = quick_run(task, **settings, seed=1, split_seed=0)
    again = quick_run(task, **settings)
    assert same_weights(first, again)
    assert first.history == again.history
    assert not same_weights(first, other)


def test_global_random_states_are_left_alone():
    def states():
        return torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002

    before = states()
    first = quick_run("node", dropout=0.5, pretrain=1)
    assert states() == before
    torch.manual_seed(99)
    assert same_weights(first, quick_run("node", dropout=0.5, pretrain=1))


@pytest.mark.parametrize(("task", "sparse"), [("link", False), ("node", False), ("node", True)])
def test_training_learns(task, sparse):
    # A part of the edges is for the test, and it takes some sixty for a score that is no luck.
    graph = tree(600 if task == "link" else 200)
    if sparse:
        assert graph.x is not None
        start, column = torch.arange(0, 804, 4), torch.arange(4).repeat(200)
        graph = graph.replace(x=csr_matrix(start, column, graph.x.flatten(), (200, 4)))
    run = fit(graph, task=task, epochs=80, lr=0.05, dim=8, normalise="standard")
    select = run.metrics["select"]
    assert run.metrics["val"][select] == pytest.approx(max(row[select] for row in run.history))
    assert run.metrics["test"][select] > (0.6 if task == "link" else 0.9)
    assert run.history[-1]["loss"] < run.history[0]["loss"]


def test_a_short_run_leaves_out_the_warm_up_of_a_preset():
    asked = {"task": "node", "model": "hgcn"}
    name, chosen = preset("pubmed", asked)
    assert name == "pubmed-node-hgcn"
    assert chosen["pretrain"] > 3
    _, short = preset("pubmed", {**asked, "epochs": 3})
    assert short == {key: value for key, value in chosen.items() if key != "pretrain"}
    _, long = preset("pubmed", {**asked, "epochs": 2000})
    assert long == chosen


def test_many_graphs_are_trained_inductively():
    for task in ("link", "node"):
        run = quick_run(task, forest((40,) * 8))
        assert set(run.metrics["test"]) & {"roc_auc", "f1"}
        with pytest.raises(ConfigError, match="can embed unseen graphs, got 'hyp'"):
            quick_run(task, forest((40,) * 8), model="hyp")


def test_a_graph_in_memory_needs_labels_or_features_as_asked():
    with pytest.raises(ConfigError, match="Expected labels for the task 'node'"):
        fit(tree(y=None, class_names=None), task="node")
    with pytest.raises(ConfigError, match="`degree_features` is off"):
        fit(tree(x=None), degree_features=False)
    with pytest.raises(ConfigError, match="one that torch has here"):
        fit(tree(), device="abacus")
    with pytest.raises(ConfigError, match="Did you mean 'epochs'"):
        fit(tree(), epoch=3)
    with pytest.raises(DataError, match="path of an existing file"):
        fit("x" * 5000)


def test_settings_overrule_one_another_in_order(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text("dim = 5\nlr = 0.5\nepochs = 1\n")
    run = fit(tree(), config=file, lr=0.25)
    assert (run.config.dim, run.config.lr, run.config.epochs) == (5, 0.25, 1)
    assert fit(tree(), config={"dim": 4}, epochs=1).config.dim == 4
    assert fit(tree(), config=run.config).config == run.config


def test_settings_that_no_network_can_have_leave_no_folder(tmp_path):
    for wrong in ({"model": "gcn", "classifier": "mlr"}, {"model": "hyp", "heads": 2}):
        with pytest.raises((ConfigError, ModelError)):
            fit(tree(), task="node", out=tmp_path / "run", **wrong)
        assert not (tmp_path / "run").exists()


def test_a_config_file_repeats_its_run_exactly(tmp_path):
    edges, nodes = write_files(tmp_path, tree())
    first = fit(edges, features=nodes, labels="side", out=tmp_path / "a", **QUICK, dropout=0.2)
    settings = load_run(tmp_path / "a").config
    again = fit(edges, config=tmp_path / "a" / "config.toml", out=tmp_path / "b")
    assert same_weights(first, again)
    assert again.config == settings
    keep = {key: value for key, value in first.metrics.items() if key != "seconds"}
    assert {key: again.metrics[key] for key in keep} == keep


def test_a_preset_does_not_smooth_where_the_protocol_is_legacy():
    asked = {"task": "node", "model": "euc"}
    assert preset("airport", asked)[1]["smooth"] > 0
    assert "smooth" not in preset("airport", {**asked, "protocol": "legacy"})[1]


def test_the_structural_term_has_presets_of_its_own(monkeypatch, tmp_path):
    (tmp_path / "cora-link.toml").write_text(
        "[hgcn]\nlr = 0.5\n[hgcn-structure]\nlr = 0.25\n[gcn]\nlr = 0.125\n"
    )
    entry = dataclasses.replace(DATASETS["cora"], presets=tmp_path)
    monkeypatch.setattr(presets, "DATASETS", {"cora": entry})
    found = {}
    for model in ("hgcn", "gcn"):
        for structure in (None, True, False):
            config, name = settle("cora", {"task": "link", "model": model, "structure": structure})
            found[model, structure] = (name, config.lr, config.structure)
    own, plain, other = "cora-link-hgcn-structure", "cora-link-hgcn", "cora-link-gcn"
    assert found == {
        ("hgcn", None): (own, 0.25, True),
        ("hgcn", True): (own, 0.25, True),
        ("hgcn", False): (plain, 0.5, False),
        ("gcn", None): (other, 0.125, False),
        ("gcn", True): (other, 0.125, True),
        ("gcn", False): (other, 0.125, False),
    }
