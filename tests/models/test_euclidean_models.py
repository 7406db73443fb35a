"""The Euclidean baselines against plain PyTorch Geometric."""

from typing import Any

import pytest
import torch
from random_tree import FEATURES, NODES, random_tree
from torch import Tensor, nn

from hgcn.errors import GraphError
from hgcn.models import MLP, build
from hgcn.models.linear import product

TREE = random_tree()


def plain(name: str, dim: int) -> tuple[dict[str, Any], list[nn.Module]]:
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SGConv

    sizes = (FEATURES, dim)
    return {
        "gcn": ({}, [GCNConv(i, dim) for i in sizes]),
        "gat": ({"heads": 2}, [GATConv(i, dim // 2, heads=2) for i in sizes]),
        "sage": ({}, [SAGEConv(i, dim) for i in sizes]),
        "sgc": ({"layers": 3}, [SGConv(FEATURES, dim, K=3)]),
    }[name]


def _key(name: str) -> str:
    return name.removeprefix("convs.").replace("conv.", "0.")


def edges(kind: str) -> Tensor:
    """A tree, one with some self-loops and nodes without edges, or no edge."""
    if kind == "tree":
        return TREE.edge_index
    loops = torch.tensor([[0, 3], [0, 3]])
    return torch.cat((TREE.edge_index[:, 20:], loops), dim=1) if kind == "loops" else loops[:, :0]


@pytest.mark.parametrize("kind", ["tree", "loops", "empty"])
@pytest.mark.parametrize("name", ["gcn", "gat", "sage", "sgc"])
def test_baselines_are_those_of_pytorch_geometric(name: str, kind: str) -> None:
    options, convs = plain(name, dim=6)
    encoder = build(name, FEATURES, 6, **options).double()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter)
    stack = nn.ModuleList(convs).double()
    state = encoder.state_dict()
    stack.load_state_dict({_key(name): value for name, value in state.items()})
    x, edge_index = TREE.x.double(), edges(kind)
    given = [()] if name in ("gat", "sage") else [(), (torch.rand(edge_index.shape[1]).double(),)]
    for weight in given:
        expected = x
        for conv in stack:
            expected = conv(expected if conv is stack[0] else expected.relu(), edge_index, *weight)
        actual = encoder(x, edge_index, *weight)
        torch.testing.assert_close(actual, expected)
        probe = torch.randn_like(actual)
        gradients = [
            torch.autograd.grad((out * probe).sum(), list(module.parameters()))
            for out, module in ((actual, encoder), (expected, stack))
        ]
        by_name = [
            dict(zip([_key(n) for n, _ in m.named_parameters()], g, strict=True))
            for m, g in zip((encoder, stack), gradients, strict=True)
        ]
        torch.testing.assert_close(*by_name)


@pytest.mark.parametrize("name", ["gcn", "gat", "sage", "sgc"])
def test_weights_start_as_in_pytorch_geometric(name: str) -> None:
    options, convs = plain(name, dim=64)
    ours = build(name, FEATURES, 64, **options).state_dict()
    for key, theirs in nn.ModuleList(convs).state_dict().items():
        key_here = "conv." + key.removeprefix("0.") if name == "sgc" else "convs." + key
        torch.testing.assert_close(ours[key_here].std(), theirs.std(), rtol=0.3, atol=1e-6)


@pytest.mark.parametrize("name", ["hgcn", "gcn", "sgc"])
def test_edge_weights_count(name: str) -> None:
    options = {"attention": False} if name == "hgcn" else {}
    encoder = build(name, FEATURES, **options)
    ones = torch.ones(TREE.edge_index.shape[1])
    even = encoder(TREE.x, TREE.edge_index)
    torch.testing.assert_close(encoder(TREE.x, TREE.edge_index, ones), even)
    assert not torch.allclose(encoder(TREE.x, TREE.edge_index, torch.rand_like(ones)), even)


@pytest.mark.parametrize("count", [1, 79])
@pytest.mark.parametrize("name", ["hgcn", "gcn", "sgc"])
def test_there_is_a_weight_for_each_edge(name: str, count: int) -> None:
    message = rf"one weight for each of the 78 edges, got `edge_weight` of shape \[{count}\]"
    with pytest.raises(GraphError, match=message):
        build(name, FEATURES)(TREE.x, TREE.edge_index, torch.ones(count))


@pytest.mark.parametrize("name", ["gat", "sage"])
def test_edge_weights_that_would_be_ignored_are_refused(name: str) -> None:
    encoder = build(name, FEATURES)
    with pytest.raises(
        GraphError, match=rf"no `edge_weight`, got .* \[78\]: {name.upper()} has no"
    ):
        encoder(TREE.x, TREE.edge_index, torch.ones(TREE.edge_index.shape[1]))


@pytest.mark.parametrize("name", ["mlp", "hnn", "euc", "hyp", "euc-mixed", "hyp-mixed"])
def test_models_without_messages_ignore_edges(name: str) -> None:
    encoder = build(name, FEATURES, num_nodes=NODES)
    torch.testing.assert_close(
        encoder(TREE.x, TREE.edge_index[:, :0]), encoder(TREE.x, TREE.edge_index), rtol=0, atol=0
    )


def test_mlp_is_a_perceptron() -> None:
    encoder = MLP(FEATURES, 4, act="elu", last_act="tanh")
    first, second = encoder.linears
    expected = torch.tanh(second(nn.functional.elu(first(TREE.x))))
    torch.testing.assert_close(encoder(TREE.x, TREE.edge_index), expected)
    assert "dropout=0.0" in repr(encoder)


@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_zeroes_single_features(sparse: bool) -> None:
    def entries(x: Tensor) -> Tensor:
        return product(x, torch.eye(50), dropout=0.25)

    x = torch.ones(200, 50).tril(100)
    out = entries(x.to_sparse_coo() if sparse else x)
    torch.testing.assert_close(out.unique(), torch.tensor([0, 4 / 3]))
    assert out.sum().item() == pytest.approx(x.sum().item(), rel=0.02)


@pytest.mark.parametrize("name", ["euc", "hyp", "euc-mixed", "hyp-mixed"])
def test_shallow_models_refuse_other_graphs(name: str) -> None:
    encoder = build(name, FEATURES, num_nodes=NODES)
    assert not encoder.inductive
    kind = type(encoder).__name__
    with pytest.raises(
        GraphError, match=f"Expected the 40 nodes that {kind} was built for, got 39"
    ):
        encoder(TREE.x[1:], TREE.edge_index)
