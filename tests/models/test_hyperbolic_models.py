"""HGCN, HNN and the Poincaré embeddings: curvatures, and training that is hard on them."""

import pytest
import torch
from random_tree import FEATURES, NODES, random_tree
from torch import nn

from hgcn.geometry import Curvature, distance
from hgcn.models import HGCN, HNN, MLP, Encoder, EucMixed, Hyp, HypMixed
from hgcn.models.optim import Adam, CombinedOptimizer
from hgcn.names import AGGREGATIONS
from hgcn.nn import FermiDirac

TREE = random_tree()


def trained_curvatures(encoder: Encoder) -> list[float]:
    return [m().item() for m in encoder.modules() if isinstance(m, Curvature)]


@pytest.mark.parametrize("model", [HGCN, HNN])
@pytest.mark.parametrize("layers", [1, 3])
def test_every_layer_and_the_output_have_their_own_curvature(
    model: type[HGCN | HNN], layers: int
) -> None:
    encoder = model(FEATURES, 4, layers=layers, c=0.7)
    assert len({id(space.curvature) for space in encoder.spaces}) == layers + 1
    assert trained_curvatures(encoder) == pytest.approx([0.7] * (layers + 1))
    TREE.train(encoder, steps=3, lr=0.1)
    assert len(set(trained_curvatures(encoder))) == layers + 1
    fixed = model(FEATURES, 4, layers=layers, c=0.7, trainable_c=False)
    TREE.train(fixed, steps=3, lr=0.1)
    assert trained_curvatures(fixed) == pytest.approx([0.7] * (layers + 1))


def test_hnn_in_nearly_flat_space_is_an_mlp() -> None:
    hnn, mlp = HNN(FEATURES, 4, c=1e-4, trainable_c=False), MLP(FEATURES, 4)
    weights = {k: v for k, v in hnn.state_dict().items() if "curvature" not in k}
    for key, value in weights.items():
        if key.endswith("bias"):
            nn.init.normal_(value)
    mlp.load_state_dict(weights)
    z = hnn(TREE.x, TREE.edge_index)
    torch.testing.assert_close(z, mlp(TREE.x, TREE.edge_index), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(
        hnn.squared_distance(z[:5], z[5:10]),
        mlp.squared_distance(z[:5], z[5:10]),
        rtol=1e-2,
        atol=0,
    )


@pytest.mark.parametrize("kind", [*AGGREGATIONS, None])
def test_hard_training_stays_finite_and_in_bounds(kind: str | None) -> None:
    torch.manual_seed(0)
    encoder = HNN(FEATURES, 4) if kind is None else HGCN(FEATURES, 4, aggregation=kind)
    # A Fréchet mean is a search for each node, layer and step: a tenth of a second here.
    steps = 25 if kind == "frechet" else 200
    TREE.train(encoder, steps=steps, lr=0.1, weight_decay=1e-3)
    loss = TREE.loss(encoder)
    loss.backward()
    assert loss < 0.6
    for parameter in encoder.parameters():
        assert parameter.isfinite().all()
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    assert all(0.99e-4 <= c <= 1.01e4 for c in trained_curvatures(encoder))


@pytest.mark.parametrize("lr", [0.1, 1e3])
@pytest.mark.parametrize("c", [0.1, 5.0])
@pytest.mark.parametrize("model", [Hyp, HypMixed])
def test_poincare_embeddings_stay_in_the_ball(
    model: type[Hyp | HypMixed], c: float, lr: float
) -> None:
    encoder = model(FEATURES, 4, num_nodes=NODES, c=c)
    for parameter in encoder.parameters():
        # The perceptron is not what is tried here.
        parameter.requires_grad_(parameter is encoder.embedding)
    TREE.train(encoder, steps=200 if lr < 1 else 20, lr=lr)
    assert (encoder.embedding.norm(dim=-1) * c**0.5 < 1).all()
    z = encoder.encode_layers(TREE.x, TREE.edge_index)[0]
    assert z.isfinite().all()
    if lr < 1:
        assert TREE.loss(encoder) < 0.6


def test_poincare_embeddings_are_read_as_normal_coordinates() -> None:
    encoder = Hyp(FEATURES, 4, num_nodes=NODES, c=0.4, std=1.0).double()
    x = encoder.embedding.detach()
    inner = 1 - 0.4 * x.square().sum(-1)
    ratio = 2 * 0.4 * (x[:5] - x[5:10]).square().sum(-1) / (inner[:5] * inner[5:10])
    expected = torch.acosh(1 + ratio) / 0.4**0.5  # the distance of Nickel and Kiela, Eq. 1
    z = encoder(TREE.x.double(), TREE.edge_index)
    torch.testing.assert_close(distance(z[:5], z[5:10], c=0.4), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(
        encoder.squared_distance(z[:5], z[5:10]), expected.square(), rtol=1e-6, atol=0
    )


def test_a_step_of_the_poincare_embedding_is_riemannian() -> None:
    encoder = Hyp(FEATURES, 4, num_nodes=NODES, c=1.0, std=1.0, lr_factor=3.0)
    before = encoder.embedding.detach().clone()
    optimizer = encoder.make_optimizer(1e-3)
    TREE.loss(encoder).backward()
    assert encoder.embedding.grad is not None
    scale = (1 - before.square().sum(-1, keepdim=True)).square() / 4
    expected = before - 3e-3 * scale * encoder.embedding.grad
    optimizer.step()
    torch.testing.assert_close(encoder.embedding.data, expected, rtol=1e-6, atol=1e-9)


def test_poincare_embeddings_and_the_rest_have_their_own_optimizers() -> None:
    import geoopt

    hyp = Hyp(FEATURES, 4, num_nodes=NODES)
    assert type(hyp.make_optimizer()) is geoopt.optim.RiemannianSGD
    assert type(hyp.make_optimizer(also=[FermiDirac()])) is geoopt.optim.RiemannianSGD
    for optimizer in (
        hyp.make_optimizer(also=[FermiDirac(trainable=True)]),
        HypMixed(FEATURES, 4, num_nodes=NODES).make_optimizer(0.1),
    ):
        assert isinstance(optimizer, CombinedOptimizer)
        descent, adam = optimizer.optimizers
        assert type(descent) is geoopt.optim.RiemannianSGD
        assert type(adam) is Adam


def test_combined_optimizers_call_a_closure_once() -> None:
    encoder = HypMixed(FEATURES, 4, num_nodes=NODES)
    optimizer = encoder.make_optimizer(0.1)
    calls = []

    def closure() -> float:
        optimizer.zero_grad()
        loss = TREE.loss(encoder)
        loss.backward()
        calls.append(loss.item())
        return calls[-1]

    before = [p.detach().clone() for p in encoder.parameters()]
    assert [optimizer.step(closure)] == calls
    assert all(not torch.equal(p, old) for p, old in zip(encoder.parameters(), before, strict=True))


@pytest.mark.parametrize("model", [EucMixed, HypMixed])
def test_mixed_models_concatenate(model: type[EucMixed | HypMixed]) -> None:
    encoder = model(FEATURES, 4, num_nodes=NODES, layers=1)
    shallow, out = encoder.encode_layers(TREE.x, TREE.edge_index)
    weight = torch.cat((encoder.mlp.embedding.weight, encoder.mlp.features.weight), dim=1)
    torch.testing.assert_close(out, torch.cat((shallow, TREE.x), dim=1) @ weight.t())
    assert encoder.curvature is None
