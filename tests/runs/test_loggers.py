"""Loggers tell other programs of each epoch; what they really store is read back."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hgcn
from hgcn.cli import BAD_INPUT, main
from hgcn.errors import ConfigError, DivergenceError
from hgcn.names import LOGGERS
from hgcn.runs.loggers import Logger
from hgcn.training.loop import Progress

SETTINGS: dict[str, Any] = {
    "task": "link", "epochs": 3, "dim": 2, "eval_every": 1, "structure": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def tree() -> hgcn.Graph:
    return hgcn.data.tree_with_features(0.8, depth=3)


def curves(run: hgcn.Run) -> dict[str, list[float]]:
    select = run.metrics["select"]
    names = {"loss": "loss", "validation": select, "curvature/0": "c0"}
    return {name: [row[column] for row in run.history] for name, column in names.items()}


def test_files_of_tensorboard(tree: hgcn.Graph, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="pip install 'hgcn[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = hgcn.fit(tree, out=tmp_path / "run", log="tensorboard", **SETTINGS)
    stored = EventAccumulator(str(tmp_path / "run" / "logs")).Reload()
    for name, values in curves(run).items():
        events = stored.Scalars(name)
        assert [event.step for event in events] == [1, 2, 3]
        assert [event.value for event in events] == pytest.approx(values)
    (test,) = stored.Scalars("test/roc_auc")
    assert test.value == pytest.approx(run.metrics["test"]["roc_auc"])
    hgcn.load_run(tmp_path / "run")  # the files of the run are as ever


# MLflow and what it stands on warn of one another.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_files_of_mlflow(tree: hgcn.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="pip install 'hgcn[mlflow]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    run = hgcn.fit(tree, log="mlflow", **SETTINGS)
    (stored,) = mlflow.search_runs(experiment_names=["hgcn"], output_format="list")
    assert stored.data.params["dim"] == "2"
    client = mlflow.MlflowClient()
    for name, values in curves(run).items():
        history = client.get_metric_history(stored.info.run_id, name)
        assert [one.value for one in history] == pytest.approx(values)
    scores = run.metrics["test"]
    assert stored.data.metrics["test/roc_auc"] == pytest.approx(scores["roc_auc"])
    assert stored.data.metrics["test/hits_at_10"] == pytest.approx(scores["hits@10"])


def records(path: Path) -> Iterator[bytes]:
    """The records of a file in the form of LevelDB's log, after a head of its own of 7 bytes."""
    data, at, record = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        room = 32_768 - at % 32_768
        if room < 7:
            at += room
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or its last piece
            yield record
            record = b""


# What wandb stands on warns of its own parts.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_files_of_wandb(tree: hgcn.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network, wandb keeps a run in a file, which `wandb sync` hands on later."""
    pytest.importorskip("wandb", reason="pip install 'hgcn[wandb]'")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.chdir(tmp_path)
    for name, value in (("MODE", "offline"), ("SILENT", "true"), ("DIR", str(tmp_path))):
        monkeypatch.setenv(f"WANDB_{name}", value)
    run = hgcn.fit(tree, log="wandb", **SETTINGS)
    (path,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    stored = [Record.FromString(record) for record in records(path)]
    settings = {
        item.key: json.loads(item.value_json)
        for record in stored
        for item in record.run.config.update
    }
    assert settings["dim"] == 2
    assert {record.run.project for record in stored} == {"", "hgcn"}
    rows = [
        {
            (item.nested_key or [item.key])[0]: json.loads(item.value_json)
            for item in row.history.item
        }
        for row in stored
        if row.HasField("history")
    ]
    assert [row["_step"] for row in rows] == [1, 2, 3]
    for name, values in curves(run).items():
        assert [row[name] for row in rows] == pytest.approx(values)
    summary = {
        (item.nested_key or [item.key])[0]: item.value_json
        for record in stored
        for item in record.summary.update
    }
    assert float(summary["test/hits@10"]) == pytest.approx(run.metrics["test"]["hits@10"])
    (end,) = (record.exit.exit_code for record in stored if record.HasField("exit"))
    assert end == 0


class Kept(Logger):
    """A logger of a plugin: it keeps what it was told."""

    told: list[Any]

    def __init__(self, folder: Path | None, config: hgcn.Config) -> None:
        super().__init__(folder, config)
        type(self).told = []

    def tell(self, values: Any, epoch: int) -> None:
        self.told.append((epoch, dict(values)))

    def close(self, scores: Any) -> None:
        self.told.append(dict(scores))


@pytest.fixture
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOGGERS._entries, "kept", Kept)


@pytest.mark.usefixtures("_kept")
def test_a_logger_of_ones_own_beside_a_callback(tree: hgcn.Graph) -> None:
    seen: list[Progress] = []
    run = hgcn.fit(tree, log="kept", on_epoch=seen.append, **SETTINGS)
    *epochs, scores = Kept.told
    assert [epoch for epoch, _ in epochs] == [one.epoch for one in seen] == [1, 2, 3]
    assert [values["loss"] for _, values in epochs] == [one.loss for one in seen]
    assert scores["val/roc_auc"] == run.metrics["val"]["roc_auc"]


@pytest.mark.usefixtures("_kept")
def test_a_training_without_an_end_is_closed_without_scores(tree: hgcn.Graph) -> None:
    def fail(progress: Progress) -> None:
        raise DivergenceError("no more")

    with pytest.raises(DivergenceError):
        hgcn.fit(tree, log="kept", on_epoch=fail, **(SETTINGS | {"eval_every": 3}))
    assert Kept.told[-1] == {}


def test_what_cannot_be_logged_is_said_before_training(
    tree: hgcn.Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match="'tensorboard', 'mlflow', 'wandb'"):
        hgcn.fit(tree, log="tensorbord", out=tmp_path / "a", **SETTINGS)
    with pytest.raises(ConfigError, match="run folder"):
        hgcn.fit(tree, log="tensorboard", **SETTINGS)
    assert main(["train", "disease", "--log", "mlflow", "--seeds", "2"]) == BAD_INPUT
    assert "--log with one seed" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
