"""The same command gives the same bytes, whatever the number of threads."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hgcn.names import MODELS

# Large enough that torch and the kernels would divide their work among threads.
SCRIPT = """if True:
    import hashlib, json, sys
    import torch
    from scipy.sparse import csr_matrix
    from hgcn import compiled
    from hgcn.data.sparse import as_features
    from hgcn.runs.fit import fit
    from small_graphs import tree

    assert torch.get_num_threads() == int(sys.argv[1])
    compiled.SMALL = 0
    dense = tree(6000, features=12)
    sparse = dense.replace(x=as_features(csr_matrix(dense.x.clamp_min(0.0).numpy())))
    found = {}
    for model in sys.argv[2:]:
        for task in ("link", "node"):
            for kind, graph in (("dense", dense), ("sparse", sparse)):
                run = fit(graph, task=task, model=model, epochs=2, eval_every=1, dropout=None)
                digest = hashlib.sha256()
                for value in (*run.predictor.state_dict().values(), run.embeddings()):
                    digest.update(value.contiguous().numpy().tobytes())
                digest.update(json.dumps(run.metrics["val"]).encode())
                found[f"{model} {task} {kind}"] = digest.hexdigest()
    assert torch.get_num_threads() == int(sys.argv[1])
    print(json.dumps(found))
"""


KILLED = """if True:
    import hashlib, json, os, signal, sys
    from pathlib import Path
    import torch
    from scipy.sparse import csr_matrix
    from hgcn import compiled
    from hgcn.data.sparse import as_features
    from hgcn.runs import checkpoint, pictures
    from hgcn.runs.fit import fit, resume
    from small_graphs import tree

    assert torch.get_num_threads() == int(sys.argv[1])
    compiled.SMALL = 0
    checkpoint.CHECKPOINT_SECONDS = 0.0
    pictures.MOST_NODES_AT_ONCE = 0  # the page takes longer than the training
    dense = tree(6000, features=12)
    sparse = dense.replace(x=as_features(csr_matrix(dense.x.clamp_min(0.0).numpy())))
    cases = [(kind, graph, task) for kind, graph in (("dense", dense), ("sparse", sparse))
             for task in ("link", "node")]
    settings = {"epochs": 4, "eval_every": 2, "dropout": 0.2}

    class Killed(BaseException): pass

    def stop(progress):
        if progress.epoch == 3:
            if (kind, task) == ("sparse", "node"):  # the last one
                os.kill(os.getpid(), signal.SIGKILL)
            raise Killed

    found = {}
    for kind, graph, task in cases:
        folder = Path(sys.argv[3]) / f"{kind}-{task}"
        if sys.argv[2] == "start":
            try:
                fit(graph, task=task, out=folder, on_epoch=stop, **settings)
            except Killed:
                continue
        epochs = []
        resumed = resume(folder, graph, on_epoch=lambda progress: epochs.append(progress.epoch))
        assert epochs == [3, 4], epochs
        fit(graph, task=task, out=f"{folder}-whole", **settings)
        for name in ("model.safetensors", "history.csv", "embeddings.parquet", "config.toml"):
            one, two = (Path(f"{folder}{end}", name).read_bytes() for end in ("", "-whole"))
            assert one == two, (kind, task, name)
            found[f"{kind} {task} {name}"] = hashlib.sha256(one).hexdigest()
    print(json.dumps(found))
"""


def python(script: str, threads: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script with so many threads, in a process of its own."""
    helpers = str(Path(__file__).parents[1])
    path = os.pathsep.join([helpers, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", script, str(threads), *arguments], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}, check=False,
    )  # fmt: skip


def trained(threads: int, models: list[str]) -> dict[str, str]:
    done = python(SCRIPT, threads, *models)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_a_killed_run_is_resumed_with_any_number_of_threads(tmp_path):
    """Started with one thread and resumed with two, and the reverse: the bytes of a whole run."""
    ends = []
    for first, second in ((1, 2), (2, 1)):
        folder = str(tmp_path / f"{first}-{second}")
        started = python(KILLED, first, "start", folder)
        assert started.returncode == -signal.SIGKILL, started.stderr
        resumed = python(KILLED, second, "resume", folder)
        assert resumed.returncode == 0, resumed.stderr
        ends.append(json.loads(resumed.stdout))
    assert len(ends[0]) == 16
    assert ends[0] == ends[1]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
@pytest.mark.parametrize("models", [list(MODELS)[:4], list(MODELS)[4:7], list(MODELS)[7:]], ids=str)
def test_one_and_two_threads_give_the_same_bytes(models):
    one, two, again = trained(1, models), trained(2, models), trained(2, models)
    assert len(one) == 4 * len(models)
    assert two == again
    assert one == two
    assert len(set(one.values())) > len(models)
    assert hashlib.sha256().hexdigest() not in one.values()
