"""What the command line says when things go wrong: a line that helps, never a traceback."""

import io
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from hgcn import cores
from hgcn.cli import main
from hgcn.commands._interruption import interruptible
from hgcn.errors import DivergenceError
from hgcn.runs import seeds
from hgcn.runs.workers import Event
from hgcn.training.links import LinkTask
from hgcn.tuning import trial
from small_graphs import tree, write_files

fit_module = import_module("hgcn.runs.fit")
TRAIN = ["train", "edges.csv", "--task", "link", "--eval-every", "1", "--dim", "2"]


class PanicException(BaseException):
    """As compiled Rust raises it, by way of PyO3: no Exception."""


@pytest.fixture
def hgcn(tmp_path, monkeypatch, capsys):
    write_files(tmp_path, tree())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit_module, "_draw", lambda run, folder: None)

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize("source", ["disease", "edges.csv"])
def test_no_epochs_are_refused(hgcn, source):
    code, _, err = hgcn("train", source, "--epochs", "0")
    assert code == 2
    assert "Expected `epochs` to be at least 1, got 0" in err


def test_divergence_is_told_and_the_best_is_kept(hgcn, monkeypatch):
    loss = LinkTask.loss
    steps = []

    def diverging(self, batch):
        steps.append(1)
        return loss(self, batch) * (float("nan") if len(steps) == 4 else 1.0)

    monkeypatch.setattr(LinkTask, "loss", diverging)
    code, out, err = hgcn(*TRAIN, "--epochs", "9", "--out", "run")
    assert code == 0, err
    assert "Training diverged: The loss is nan in epoch 4." in out
    assert "best epoch" in out
    assert hgcn("evaluate", "run")[0] == 0


def test_a_gradient_that_is_not_finite_never_reaches_the_weights(hgcn, monkeypatch):
    loss = LinkTask.loss

    def infinite_slope(self, batch):
        # Its value is that of the loss, its derivative is infinite.
        weight = next(self.predictor.encoder.parameters())
        return loss(self, batch) + ((weight.sum() - weight.sum().detach()).abs() + 0.0).sqrt()

    monkeypatch.setattr(LinkTask, "loss", infinite_slope)
    code, _, err = hgcn(*TRAIN, "--epochs", "9", "--out", "run")
    assert code == 2
    assert "diverged before any validation: The norm of the gradient is nan in epoch 1" in err


def test_guessing_is_told(hgcn, monkeypatch):
    outputs = LinkTask.outputs

    def constant(self, part):
        return tuple(values * 0 for values in outputs(self, part))

    monkeypatch.setattr(LinkTask, "outputs", constant)
    code, out, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run")
    assert code == 0, err
    assert "No better than guessing" in out
    assert "50.00" in out


def test_an_interruption_after_the_end_says_that_the_run_is_complete(hgcn, monkeypatch):
    def interrupted(run, folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_module, "_draw", interrupted)
    code, _, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run")
    assert code == 130
    assert err == "hgcn: interrupted. The run in run is complete, but for its page perhaps.\n"
    assert hgcn("evaluate", "run")[0] == 0


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "/full/x"), "No space left on device (/full/x)"),
        (PanicException("could not spawn threads: ..."), "not enough memory"),
        (KeyError("dim"), "A fault of hgcn: KeyError: 'dim'. Please report it"),
    ],
)
def test_what_nobody_foresaw_is_one_line(hgcn, monkeypatch, error, said):
    def fail(self, batch):
        raise error

    monkeypatch.setattr(LinkTask, "loss", fail)
    monkeypatch.delenv("HGCN_TRACEBACK", raising=False)
    code, out, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run")
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1
    monkeypatch.setenv("HGCN_TRACEBACK", "1")
    with pytest.raises(type(error)):
        hgcn(*TRAIN, "--epochs", "2", "--out", "again")


@pytest.mark.parametrize(
    "words",
    [
        ("--device", "meta"), ("--device", "cpu:7"), ("--lr", "1e300"), ("--dim", "1000000000"),
        ("--negatives", "1e9"), ("--heads", "1000000"), ("--layers", "1000000"),
    ],
)  # fmt: skip
def test_absurd_settings_are_one_line_that_names_them(hgcn, tmp_path, words):
    code, out, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run", *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert f"`{words[0].removeprefix('--')}`" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("more", [(), ("--seeds", "2")])
def test_a_time_between_checkpoints_that_is_none_is_refused(hgcn, tmp_path, monkeypatch, more):
    monkeypatch.setenv("HGCN_CHECKPOINT_SECONDS", "abc")
    code, _, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run", *more)
    assert code == 2
    assert err.startswith("hgcn: Expected HGCN_CHECKPOINT_SECONDS to be a number of seconds")
    assert not (tmp_path / "run").exists()


def test_edges_come_from_standard_input(hgcn, tmp_path, monkeypatch):
    edges = (tmp_path / "edges.csv").read_bytes()
    words = ["train", "-", *TRAIN[2:], "--epochs", "2"]

    def feed(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    feed(edges)
    code, out, err = hgcn(*words, "--quiet")
    assert code == 0, err
    folder = Path(out.strip())
    assert folder.name.startswith("graph-")
    code, _, err = hgcn(*words, "--seeds", "2")
    assert code == 2
    assert "standard input can be read only once" in err
    # The graph is not part of the run: it has to come again, and to be the same.
    feed(edges)
    assert hgcn("embed", folder, "-o", "z.csv")[0] == 0
    feed(b"source,target\n1,2\n2,3\n")
    code, _, err = hgcn("embed", folder, "-o", "z.csv")
    assert code == 2
    assert "they have changed since" in err
    feed(b"")
    code, _, err = hgcn("embed", folder, "-o", "z.csv")
    assert code == 2
    assert "empty file (standard input)" in err


SEEDS = [*TRAIN, "--epochs", "2", "--seeds", "3", "--out", "runs"]


@pytest.fixture
def one_process(monkeypatch):
    """Seeds are trained in this process; those in the dictionary end with an error."""
    errors = {}

    def work(jobs, processes):
        for job in jobs:
            yield Event(job.key, "started")
            if isinstance(errors.get(job.key), DivergenceError):
                yield Event(job.key, "failed", str(errors[job.key]))
            elif job.key in errors:
                raise errors[job.key]
            else:
                value = job.function(lambda progress: None, *job.arguments)
                yield Event(job.key, "done", value)

    monkeypatch.setattr(seeds, "work", work)
    return errors


def test_interrupted_seeds_are_told_kept_and_gone_on_with(hgcn, one_process):
    one_process[2] = KeyboardInterrupt()
    code, out, err = hgcn(*SEEDS)
    assert code == 130
    assert "2 of 3 seeds, mean ± standard deviation" in out
    # A slow machine shows progress before.
    assert err.splitlines()[-1] == (
        "hgcn: interrupted. 2 of 3 seeds finished, kept in runs. Go on with: hgcn train --resume "
        "runs"
    )
    code, out, _ = hgcn("compare", "runs")
    assert code == 0
    assert "2 of 3" in out
    for words in (["evaluate", "runs"], ["embed", "runs", "-o", "z.csv"], ["predict", "runs"],
                  ["view", "runs"]):  # fmt: skip
        code, out, err = hgcn(*words)
        assert (code, out) == (2, "")
        assert "got a folder of several seeds. Choose one of them, such as runs/seed-0" in err
    code, out, err = hgcn(*SEEDS[:-4], "--out", "runs")
    assert (code, out) == (2, "")
    assert "Expected --seeds, or another folder: runs holds several seeds." in err
    one_process.clear()
    assert hgcn("train", "--resume", "runs", "--quiet")[:2] == (0, "runs\n")
    code, out, _ = hgcn(*SEEDS)
    assert code == 0
    assert "3 seeds, mean" in out


@pytest.mark.filterwarnings("default")
def test_seeds_that_fail_are_told(hgcn, one_process):
    one_process[1] = DivergenceError("The loss is nan.")
    code, out, err = hgcn(*SEEDS)
    assert code == 1
    assert "2 of 3 seeds, mean" in out
    assert "hgcn: warning: Seed 1 failed: The loss is nan.\n" in err
    assert "hgcn: incomplete. 2 of 3 seeds finished, kept in runs. Try again with:" in err
    one_process[0] = one_process[2] = one_process[1]
    code, out, err = hgcn(*SEEDS[:-1], "others")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == "hgcn: None of 3 seeds has a result."


def test_an_interruption_before_the_first_seed_says_how_to_go_on(hgcn, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(seeds, "_take", interrupted)
    monkeypatch.setattr(seeds, "_agree", lambda folder, plan: (folder / "seeds.json").touch())
    monkeypatch.setattr(seeds.files, "write_json", interrupted)
    code, out, err = hgcn(*SEEDS)
    assert (code, out) == (130, "")
    assert "Go on with: hgcn train --resume runs" in err


def test_quiet_says_the_folder_and_what_a_user_must_know(hgcn, monkeypatch):
    outputs = LinkTask.outputs

    def constant(self, part):
        return tuple(values * 0 for values in outputs(self, part))

    monkeypatch.setattr(LinkTask, "outputs", constant)
    code, out, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run", "--quiet")
    assert (code, out) == (0, "run\n")
    assert err.startswith("hgcn: warning: No better than guessing")
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["datasets", "--json"]])
def test_a_full_disk_behind_stdout_is_one_line(words, monkeypatch, capsys):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        try:  # argparse exits after help; long help fails before that
            code = main(words)
        except SystemExit as stop:
            code = stop.code
    assert code == 1
    assert capsys.readouterr().err == (
        "hgcn: Expected to write to standard output, but: No space left on device.\n"
    )


def test_a_closed_stdout_is_one_line(tmp_path):
    words = [sys.executable, "-m", "hgcn", "train", "none.csv", "--out", "run"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "hgcn: Expected to write to standard output, but it is closed. Try `> /dev/null`.\n"
    )


def test_names_that_are_no_text_are_written_as_they_are(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setattr("hgcn.commands.datasets.run", lambda arguments: print("a\udcffb") or 0)
        assert main(["datasets"]) == 0
    assert (tmp_path / "out").read_bytes() == b"a\xffb\n"


def test_an_interrupted_pool_does_not_wait_for_its_jobs():
    with pytest.raises(KeyboardInterrupt), cores.worker_pool(1) as pool:  # noqa: PT012
        future = pool.submit(_endless)
        pool.submit(_endless)
        while not future.running():
            pass
        raise KeyboardInterrupt
    assert not cores.multiprocessing.active_children()


def test_an_interrupted_search_does_not_wait_for_trials_that_do_not_stop(monkeypatch):
    monkeypatch.setattr(trial, "_begin", _nothing)
    monkeypatch.setattr(trial, "_work", _endless)
    monkeypatch.setattr(trial, "STOP_SECONDS", 0.1)
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    with pytest.raises(KeyboardInterrupt):
        next(trial._in_processes(None, None, total=9, left=9, processes=1))
    assert not cores.multiprocessing.active_children()


def _interrupt(*_):
    raise KeyboardInterrupt


def _nothing(*_):
    pass


def _endless(*_):
    import time

    time.sleep(1000)


def test_an_interrupted_search_says_how_to_go_on(hgcn, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hgcn.tuning.search.search", interrupted)
    code, out, err = hgcn("search", "edges.csv", "--trials", "2")
    assert (code, out) == (130, "")
    assert err == "hgcn: interrupted. The same command goes on.\n"


def test_an_interrupted_reproduction_says_how_to_go_on(hgcn, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hgcn.experiments.reproduce.reproduce", interrupted)
    code, out, err = hgcn("reproduce", "table1", "--store", "runs.jsonl", "--quiet")
    assert (code, out) == (130, "")
    assert err == (
        "hgcn: interrupted. Finished runs are kept in runs.jsonl. The same command goes on.\n"
    )


@pytest.mark.parametrize(
    "file",
    [
        "<frozen importlib._bootstrap>",
        "/lib/numba/core/serialize.py",
        "/lib/polars/io/csv/functions.py",
        "/torch/utils/weak.py",
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_a_bad_moment_is_heard_after_it(file, number):
    """Python may lose an exception there, or end."""
    calm = []
    delicate = compile("send()\nfor _ in range(9): pass\ncalm.append(True)", file, "exec")

    def wait():
        exec(delicate, {"send": lambda: os.kill(os.getpid(), number), "calm": calm})
        heard = time.monotonic() + 10
        while time.monotonic() < heard:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), interruptible():
        wait()
    assert calm
