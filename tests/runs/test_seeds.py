"""Several seeds: the same runs as single ones, whatever happens in between.

A process takes seconds to start, so most tests do the work of the processes in this one.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from hgcn.errors import ConfigError, DivergenceError, RunError
from hgcn.locks import locked
from hgcn.runs import checkpoint, seeds
from hgcn.runs.fit import fit
from hgcn.runs.folder import load_run
from hgcn.runs.seeds import finished_seeds, fit_seeds, resume_seeds, summarise
from hgcn.runs.trees import read_tree
from hgcn.runs.workers import Event, Job, work
from small_graphs import QUICK, touch_pages, tree, write_files

# The package has a function of that name.
fit_module = import_module("hgcn.runs.fit")

SAME = ("model.safetensors", "history.csv", "config.toml")


@pytest.fixture
def edges(tmp_path, monkeypatch):
    monkeypatch.setattr(fit_module, "_draw", touch_pages)
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)
    return write_files(tmp_path, tree())[0]


@pytest.fixture
def here(monkeypatch):
    """Jobs are done one after the other in this process; a key that it returns is interrupted."""
    stop_at = []

    def one_process(jobs, processes):
        for job in jobs:
            yield Event(job.key, "started")
            seen = []

            def on_epoch(progress, key=job.key, seen=seen):
                seen.append(Event(key, "epoch", progress))
                if (key, progress.epoch) in stop_at:
                    raise SystemExit

            try:
                value = job.function(on_epoch, *job.arguments)
            except SystemExit:
                yield from seen
                raise KeyboardInterrupt from None
            except DivergenceError as error:
                yield Event(job.key, "failed", str(error))
                continue
            yield from seen
            yield Event(job.key, "done", value)

    monkeypatch.setattr(seeds, "work", one_process)
    return stop_at


def same_files(one: Path, two: Path) -> bool:
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in SAME)


def test_seeds_are_the_single_runs_and_their_mean(edges, tmp_path, here):
    state = fit_seeds(edges, 3, out=tmp_path / "runs", seed=4, **QUICK)
    runs = [load_run(tmp_path / "runs" / f"seed-{seed}") for seed in (4, 5, 6)]
    for seed in (4, 5, 6):
        fit(edges, seed=seed, out=tmp_path / f"single-{seed}", **QUICK)
        assert same_files(tmp_path / "runs" / f"seed-{seed}", tmp_path / f"single-{seed}")
    summary = json.loads((tmp_path / "runs" / "metrics.json").read_text())
    assert summary == state.summary()
    assert summary["seeds"] == [4, 5, 6]
    assert summary["missing"] == []
    values = [run.metrics["test"]["roc_auc"] for run in runs]
    assert summary["test"]["roc_auc"]["mean"] == pytest.approx(np.mean(values))
    assert summary["test"]["roc_auc"]["std"] == pytest.approx(np.std(values, ddof=1))
    assert summarise([runs[0].metrics])["test"]["roc_auc"]["std"] == 0.0


def test_an_interruption_keeps_what_is_finished_and_goes_on_to_the_same_end(edges, tmp_path, here):
    here.append((1, 4))
    state = fit_seeds(edges, 3, out=tmp_path / "runs", **QUICK)
    assert state.interrupted
    assert (list(state.finished), state.missing) == ([0], [1, 2])
    summary = json.loads((tmp_path / "runs" / "metrics.json").read_text())
    assert (summary["seeds"], summary["missing"]) == ([0], [1, 2])
    assert [len(part) if isinstance(part, list) else part for part in
            finished_seeds(tmp_path / "runs")] == [1, 3]  # fmt: skip
    here.clear()
    epochs = []

    def on_change(state):
        epochs.extend((seed, one.epoch) for seed, one in state.running.items() if one)

    state = resume_seeds(tmp_path / "runs", on_change=on_change)
    assert not state.interrupted
    assert state.missing == []
    # The first is taken, the second goes on from its checkpoint, the third starts.
    assert epochs == [*((1, epoch) for epoch in (4, 5, 6)), *((2, e) for e in range(1, 7))]
    for seed in range(3):
        fit(edges, seed=seed, out=tmp_path / f"single-{seed}", **QUICK)
        assert same_files(tmp_path / "runs" / f"seed-{seed}", tmp_path / f"single-{seed}")


def test_the_same_command_takes_what_is_finished_and_more_seeds_are_added(edges, tmp_path, here):
    first = fit_seeds(edges, 1, out=tmp_path / "runs", **QUICK)
    started = []

    def on_change(state):
        started.extend(state.running)

    again = fit_seeds(edges, 1, out=tmp_path / "runs", on_change=on_change, **QUICK)
    assert started == []
    assert again.finished == first.finished
    more = fit_seeds(edges, 2, out=tmp_path / "runs", on_change=on_change, **QUICK)
    assert set(started) == {1}
    assert list(more.finished) == [0, 1]


def test_other_settings_data_and_folders_are_refused(edges, tmp_path, here):
    out = tmp_path / "runs"
    with pytest.raises(ConfigError, match="`dim` to be at least 1"):
        fit_seeds(edges, 2, out=out, dim=0)
    with pytest.raises(ConfigError, match=r"in 1\.\.10000, got 0"):
        fit_seeds(edges, 0, out=out)
    with pytest.raises(ConfigError, match="got 4294967296"):
        fit_seeds(edges, 2, out=out, seed=2**32 - 1)
    assert not out.exists()
    here.append((0, 1))
    assert fit_seeds(edges, 2, out=out, **QUICK).interrupted
    here.clear()
    for seeds_, changes, said in (
        (2, {"dim": 4}, "`dim` was 3 and is 4 now"),
        (2, {"seed": 1}, "`seed` was 0 and is 1 now"),
        (1, {}, "There were 2 seeds and there are 1 now"),
    ):
        with pytest.raises(ConfigError, match=said):
            fit_seeds(edges, seeds_, out=out, **{**QUICK, **changes})
    whole = Path(edges).read_text()
    Path(edges).write_text(whole + "n1,n88\n")
    with pytest.raises(ConfigError, match="have changed since"):
        resume_seeds(out)
    Path(edges).write_text(whole)
    with locked(out / ".lock"), pytest.raises(RunError, match="Another process trains"):
        resume_seeds(out)
    plan = json.loads((out / "seeds.json").read_text())
    for bad in ([], {}, {**plan, "seeds": "2"}, {**plan, "settings": {"dim": 3}},
                {**plan, "settings": {**plan["settings"], "dimm": 3}}):  # fmt: skip
        (out / "seeds.json").write_text(json.dumps(bad))
        with pytest.raises(RunError, match=r"seeds\.json as hgcn writes it"):
            resume_seeds(out)
    (out / "seeds.json").unlink()
    with pytest.raises(RunError, match="holds runs of unknown settings"):
        fit_seeds(edges, 2, out=out, **QUICK)
    with pytest.raises(RunError, match="Expected a finished seed"):
        finished_seeds(out)


def test_settings_that_no_seed_was_begun_with_may_change(edges, tmp_path, here):
    out = tmp_path / "runs"
    (out).mkdir()
    (out / "seeds.json").write_text("{}")
    assert fit_seeds(edges, 1, out=out, **QUICK).missing == []


def test_a_seed_that_fails_is_told_and_the_others_go_on(edges, tmp_path, here, monkeypatch):
    train = fit_module.train

    def diverging(task, **options):
        if task.config.seed == 1:
            raise DivergenceError("The loss is nan.")
        return train(task, **options)

    monkeypatch.setattr(fit_module, "train", diverging)
    with pytest.warns(UserWarning, match=r"Seed 1 failed: The loss is nan\."):
        state = fit_seeds(edges, 3, out=tmp_path / "runs", **QUICK)
    assert state.failed == {1: "The loss is nan."}
    assert (list(state.finished), state.missing) == ([0, 2], [1])
    monkeypatch.setattr(fit_module, "train", train)
    assert resume_seeds(tmp_path / "runs").missing == []
    (tmp_path / "runs" / "seed-2" / "metrics.json").write_text("{}")
    with pytest.warns(UserWarning, match=r"Seed 2 failed: .* changed or truncated since"):
        assert resume_seeds(tmp_path / "runs").missing == [2]


def _job(on_epoch, number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 2:
        raise KeyError("dim")
    return os.getpid()


def test_a_process_that_dies_takes_only_its_own_job_along(monkeypatch):
    monkeypatch.delenv("HGCN_TRACEBACK", raising=False)
    jobs = [Job(key, _job, (key,)) for key in range(4)]
    events = [event for event in work(jobs, 1) if event.kind != "started"]
    assert [(event.key, event.kind) for event in events] == [
        (0, "done"), (1, "failed"), (2, "failed"), (3, "done"),
    ]  # fmt: skip
    assert events[1].value == "Its process was killed (SIGKILL), perhaps for want of memory."
    assert events[2].value.startswith("A fault of hgcn: KeyError: 'dim'.")
    assert events[0].value != events[3].value
    assert not multiprocessing.active_children()


def _endless(on_epoch):
    time.sleep(1000)


def test_processes_end_with_the_iteration():
    events = work([Job(0, _endless, ())], 1)
    assert next(events) == Event(0, "started")
    assert len(multiprocessing.active_children()) == 1
    events.close()
    assert not multiprocessing.active_children()


def test_what_a_process_says_comes_through_the_pipe():

    script = (
        "import logging, warnings\n"
        "from hgcn.runs import workers\n"
        "from hgcn.runs.workers import Job\n"
        "class Pipe:\n"
        "    def send(self, event): print(event.kind, event.value)\n"
        "def job(on_epoch):\n"
        "    warnings.warn('beware')\n"
        "    logging.getLogger('hgcn').warning('compiling')\n"
        "    for k in range(1000): on_epoch(k)\n"
        "workers._do(Job(0, job, ()), Pipe())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[:3] == ["warning beware", "log compiling", "epoch 0"]
    assert lines[-1] == "done None"
    assert len(lines) < 20
    assert done.stderr == ""


def children(pid: int) -> list[int]:
    """The processes that a process has started for jobs."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(words[1]) == pid and b"spawn_main" in command and words[0] != "Z":
            found.append(int(path.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=120.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it took too long"
        time.sleep(0.05)


def stored_epoch(state):
    return read_tree(state)["state"]["epoch"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found in /proc")
def test_processes_end_when_the_one_that_started_them_is_killed_or_interrupted(tmp_path):
    write_files(tmp_path, tree())
    words = [sys.executable, "-m", "hgcn", "train", "edges.csv", "--seeds", "1", "--out", "runs",
             "--epochs", "1000000", "--patience", "1000000", "--dim", "2"]  # fmt: skip
    environment = {**os.environ, "HGCN_CHECKPOINT_SECONDS": "0", "OMP_NUM_THREADS": "1"}
    state = tmp_path / "runs" / "seed-0" / "resume.safetensors"
    epoch = 0
    for number, send, code in (
        (signal.SIGKILL, os.kill, -signal.SIGKILL),
        (signal.SIGINT, os.killpg, 130),  # a terminal sends it to all
    ):
        running = subprocess.Popen(words, cwd=tmp_path, env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)  # fmt: skip
        wait_until(lambda epoch=epoch: state.exists() and stored_epoch(state) > epoch, 300)
        started = children(running.pid)
        assert started
        send(running.pid, number)
        out, err = running.communicate(timeout=60)
        assert (running.returncode, out) == (code, "")
        wait_until(lambda started=started: not any(map(alive, started)), 20)
        # Each of them goes on from where the one before was stopped.
        stored = stored_epoch(state)
        assert stored > epoch
        epoch = stored
    # On a slow machine there are lines of progress before.
    assert err.splitlines()[-1] == (
        "hgcn: interrupted. 0 of 1 seed finished, kept in runs. "
        "Go on with: hgcn train --resume runs"
    )
    assert "Traceback" not in err
