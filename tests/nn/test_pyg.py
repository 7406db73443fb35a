"""A layer like any other of PyTorch Geometric: a test for each row of the table in docs/layers.md.

A test says by ``row`` which row it holds the layer to, and whether that row says yes or no.
"""

import copy
import io
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.explain import Explainer
from torch_geometric.explain.algorithm import (
    AttentionExplainer,
    GNNExplainer,
    GraphMaskExplainer,
    PGExplainer,
)
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from hgcn import kernels
from hgcn.errors import DerivativeError, GraphError, ModelError
from hgcn.geometry import parameter_groups
from hgcn.kernels import backends
from hgcn.nn import HGCNConv, HyperbolicMLR, HypLinear
from hgcn.nn.aggregation import origin

NODES = 7
EDGES = torch.tensor([[0, 1, 2, 3, 4, 4, 5, 2, 0], [1, 0, 0, 2, 2, 3, 4, 2, 1]])
GUIDE = Path(__file__).parents[2] / "docs" / "layers.md"
ROWS: dict[str, str] = {}

Test = Callable[..., None]


def row(name: str, works: bool) -> Callable[[Test], Test]:
    """Say which row of the table a test is about."""
    assert ROWS.setdefault(name, "yes" if works else "no") == ("yes" if works else "no")
    return lambda test: test


def points(*shape: int) -> Tensor:
    return torch.randn(*(shape or (NODES, 4)))


class Network(nn.Module):
    """Two layers, as PyTorch Geometric's examples write them."""

    def __init__(self, *sizes: Any, **options: Any) -> None:
        super().__init__()
        self.first = HGCNConv(sizes[0], sizes[1], **options)
        self.second = HGCNConv(sizes[2], sizes[3], act=None, **options)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index), edge_index)


def all_have_gradients(module: nn.Module) -> bool:
    return all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


def test_the_table_has_a_test_for_each_row() -> None:
    text = GUIDE.read_text(encoding="utf-8").split("## In PyTorch Geometric")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (yes|no) \|", text, re.M)
    assert dict(rows) == ROWS
    assert len(rows) == len(ROWS)


def test_importing_the_layer_does_not_load_pytorch_geometric() -> None:
    script = """if True:
        import copy, pickle, sys, torch
        from hgcn.nn import HGCNConv
        conv = HGCNConv(2, 3)
        x, edges = torch.ones(2, 2), torch.tensor([[0], [1]])
        out = conv(x, edges)
        out.sum().backward()
        assert "torch_geometric" not in sys.modules
        import torch_geometric.nn as pyg
        assert not isinstance(conv, pyg.MessagePassing)
        for same in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
            assert type(same) is type(conv)
            assert torch.equal(same(x, edges), out)
        other = HGCNConv(2, 3)
        assert isinstance(other, (HGCNConv, pyg.MessagePassing))
        other.load_state_dict(conv.state_dict())
        assert torch.equal(other(x, edges), out)
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)


@row("a pair `(x_source, x_target)`, and sizes `(in_source, in_target)`", works=True)
@pytest.mark.parametrize("aggregation", ["local", "origin", "centroid", "frechet"])
def test_a_pair_of_sizes_has_a_linear_map_each(aggregation: str) -> None:
    conv = HGCNConv((4, 6), 3, aggregation=aggregation, add_self_loops=False, root_weight=True)
    assert conv.in_channels == (4, 6)
    edges = torch.tensor([[0, 1, 4], [0, 1, 1]])
    out = conv((points(5, 4), points(2, 6)), edges)
    assert out.shape == (2, 3)
    out.sum().backward()
    assert conv.linear_target is not None
    assert conv.linear_target.weight.grad is not None
    same = HGCNConv((4, 4), 3)  # one set of nodes, as in GATConv
    x = points()
    torch.testing.assert_close(same(x, EDGES), same((x, x), EDGES))
    with pytest.raises(GraphError, match=r"\[number of nodes, 6\], got \[2, 4\]"):
        conv((points(5, 4), points(2, 4)), edges)


@row("targets without points, `(x, None)`, and `size=`", works=True)
@pytest.mark.parametrize("attention", [True, False])
def test_targets_without_points_are_at_the_origin(attention: bool) -> None:
    """There the local mean is the mean at the origin, and a root weight has nothing to map."""
    conv = HGCNConv(4, 3, attention=attention, act=None, root_weight=True).double()
    x = points().double()
    out, (edges, share) = conv((x, None), EDGES, return_attention_weights=True)
    assert out.shape == (NODES, 3)
    mean = torch.zeros(NODES, 3).double()
    mean.index_add_(0, edges[1], share.detach() * conv.linear(x).detach()[edges[0]])
    torch.testing.assert_close(out, mean)
    few = HGCNConv(4, 3, add_self_loops=False)
    to_two = torch.tensor([[0, 6, 5], [0, 1, 1]])
    assert few((points(), None), to_two, size=(NODES, 2)).shape == (2, 3)
    gat = pyg.GATConv(4, 3, add_self_loops=False)
    assert gat((points(), None), to_two, size=(NODES, 2)).shape == (2, 3)
    with pytest.raises(GraphError, match="each of the 3 targets, got 2"):
        few((points(), points(2, 4)), to_two, size=(NODES, 3))
    with pytest.raises(GraphError, match="points of the sources, got None"):
        few((None, points(2, 4)), to_two)
    with pytest.raises(GraphError, match="each of the 5 sources, got 7"):
        few((points(), None), to_two, size=(5, 2))


@row("`in_channels=-1`", works=True)
@pytest.mark.parametrize("sizes", [-1, (-1, -1)])
def test_sizes_are_read_off_the_first_input(sizes: Any) -> None:
    x = points()
    lazy = HGCNConv(sizes, 3, root_weight=True).double()
    untouched = [copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))]
    saved = copy.deepcopy(lazy.state_dict())
    lazy.reset_parameters()
    with torch.inference_mode():  # the weights must be good for training nevertheless
        out = lazy(x.double(), EDGES)
    assert repr(lazy).startswith(f"HGCNConv({(4, 4) if sizes != -1 else 4}, 3")
    for other in untouched:
        assert other.in_channels == sizes
        other.double()  # torch pickles a weight without a shape as one of float32
        other.load_state_dict(lazy.state_dict())
        assert other.in_channels == lazy.in_channels
        assert torch.equal(other(x.double(), EDGES), out)
    optimizer = torch.optim.Adam(parameter_groups(lazy, weight_decay=0.1), lr=0.1)
    lazy(x.double(), EDGES).sum().backward()
    optimizer.step()
    assert all_have_gradients(lazy)
    assert not torch.equal(lazy(x.double(), EDGES), out)
    lazy.load_state_dict(saved)
    assert lazy.in_channels == sizes
    with pytest.raises(GraphError, match=r"\[number of nodes, features\], got \[4\]"):
        lazy(torch.ones(4).double(), EDGES)
    linear = HypLinear(-1, 2)
    assert linear(torch.ones(3, 9)).shape == (3, 2)
    assert linear.in_channels == 9
    with pytest.raises(ModelError, match="got -2"):
        HypLinear(-2, 2)


def adjacency(weight: Tensor) -> Tensor:
    """An edge is given twice: its weights add up."""
    return torch.sparse_coo_tensor(EDGES.flip(0), weight, (NODES, NODES), check_invariants=True)


@row("a transposed sparse adjacency `adj_t`: COO, CSR, CSC", works=True)
@pytest.mark.filterwarnings("ignore:Sparse CS[RC] tensor support is in beta")
@pytest.mark.parametrize("attention", [True, False])
def test_a_sparse_adjacency_is_its_edges_with_its_values_as_weights(attention: bool) -> None:
    conv, x = HGCNConv(4, 3, attention=attention).double(), points().double()
    ones, weight = torch.ones(9).double(), torch.rand(9).double()
    expected = conv(x, EDGES, weight)
    plain = adjacency(weight)
    forms = plain, plain.coalesce(), plain.to_sparse_csr(), plain.to_sparse_csc()
    for adj_t in forms:
        for _ in range(2):  # kept the second time
            torch.testing.assert_close(conv(x, adj_t), expected)
    torch.testing.assert_close(conv(x, adjacency(ones)), conv(x, EDGES))
    csr = adjacency(ones).to_sparse_csr()
    doubled = 2 * csr.values()
    csr.values().mul_(2)
    torch.testing.assert_close(conv(x, csr), conv(x, csr, doubled))
    few = HGCNConv(4, 3, add_self_loops=False).double()
    places = torch.tensor([[0, 1, 1], [0, 5, 6]])
    to_two = torch.sparse_coo_tensor(places, ones[:3], (2, NODES), check_invariants=True)
    edges = torch.tensor([[0, 5, 6], [0, 1, 1]])
    expected = few((x, None), edges, size=(NODES, 2))
    torch.testing.assert_close(few((x, None), to_two), expected)
    leaf = ones[:3].clone().requires_grad_()
    trained = torch.sparse_coo_tensor(places, leaf, (2, NODES), check_invariants=True)
    few((x, x[:2]), trained).sum().backward()
    assert leaf.grad is not None
    with pytest.raises(GraphError, match="each of the 7 sources, got 2"):
        few((x[:2], None), to_two)
    with pytest.raises(GraphError, match="COO, CSR or CSC, got sparse_bsr"):
        few(x, torch.eye(4).to_sparse_bsr((2, 2)))


class SparseTensor:
    """What torch_sparse's class shows of itself; the package need not be installed."""

    def __init__(self, row: Tensor, col: Tensor, value: Tensor | None, sizes: tuple[int, int]):
        self._coo, self._sizes = (row, col, value), sizes

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        return self._coo

    def sparse_sizes(self) -> tuple[int, int]:
        return self._sizes


@row("`SparseTensor` of torch_sparse", works=True)
def test_a_sparse_tensor_of_torch_sparse() -> None:
    conv, x, weight = HGCNConv(4, 3), points(), torch.rand(9)
    source, target = EDGES
    for value in (weight, None):
        adj_t = SparseTensor(target, source, value, (NODES, NODES))
        for _ in range(2):
            torch.testing.assert_close(conv(x, adj_t), conv(x, EDGES, value))
    other = target.roll(1)  # the same sources, other targets
    adj_t = SparseTensor(other, source, None, (NODES, NODES))
    torch.testing.assert_close(conv(x, adj_t), conv(x, torch.stack((source, other))))
    with pytest.raises(GraphError, match="sparse adjacency matrix or an EdgeIndex, got list"):
        conv(x, EDGES.tolist())


@row("`EdgeIndex`", works=True)
def test_an_edge_index_of_pytorch_geometric() -> None:
    conv, x = HGCNConv(4, 3), points()
    edges = EdgeIndex(EDGES.clone(), sparse_size=(NODES, NODES))
    torch.testing.assert_close(conv(x, edges), conv(x, EDGES))
    with pytest.raises(GraphError, match="each of the 7 sources, got 6"):
        conv(x[:6], edges)


TYPES = ["paper", "author"]
RELATIONS = [("author", "wrote", "paper"), ("paper", "by", "author"), ("paper", "cites", "paper")]


def many_kinds() -> tuple[dict[str, Tensor], dict[tuple[str, str, str], Tensor]]:
    x = {"paper": points(5, 4), "author": points(3, 4)}
    wrote = torch.tensor([[0, 1, 2, 2], [0, 1, 3, 4]])
    lists = (wrote, wrote.flip(0), torch.tensor([[0, 1], [1, 2]]))
    return x, dict(zip(RELATIONS, lists, strict=True))


@row("`to_hetero`, `to_hetero_with_bases`", works=True)
@pytest.mark.parametrize("sizes", [(4, 8, 8, 3), ((-1, -1), 8, (-1, -1), 3)])
def test_networks_of_two_layers_become_heterogeneous(sizes: Any) -> None:
    x, edges = many_kinds()
    metadata = (TYPES, RELATIONS)
    network = pyg.to_hetero(Network(*sizes, add_self_loops=False), metadata)
    out = network(x, edges)
    assert {kind: z.shape for kind, z in out.items()} == {"paper": (5, 3), "author": (3, 3)}
    sum(z.sum() for z in out.values()).backward()
    assert network.first["author__wrote__paper"].linear.weight.grad is not None
    # By hand: a layer for each relation, and the sum of what arrives at a kind of node.
    hidden = {
        "paper": network.first["author__wrote__paper"](
            (x["author"], x["paper"]), edges[RELATIONS[0]]
        )
        + network.first["paper__cites__paper"](x["paper"], edges[RELATIONS[2]]),
        "author": network.first["paper__by__author"](
            (x["paper"], x["author"]), edges[RELATIONS[1]]
        ),
    }
    second = network.second["paper__by__author"]
    expected = second((hidden["paper"], hidden["author"]), edges[RELATIONS[1]])
    torch.testing.assert_close(out["author"], expected)
    if sizes[0] == 4:
        plain = Network(*sizes, add_self_loops=False)
        based = pyg.to_hetero_with_bases(plain, metadata, num_bases=2, in_channels={"x": 4})
        assert based(x, edges)["paper"].shape == (5, 3)
    with pytest.raises(ValueError, match="add_self_loops"):  # PyG's own, as for GATConv
        pyg.HeteroConv({RELATIONS[0]: HGCNConv(4, 3)})


@row("`HeteroConv`", works=True)
def test_hetero_conv() -> None:
    x, edges = many_kinds()
    convs = {kind: HGCNConv((-1, -1), 3, add_self_loops=False) for kind in RELATIONS}
    out = pyg.HeteroConv(convs)(x, edges)
    first = convs[RELATIONS[0]]((x["author"], x["paper"]), edges[RELATIONS[0]])
    torch.testing.assert_close(
        out["paper"], first + convs[RELATIONS[2]](x["paper"], edges[RELATIONS[2]])
    )


@row("`torch.autocast`", works=True)
@pytest.mark.parametrize("pair", [True, False])
def test_autocast_computes_and_returns_float32(pair: bool) -> None:
    conv, x = HGCNConv(4, 3), points().bfloat16()
    single: Any = (x.float(), x.float()) if pair else x.float()
    expected = conv(single, EDGES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = conv((x, x) if pair else x, EDGES)
        assert out.dtype == pyg.GATConv(4, 3)(x, EDGES).dtype == torch.float32
        assert HypLinear(4, 3)(x).dtype == HyperbolicMLR(4, 3)(v=x).dtype == torch.float32
        torch.testing.assert_close(out, expected, rtol=0, atol=0)
        out.sum().backward()
    assert all_have_gradients(conv)


@row("weights in half precision, `conv.bfloat16()`", works=False)
def test_weights_of_half_precision_are_refused() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        with pytest.raises(ModelError, match=r"float32 or float64, got torch.*autocast"):
            HGCNConv(4, 3).to(dtype)(points().to(dtype), EDGES)


@row("`torch.compile(fullgraph=True)`", works=True)
@pytest.mark.parametrize(
    ("aggregation", "attention", "weighted", "backend"),
    [
        ("local", True, True, "eager"),
        ("local", False, False, "eager"),
        ("origin", True, False, "aot_eager"),  # which traces the backward pass too
        ("centroid", False, True, "eager"),
    ],
)
def test_compiled_in_one_graph(
    aggregation: str, attention: bool, weighted: bool, backend: str
) -> None:
    """The same values and gradients; a self-loop that was given is not added again."""
    conv = HGCNConv(4, 3, aggregation=aggregation, attention=attention, root_weight=True).double()
    x = points().double().requires_grad_()
    weight = torch.rand(9).double() if weighted else None
    leaves = [x, *conv.parameters()]
    results = []
    torch.compiler.reset()
    for layer in (torch.compile(conv, fullgraph=True, backend=backend), conv):
        out = layer(x, EDGES, weight)
        results.append((out, *torch.autograd.grad(out.square().sum(), leaves)))
    for compiled, eager in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(
            lambda: HGCNConv(-1, 3),
            "Call the module before compiling",
            marks=pytest.mark.skipif(
                tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
                reason="the compiler of torch 2.6 gives up before, in words of its own",
            ),
        ),
        (lambda: HGCNConv(4, 3, aggregation="frechet"), "other than 'frechet'"),
    ],
)
def test_what_does_not_compile_says_so(make: Any, message: str) -> None:
    from torch._dynamo.exc import Unsupported

    torch.compiler.reset()
    with pytest.raises(Unsupported, match=message):
        torch.compile(make(), fullgraph=True, backend="eager")(points(), EDGES)


def explained(network: nn.Module, algorithm: Any, **options: Any) -> Any:
    return Explainer(
        network,
        algorithm=algorithm,
        explanation_type=options.pop("kind", "model"),
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "node",
            "return_type": "raw",
        },
        **options,
    )


@row("`GNNExplainer`, `PGExplainer` and other masks of edges", works=True)
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")  # PyG's own
def test_masks_of_edges_explain() -> None:
    """The only edge that tells the answer is found."""
    x = torch.zeros(NODES, 2)
    x[5, 0] = x[3, 1] = 1.0  # node 4 hears of node 5 and of node 3
    edges = torch.tensor([[5, 3, 0, 1], [4, 4, 1, 0]])
    network = HGCNConv(2, 2, act=None, attention=False)
    with torch.no_grad():
        network.linear.weight.copy_(torch.tensor([[5.0, 0.0], [0.0, 0.0]]))
    explainer = explained(network, GNNExplainer(epochs=60, lr=0.1, edge_ent=0.0))
    mask = explainer(x, edges, index=4).edge_mask
    assert mask[0] > 0.6
    assert not mask[1:].any()
    assert not network.explain
    algorithm = PGExplainer(epochs=1)
    explainer = explained(network, algorithm, kind="phenomenon")
    answer = torch.zeros(NODES, dtype=torch.long)
    algorithm.train(0, network, x, edges, target=answer, index=4)
    assert explainer(x, edges, index=4, target=answer).edge_mask.shape == (4,)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_mask_takes_its_share_of_each_edge_away(loops: bool, heads: int) -> None:
    """Masked messages of the mean at the origin are those of a sum written out."""
    conv = HGCNConv(4, 3, aggregation="origin", add_self_loops=loops, heads=heads, act=None)
    conv, x, mask = conv.double(), points().double(), torch.rand(9).double()
    _, (edges, share) = conv(x, EDGES, return_attention_weights=True)
    set_masks(conv, mask, EDGES, apply_sigmoid=False)
    out = conv(x, EDGES)
    clear_masks(conv)
    of_edge = {tuple(edge): mask[k] for k, edge in enumerate(EDGES.t().tolist())}
    of_edge[0, 1] = torch.zeros(()).double()  # given twice, with two masks
    expected, points_of = torch.zeros(NODES, 3).double(), conv.linear(x)
    twice = iter((mask[0], mask[8]))
    for (j, i), w in zip(edges.t().tolist(), share.mean(-1), strict=True):
        factor = next(twice) if (j, i) == (0, 1) else of_edge.get((j, i), 1.0)
        if i == j and loops:
            factor = 1.0  # self-loops are the layer's
        expected[i] += factor * w * points_of[j]
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(conv(x, EDGES, return_attention_weights=True)[1][1], share)


@row("`AttentionExplainer`", works=True)
def test_attention_explains() -> None:
    network, x = Network(4, 8, 8, 3, heads=2), points()
    mask = explained(network, AttentionExplainer())(x, EDGES, index=0).edge_mask
    largest = torch.zeros(9)
    for layer, given in ((network.first, x), (network.second, network.first(x, EDGES))):
        _, (edges, share) = layer(given, EDGES, return_attention_weights=True)
        for k, edge in enumerate(EDGES.t().tolist()):
            found = (edges.t() == torch.tensor(edge)).all(1)
            largest[k] = max(largest[k], share[found][0].max())
    reached = mask > 0
    assert reached.any()
    torch.testing.assert_close(mask[reached], largest[reached])
    with pytest.raises(ValueError, match="attention-based"):  # PyG's own, as for GCNConv
        explained(Network(4, 8, 8, 3, attention=False), AttentionExplainer())(x, EDGES)


@row("`GraphMaskExplainer`, which replaces messages", works=False)
def test_replaced_messages_are_refused() -> None:
    explainer = explained(
        Network(4, 8, 8, 3), GraphMaskExplainer(2, epochs=1, log=False), node_mask_type="attributes"
    )
    with pytest.raises(ModelError, match="a weight, not a vector"):
        explainer(points(), EDGES, index=0)


@row("second derivatives, `create_graph=True`", works=False)
@pytest.mark.parametrize(
    ("backend", "aggregation"),
    [("numba", "local"), ("torch", "local"), ("torch", "centroid"), ("torch", "frechet")],
)
def test_second_derivatives_are_refused(aggregation: str, backend: str) -> None:
    """On every backend: the first derivative alone is right where lengths are zero."""
    x = points().requires_grad_()
    conv = HGCNConv(4, 3, aggregation=aggregation, attention=False, bias=False)
    with backends.using(backend), pytest.raises(DerivativeError, match="Second derivatives"):
        torch.autograd.grad(conv(x, EDGES).sum(), x, create_graph=True)
    conv(x, EDGES).sum().backward()
    assert all_have_gradients(conv)


def test_second_derivatives_of_kernels_are_refused() -> None:
    """Also where the incoming gradient is a constant, which torch's own check lets pass."""
    bias = torch.zeros(3, requires_grad=True)
    out = kernels.translate(torch.ones(2, 3), bias, torch.tensor(1.0))
    with pytest.raises(DerivativeError, match="got `create_graph=True`"):
        torch.autograd.grad(out.sum(), bias, create_graph=True)


@row("`torch.inference_mode()`", works=True)
def test_inference_mode() -> None:
    """test_conv.py has more of it."""
    conv, x, edges = HGCNConv(4, 3), points(), EDGES.clone()
    with torch.inference_mode():
        inside = conv(x, edges)
    assert torch.equal(conv(x, edges), inside)


@row("copies, pickles, `state_dict`, `reset_parameters`", works=True)
def test_copies() -> None:
    conv, x = HGCNConv(4, 3), points()
    assert isinstance(conv, pyg.MessagePassing)
    assert repr(conv) == "HGCNConv(4, 3, aggregation=local)"
    saved = io.BytesIO()
    torch.save(conv, saved)
    saved.seek(0)
    others = copy.deepcopy(conv), torch.load(saved, weights_only=False)
    for other in others:
        assert type(other) is type(conv)
        assert torch.equal(other(x, EDGES), conv(x, EDGES))
    others[0].reset_parameters()
    assert not torch.equal(others[0](x, EDGES), conv(x, EDGES))


@row("`Sequential`, `JumpingKnowledge`", works=True)
def test_inside_other_modules() -> None:
    network = pyg.Sequential(
        "x, edge_index",
        [
            (HGCNConv(4, 8), "x, edge_index -> a"),
            (HGCNConv(8, 8), "a, edge_index -> b"),
            (lambda a, b: [a, b], "a, b -> both"),
            (pyg.JumpingKnowledge("cat"), "both -> both"),
            nn.Linear(16, 2),
        ],
    )
    out = network(points(), EDGES)
    assert out.shape == (NODES, 2)
    out.sum().backward()
    assert all_have_gradients(network)


@row("edges changed in place, also through `.numpy()` or `.data`", works=True)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_changed_edges_and_features_are_noticed() -> None:
    conv, x = HGCNConv(4, 3), points()
    for edges in (EDGES.clone(), EDGES.t().contiguous().t(), EDGES.int()):
        conv(x, edges)
        edges.numpy()[:, 0] = 6, 5
        torch.testing.assert_close(conv(x, edges), conv(x, edges.clone()), rtol=0, atol=0)
        edges.data[:, [1, 2]] = edges.data[:, [2, 1]].clone()  # the weights follow the order
        weight = torch.arange(1.0, 10.0)
        expected = conv(x, edges.clone(), weight)
        torch.testing.assert_close(conv(x, edges, weight), expected, rtol=0, atol=0)
    for sparse in (x.relu().to_sparse_csr(), x.relu().to_sparse_coo().coalesce()):
        conv(sparse, EDGES)
        sparse.values().numpy()[0] = 3.0
        torch.testing.assert_close(conv(sparse, EDGES), conv(sparse.to_dense(), EDGES))


@row("`edge_attr`, `edge_dim`", works=False)
def test_features_of_edges_are_refused() -> None:
    with pytest.raises(TypeError, match="edge_attr"):
        HGCNConv(4, 3)(points(), EDGES, edge_attr=torch.ones(9, 2))
    with pytest.raises(TypeError, match="edge_dim"):
        HGCNConv(4, 3, edge_dim=2)
    with pytest.raises(GraphError, match=r"one weight for each of the 9 edges.*\[9, 2\]"):
        HGCNConv(4, 3)(points(), EDGES, torch.ones(9, 2))


@row("`flow`, `aggr`, `concat`, `fill_value`", works=False)
def test_other_settings_are_refused() -> None:
    for name in ("flow", "aggr", "concat", "fill_value"):
        with pytest.raises(TypeError, match=name):
            HGCNConv(4, 3, **{name: "mean"})


@row("a call of `propagate`", works=False)
def test_propagate_is_refused() -> None:
    conv = HGCNConv(4, 3)
    assert isinstance(conv, pyg.MessagePassing)
    with pytest.raises(ModelError, match="got a call of `propagate`"):
        conv.propagate(EDGES, x=points())


def test_a_layer_is_pickled_with_its_aggregation() -> None:
    conv = pickle.loads(pickle.dumps(HGCNConv(4, 3, aggregation="origin")))
    assert conv._aggregate is origin
