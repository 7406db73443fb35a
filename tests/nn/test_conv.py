"""The layer against the paper's equations, and its behaviour inside PyTorch."""

import copy
import math

import naive
import pytest
import torch
from torch import Tensor

from hgcn import geometry
from hgcn.errors import GraphError, ModelError
from hgcn.geometry import ball
from hgcn.nn import HGCNConv

AGGREGATIONS = ["local", "origin", "centroid", "frechet"]
NODES = 7
EDGES = torch.tensor([[0, 1, 2, 3, 4, 4, 5, 2, 0], [1, 0, 0, 2, 2, 3, 4, 2, 1]])


def conv_and_features(
    aggregation: str, attention: bool, *, heads: int = 2, scale: float = 1.0
) -> tuple[HGCNConv, Tensor]:
    """Node 6 is isolated, node 2 has a self-loop, an edge is given twice."""
    conv = HGCNConv(
        5, 3, c=0.7, aggregation=aggregation, attention=attention, heads=heads, act="tanh"
    ).double()
    with torch.no_grad():
        conv.linear.bias.copy_(torch.randn(3))
    return conv, scale * torch.randn(NODES, 5, dtype=torch.float64)


@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_equals_the_papers_equations(aggregation: str, attention: bool, scale: float) -> None:
    """Values and gradients, for all five rows of the paper's ablation and the other means."""
    conv, x = conv_and_features(aggregation, attention, scale=scale)
    x.requires_grad_()
    leaves = [x, *conv.parameters()]
    probe = torch.randn(NODES, 3, dtype=torch.float64)

    next_k = 2.0
    points = naive.layer(conv, x, EDGES, next_k=next_k)
    expected = torch.stack(
        [naive.Hyperboloid(torch.tensor(next_k).double()).log0(p) for p in points]
    )
    out = conv(x, EDGES)
    torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-9)
    ours = torch.autograd.grad((probe * out).sum(), leaves, allow_unused=True)
    theirs = torch.autograd.grad((probe * expected).sum(), leaves, allow_unused=True)
    for a, b in zip(ours, theirs, strict=True):
        if b is not None:  # at the origin the paper's c drops out of the aggregation
            torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_float32_up_to_radius_10(aggregation: str, attention: bool) -> None:
    conv, x = conv_and_features(aggregation, attention)
    with torch.no_grad():
        radius = conv.linear(x).norm(dim=-1).max() * math.sqrt(0.7)
    x = x * (10 / radius)
    x = x.float().double()
    conv = conv.float()
    exact = copy.deepcopy(conv).double()(x, EDGES)
    out = conv(x.float(), EDGES)
    error = (out - exact).norm(dim=-1) / exact.norm(dim=-1)
    assert error.max() < 1e-4


def test_the_ball_gives_the_same_layer() -> None:
    """Linear map, bias and local aggregation with Möbius operations on the Poincaré ball."""
    conv, x = conv_and_features("local", False)
    c = conv.curvature().item()
    points = ball.exp0(x, c=c)
    hidden = ball.matvec(conv.linear.weight, points, c=c)
    hidden = ball.add(hidden, ball.exp0(conv.linear.bias, c=c), c=c)
    rows = []
    for i in range(NODES):
        neighbours = EDGES[0, EDGES[1] == i].tolist()
        neighbours += [] if i in neighbours else [i]
        logs = ball.log(hidden[neighbours], at=hidden[i], c=c)
        rows.append(ball.exp(logs.mean(0), at=hidden[i], c=c))
    expected = ball.log0(torch.stack(rows), c=c).tanh()
    torch.testing.assert_close(conv(x, EDGES), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_permutation_equivariance(aggregation: str) -> None:
    conv, x = conv_and_features(aggregation, True)
    order = torch.randperm(NODES)
    place = order.argsort()
    shuffled = conv(x[order], place[EDGES[:, torch.randperm(EDGES.shape[1])]])
    torch.testing.assert_close(shuffled, conv(x, EDGES)[order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        (1, []),
        (3, []),
        (1, [(0, 0)]),
        (4, [(0, 1), (0, 1), (1, 0), (2, 2)]),
        (5, [(i, 0) for i in range(1, 5)]),
    ],
)
def test_odd_graphs(
    aggregation: str, attention: bool, loops: bool, nodes: int, edges: list[tuple[int, int]]
) -> None:
    """One node, no edges, self-loops given or not, repeated and directed edges."""
    conv = HGCNConv(3, 2, aggregation=aggregation, attention=attention, add_self_loops=loops)
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    for scale in (0.0, 1.0, 1e6):
        x = (scale * torch.randn(nodes, 3)).requires_grad_()
        out = conv(x, edge_index)
        assert out.shape == (nodes, 2)
        assert out.isfinite().all()
        assert torch.autograd.grad(out.sum(), x)[0].isfinite().all()
        conv.zero_grad()


def test_a_node_alone_keeps_its_point() -> None:
    conv, x = conv_and_features("local", False)
    out = conv(x, EDGES)
    torch.testing.assert_close(out[6], conv.linear(x)[6].tanh())


def test_edge_weights() -> None:
    conv, x = conv_and_features("local", False)
    weight = torch.rand(EDGES.shape[1], dtype=torch.float64) + 0.1
    out = conv(x, EDGES, weight)
    twice = torch.cat((EDGES, EDGES), dim=1)
    torch.testing.assert_close(conv(x, twice, torch.cat((weight, weight)) / 2), out)
    _, (edges, share) = conv(x, EDGES, weight, return_attention_weights=True)
    total = share.new_zeros(NODES, 1).index_add(0, edges[1], share)
    torch.testing.assert_close(total, torch.ones_like(total))
    weight.requires_grad_()
    assert torch.autograd.gradcheck(lambda w: conv(x, EDGES, w), weight)


def test_attention_takes_edge_weights_as_a_prior() -> None:
    conv, x = conv_and_features("local", True, heads=1)
    weight = torch.ones(EDGES.shape[1], dtype=torch.float64)
    torch.testing.assert_close(conv(x, EDGES, weight), conv(x, EDGES))
    weight[0] = 0
    torch.testing.assert_close(conv(x, EDGES, weight), conv(x, EDGES[:, 1:]))
    weight = (weight + 0.5).requires_grad_()
    assert torch.autograd.gradcheck(lambda w: conv(x, EDGES, w), weight)


def test_attention_weights_are_returned_as_by_gat_conv() -> None:
    conv, x = conv_and_features("local", True, heads=3)
    out, (edges, share) = conv(x, EDGES, return_attention_weights=True)
    torch.testing.assert_close(out, conv(x, EDGES))
    assert edges.shape == (2, EDGES.shape[1] + NODES - 1)
    assert share.shape == (edges.shape[1], 3)
    given = set(map(tuple, EDGES.t().tolist())) | {(i, i) for i in range(NODES)}
    assert set(map(tuple, edges.t().tolist())) == given


def test_attention_ranks_neighbours_by_the_centre_too() -> None:
    """With one linear map the centre would cancel in the softmax."""
    conv = HGCNConv(2, 4, add_self_loops=False, bias=False).double()
    x = torch.randn(6, 2, dtype=torch.float64)
    edges = torch.tensor([[0, 1, 2, 0, 1, 2], [3, 3, 3, 4, 4, 4]])
    _, (_, share) = conv(x, edges, return_attention_weights=True)
    assert (share[:3] - share[3:]).abs().max() > 1e-3


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_sampled_blocks(aggregation: str) -> None:
    """Targets are the first nodes of the sources, as PyG's samplers order them."""
    conv, x = conv_and_features(aggregation, True)
    keep = EDGES[1] < 3
    whole = conv(x, EDGES)[:3]
    torch.testing.assert_close(conv((x, x[:3]), EDGES[:, keep]), whole, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_sparse_features() -> None:
    conv, x = conv_and_features("local", True)
    x = x * (torch.rand_like(x) < 0.3)
    for sparse in (x.to_sparse_csr(), x.to_sparse_coo()):
        torch.testing.assert_close(conv(sparse, EDGES), conv(x, EDGES))


def test_dropout_is_on_the_weights() -> None:
    """DropConnect: the same entries are missing for every node, and points keep their place."""
    conv = HGCNConv(4, 4, dropout=0.5, attention=False, act=None, bias=False, add_self_loops=True)
    x = torch.ones(3, 4)
    out = conv(x, torch.empty(2, 0, dtype=torch.long))
    torch.testing.assert_close(out, out[:1].expand(3, 4))
    conv.eval()
    torch.testing.assert_close(
        conv(x, torch.empty(2, 0, dtype=torch.long)), x @ conv.linear.weight.T
    )


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_thousand_steps_at_a_high_learning_rate(aggregation: str) -> None:
    steps = 1000 if aggregation in ("local", "origin") else 20
    parents = torch.tensor([(i - 1) // 2 for i in range(1, 63)])
    children = torch.arange(1, 63)
    edges = torch.cat((torch.stack((parents, children)), torch.stack((children, parents))), dim=1)
    x, labels = torch.randn(63, 8), torch.randint(0, 3, (63,))
    layers = torch.nn.ModuleList(
        [HGCNConv(8, 8, aggregation=aggregation), HGCNConv(8, 3, aggregation=aggregation, act=None)]
    )
    optimizer = torch.optim.Adam(geometry.parameter_groups(layers, weight_decay=5e-4), lr=0.1)
    for _ in range(steps):
        h = layers[0](x, edges)
        loss = torch.nn.functional.cross_entropy(layers[1](h, edges), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert loss.isfinite()
        for layer in layers:
            assert 1e-4 <= layer.curvature().item() <= 1e4
    assert all(p.isfinite().all() for p in layers.parameters())


def test_copies_and_dtypes() -> None:
    conv, x = conv_and_features("local", True)
    expected = conv(x, EDGES)
    torch.testing.assert_close(copy.deepcopy(conv)(x, EDGES), expected, rtol=0, atol=0)
    other = HGCNConv(5, 3, heads=2, act="tanh").double()
    other.load_state_dict(conv.state_dict())
    torch.testing.assert_close(other(x, EDGES), expected, rtol=0, atol=0)
    assert conv.float()(x.float(), EDGES).dtype == torch.float32
    assert len(list(conv.parameters())) == len({id(p) for p in conv.parameters()})
    conv.reset_parameters()
    assert not torch.equal(conv(x.float(), EDGES), expected.float())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: HGCNConv(2, 2, aggregation="locl"), ModelError, "Did you mean 'local'"),
        (lambda: HGCNConv(2, 2, act="rely"), ModelError, "Did you mean 'relu'"),
        (lambda: HGCNConv(2, 2, dropout=1.0), ModelError, "below 1, got 1.0"),
        (lambda: HGCNConv(2, 2, heads=0), ModelError, "at least 1, got 0"),
        (lambda: HGCNConv(2, 2, c=-1.0), ValueError, "got -1.0"),
        (lambda: run(x=torch.ones(4, 3)), GraphError, r"\[number of nodes, 2\], got \[4, 3\]"),
        (lambda: run(x=torch.ones(2)), GraphError, r"got \[2\]"),
        (lambda: run(edges=[[0, 1], [1, 4]]), GraphError, "targets .* 0..3, got 4 at column 1"),
        (lambda: run(edges=[[1, 4], [2, 3]]), GraphError, "Are the ids 1-based"),
        (lambda: run(edges=[[-1, 1], [1, 3]]), GraphError, "sources .* got -1 at column 0"),
        (lambda: run(edges=[[0, 1, 2]]), GraphError, r"shape \[2, number of edges\]"),
        (lambda: run(edges=[[0.0], [1.0]]), GraphError, "integer tensor .*float32"),
        (lambda: run(weight=torch.ones(3)), GraphError, "each of the 2 edges"),
        (lambda: run(x=torch.full((4, 2), math.nan)), GraphError, "got nan at node 0, feature 0"),
        (lambda: run(x=torch.tensor([[0, 1], [0, math.inf]] * 2)), GraphError, "inf at node 1"),
        (lambda: run(weight=torch.tensor([math.nan, 1])), GraphError, "weights that are finite"),
    ],
)
def test_bad_input_is_explained(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]


def run(
    x: Tensor | None = None, edges: list[list[float]] | None = None, weight: Tensor | None = None
) -> Tensor:
    conv = HGCNConv(2, 2)
    x = torch.ones(4, 2) if x is None else x
    return conv(x, torch.tensor(edges or [[0, 1], [1, 2]]), weight)


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_root_weight_adds_the_mapped_own_point(aggregation: str, is_sparse: bool) -> None:
    options = {"c": 0.7, "aggregation": aggregation, "act": None}
    conv = HGCNConv(5, 3, root_weight=True, **options).double()
    plain = HGCNConv(5, 3, **options).double()
    plain.load_state_dict({k: v for k, v in conv.state_dict().items() if not k.startswith("root.")})
    assert conv.root is not None
    assert conv.root.curvature is conv.linear.curvature
    x = torch.randn(NODES, 5, dtype=torch.float64)
    given = x.to_sparse_coo() if is_sparse else x
    c = conv.curvature()
    expected = geometry.translate(plain(given, EDGES), x @ conv.root.weight.T, c=c)
    out = conv(given, EDGES)
    torch.testing.assert_close(out, expected)
    out.square().sum().backward()
    assert all((p.grad is not None and p.grad.abs().max() > 1e-9) for p in conv.parameters())


def test_a_root_weight_maps_targets_if_they_are_apart_from_sources() -> None:
    conv = HGCNConv(5, 3, root_weight=True, act=None, add_self_loops=False)
    assert conv.root is not None
    edges = torch.tensor([[0, 1, 0, 0], [0, 0, 1, 3]])
    x = torch.randn(2, 5), torch.randn(4, 5)
    before = conv(x, edges)
    with torch.no_grad():
        conv.root.weight.zero_()
    mean = conv(x, edges)
    conv.reset_parameters()
    assert conv.root.weight.abs().sum() > 0
    assert before.shape == mean.shape == (4, 3)
    assert not torch.allclose(before, mean)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("attention", [False, True])
def test_inference_mode_works_and_leaves_nothing_behind(sparse, attention):
    """Also where the first call of all is inside it, with tensors made outside or inside."""
    x = torch.randn(5, 4).relu()
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    conv = HGCNConv(4, 3, attention=attention)
    given = x.to_sparse_csr() if sparse else x
    with torch.inference_mode():
        inside = conv(given, edges)
        again = conv(given.clone(), edges.clone())
    assert inside.is_inference()
    assert torch.equal(inside, again)
    out = conv(given, edges)
    assert torch.equal(out, inside)
    out.sum().backward()
    assert all(weight.grad is not None for weight in conv.parameters())
