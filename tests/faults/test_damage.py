"""Files of a run that were cut or changed: refused with a reason, or the very same answer."""

import hashlib
import shutil
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from fault_children import check_reason, try_all
from hgcn.errors import HGCNError
from hgcn.runs import checkpoint
from hgcn.runs.fit import fit, resume
from hgcn.runs.folder import load_run
from small_graphs import tree, write_files

fit_module = import_module("hgcn.runs.fit")
SETTINGS = {"task": "node", "labels": "side", "epochs": 4, "eval_every": 2, "dim": 2}


class Stop(BaseException):
    """Ends a training as SIGKILL does."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run and an unfinished one, of files."""
    folder = tmp_path_factory.mktemp("runs")
    edges, nodes = write_files(folder, tree(40))

    def stop(progress):
        if progress.epoch == 4:
            raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)
        fit(edges, features=nodes, out=folder / "finished", **SETTINGS)
        with pytest.raises(Stop):
            fit(edges, features=nodes, out=folder / "unfinished", on_epoch=stop, **SETTINGS)
    return folder


def answer(run):
    """What a user gets from a run."""
    digest = hashlib.sha256(repr((run.metrics["val"], run.metrics["test"], run.history)).encode())
    for values in (run.embeddings(), run.predict_nodes()):
        digest.update(values.numpy().tobytes())
    return digest.hexdigest()


def use(folder, finished):
    fit_module._draw = lambda run, folder: None  # the page takes longer than the training
    return answer(load_run(folder) if finished else resume(folder))


def damaged(base, scratch, finished, expected, item):
    """Use a run with one file in another state; refused, or as if nothing was wrong."""
    name, content = item
    folder = scratch / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    place(folder / name, content)
    try:
        found = use(folder, finished)
    except HGCNError as error:
        check_reason(error)
    else:
        assert found == expected, "another answer"
    finally:
        shutil.rmtree(folder)


def place(path, content):
    """Put something in the place of a file: bytes, a folder, a link to nowhere, or nothing."""
    path.unlink(missing_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "folder":
        path.mkdir()
    elif content == "link":
        path.symlink_to("nowhere")


def changes(content, draw, cuts, flips):
    """The content cut off at some places, with single bits flipped, and with junk in it."""
    for _ in range(cuts):
        yield content[: draw.randrange(len(content))]
    for _ in range(flips):
        changed = bytearray(content)
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        yield bytes(changed)


@pytest.mark.parametrize("kind", ["finished", "unfinished"])
def test_every_file_of_a_run(kind, runs, children, tally, tmp_path):
    base, finished = runs / kind, kind == "finished"
    shutil.copytree(base, tmp_path / "copy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "_draw", lambda run, folder: None)
        expected = use(tmp_path / "copy", finished)
    names = sorted(path.name for path in base.iterdir())
    assert len(names) == (9 if finished else 3)
    for name in names:
        count = tally(f"{kind} run: {name}", short=10, full=250)
        content = (base / name).read_bytes()
        items = []
        for number, draw in count:
            share = (1, 0) if number % 5 == 0 else (0, 1)
            items += [(name, changed) for changed in changes(content, draw, *share)]
        items += [(name, other) for other in (b"", b"{}", b"[" * 100_000, "folder", "link", None)]
        items += [(name, Path(base / other).read_bytes()) for other in names if other != name]
        job = partial(damaged, base, tmp_path, finished, expected)
        try_all(children, tmp_path / "work", count, job, items)
