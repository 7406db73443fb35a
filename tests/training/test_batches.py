"""Mini-batches are exact where nothing is left out, and the same however they are made."""

import pytest
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from hgcn.config import Config
from hgcn.data import Graph
from hgcn.data.sparse import as_features
from hgcn.inference import layerwise
from hgcn.training.problem import Problem, choose
from hgcn.training.task import Task
from small_graphs import forest, tree

LAYERED = ("hgcn", "hnn", "mlp", "gcn", "gat", "sage", "sgc")
CLOSE = {"float32": 1e-6, "float64": 1e-12}


def web(nodes: int = 60, edges: int = 240, *, seed: int = 0, weighted: bool = False) -> Graph:
    """A random graph with hubs, some self-loops, classes and perhaps weights."""
    generator = torch.Generator().manual_seed(seed)
    one = torch.randint(nodes, (edges,), generator=generator)
    two = (torch.rand(edges, generator=generator) ** 2 * nodes).long()
    pairs = torch.unique(torch.stack((torch.minimum(one, two), torch.maximum(one, two))), dim=1)
    both = torch.cat((pairs, pairs[:, pairs[0] != pairs[1]].flip(0)), dim=1)
    weight = None
    if weighted:
        key = both.min(0)[0] * nodes + both.max(0)[0]
        weight = 0.1 + torch.rand(nodes * nodes, generator=generator)[key]
    x = torch.randn(nodes, 5, generator=generator)
    y = torch.randint(3, (nodes,), generator=generator)
    return Graph(both, nodes, x=x, y=y, edge_weight=weight)


def task_of(graph: Graph, **settings: object) -> Task:
    given = {"dim": 4, "c": 0.7} if settings.get("model") in ("hgcn", "hnn") else {"dim": 4}
    config = choose(graph, Config(**{**given, **settings}))
    problem = Problem(graph, config)
    predictor = problem.predictor()
    with torch.no_grad():  # zero biases and a zero term would hide mistakes
        generator = torch.Generator().manual_seed(7)
        for weight in predictor.parameters():
            weight.add_(
                torch.randn(weight.shape, generator=generator, dtype=weight.dtype), alpha=0.1
            )
    return problem.task(predictor)


def loss_and_gradients(task: Task, epoch: int = 1) -> tuple[Tensor, list[Tensor]]:
    """The mean over the batches of an epoch."""
    batches = list(task.batches(epoch, torch.Generator().manual_seed(5)))
    loss = torch.stack([task.loss(batch) for batch in batches]).mean()
    weights = [weight for weight in task.predictor.parameters() if weight.requires_grad]
    found = torch.autograd.grad(loss, weights, allow_unused=True)
    zero = [torch.zeros_like(weight) for weight in weights]
    return loss, [z if g is None else g for z, g in zip(zero, found, strict=True)]


def assert_same(one: Task, two: Task, dtype: str, epoch: int = 1) -> None:
    given, wanted = (loss_and_gradients(task, epoch) for task in (one, two))
    scale = max(float(g.abs().max()) for g in wanted[1])
    torch.testing.assert_close(given[0], wanted[0], rtol=CLOSE[dtype], atol=0)
    assert scale > 0
    for own, other in zip(given[1], wanted[1], strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=5 * CLOSE[dtype] * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("task", ["node", "link"])
@pytest.mark.parametrize("model", LAYERED)
def test_with_all_neighbours_a_batch_has_the_loss_and_gradients_of_the_whole(
    model: str, task: str, dtype: str
) -> None:
    """As 48 nodes, and 8 of the hidden edges, so that the batches of an epoch are of equal size."""
    weighted = model in ("hgcn", "gcn", "sgc")
    graph = web(weighted=weighted)
    settings = {"model": model, "task": task, "dtype": dtype, "val_share": 0.1, "test_share": 0.1}
    if task == "link":
        settings |= {"degree_features": True, "hidden_share": 0.3}
    full = task_of(graph, **settings)
    size = len(full._parts["train"].nodes) if task == "node" else 10**6
    batch = task_of(graph, **settings, batch_size=size // (3 if task == "node" else 1), fanout="-1")
    assert_same(batch, full, dtype)


@pytest.mark.parametrize("options", [
    {"root_weight": True, "heads": 2, "layers": 3},
    {"attention": False, "aggregation": "origin"},
    {"aggregation": "centroid", "layers": 1},
    {"attention": False, "weighted": True, "hidden_share": 0.0},
    {"structure": False},
    {"negatives": 0.01, "hidden_share": 0.1},
], ids=str)  # fmt: skip
def test_links_of_hgcn_in_every_form(options: dict[str, object]) -> None:
    weighted = bool(options.pop("weighted", False))
    settings = {"task": "link", "dtype": "float64", "model": "hgcn", "degree_features": True}
    graph = web(weighted=weighted)
    full = task_of(graph, **settings, **options)
    batch = task_of(graph, **settings, **options, batch_size=10**6, fanout="-1")
    assert_same(batch, full, "float64")


@pytest.mark.parametrize("task", ["node", "link"])
@pytest.mark.parametrize("model", LAYERED)
def test_propagated_features_in_mini_batches_are_those_of_the_whole(model: str, task: str) -> None:
    """Loss and gradients, and embeddings layer by layer."""
    graph = web(weighted=model in ("hgcn", "gcn", "sgc"))
    settings = {"model": model, "task": task, "dtype": "float64", "propagation": 3, "layers": 1,
                "val_share": 0.1, "test_share": 0.1}  # fmt: skip
    full = task_of(graph, **settings)
    batch = task_of(graph, **settings, batch_size=16 if task == "node" else 10**6, fanout="-1")
    assert_same(batch, full, "float64")
    for part in ("train", "val"):
        wanted, _ = full.outputs(part)
        torch.testing.assert_close(batch.outputs(part)[0], wanted, rtol=1e-12, atol=1e-12)


def test_propagation_reaches_graphs_that_were_not_seen() -> None:
    """Each part has graphs of its own: what is propagated in one says nothing of another."""
    parts = {
        "train": torch.arange(70),
        "val": torch.arange(70, 105),
        "test": torch.arange(105, 150),
    }
    graph = forest(split=parts)
    settings = {"task": "node", "dtype": "float64", "propagation": 3, "normalise": "none"}
    full = task_of(graph, **settings)
    batch = task_of(graph, **settings, batch_size=30, fanout="-1")
    changed = graph.x.clone()
    changed[:105] = 7.0
    other = task_of(graph.replace(x=changed), **settings)
    for part in ("train", "val", "test"):
        wanted, _ = full.outputs(part)
        torch.testing.assert_close(batch.outputs(part)[0], wanted, rtol=1e-12, atol=1e-12)
        assert torch.equal(other.outputs(part)[0], wanted) == (part == "test")


@pytest.mark.parametrize(
    ("model", "given", "chosen"),
    [
        ("hgcn", None, "15,10,2,2,2"),
        ("mlp", None, "2,2,2"),
        ("hgcn", "7", "7,7,7,7,7"),
        ("hgcn", "7,6,5,4", "7,6,5,4,4"),
    ],
)
def test_hops_of_propagation_come_after_those_of_the_layers(
    model: str, given: str | None, chosen: str
) -> None:
    config = Config(model=model, task="node", propagation=3, layers=2, batch_size=9, fanout=given)
    assert choose(tree(), config).fanout == chosen


def test_with_few_edges_drawn_propagation_is_right_in_the_mean() -> None:
    """The features of one hop are linear in the edges that are drawn, so nothing is lost."""
    graph = web()
    settings = {"model": "mlp", "task": "node", "dtype": "float64", "propagation": 1, "layers": 1}
    full = task_of(graph, **settings)
    batch = task_of(graph, **settings, batch_size=10**6, fanout="2")
    wanted = full.predictor.encode(*full._parts["train"].seen.arguments)
    draws = []
    for epoch in range(1, 401):
        (one,) = batch.batches(epoch, torch.Generator().manual_seed(epoch))
        drawn = batch.predictor.encode(*one.part.seen.arguments)
        draws.append(drawn[one.part.nodes].mean(0))
    wanted = wanted[full._parts["train"].nodes].mean(0)
    draws = torch.stack(draws)
    error = draws.std(0) / len(draws) ** 0.5
    assert ((draws.mean(0) - wanted).abs() < 4.5 * error).all()
    assert (error < 0.07 * wanted.abs().max()).all()


def test_sparse_features_and_root_weights() -> None:
    graph = web()
    x = torch.relu(torch.randn(60, 30, generator=torch.Generator().manual_seed(3)) - 0.5)
    graph = graph.replace(x=as_features(x.to_sparse()))
    settings = {"task": "link", "dtype": "float64", "model": "hgcn", "degree_features": True}
    settings |= {"root_weight": True, "aggregation": "local", "attention": True, "layers": 2}
    settings |= {"dropout": 0.0, "feature_dropout": 0.0}
    full, batch = (
        task_of(graph, **settings, **more) for more in ({}, {"batch_size": 999, "fanout": "-1"})
    )
    assert_same(batch, full, "float64")


@pytest.mark.parametrize("graph", [tree(), forest()], ids=["one", "many"])
def test_classes_with_links_and_agreement(graph: Graph) -> None:
    """Beside classes: the loss of links is that of the whole; agreement is asked of other nodes."""
    settings = {"task": "node", "dtype": "float64", "model": "hgcn", "link_regulariser": 0.5,
                "pretrain": 1, "class_weights": True}  # fmt: skip
    if graph.graph_ids is not None:
        ids = graph.graph_ids
        parts = {"train": ids < 2, "val": ids == 2, "test": ids == 3}
        graph = graph.replace(split={k: v.nonzero()[:, 0] for k, v in parts.items()})
    full = task_of(graph, **settings)
    batch = task_of(graph, **settings, batch_size=10**6, fanout="-1")
    for epoch in (1, 2):  # links alone, then both
        assert_same(batch, full, "float64", epoch)
    agreeing = task_of(graph, **settings, consistency=1.0, batch_size=20, fanout="3,2")
    made = list(agreeing.batches(2, torch.Generator().manual_seed(0)))
    whole = agreeing._parts["train"]
    assert sum(len(batch.part.others) for batch in made) == len(whole.seen.x)  # all nodes once
    assert len(made) == -(-len(whole.seen.x) // 20)
    assert torch.isfinite(agreeing.loss(made[-1]))


def same(one: object, two: object) -> None:
    for name in ("positives", "negatives", "facts"):
        assert torch.equal(getattr(one, name), getattr(two, name))
    assert torch.equal(one.seen.x, two.seen.x)
    for a, b in zip(one.seen.blocks, two.seen.blocks, strict=True):
        assert torch.equal(a.edge_index, b.edge_index)


def test_the_number_of_workers_changes_nothing() -> None:
    def batches(workers: int, epoch: int = 3) -> list[object]:
        task = task_of(web(), task="link", batch_size=8, fanout="3,2", workers=workers)
        return list(task.batches(epoch, torch.Generator().manual_seed(1)))

    wanted = batches(0)
    assert len(wanted) > 1
    for workers in (1, 2):
        for one, two in zip(wanted, batches(workers), strict=True):
            same(one, two)
    other = batches(0, epoch=4)
    assert any(a.seen.x.shape != b.seen.x.shape for a, b in zip(wanted, other, strict=True))


def test_hidden_edges_of_an_epoch_are_in_no_batch_and_all_are_asked_once() -> None:
    task = task_of(web(), task="link", model="mlp", hidden_share=0.4, batch_size=7)
    seen, positives, *_ = task._drawn(torch.Generator().manual_seed(2))
    plan = task.plan(1, torch.Generator().manual_seed(2))
    asked = torch.cat([plan.make(k).positives for k in range(plan.count)], dim=1)
    assert asked.shape == positives.shape
    sizes = [plan.make(k).positives.shape[1] for k in range(plan.count)]
    assert max(sizes) <= 7
    assert max(sizes) - min(sizes) <= 1
    hidden = {frozenset(pair) for pair in positives.T.tolist()}
    assert not hidden & {frozenset(pair) for pair in seen.edge_index.T.tolist()}


def test_mini_batches_learn_where_points_lie_far_out():
    # All 64 features tell of the class, so points lie along a line and radii grow to 20. A
    # self-loop whose gradients did not cancel exactly led to a norm of 1e10 here, and to no class.
    generator = torch.Generator().manual_seed(0)
    nodes = 1500
    pairs = torch.randint(nodes, (2, 5 * nodes), generator=generator)
    edges = torch.unique(torch.cat((pairs, pairs.flip(0)), dim=1), dim=1)
    y = torch.randint(8, (nodes,), generator=generator)
    x = 8 * torch.randn(nodes, 64, generator=generator) + 4 * y.unsqueeze(1)
    graph = Graph(edges, nodes, x=x, y=y)
    given = Config(task="node", batch_size=256, fanout="10,5", workers=0, val_share=0.2)
    problem = Problem(graph, choose(graph, given))
    task = problem.task(problem.predictor())
    for layer in task.predictor.encoder.convs:  # where training would lead after some steps
        layer.linear.weight.data *= 3
    for batch in task.batches(1, generator):
        task.predictor.zero_grad()
        task.loss(batch).backward()
        assert task.predictor.encoder.convs[0].linear.weight.grad.norm() < 100


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        *((model, {}) for model in LAYERED),
        ("hgcn", {"root_weight": True}),
        ("hgcn", {"attention": False, "symmetric": True, "aggregation": "origin"}),
        ("hgcn", {"propagation": 2}),
    ],
)
def test_layers_in_small_blocks_of_nodes_are_those_of_the_whole(
    model: str, options: dict[str, object], sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of nodes to map, and of nodes with their edges, of which a node may be in many."""
    monkeypatch.setattr(layerwise, "BLOCK", 7)
    graph = web(weighted=model in ("hgcn", "gcn", "sgc"))
    if sparse:
        graph = graph.replace(x=as_features(csr_matrix(graph.x.clamp_min(0).numpy())))
    settings = {"model": model, "task": "node", "dtype": "float64", "dropout": 0.0, **options}
    full = task_of(graph, **settings, normalise="none")
    batch = task_of(graph, **settings, normalise="none", batch_size=16, fanout="-1")
    wanted, _ = full.outputs("val")
    torch.testing.assert_close(batch.outputs("val")[0], wanted, rtol=1e-12, atol=1e-12)
