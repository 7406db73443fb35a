"""What a second process compiles is what a training asks for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = """if True:
    import sys
    import torch
    from hgcn import kernels
    from hgcn.nn import HGCNConv
    x = torch.randn(20, 4, dtype=getattr(torch, sys.argv[1]))
    conv = HGCNConv(4, 3).to(x.dtype)
    z = conv(x, torch.randint(20, (2, 60)))
    (z.sum() + kernels.squared_distance(z, z.flip(0), conv.curvature()).sum()).backward()
    from hgcn.kernels.numba_cpu import distance, local_backward, softmax, translation_backward
    modules = distance, local_backward, softmax, translation_backward
    for function in [f for m in modules for f in vars(m).values() if hasattr(f, "stats")]:
        name = function.py_func.__name__
        if name.endswith(("_backward", "_backward_rows", "_backward_columns")):
            print(name, sum(function.stats.cache_hits.values()), len(function.stats.cache_misses))
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_backward_passes_of_a_training_are_found_compiled(dtype: str, tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    ahead = [sys.executable, "-m", "hgcn.kernels.ahead", dtype]
    subprocess.run(ahead, env=environment, check=True)
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, dtype], env=environment, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    found = {name: counts for name, *counts in map(str.split, done.stdout.splitlines())}
    names = {"local_backward_rows", "local_backward_columns", "translate_backward"}
    names |= {"attention_backward_rows", "attention_backward_columns", "distance_backward"}
    assert names <= found.keys()
    assert {name: found[name] for name in names} == {name: ["1", "0"] for name in names}
