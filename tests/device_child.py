"""Train and apply networks on a device that is not there; a line for each thing that was tried.

    python tests/device_child.py

A line is a name, and what went wrong or what was waited for. Some steps run the kernels of Triton,
which interprets them; the rest is plain torch, as that is slow.
"""

import contextlib
import functools
import os
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
from triton.runtime.interpreter import GridExecutor

import hgcn
import stand_in
from hgcn.config import Config
from hgcn.data.sent import SENT_LATER
from hgcn.geometry import scalars
from hgcn.kernels import backends, csr, triton_gpu
from hgcn.models.row_descent import RowDescent
from hgcn.runs import checkpoint
from hgcn.runs import folder as run_folder
from hgcn.training import loop
from hgcn.training.problem import Problem, choose
from small_graphs import tree
from stand_in import DEVICE, StandIn, unwrapped, waits

warnings.simplefilter("ignore")
launch = GridExecutor.__call__


def launch_there(kernel, *args, **kwargs):
    """A kernel has no use for an address of the CPU."""
    if any(isinstance(x, torch.Tensor) and not isinstance(x, StandIn) for x in args):
        raise RuntimeError("Expected tensors of the device for a kernel, got one of the CPU.")
    return launch(kernel, *unwrapped(args), **kwargs)


GridExecutor.__call__ = launch_there
backends.BACKENDS["triton"] = backends.Backend(triton_gpu, (DEVICE.type,))
csr.TOLD_LATER.add(DEVICE.type)
SENT_LATER.add(DEVICE.type)
torch.Tensor.pin_memory = lambda x: x  # there is no driver to pin it

TREE = tree(24)
PARENTS = TREE.replace(
    edge_index=TREE.edge_index[:, :23], edge_weight=torch.rand(23) + 0.1, directed=True
)
WORDS = TREE.replace(x=(torch.rand(24, 30) < 0.2).float().to_sparse_csr())
SMALL = tree(6)
MINI = {"batch_size": 8, "fanout": "2,2", "workers": 0}
FAST = {"epochs": 2, "eval_every": 2, "dim": 2, "layers": 1, "aggregation": "origin"}
LOCAL = {"aggregation": "local", "attention": True}

FUSED = {
    "fused link": (SMALL, {"task": "link", **LOCAL}),
    "fused node": (
        SMALL.replace(x=(torch.rand(6, 9) < 0.3).float().to_sparse_csr()),
        {"task": "node", "aggregation": "origin"},
    ),
}
OF_PARENTS = {"task": "hierarchy", "model": "hgcn"}
FEW_LABELS = {
    "task": "node", "consistency": 2.0, "feature_dropout": 0.5, "point_dropout": 0.2,
    "class_weights": True,
}  # fmt: skip
STEPS = {
    "link": (TREE.replace(x=None), {"task": "link"}),
    "link directed": (PARENTS, {"task": "link", "symmetric": True, **LOCAL}),
    "link in batches": (TREE, {"task": "link", **MINI}),
    "node": (
        TREE,
        {
            "task": "node",
            "class_weights": True,
            "classifier": "mlr",
            "link_regulariser": 0.1,
            **LOCAL,
        },
    ),
    "node of words": (WORDS, {"propagation": 2, "node_dropout": 0.1, **FEW_LABELS}),
    "node in batches": (WORDS, {**FEW_LABELS, **MINI}),
    "node centroid": (TREE, {"task": "node", "aggregation": "centroid", "heads": 2}),
    "hierarchy": (PARENTS, {"task": "hierarchy", "model": "free"}),
    "hierarchy of features": (PARENTS, OF_PARENTS),
}


def step(graph: hgcn.Graph, settings: dict) -> None:
    """The second step of a training: the first may ask what stays the same."""
    config = Config(dim=2, clip=1.0, device=str(DEVICE), **settings)
    problem = Problem(graph, choose(graph, config))
    own = problem.task(problem.predictor().train())
    generator = torch.Generator().manual_seed(0)
    optimizer = own.make_optimizer(0.01, 0.01)
    state = loop.State(own.predictor, optimizer, generator, loop.Average(own.predictor, 0.9))
    for number in (2, 3):
        waits.clear()
        for batch in own.batches(number, generator):
            loss, _ = loop._step(own, state, number, batch, False)
            assert isinstance(loss, StandIn)
            state.average.update(number)


def noticed() -> None:
    """What has to be noticed for the rest to mean anything."""
    x = torch.randn(4, device=DEVICE)
    waits.clear()
    x.sum().item()
    x[x > 0]
    bool((x > 0).any())
    x[torch.tensor([1, 2])]
    x.cpu()
    torch.zeros(3).to(DEVICE)
    assert len(waits) == 6, waits
    torch.zeros(3).to(DEVICE, non_blocking=True)
    x[torch.tensor([1, 2]).to(DEVICE, non_blocking=True)] + 1
    assert len(waits) == 6, waits
    waits.clear()
    for call in (lambda: x + torch.zeros(4), x.numpy, lambda: np.asarray(x)):
        try:
            call()
        except (RuntimeError, TypeError):
            continue
        raise AssertionError("Expected an error of two devices.")


def rows_descend() -> None:
    """A step that a GPU makes for all rows is that of the rows with a gradient."""
    start, first, second = torch.randn(3, 5, 2)
    first[1:3], second[2:4] = 0, 0
    first[4], second[4] = 1e-30, 1e-30  # whose squares are zero in float32
    moved = []
    for device in ("cpu", DEVICE):
        point = torch.nn.Parameter(start.to(device, copy=True))
        descent = RowDescent(point, lr=0.1)
        for gradient in (first, second):
            point.grad = gradient.to(device)
            descent.step()
        moved.append((point.detach().cpu(), descent.state[point]["square"].cpu()))
    for here, there in zip(*moved, strict=True):
        assert torch.equal(here, there)
    waits.clear()


def applied(graph: hgcn.Graph, **settings: object) -> None:
    """Train, and use the network in every way; then the main ones after it was moved."""
    run = hgcn.fit(graph, device=str(DEVICE), **FAST, **settings)
    assert run.device == DEVICE
    task = settings["task"]
    if task == "hierarchy":
        run.ancestors("n3", 2)
        run.roots(2)
    else:
        run.explain(*("n3", "n9")[: 1 if task == "node" else 2])
        run.top_links(3)
    run.neighbours(["n1"], 3)
    there = run.embeddings()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        run.view(Path(folder) / "view.html")
        run.report(Path(folder) / "report.html")
        run.save(path)
        assert hgcn.load_run(path).device == DEVICE
        with mock.patch.object(run_folder, "has_device", lambda name: name == "cpu"):
            here = hgcn.load_run(path)  # where there is no such device
    assert here.device.type == "cpu"
    torch.testing.assert_close(here.embeddings(graph), there, rtol=1e-4, atol=1e-5)
    for device in ("cpu", DEVICE):  # whatever `config.device` says
        run.predictor.to(device)
        torch.testing.assert_close(run.embeddings(), there, rtol=1e-4, atol=1e-5)
        run.evaluate()
        run.predict_links(torch.tensor([[0, 1], [2, 3]]))
        if task == "node":
            run.predict(tree(20, seed=3))
        elif task == "hierarchy":
            run.predict()
    waits.clear()


def without_float64() -> None:
    """Apple's devices have none."""
    stand_in.narrow = True
    scalars.NARROW.add(DEVICE.type)
    for graph, settings in (
        (PARENTS.replace(x=None), {"task": "link", "symmetric": True}),
        (WORDS, {**FEW_LABELS, "link_regulariser": 0.1, "smooth": 0.5}),
        (PARENTS, OF_PARENTS),
    ):
        run = hgcn.fit(graph, device=str(DEVICE), **FAST, **settings)
        run.evaluate()
        run.predict_links(torch.tensor([[0, 1], [2, 3]]))
    stand_in.narrow = False
    scalars.NARROW.remove(DEVICE.type)
    waits.clear()


def resumed() -> None:
    """An interrupted training goes on, on the device or without it."""
    settings = {"task": "link", **FAST, "epochs": 4, "eval_every": 1}
    whole = hgcn.fit(TREE, **settings).embeddings()

    def stop(progress: loop.Progress) -> None:
        if progress.epoch == 3:
            raise InterruptedError

    for begun, goes_on in ((str(DEVICE), "cpu"), ("cpu", str(DEVICE))):
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.suppress(InterruptedError):
                hgcn.fit(TREE, out=folder, on_epoch=stop, device=begun, **settings)
            file = Path(folder) / "config.toml"
            file.write_text(file.read_text().replace(f'"{begun}"', f'"{goes_on}"'))
            run = hgcn.resume(folder, TREE)
        assert str(run.device) == goes_on
        assert [row["epoch"] for row in run.history] == [1, 2, 3, 4]
        torch.testing.assert_close(run.embeddings(), whole, rtol=1e-4, atol=1e-5)
    waits.clear()


def estimators() -> None:
    graph = TREE
    nodes = np.arange(graph.num_nodes)[:, None]
    classifier = hgcn.HGCNClassifier(graph=graph, device=str(DEVICE), **FAST)
    classifier.fit(nodes, graph.y.numpy()).predict_proba(nodes)
    links = hgcn.HGCNLinkPredictor(graph=graph, device=str(DEVICE), **FAST).fit()
    links.predict_proba(graph.edge_index[:, :4].T.numpy())
    waits.clear()


def tried(name: str, call: Callable[[], None]) -> None:
    try:
        call()
    except Exception as error:
        traceback.print_exc()
        print(name, "failed", error, flush=True)
    # Counts of pairs are asked of plain torch only where there is no kernel for them.
    asked = {f"{what} {line}" for what, line in waits if "torch_twin" not in line}
    print(name, *asked, sep="\t", flush=True)


if __name__ == "__main__":
    tried("noticed", noticed)
    for name, given in FUSED.items():
        tried(name, functools.partial(step, *given))
    with backends.using("torch"):
        for name, given in STEPS.items():
            tried(name, functools.partial(step, *given))
        tried("rows descend", rows_descend)
        for task in ("link", "node"):
            tried(f"{task} applied", functools.partial(applied, TREE, task=task))
        tried("hierarchy applied", functools.partial(applied, PARENTS, **OF_PARENTS))
        tried("without float64", without_float64)
        with mock.patch.object(checkpoint, "checkpoint_seconds", return_value=0.0):
            tried("resumed", resumed)
        tried("estimators", estimators)
