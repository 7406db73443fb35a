import gc
import re
import statistics
from importlib import import_module

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from scipy.sparse import csr_matrix

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.data.sparse import as_features
from hgcn.data.splits import split_links, split_nodes
from hgcn.errors import ConfigError, LegacyWarning, RunError
from hgcn.models import options_of
from hgcn.models.predictor import MODEL_OPTIONS
from hgcn.names import MODELS, TASKS
from hgcn.runs.fit import fit
from hgcn.training.links import LinkTask
from hgcn.training.nodes import NodeTask
from hgcn.training.problem import Problem, choose
from hgcn.tuning import trial as search_trial
from hgcn.tuning.search import search
from hgcn.tuning.space import Range, make_space, parse_space

# The package has a function of that name.
search_module = import_module("hgcn.tuning.search")

QUICK = {"epochs": 8, "dim": 4, "eval_every": 2}
SPACE = {"lr": {"low": 1e-3, "high": 5e-2, "log": True}, "aggregation": ["local", "origin"]}
SETTINGS = ["number", "state", "value", "lr", "aggregation"]


def tree(nodes: int = 60, graphs: int = 1) -> Graph:
    """Trees whose nodes have inherited their features and their class from their parent."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(nodes * graphs, 4)).astype(np.float32)
    y = np.arange(nodes * graphs) % 2
    edges = []
    for start in range(0, nodes * graphs, nodes):
        for i in range(3, nodes):
            parent = start + int(draw.integers(i // 3, i))
            y[start + i] = y[parent]
            x[start + i] = x[parent] + 0.3 * x[start + i]
            edges.append((parent, start + i))
    pairs = torch.tensor(edges).T
    return Graph(
        torch.cat((pairs, pairs.flip(0)), dim=1),
        num_nodes=nodes * graphs,
        x=torch.from_numpy(x),
        y=torch.from_numpy(y),
        graph_ids=torch.arange(graphs).repeat_interleave(nodes) if graphs > 1 else None,
        name="tree",
    )


@pytest.fixture(autouse=True)
def _no_test(monkeypatch):
    """No search of any test may look at the test part."""
    for task in (LinkTask, NodeTask):
        honest = task.outputs

        def outputs(self, part, honest=honest):
            if getattr(self, "blind", False) and part != "val":
                raise AssertionError(f"the search looked at the part {part!r}")
            return honest(self, part)

        monkeypatch.setattr(task, "outputs", outputs)
    made = Problem.task

    class Blind(Problem):
        def task(self, predictor):
            task = made(self, predictor)
            task.blind = True
            return task

    monkeypatch.setattr(search_trial, "Problem", Blind)


# The search space


def test_ranges_hold_what_they_say():
    ranges = parse_space(
        {
            "lr": {"low": 1e-3, "high": 1e-1, "log": True},
            "weight_decay": {"low": 1e-5, "high": 1e-3, "log": True, "zero": True},
            "link_regulariser": {"low": 0.5, "high": 1.0, "zero": True},
            "layers": {"low": 1, "high": 4},
        }
    )
    draw = np.random.default_rng(0)
    for name, spec in ranges.items():
        low, high = spec.distribution().low, spec.distribution().high
        even = draw.uniform(size=2000)
        drawn = low * (high / low) ** even if spec.log else low + (high - low) * even
        values = [spec.value(float(number)) for number in drawn]
        zeros = [value == 0 for value in values]
        assert np.mean(zeros) == pytest.approx(0.2 if spec.zero else 0.0, abs=0.03), name
        assert all(spec.low <= v <= spec.high for v in values if v), name
        for value in (spec.low, spec.high):
            assert spec.value(spec.drawn(value)) == value
    assert ranges["weight_decay"].value(ranges["weight_decay"].drawn(0.0)) == 0.0
    assert ranges["lr"].drawn(1.0) is None
    assert ranges["layers"] == Range(1, 4, whole=True)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", ["link", "node"])
def test_the_default_space_fits_every_model(model, task):
    graph, config = tree(), Config(model=model, task=task)
    space = make_space(None, graph, config)
    assert {"lr", "weight_decay"} <= set(space)
    assert not {n for n in space if n in MODEL_OPTIONS} - set(options_of(model))
    assert ("pretrain" in space) == (task == "node")
    for spec in space.values():
        assert not spec.distribution().single()
    lowest = {
        name: spec.low if isinstance(spec, Range) else spec.values[-1]
        for name, spec in space.items()
    }
    choose(graph, config.replace(**lowest))  # raises for a setting that the model lacks


def test_degrees_are_searched_on_graphs_with_features():
    graph = tree()
    for task in ("link", "node"):
        assert "degree_features" in make_space(None, graph, Config(task=task))
        assert "degree_features" not in make_space(None, graph.replace(x=None), Config(task=task))
    sparse = graph.replace(x=as_features(csr_matrix(graph.x.clamp_min(0.0).numpy())))
    trials = search(sparse, task="link", trials=5, model="hgcn", **QUICK).trials
    assert trials["degree_features"].to_list() == [False] * 3 + [True] * 2
    assert trials["root_weight"].to_list()[3:] == [True, True]
    assert trials["normalise"].to_list() == ["row"] * 4 + ["standard"]


def test_agreement_and_propagation_are_searched_where_labels_are_few():
    graph, config = tree(), Config(task="node")
    few_only = {"consistency", "propagation", "node_dropout"}
    assert not few_only & set(make_space(None, graph, config))
    nodes = torch.arange(graph.num_nodes)
    for few, found in ((6, True), (7, False)):
        split = {"train": nodes[:few], "val": nodes[20:30], "test": nodes[30:]}
        space = make_space(None, graph.replace(split=split), config)
        assert few_only & set(space) == (few_only if found else set())
    with pytest.warns(LegacyWarning):
        legacy = make_space(None, graph, Config(task="node", protocol="legacy"))
    assert set(make_space(None, graph, config)) - set(legacy) == {"smooth"}
    mean = make_space(None, graph, Config(task="node", aggregation="centroid"))
    assert set(make_space(None, graph, config)) - set(mean) == {"symmetric"}
    # A model that reads no features has nothing to propagate.
    split = {"train": nodes[:6], "val": nodes[20:30], "test": nodes[30:]}
    space = make_space(None, graph.replace(split=split), Config(task="node", model="hyp"))
    assert few_only & set(space) == {"consistency"}


def test_all_faults_of_a_space_are_told_at_once(tmp_path):
    file = tmp_path / "space.toml"
    file.write_text(
        'lr = {low = 0.1, high = 0.01}\nact = ["relu", "rleu"]\nepochs = [10, 20]\n'
        "dropout = {low = 0.0, high = 0.5, log = true}\nlayers = 3\nc = {low = 1, top = 2}\n"
        "attention = {low = 0, high = 1}\nt = {low = 0.0, high = 1.0}\nheads = {low=1, high=2.5}\n"
    )
    with pytest.raises(ConfigError) as caught:
        make_space(file, tree(), Config(task="node"))
    lines = str(caught.value).splitlines()
    assert str(file) in lines[0]
    assert [re.search("`(.*?)`", line)[1] for line in lines[1:]] == [
        "lr", "act", "epochs", "dropout", "layers", "c", "attention", "t", "heads",
    ]  # fmt: skip
    assert "Did you mean 'relu'?" in str(caught.value)
    file.write_text("learning_rate = [0.1]")
    with pytest.raises(ConfigError, match=r"no setting 'learning_rate'"):
        make_space(file, tree(), Config(task="node"))
    with pytest.raises(ConfigError, match="gcn has none of the settings attention"):
        make_space({"attention": [True, False]}, tree(), Config(task="node", model="gcn"))


# Validation only


@pytest.mark.parametrize("graphs", [1, 4])
@pytest.mark.parametrize("task", ["link", "node"])
def test_the_test_part_is_taken_away(task, graphs):
    graph = tree(30, graphs)
    split = split_links(graph, val=0.3, test=0.3) if task == "link" else split_nodes(graph)
    blind = TASKS[task].without_test(split)
    if task == "link":
        assert split.test.positives.numel() > 0
        assert blind.test.positives.numel() == blind.test.negatives.numel() == 0
        torch.testing.assert_close(blind.val.positives, split.val.positives)
        torch.testing.assert_close(blind.test.messages, split.train.messages)
    else:
        assert len(split.test) > len(blind.test) == 0
        torch.testing.assert_close(blind.val, split.val)
    space = {"pretrain": [2, 4]} if task == "node" else {"lr": [0.01, 0.02]}
    result = search(graph, task=task, trials=2, space=space, val_share=0.3, **QUICK)
    assert 0 < result.value <= 1


def test_labels_of_test_nodes_make_no_difference():
    graph = tree()
    split = split_nodes(graph, seed=0)
    given = {"train": split.train, "val": split.val, "test": split.test}
    y = graph.y.clone()
    y[split.test] = 1 - y[split.test]
    results = [
        search(graph.replace(y=labels, split=given), task="node", trials=4, space=SPACE, **QUICK)
        for labels in (graph.y, y)
    ]
    first, second = (result.trials.select(SETTINGS) for result in results)
    assert_frame_equal(first, second)


@pytest.mark.parametrize("task", ["link", "node"])
def test_the_value_is_the_validation_score_of_the_best_settings(task):
    graph = tree()
    result = search(graph, task=task, trials=4, seeds=2, space=SPACE, seed=3, **QUICK)
    runs = [fit(graph, config=result.config, seed=seed) for seed in (3, 4)]
    values = [run.metrics["val"][result.score] for run in runs]
    assert result.value == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert result.value == result.trials["value"].max()
    assert result.config.task == task
    assert result.config.dim == 4


# Trials


def test_the_first_trial_is_the_defaults():
    result = search(tree(), task="node", trials=1, **QUICK)
    first = result.trials.row(0, named=True)
    usual = choose(tree(), Config(task="node"))
    settings = {k: v for k, v in first.items() if k in Config.__dataclass_fields__}
    assert len(settings) > 8
    assert settings == {name: getattr(usual, name) for name in settings}


def test_given_settings_are_fixed():
    result = search(tree(), task="node", trials=2, space=SPACE, lr=0.02, **QUICK)
    assert "lr" not in result.trials.columns
    assert result.config.lr == 0.02
    with pytest.raises(ConfigError, match="all of the space is given"):
        search(tree(), space={"lr": [0.1, 0.2]}, lr=0.02)


def test_all_starts_but_the_first_weight_the_classes():
    trials = search(tree(), task="node", trials=5, **QUICK).trials
    assert trials["class_weights"].to_list() == [False, True, True, True, True]
    assert trials["act"].to_list()[:2] == ["relu", "none"]
    assert trials["attention"].to_list()[:4] == [True, True, False, False]


def test_a_search_that_goes_on_ends_as_one_without_a_break(tmp_path):
    settings = {**QUICK, "val_share": 0.2}  # enough edges for scores that differ

    def run(trials, storage):
        return search(tree(), task="link", trials=trials, space=SPACE, storage=storage, **settings)

    whole = run(12, None)
    assert len(run(4, tmp_path / "journal.log").trials) == 4
    parts = run(12, tmp_path / "journal.log")
    assert_frame_equal(parts.trials.select(SETTINGS), whole.trials.select(SETTINGS))
    assert parts.config == whole.config
    assert parts.importance == whole.importance
    assert sum(whole.importance.values()) == pytest.approx(1.0)
    again = run(12, tmp_path / "journal.log")
    assert_frame_equal(again.trials, parts.trials)
    assert whole.trials["lr"][1:].n_unique() == 11  # the first two, given, have the same
    other = search(tree(), task="link", trials=4, space=SPACE, seed=1, **settings)
    # The first two are the same starts whatever the seed: the defaults and a regularised one.
    assert other.trials["lr"][:2].to_list() == whole.trials["lr"][:2].to_list()
    assert not set(other.trials["lr"][2:]) & set(whole.trials["lr"])


def test_a_study_with_other_settings_is_not_continued(tmp_path):
    file = tmp_path / "journal.log"
    search(tree(), task="node", trials=1, space=SPACE, storage=file, **QUICK)
    changed = {"dim": 5, "epochs": 8, "eval_every": 2}
    with pytest.raises(ConfigError, match="`dim` was 4 and is 5 now"):
        search(tree(), task="node", trials=2, space=SPACE, storage=file, **changed)
    with pytest.raises(ConfigError, match="`data` was"):
        search(tree(59), task="node", trials=2, space=SPACE, storage=file, **QUICK)
    other = {**SPACE, "lr": [0.1, 0.2]}
    with pytest.raises(ConfigError, match="`space of lr` was"):
        search(tree(), task="node", trials=2, space=other, storage=file, **QUICK)
    named = search(tree(), task="node", trials=2, space=SPACE, storage=file, name="wide", **changed)
    assert named.name == "wide"
    assert len(named.trials) == 2


def test_trials_below_the_median_are_pruned(monkeypatch):
    """The score is rigged to be the learning rate, so the median rule can be worked out by hand."""
    monkeypatch.setattr(LinkTask, "score", lambda task, part: task.config.lr)
    settings = {"epochs": 30, "dim": 2, "eval_every": 5, "patience": 10, "model": "mlp"}
    space = {"lr": SPACE["lr"]}
    result = search(tree(), task="link", trials=16, space=space, **settings)
    complete = []
    for state, lr in result.trials.select("state", "lr").rows():
        hopeless = len(complete) >= 5 and lr < statistics.median(complete)
        assert state == ("pruned" if hopeless else "complete")
        if not hopeless:
            complete.append(lr)
    assert len(complete) < 16
    assert result.value == result.config.lr == max(complete)


def test_failed_trials_are_told_and_passed_over(tmp_path):
    space = {"lr": [0.01, 1e30]}
    settings = {"task": "link", **QUICK, "clip": 0.0}
    result = search(tree(), trials=6, space=space, storage=tmp_path / "j.log", **settings)
    failed = result.trials.filter(pl.col("state") == "fail")
    assert set(failed["lr"]) == {1e30}
    assert all("finite" in error for error in failed["error"])
    assert result.config.lr == 0.01
    assert len(result.trials) == 6
    with pytest.raises(RunError, match=r"None of 2 trials came to an end\. The last one: .*finite"):
        search(tree(), trials=2, space={"lr": [1e29, 1e30]}, **settings)


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch):
    calls = []
    train = search_trial.train

    def interrupted(task, on_epoch):
        calls.append(task)

        def after(progress):
            on_epoch(progress)
            if len(calls) == 3 and progress.epoch == 5:
                raise KeyboardInterrupt

        return train(task, on_epoch=after)

    monkeypatch.setattr(search_trial, "train", interrupted)
    settings = {"task": "node", "space": SPACE, "storage": tmp_path / "j.log", **QUICK}
    seen = []
    result = search(tree(), trials=5, on_trial=seen.append, **settings)
    assert result.interrupted
    assert result.trials["state"].to_list() == ["complete", "complete", "interrupted"]
    assert [state.done for state in seen] == [1, 2]
    rest = search(tree(), trials=5, on_trial=seen.append, **settings)
    assert not rest.interrupted
    whole = search(tree(), trials=5, **{**settings, "storage": None})
    assert_frame_equal(rest.trials.select(SETTINGS), whole.trials.select(SETTINGS))
    assert [state.done for state in seen] == [1, 2, 3, 4, 5]
    assert seen[-1].best == rest.value


def test_processes_share_the_work(tmp_path):
    seen = []
    result = search(
        tree(), task="node", trials=5, processes=2, space=SPACE, on_trial=seen.append, **QUICK
    )
    assert sorted(result.trials["number"]) == [0, 1, 2, 3, 4]
    assert set(result.trials["state"]) == {"complete"}
    assert result.trials.select(*SPACE).n_unique() == 5
    best = result.trials.sort(["value", "number"], descending=[True, False]).row(0, named=True)
    assert result.value == best["value"]
    assert result.config.lr == best["lr"]
    assert [state.done for state in seen] == [1, 2, 3, 4, 5]
    run = fit(tree(), config=result.config)
    assert run.metrics["val"][result.score] == pytest.approx(result.value, abs=1e-12)


def test_sql_storage_and_wrong_ones(tmp_path):
    where = f"sqlite:///{tmp_path}/studies.db"
    settings = {"task": "node", "space": SPACE, **QUICK}
    search(tree(), trials=1, storage=where, **settings)
    assert len(search(tree(), trials=2, storage=where, **settings).trials) == 2
    for wrong in (f"sqlite:///{tmp_path}/no/such/folder.db", "nosuchsql://me:secret@server/db"):
        with pytest.raises((RunError, ConfigError)) as caught:
            search(tree(), trials=1, storage=wrong, **settings)
        assert "secret" not in str(caught.value)
    with pytest.raises(RunError, match="Expected to write"):
        search(tree(), trials=1, storage=tmp_path / "none" / "journal.log", **settings)


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"seeds": 1.5}, {"processes": -1}])
def test_counts_are_checked(wrong):
    with pytest.raises(ConfigError, match=f"`{next(iter(wrong))}` to be a whole number above 0"):
        search(tree(), **wrong)
    with pytest.raises(ConfigError, match="Did you mean 'dropout'"):
        search(tree(), dropuot=0.1)


def test_a_killed_search_ends_as_one_that_was_not(tmp_path, monkeypatch):
    """A trial whose process died is done again, with the settings that it had."""

    class Killed(BaseException):
        pass

    def run(trials, storage):
        return search(tree(), task="link", trials=trials, storage=storage, **QUICK)

    whole, train = run(12, None), search_trial.train
    begin = 0
    for number in (0, 3, 11):  # the defaults, another start, one that learns from the others
        left = []

        def kill(task, on_epoch, left=left, calls=number - begin + 1):
            left.append(task)
            if len(left) == calls:
                raise Killed
            return train(task, on_epoch=on_epoch)

        with monkeypatch.context() as patch:
            patch.setattr(search_trial, "train", kill)
            patch.setattr(search_trial, "give_up", lambda study, trial: None)
            with pytest.raises(Killed):
                run(12, tmp_path / "j.log")
        gc.collect()  # gives back what a process that died would have given back
        begin = number
    parts = run(12, tmp_path / "j.log")
    assert_frame_equal(parts.trials.drop("seconds"), whole.trials.drop("seconds"))
    assert parts.config == whole.config


def test_trials_of_another_process_are_not_given_up(tmp_path):
    settings = {"task": "node", "space": SPACE, "storage": tmp_path / "j.log", **QUICK}
    search(tree(), trials=2, **settings)
    plan = search_module._plan(tree(), 1, SPACE, None, {"task": "node", **QUICK})
    other = plan.at(str(tmp_path / "j.log")).study()
    running = other.ask({name: spec.distribution() for name, spec in plan.space.items()})
    states = search(tree(), trials=3, **settings).trials["state"].to_list()
    assert states == ["complete", "complete", "interrupted", "complete"]
    other.tell(running, 0.5)
