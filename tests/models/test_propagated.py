"""Propagation of features: the powers of a dense matrix are the oracle."""

import pytest
import torch
from random_tree import FEATURES, NODES, random_tree
from scipy.sparse import csr_matrix

from hgcn.config import Config
from hgcn.data.sparse import as_features
from hgcn.errors import ModelError
from hgcn.models import MODELS, Propagated, build
from hgcn.models.predictor import Predictor, model_settings
from hgcn.models.propagated import propagate
from small_graphs import quick_run, tree

TREE = random_tree()
READING = [name for name in MODELS if name not in ("euc", "hyp", "free")]


def dense_mean(x, edge_index, edge_weight, hops):
    a = torch.zeros(len(x), len(x), dtype=torch.float64)
    weight = torch.ones(edge_index.shape[1]) if edge_weight is None else edge_weight
    a.index_put_((edge_index[1], edge_index[0]), weight.double(), accumulate=True)
    a += torch.eye(len(x), dtype=torch.float64)
    root = a.sum(1).rsqrt()
    step = root[:, None] * a * root
    return sum(torch.linalg.matrix_power(step, k) @ x.double() for k in range(hops + 1)) / (
        hops + 1
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hops", [1, 2, 8])
def test_it_is_the_mean_of_the_powers_of_the_normalised_matrix(hops, weighted, dtype):
    x = torch.randn(NODES, 5, dtype=dtype, generator=torch.Generator().manual_seed(1))
    x.requires_grad_()
    weight = None
    if weighted:  # the same for both directions of an edge
        weight = 0.5 + (TREE.edge_index.sum(0) % 3).to(dtype)
    out = propagate(x, TREE.edge_index, weight, hops=hops)
    expected = dense_mean(x, TREE.edge_index, weight, hops)
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=2e-6)
    (slope,) = torch.autograd.grad(out.square().sum(), x)
    (wanted,) = torch.autograd.grad(expected.square().sum(), x)
    torch.testing.assert_close(slope, wanted.to(dtype), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", READING)
def test_every_model_that_reads_features_takes_them_propagated(name):
    """The map and the propagation commute, and sparse features give what dense ones give."""
    torch.manual_seed(0)
    inner = build(name, 6, 4, num_nodes=NODES)
    encoder = Propagated(inner, in_channels=FEATURES, hops=3).double().eval()
    x = (TREE.x * (torch.rand(NODES, FEATURES) < 0.5)).double()
    first = dense_mean(x, TREE.edge_index, None, 3) @ encoder.linear.weight.T
    layers = encoder.encode_layers(x, TREE.edge_index)
    torch.testing.assert_close(layers[-1], inner(first, TREE.edge_index))
    assert len(layers) == len(encoder.spaces) == encoder.layers + 1
    assert encoder.space == inner.space
    sparse = as_features(csr_matrix(x.numpy())).double()
    assert sparse.layout is torch.sparse_csr
    torch.testing.assert_close(encoder(sparse, TREE.edge_index), layers[-1])
    layers[-1].square().sum().backward()
    assert encoder.linear.weight.grad.abs().sum() > 0
    for parameter in encoder.parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all()
    trained = {id(p) for g in encoder.make_optimizer().param_groups for p in g["params"]}
    assert {id(p) for p in encoder.parameters()} == trained


def test_a_model_without_features_has_nothing_to_propagate():
    with pytest.raises(ModelError, match="no use for features"):
        Propagated(build("euc", 6, 4, num_nodes=NODES), in_channels=FEATURES, hops=3)


@pytest.mark.parametrize("sparse", [False, True])
def test_node_dropout_leaves_out_whole_rows_and_scales_the_others(sparse):
    settings = model_settings(Config(model="mlp", node_dropout=0.75, propagation=2, dim=4))
    network = Predictor(settings, in_channels=FEATURES, num_nodes=NODES, num_classes=2)
    seen = []
    network.encoder.linear.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    x = torch.rand(NODES, FEATURES) + 1
    given = as_features(csr_matrix(x.numpy())) if sparse else x
    torch.manual_seed(0)
    for _ in range(50):
        network.train().encode(given, TREE.edge_index)
    drawn = torch.stack([one.to_dense() for one in seen])
    ratio = drawn / x
    whole = ratio[..., :1].expand_as(ratio)
    torch.testing.assert_close(ratio, whole)
    assert sorted(set(ratio.flatten().round(decimals=4).tolist())) == [0.0, 4.0]
    assert abs(float((ratio[..., 0] == 0).double().mean()) - 0.75) < 0.05
    network.eval().encode(given, TREE.edge_index)
    torch.testing.assert_close(seen[-1].to_dense(), x)


@pytest.mark.parametrize("task", ["link", "node"])
def test_a_run_is_written_and_read_again(task, tmp_path):
    from hgcn.runs.folder import load_run

    settings = {"propagation": 3, "node_dropout": 0.3, "consistency": 1.0, "views": 3}
    run = quick_run(task, **settings, out=tmp_path / "run")
    again = load_run(tmp_path / "run")
    torch.testing.assert_close(again.embeddings(tree()), run.embeddings(), rtol=0, atol=0)
