"""Runs in mini-batches: repeatable, resumed, evaluated layer by layer; chosen for memory."""

import signal
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from hgcn.cli import main
from hgcn.config import Config
from hgcn.data import Graph
from hgcn.errors import ConfigError
from hgcn.estimators import HGCNClassifier, HGCNLinkPredictor
from hgcn.inference import layerwise
from hgcn.inference.trained import embedding_layers
from hgcn.runs.fit import fit, resume
from hgcn.runs.folder import load_run
from hgcn.training import memory
from hgcn.training.links import LinkTask
from hgcn.training.problem import choose
from hgcn.tuning.search import search
from small_graphs import QUICK, quick_run, tree, write_files

BATCHES: dict[str, Any] = {"batch_size": 16, "fanout": "3,2"}


@pytest.mark.parametrize("task", ["link", "node"])
def test_a_run_does_not_depend_on_workers(task: str) -> None:
    before = threading.active_count()
    runs = [quick_run(task, **BATCHES, workers=workers) for workers in (0, 2)]
    assert threading.active_count() == before
    assert runs[0].history == runs[1].history
    assert torch.equal(runs[0].embeddings(), runs[1].embeddings())
    assert runs[0].metrics["val"] == runs[1].metrics["val"]
    assert runs[0].history != quick_run(task, **BATCHES, seed=1).history


def test_a_killed_run_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HGCN_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr(import_module("hgcn.runs.fit"), "_draw", lambda run, folder: None)
    graph = tree()
    whole = quick_run("link", graph, **BATCHES)

    class Killed(BaseException):
        pass

    def stop(progress: Any) -> None:
        if progress.epoch == 4:
            raise Killed

    before = threading.active_count()
    with pytest.raises(Killed):
        quick_run("link", graph, **BATCHES, out=tmp_path / "run", on_epoch=stop)
    assert threading.active_count() == before
    again = resume(tmp_path / "run", graph)
    assert again.history == whole.history
    assert torch.equal(again.embeddings(), whole.embeddings())
    assert load_run(tmp_path / "run").config.fanouts == (3, 2)


@pytest.mark.parametrize("model", ["hgcn", "hnn", "mlp", "gcn", "gat", "sage", "sgc"])
@pytest.mark.parametrize("block", [7, 10**6])
def test_layer_by_layer_is_the_whole_pass(
    model: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of a few edges and in one: each layer, and what is made of the last."""
    monkeypatch.setattr(layerwise, "BLOCK", block)
    graph = tree(seed=3)
    run = quick_run("node", graph, model=model, dtype="float64", epochs=2, batch_size=0)
    wanted = embedding_layers(run, graph)
    probabilities = run.predict_nodes()
    object.__setattr__(run, "config", run.config.replace(batch_size=4, fanout="-1,-1"))
    run._kept.pop("layers")
    for one, two in zip(embedding_layers(run, graph), wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(run.predict_nodes(), probabilities, rtol=1e-11, atol=1e-12)


def test_blocks_cover_all_nodes_and_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tree(300)
    rows = layerwise.Adjacency.of(graph.edge_index, None, 300)
    monkeypatch.setattr(layerwise, "BLOCK", 40)
    ranges = list(layerwise._ranges(rows, 0, 300))
    assert [low for low, _ in ranges] == [0, *[high for _, high in ranges[:-1]]]
    assert ranges[-1][1] == 300
    for low, high in ranges:
        assert high - low == 1 or high - low + rows.start[high] - rows.start[low] <= 40


def test_scores_are_those_of_all_neighbours() -> None:
    """Validation does not sample: weights that never move are scored as in a full batch."""
    frozen = {"lr": 1e-30, "epochs": 2, "eval_every": 1, "dtype": "float64"}
    full = quick_run("link", **{**frozen, "batch_size": 0})
    batch = quick_run("link", **{**frozen, "batch_size": 16, "fanout": "1,1"})
    for part in ("val", "test"):
        assert full.metrics[part] == pytest.approx(batch.metrics[part], abs=1e-9)


@pytest.mark.parametrize(("settings", "message"), [
    ({"fanout": "15;10"}, "with commas between"),
    ({"fanout": "0"}, "at least 1, or -1"),
    ({"fanout": "3", "batch_size": 0}, "no `fanout` with `batch_size` 0"),
    ({"batch_size": -1}, "`batch_size` to be at least 0"),
    ({"batch_size": 8, "model": "euc"}, "'euc' cannot be trained in mini-batches"),
    ({"batch_size": 8, "model": "hyp-mixed"}, "cannot be trained in mini-batches"),
    ({"batch_size": 8, "sampling": "weight"}, "Expected edge weights"),
    ({"batch_size": 8, "sampling": "magic"}, "sampling"),
])  # fmt: skip
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choose(tree(), Config(**settings))


def test_fanouts_are_filled_in() -> None:
    def chosen(**settings: Any) -> str | None:
        return choose(tree(), Config(**settings)).fanout

    assert chosen(batch_size=8) == "15,10"
    assert chosen(batch_size=8, layers=5) == "15,10,5,5,5"
    assert chosen(batch_size=8, fanout="-1") == "-1,-1"
    assert chosen(batch_size=8, fanout="4, 3,2") == "4,3"
    assert chosen(batch_size=8, fanout="4,3", layers=3) == "4,3,3"
    assert choose(tree(), Config(fanout="4,3")).batch_size == 1024
    assert choose(tree(), Config()).batch_size == 0
    assert chosen() is None


def test_mini_batches_are_chosen_where_a_full_batch_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    need = memory.full_batch_bytes(tree(), choose(tree(), Config()))
    monkeypatch.setattr(memory, "free_memory", lambda: int(need / memory.SAFE) - 1)
    chosen = choose(tree(), Config())
    assert (chosen.batch_size, chosen.fanout) == (1024, "15,10")
    assert "--batch-size 1024 --fanout 15,10" in caplog.text
    assert "would not fit into memory" in caplog.text
    caplog.clear()
    assert choose(tree(), Config(batch_size=0)).batch_size == 0  # asked for
    assert choose(tree(), Config(model="euc")).batch_size == 0  # it has no other way
    assert choose(tree(), chosen) == chosen
    assert not caplog.text


def test_more_of_anything_needs_more_memory() -> None:
    def need(graph: Graph, **settings: Any) -> int:
        return memory.full_batch_bytes(graph, choose(graph, Config(**settings)))

    least = need(tree(100))
    assert need(tree(200)) > least
    for more in ({"dim": 64}, {"layers": 4}, {"dtype": "float64"}):
        assert need(tree(100), **more) > least


def test_estimators_take_the_settings() -> None:
    graph = tree()
    quick = {**QUICK, **BATCHES}
    classifier = HGCNClassifier(graph, **quick).fit(range(60), graph.y[:60].numpy())
    assert classifier.run_.config.batch_size == 16
    assert classifier.predict(range(60, 90)).shape == (30,)
    pairs = graph.pairs().T.numpy()
    assert HGCNLinkPredictor(graph, **quick).fit(pairs).predict_proba(pairs).shape[1] == 2


def test_weights_and_replacement() -> None:
    graph = tree()
    weight = torch.rand(graph.edge_index.shape[1] // 2)
    weighted = graph.replace(edge_weight=torch.cat((weight, weight)) + 0.1)
    run = fit(weighted, task="link", **QUICK, **BATCHES, sampling="weight", replacement=True)
    assert run.metrics["epochs"] == 6


def test_an_interruption_in_the_middle_of_an_epoch_ends_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loss, steps = LinkTask.loss, []

    def interrupted(task: LinkTask, batch: Any) -> torch.Tensor:
        steps.append(batch)
        if len(steps) == 3:
            signal.raise_signal(signal.SIGINT)  # held until the step is complete
        return loss(task, batch)

    monkeypatch.setattr(LinkTask, "loss", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        quick_run("link", batch_size=2, fanout="2,2", workers=2, hidden_share=0.5)
    assert len(steps) == 3
    assert threading.active_count() == before


def test_settings_are_chosen_and_searched_in_mini_batches(tmp_path: Path) -> None:
    chosen = fit(tree(), task="link", auto=0.5, epochs=2, eval_every=1, batch_size=16)
    assert chosen.config.batch_size == 16
    assert len(chosen.config.fanouts) == chosen.config.layers
    found = search(
        tree(), task="link", trials=2, space={"layers": [1, 3]}, epochs=2, eval_every=1, **BATCHES
    )
    assert len(found.trials) == 2
    assert found.trials["error"].is_null().all()


def test_the_command_trains_evaluates_and_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(import_module("hgcn.runs.fit"), "_draw", lambda run, folder: None)
    write_files(tmp_path, tree())
    flags = ["--features", "nodes.csv", "--labels", "side", "--task", "node", "--epochs", "4"]
    batches = ["--batch-size", "16", "--fanout", "-1", "--workers", "2", "--eval-every", "2"]
    assert main(["train", "edges.csv", *flags, *batches, "--out", "run", "--quiet"]) == 0
    text = (tmp_path / "run" / "config.toml").read_text()
    assert "batch_size = 16" in text
    assert 'fanout = "-1,-1"' in text
    for words in (["evaluate", "run"], ["embed", "run", "-o", "z.csv"], ["predict", "run"]):
        assert main(words) == 0
    capsys.readouterr()
    assert main(["train", "edges.csv", "--fanout", "many"]) == 2
    assert "like '15,10', got 'many'" in capsys.readouterr().err
