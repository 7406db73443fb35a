import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module

import pytest
import torch
from safetensors.torch import load_file

from hgcn import files
from hgcn.errors import ConfigError, RunError
from hgcn.locks import locked
from hgcn.runs import checkpoint, trees
from hgcn.runs.fit import fit, resume
from hgcn.runs.folder import load_run
from small_graphs import same_weights, touch_pages, tree, write_files

# The package has a function of that name.
fit_module = import_module("hgcn.runs.fit")

SETTINGS = {"epochs": 9, "eval_every": 2, "dim": 3}
KINDS = {
    "dropout and attention": ("link", {"dropout": 0.3, "attention": True}),
    "riemannian": ("link", {"model": "hyp"}),
    "two optimisers": ("link", {"model": "hyp-mixed", "dropout": 0.2}),
    "pretrained": ("node", {"pretrain": 4, "dropout": 0.2, "feature_dropout": 0.2}),
    "regularised": ("node", {"link_regulariser": 0.3, "weight_decay": 0.01, "classifier": "mlr"}),
    "double": ("node", {"dtype": "float64", "trainable_decoder": True, "model": "gat"}),
}


class Killed(BaseException):
    """Stops training as SIGKILL would: nothing catches it."""


def stop_after(epoch):
    def on_epoch(progress):
        if progress.epoch > epoch:
            raise Killed

    return on_epoch


@pytest.fixture(autouse=True)
def _every_epoch(monkeypatch):
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)
    # The page takes longer than the training.
    monkeypatch.setattr(fit_module, "_draw", lambda run, folder: None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epoch", [1, 5])
def test_a_resumed_run_ends_as_one_never_interrupted(kind, epoch, tmp_path):
    task, settings = KINDS[kind]
    graph = tree()
    whole = fit(graph, task=task, **SETTINGS, **settings)
    with pytest.raises(Killed):
        fit(
            graph, task=task, out=tmp_path / "run", on_epoch=stop_after(epoch), **SETTINGS,
            **settings,
        )  # fmt: skip
    assert (tmp_path / "run" / "resume.safetensors").exists()
    seen = []
    torch.manual_seed(123)
    resumed = resume(tmp_path / "run", graph, on_epoch=lambda p: seen.append(p.epoch))
    assert seen == list(range(epoch + 1, 10))
    assert same_weights(whole, resumed)
    assert whole.history == resumed.history
    differing = {key for key in whole.metrics if whole.metrics[key] != resumed.metrics[key]}
    assert differing <= {"seconds"}
    assert not (tmp_path / "run" / "resume.safetensors").exists()
    assert same_weights(load_run(tmp_path / "run"), whole)


@pytest.fixture
def interrupted(tmp_path):
    edges, _ = write_files(tmp_path, tree())
    with pytest.raises(Killed):
        fit(edges, out=tmp_path / "run", on_epoch=stop_after(5), **SETTINGS)
    return tmp_path / "run"


def test_a_run_on_files_finds_its_data(interrupted):
    assert resume(interrupted).metrics["epochs"] == 9


def test_patience_is_counted_across_the_interruption(tmp_path):
    settings = {**SETTINGS, "epochs": 60, "patience": 6, "lr": 0.3}
    whole = fit(tree(), task="link", **settings)
    assert whole.metrics["stopped"] == "patience"
    with pytest.raises(Killed):
        fit(tree(), task="link", out=tmp_path, on_epoch=stop_after(5), **settings)
    resumed = resume(tmp_path, tree())
    assert resumed.metrics["epochs"] == whole.metrics["epochs"]
    assert same_weights(whole, resumed)


def test_what_cannot_be_resumed_is_refused(interrupted, tmp_path):
    with pytest.raises(RunError, match=r"has no config\.toml"):
        resume(tmp_path)
    with pytest.raises(RunError, match="Expected the data that"):
        resume(interrupted, tree(seed=9))
    config = (interrupted / "config.toml").read_text()
    (interrupted / "config.toml").write_text(config.replace('device = "cpu"', 'device = "cp5"'))
    with pytest.raises(ConfigError, match="one that torch has here, like 'cpu', got 'cp5'"):
        resume(interrupted)
    (interrupted / "config.toml").write_text(config.replace("dim = 3", "dim = 4"))
    with pytest.raises(RunError, match="Expected the settings that"):
        resume(interrupted)
    (interrupted / "config.toml").write_text(config)
    resume(interrupted)
    touch_pages(None, interrupted)
    (interrupted / ".lock").touch()  # of a process that was killed at its very end
    with pytest.raises(RunError, match="is finished: there is nothing to resume"):
        resume(interrupted)
    assert not (interrupted / ".lock").exists()


def test_a_run_that_was_killed_before_its_page_gets_it(interrupted, monkeypatch):
    resume(interrupted)
    (interrupted / ".disk.html.abcdefgh.tmp").touch()
    drawn = []
    monkeypatch.setattr(fit_module, "_draw", lambda run, folder: drawn.append((run, folder)))
    run = resume(interrupted)
    assert drawn == [(run, interrupted)]
    assert not list(interrupted.glob(".*"))


def test_one_process_writes_to_a_folder(interrupted):
    with locked(interrupted / ".lock"), pytest.raises(RunError, match="Another process is writing"):
        resume(interrupted)
    resume(interrupted)
    assert not (interrupted / ".lock").exists()


@pytest.mark.parametrize("name", ["resume.safetensors", "history.csv"])
def test_every_changed_byte_of_an_unfinished_run_is_noticed(interrupted, name):
    file = interrupted / name
    whole = file.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        changed = bytearray(whole)
        changed[at] ^= 4
        file.write_bytes(changed)
        with pytest.raises(RunError):
            resume(interrupted)
    file.write_bytes(whole)
    resume(interrupted)


def test_a_damaged_state_is_refused(interrupted):
    file = interrupted / "resume.safetensors"
    whole, state = file.read_bytes(), trees.read_tree(file)
    file.write_bytes(whole[:-7])
    with pytest.raises(RunError, match="truncated or foreign"):
        resume(interrupted)
    for bad in ([], {}, {**state, "state": {}}, {**state, "state": {**state["state"], "best": 3}},
                {**state, "state": {**state["state"], "weights": {}}}):  # fmt: skip
        trees.write_tree(file, bad)
        with pytest.raises(RunError, match="Expected"):
            resume(interrupted)
    file.write_bytes(whole)
    history = (interrupted / "history.csv").read_bytes()
    (interrupted / "history.csv").unlink()
    with pytest.raises(RunError, match=r"history\.csv, but: No such file"):
        resume(interrupted)
    (interrupted / "history.csv").write_bytes(history)
    assert resume(interrupted).metrics["epochs"] == 9


def test_a_run_on_a_graph_in_memory_asks_for_it(tmp_path):
    with pytest.raises(Killed):
        fit(tree(), out=tmp_path, on_epoch=stop_after(3), **SETTINGS)
    with pytest.raises(RunError, match="Expected `data`"):
        resume(tmp_path)


def test_a_full_disk_at_a_checkpoint_keeps_the_one_before(tmp_path, monkeypatch):
    graph, write = tree(), files.write_bytes
    written = []

    def fills_up(path, *pieces):
        if path.name == "resume.safetensors":
            written.append(path)
            if len(written) > 4:  # the first one is of the beginning
                raise RunError("No space left on device.")
        write(path, *pieces)

    monkeypatch.setattr(files, "write_bytes", fills_up)
    with pytest.raises(RunError, match="No space left"):
        fit(graph, task="link", out=tmp_path, **SETTINGS)
    monkeypatch.setattr(files, "write_bytes", write)
    assert trees.read_tree(tmp_path / "resume.safetensors")["state"]["epoch"] == 3
    assert same_weights(resume(tmp_path, graph), fit(graph, task="link", **SETTINGS))


def test_a_killed_process_is_resumed_to_the_same_weights(tmp_path):
    edges, nodes = write_files(tmp_path, tree())
    flags = ["--features", nodes, "--labels", "side", "--task", "link", "--epochs", "150",
             "--patience", "150", "--dim", "3", "--dropout", "0.2"]  # fmt: skip
    command = [sys.executable, "-m", "hgcn", "train"]
    environment = {**os.environ, "HGCN_CHECKPOINT_SECONDS": "0", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*command, edges, *flags, "--out", "run"], cwd=tmp_path,
                               env=environment, stderr=subprocess.DEVNULL)  # fmt: skip
    state, limit = tmp_path / "run" / "resume.safetensors", time.monotonic() + 120
    history = state.with_name("history.csv")
    while not history.exists() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    epoch = trees.read_tree(state)["state"]["epoch"]
    assert 0 < epoch < 150
    (tmp_path / "run" / ".history.csv.abcdefgh.tmp").touch()  # as if it had been writing this file
    done = subprocess.run([*command, "--resume", "run"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "of 150" in done.stdout
    assert not list((tmp_path / "run").glob(".*"))
    whole = fit(edges, features=nodes, labels="side", task="link", epochs=150, patience=150, dim=3,
                dropout=0.2, out=tmp_path / "whole")  # fmt: skip
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("run", "whole"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert load_run(tmp_path / "run").history == whole.history


def test_a_run_killed_before_its_first_epoch_keeps_its_settings_and_data(tmp_path):
    edges, _ = write_files(tmp_path, tree())

    def stop(progress):
        raise Killed

    with pytest.raises(Killed):
        fit(edges, out=tmp_path / "run", on_epoch=stop, **SETTINGS)
    config = tmp_path / "run" / "config.toml"
    text = config.read_text()
    config.write_text(text.replace("seed = 0", "seed = 1"))
    with pytest.raises(RunError, match="Expected the settings that"):
        resume(tmp_path / "run")
    config.write_text(text)
    whole = fit(edges, **SETTINGS)
    assert same_weights(resume(tmp_path / "run"), whole)


@pytest.mark.parametrize("end", [1, 9])
def test_a_run_of_another_process_in_the_meantime_is_left_alone(tmp_path, monkeypatch, end):
    """Both looked at an empty folder; then the other one came first, and is over or was killed."""
    claimed, graph = fit_module.run_folder.claimed, tree()
    out = tmp_path / "run"

    def late(path, config, auto):
        monkeypatch.undo()
        monkeypatch.setattr(fit_module, "_draw", lambda run, folder: None)
        with contextlib.suppress(Killed):
            fit(graph, task="link", out=out, seed=1, on_epoch=stop_after(end), **SETTINGS)
        return claimed(path, config, auto)

    monkeypatch.setattr(fit_module.run_folder, "claimed", late)
    with pytest.raises(RunError, match="another process has written one there"):
        fit(graph, task="link", out=out, seed=2, **SETTINGS)
    assert "seed = 1" in (out / "config.toml").read_text()
    assert (out / "environment.json").exists() == (end == 9)
