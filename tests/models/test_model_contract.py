"""What every encoder promises, for every encoder in the table."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from random_tree import FEATURES, NODES, random_tree
from torch import Tensor, nn

from hgcn.errors import GraphError
from hgcn.geometry import Curvature
from hgcn.models import MODELS, Encoder, build, options_of

DIM = 4
TREE = random_tree()

CASES: list[tuple[str, dict[str, Any]]] = [
    ("hgcn", {}),
    ("hgcn", {"aggregation": "origin", "c": 0.3, "last_act": "tanh"}),
    ("hgcn", {"aggregation": "centroid", "attention": False, "layers": 3}),
    ("hgcn", {"aggregation": "origin", "root_weight": True, "attention": False}),
    ("hgcn", {"aggregation": "frechet", "heads": 2, "layers": 1, "add_self_loops": False}),
    ("hnn", {"c": 2.0}),
    ("mlp", {"act": "elu"}),
    ("gcn", {}),
    ("gat", {"heads": 2, "layers": 3}),
    ("sage", {"act": "tanh"}),
    ("sgc", {"layers": 3}),
    ("euc", {}),
    ("hyp", {"c": 0.5}),
    ("free", {"c": 0.5, "std": 1.0}),
    ("euc-mixed", {}),
    ("hyp-mixed", {"c": 0.5, "layers": 3}),
]


def models(chosen: Callable[[str], bool]) -> pytest.MarkDecorator:
    cases = [(name, options) for name, options in CASES if chosen(name)]
    ids = [" ".join((name, *map(str, options.values()))) for name, options in cases]
    return pytest.mark.parametrize(("name", "options"), cases, ids=ids)


every_model = models(lambda name: True)
inductive_models = models(lambda name: MODELS[name].inductive)
models_with_dropout = models(lambda name: "dropout" in options_of(name))


def make(name: str, options: dict[str, Any], *, seed: int = 0) -> Encoder:
    torch.manual_seed(seed)
    encoder = build(name, FEATURES, DIM, num_nodes=NODES, **options)
    # Biases start at zero, where permuted or forgotten ones would not show.
    for key, parameter in encoder.named_parameters():
        if key.endswith("bias"):
            nn.init.normal_(parameter, std=0.1)
    return encoder


def test_every_model_has_a_case() -> None:
    assert {name for name, _ in CASES} == set(MODELS)


@every_model
def test_shape_and_layers(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    z = encoder(TREE.x, TREE.edge_index)
    assert z.shape == (NODES, DIM)
    assert z.isfinite().all()
    layers = encoder.encode_layers(TREE.x, TREE.edge_index)
    torch.testing.assert_close(layers[-1], z, rtol=0, atol=0)
    torch.testing.assert_close(encoder.encode(TREE.x, TREE.edge_index), z, rtol=0, atol=0)
    assert len(layers) == len(encoder.spaces)
    assert encoder.spaces[-1] == encoder.space
    shallow = name in ("euc", "hyp", "free")
    assert len(layers) - 1 == encoder.layers == (0 if shallow else options.get("layers", 2))
    assert all(h.shape == (NODES, DIM) for h in layers[1:])


@every_model
def test_gradients_reach_every_parameter(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    TREE.loss(encoder).backward()
    for key, parameter in encoder.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.any(), key


@every_model
def test_training_lowers_the_loss(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    before = TREE.loss(encoder)
    TREE.train(encoder, steps=30, lr=0.02)
    assert TREE.loss(encoder) < 0.95 * before


@every_model
def test_state_goes_from_one_to_another(name: str, options: dict[str, Any]) -> None:
    encoder, other = make(name, options), make(name, options, seed=1)
    TREE.train(encoder, steps=2, lr=0.1)
    other.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(TREE.loss(other), TREE.loss(encoder), rtol=0, atol=0)
    assert all(type(value) is Tensor for value in encoder.state_dict().values())


@every_model
def test_a_copy_is_independent(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    before = encoder(TREE.x, TREE.edge_index)
    twin = copy.deepcopy(encoder)
    torch.testing.assert_close(twin(TREE.x, TREE.edge_index), before, rtol=0, atol=0)
    TREE.train(twin, steps=2, lr=0.1)
    torch.testing.assert_close(encoder(TREE.x, TREE.edge_index), before, rtol=0, atol=0)
    assert not torch.equal(twin(TREE.x, TREE.edge_index), before)


@every_model
def test_double_precision(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    single = encoder(TREE.x, TREE.edge_index)
    assert single.dtype is torch.float32
    encoder.to(torch.float64)
    double = encoder(TREE.x.double(), TREE.edge_index)
    assert double.dtype is torch.float64
    torch.testing.assert_close(double.float(), single, rtol=1e-4, atol=1e-5)
    assert encoder.squared_distance(double[:3], double[3:6]).dtype is torch.float64


@every_model
def test_a_seed_gives_the_same_run(name: str, options: dict[str, Any]) -> None:
    if "dropout" in options_of(name):
        options = {**options, "dropout": 0.3}
    runs = []
    for _ in range(2):
        encoder = make(name, options)
        TREE.train(encoder, steps=3, lr=0.1)
        runs.append(encoder.eval()(TREE.x, TREE.edge_index))
    torch.testing.assert_close(runs[0], runs[1], rtol=0, atol=0)


@models_with_dropout
def test_dropout_is_off_in_evaluation(name: str, options: dict[str, Any]) -> None:
    plain, dropped = make(name, options), make(name, {**options, "dropout": 0.5})
    expected = plain(TREE.x, TREE.edge_index)
    assert not torch.allclose(dropped(TREE.x, TREE.edge_index), expected)
    torch.testing.assert_close(dropped.eval()(TREE.x, TREE.edge_index), expected)


@inductive_models
def test_the_order_of_nodes_does_not_matter(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options).double()
    new_id = torch.randperm(NODES)
    old_id = new_id.argsort()
    x = TREE.x.double()
    edges = new_id[TREE.edge_index][:, torch.randperm(TREE.edge_index.shape[1])]
    torch.testing.assert_close(
        encoder(x[old_id], edges)[new_id], encoder(x, TREE.edge_index), rtol=1e-8, atol=1e-10
    )


@every_model
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo])
def test_sparse_features_stay_sparse(
    name: str, options: dict[str, Any], layout: torch.layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = make(name, options)
    grads: list[list[Tensor]] = []
    outputs = []
    for x in (TREE.x, TREE.x.to_sparse(layout=layout)):
        if x is not TREE.x:
            monkeypatch.setattr(torch.Tensor, "to_dense", None)
        loss = TREE.loss(encoder, x)
        outputs.append(encoder(x, TREE.edge_index))
        grads.append(list(torch.autograd.grad(loss, list(encoder.parameters()))))
    torch.testing.assert_close(outputs[1], outputs[0])
    torch.testing.assert_close(grads[1], grads[0], rtol=1e-4, atol=1e-5)


@every_model
def test_curvature_does_not_decay(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    optimizer = encoder.make_optimizer(0.1, 10.0)
    modules = [module for module in encoder.modules() if isinstance(module, Curvature)]
    for module in modules:
        if module.raw is not None:
            nn.init.constant_(module.raw, 0.5)
    before = [module().item() for module in modules]
    length = sum(parameter.norm() for parameter in encoder.parameters() if parameter.dim())
    for _ in range(5):
        for parameter in encoder.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
    assert [module().item() for module in modules] == before
    assert sum(parameter.norm() for parameter in encoder.parameters() if parameter.dim()) < length


@every_model
def test_decoders_are_trained_along(name: str, options: dict[str, Any]) -> None:
    encoder, decoder = make(name, options), nn.Linear(DIM, 2)
    optimizer = encoder.make_optimizer(0.1, also=[decoder])
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    everything = [*encoder.parameters(), *decoder.parameters()]
    assert sorted(map(id, trained)) == sorted(map(id, everything))
    before = decoder.weight.clone()
    decoder(encoder(TREE.x, TREE.edge_index)).square().mean().backward()
    optimizer.step()
    assert not torch.equal(decoder.weight, before)


@every_model
def test_an_optimizer_resumes(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    optimizer = encoder.make_optimizer(0.05, 1e-3)
    for step in range(4):
        if step == 2:
            weights = copy.deepcopy(encoder.state_dict())
            state = copy.deepcopy(optimizer.state_dict())
        optimizer.zero_grad()
        TREE.loss(encoder).backward()
        optimizer.step()
    expected = encoder(TREE.x, TREE.edge_index)
    other = make(name, options, seed=1)
    other.load_state_dict(weights)
    optimizer = other.make_optimizer(1.0)
    optimizer.load_state_dict(state)
    for _ in range(2):
        optimizer.zero_grad()
        TREE.loss(other).backward()
        optimizer.step()
    torch.testing.assert_close(other(TREE.x, TREE.edge_index), expected, rtol=0, atol=0)


@every_model
def test_a_scheduler_reaches_every_group(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    optimizer = encoder.make_optimizer(0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.0)
    optimizer.zero_grad()
    TREE.loss(encoder).backward()
    optimizer.step()
    scheduler.step()
    z = encoder(TREE.x, TREE.edge_index)
    TREE.loss(encoder).backward()
    optimizer.step()
    torch.testing.assert_close(encoder(TREE.x, TREE.edge_index), z, rtol=0, atol=0)


@every_model
def test_features_of_another_size_are_refused(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    with pytest.raises(
        GraphError, match=r"`x` to have shape \[number of nodes, 7\], got \[40, 6\]"
    ):
        encoder(TREE.x[:, 1:], TREE.edge_index)


@every_model
def test_distance_is_that_of_the_output_space(name: str, options: dict[str, Any]) -> None:
    encoder = make(name, options)
    z = encoder(TREE.x, TREE.edge_index).detach().double()
    squared = encoder.squared_distance(z[:5], z[5:10])
    assert squared.shape == (5,)
    flat = (z[:5] - z[5:10]).square().sum(-1)
    if encoder.curvature is None:
        torch.testing.assert_close(squared, flat)
    else:
        # In normal coordinates distances are never shorter than they look.
        assert (squared > flat).all()
