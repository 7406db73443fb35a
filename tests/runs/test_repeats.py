"""The same command gives the same bytes, whatever the number of threads."""

import hashlib
import json
import os
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


def trained(threads: int, models: list[str]) -> dict[str, str]:
    helpers = str(Path(__file__).parents[1])
    path = os.pathsep.join([helpers, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(threads), *models], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
@pytest.mark.parametrize("models", [list(MODELS)[:4], list(MODELS)[4:7], list(MODELS)[7:]], ids=str)
def test_one_and_two_threads_give_the_same_bytes(models):
    one, two, again = trained(1, models), trained(2, models), trained(2, models)
    assert len(one) == 4 * len(models)
    assert two == again
    assert one == two
    assert len(set(one.values())) > len(models)
    assert hashlib.sha256().hexdigest() not in one.values()
