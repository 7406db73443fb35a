"""What the command line says when things go wrong: a line that helps, never a traceback."""

import io
from importlib import import_module
from pathlib import Path

import pytest

from hgcn.cli import main
from hgcn.training.links import LinkTask
from small_graphs import tree, write_files

fit_module = import_module("hgcn.runs.fit")
TRAIN = ["train", "edges.csv", "--task", "link", "--eval-every", "1", "--dim", "2"]


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


def test_a_time_between_checkpoints_that_is_none_is_refused(hgcn, monkeypatch):
    monkeypatch.setenv("HGCN_CHECKPOINT_SECONDS", "abc")
    code, _, err = hgcn(*TRAIN, "--epochs", "2", "--out", "run")
    assert code == 2
    assert err.startswith("hgcn: Expected HGCN_CHECKPOINT_SECONDS to be a number of seconds")


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
