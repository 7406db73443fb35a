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
    from hgcn.names import MODELS
    from hgcn.runs.fit import fit
    from small_graphs import tree

    def trained():
        dense = tree(2200, features=12)
        sparse = dense.replace(x=as_features(csr_matrix(dense.x.clamp_min(0.0).numpy())))
        found = {}
        for model in MODELS:
            for task in ("link", "node"):
                for kind, graph in (("dense", dense), ("sparse", sparse)):
                    run = fit(graph, task=task, model=model, epochs=2, eval_every=1, dropout=None)
                    digest = hashlib.sha256()
                    for value in (*run.predictor.state_dict().values(), run.embeddings()):
                        digest.update(value.contiguous().numpy().tobytes())
                    digest.update(json.dumps(run.metrics["val"]).encode())
                    found[f"{model} {task} {kind}"] = digest.hexdigest()
        return found

    assert torch.get_num_threads() == int(sys.argv[1])
    compiled.SMALL = 0
    found = trained()
    assert torch.get_num_threads() == int(sys.argv[1])
    print(json.dumps(found))
"""


KILLED = """if True:
    import contextlib, hashlib, json, os, signal, sys
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
    dense = tree(3000, features=12)
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
        folder = Path(sys.argv[2]) / f"{kind}-{task}"
        if not folder.exists():
            continue
        epochs = []
        resumed = resume(folder, graph, on_epoch=lambda progress: epochs.append(progress.epoch))
        assert epochs == [3, 4], epochs
        fit(graph, task=task, out=f"{folder}-whole", **settings)
        for name in ("model.safetensors", "history.csv", "embeddings.parquet", "config.toml"):
            one, two = (Path(f"{folder}{end}", name).read_bytes() for end in ("", "-whole"))
            assert one == two, (kind, task, name)
            found[f"{kind} {task} {name}"] = hashlib.sha256(one).hexdigest()
    print(json.dumps(found), flush=True)
    if len(sys.argv) == 4:
        for kind, graph, task in cases:
            with contextlib.suppress(Killed):
                fit(graph, task=task, out=Path(sys.argv[3]) / f"{kind}-{task}", on_epoch=stop,
                    **settings)
"""


def python(script: str, threads: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script with so many threads, in a process of its own."""
    helpers = str(Path(__file__).parents[1])
    path = os.pathsep.join([helpers, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", script, str(threads), *arguments], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}, check=False,
    )  # fmt: skip


def trained(threads: int) -> dict[str, str]:
    """The digests of runs of all models, trained in one process."""
    done = python(SCRIPT, threads)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_a_killed_run_is_resumed_with_any_number_of_threads(tmp_path):
    """Started with one thread and resumed with two, and the reverse: the bytes of a whole run."""
    # Each process resumes what the one before left, then starts what the next one resumes.
    nothing, first, second = (str(tmp_path / name) for name in ("nothing", "1-2", "2-1"))
    ends = []
    for threads, folders in ((1, (nothing, first)), (2, (first, second)), (1, (second,))):
        done = python(KILLED, threads, *folders)
        assert done.returncode == (-signal.SIGKILL if folders[1:] else 0), done.stderr
        ends.append(json.loads(done.stdout))
    assert [len(end) for end in ends] == [0, 16, 16]
    assert ends[1] == ends[2]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_one_and_two_threads_give_the_same_bytes():
    one, two = trained(1), trained(2)
    assert len(one) == 4 * len(MODELS)
    assert one == two
    assert len(set(one.values())) > len(MODELS)
    assert hashlib.sha256().hexdigest() not in one.values()
