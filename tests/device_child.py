"""Train and apply networks on a device that is not there; a line for each thing that was tried.

    python tests/device_child.py

A line is a name, and what went wrong or what was waited for. Some steps run the kernels of Triton,
which interprets them; the rest is plain torch, as that is slow.
"""

import functools
import os
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
from triton.runtime.interpreter import GridExecutor

import hgcn
from hgcn.config import Config
from hgcn.data.sent import SENT_LATER
from hgcn.kernels import backends, csr, triton_gpu
from hgcn.models.row_descent import RowDescent
from hgcn.training import loop
from hgcn.training.problem import Problem, choose
from small_graphs import tree
from stand_in import DEVICE, StandIn, unwrapped, waits

warnings.simplefilter("ignore")
launch = GridExecutor.__call__
GridExecutor.__call__ = lambda self, *args, **kwargs: launch(self, *unwrapped(args), **kwargs)
backends.BACKENDS["triton"] = backends.Backend(triton_gpu, (DEVICE.type,))
csr.TOLD_LATER.add(DEVICE.type)
SENT_LATER.add(DEVICE.type)
torch.Tensor.pin_memory = lambda x: x  # there is no driver to pin it

TREE = tree(24)
PARENTS = TREE.replace(
    edge_index=TREE.edge_index[:, :23], edge_weight=torch.rand(23) + 0.1, directed=True
)
SMALL = tree(6)
MINI = {"batch_size": 8, "fanout": "2,2", "workers": 0}
FAST = {"epochs": 2, "eval_every": 2, "dim": 2, "layers": 1, "aggregation": "origin"}
LOCAL = {"aggregation": "local", "attention": True}

FUSED = {
    "fused link": (SMALL, {"task": "link", **LOCAL}),
    "fused node": (SMALL, {"task": "node", "aggregation": "origin"}),
}
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
    "node in batches": (TREE, {"task": "node", "class_weights": True, **MINI}),
    "node centroid": (TREE, {"task": "node", "aggregation": "centroid", "heads": 2}),
    "hierarchy": (PARENTS, {"task": "hierarchy", "model": "free"}),
}


def step(graph: hgcn.Graph, settings: dict) -> None:
    """The second step of a training: the first may ask what stays the same."""
    config = Config(dim=2, clip=1.0, device=str(DEVICE), **settings)
    problem = Problem(graph, choose(graph, config))
    own = problem.task(problem.predictor().train())
    generator = torch.Generator().manual_seed(0)
    optimizer = own.predictor.encoder.make_optimizer(0.01, 0.01, also=[own.predictor.decoder])
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


def applied(graph: hgcn.Graph, task: str) -> None:
    """Train, and use the network in every way; then the main ones after it was moved."""
    run = hgcn.fit(graph, task=task, device=str(DEVICE), **FAST)
    assert run.device == DEVICE
    run.explain(*("n3", "n9")[: 1 if task == "node" else 2])
    run.top_links(3)
    run.neighbours(["n1"], 3)
    with tempfile.TemporaryDirectory() as folder:
        run.view(Path(folder) / "view.html")
        run.save(Path(folder) / "run")
        hgcn.load_run(Path(folder) / "run").embeddings(graph)
    there = run.embeddings()
    for device in ("cpu", DEVICE):  # whatever `config.device` says
        run.predictor.to(device)
        torch.testing.assert_close(run.embeddings(), there, rtol=1e-4, atol=1e-5)
        run.evaluate()
        run.predict_links(torch.tensor([[0, 1], [2, 3]]))
        if task == "node":
            run.predict(tree(20, seed=3))
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
            tried(f"{task} applied", functools.partial(applied, TREE, task))
        tried("estimators", estimators)
