"""Many trainings in one process: memory stays as it is."""

import gc
import resource
import sys
from functools import partial

import pytest
import torch

from fault_children import run
from fault_tally import FULL
from hgcn.runs.fit import fit
from small_graphs import tree


def resident():
    """Bytes of memory that this process has."""
    gc.collect()
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


def fit_many(first, total):
    """Train again and again, on new graphs; say how much memory there is now and then."""
    for number in range(total):
        task = ("link", "node")[number % 2]
        model = ("hgcn", "hnn", "mlp")[number // 2 % 3]
        graph = tree(30, seed=number, y=torch.arange(30) % 2)
        result = fit(graph, task=task, model=model, epochs=2, eval_every=1, dim=2)
        result.embeddings()
        if number + 1 >= first and (number + 1) % (first // 2) == 0:
            print(f"memory {number + 1} {resident()}", flush=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_many_trainings_in_one_process(children, tally, tmp_path):
    first, total = (100, 1000) if FULL else (24, 72)
    count = tally(f"memory after {total} trainings", short=1, full=1)
    (tmp_path / "work").mkdir()
    with count.attempt("flat"):
        ended = run(children, tmp_path / "work", partial(fit_many, first, total))
        assert ended.told() == 0, ended.said
        lines = [line.split() for line in ended.said.splitlines() if line.startswith("memory ")]
        sizes = {int(number): int(size) for _, number, size in lines}
        grown = (sizes[total] - sizes[first]) / (total - first)
        count.note = f"{grown:+.0f} bytes with each training"
        assert grown < 2000, f"{grown:.0f} bytes more with each training: {sizes}"
