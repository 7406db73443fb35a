"""Symmetric normalisation: GCN is the limit of the layer."""

import pytest
import torch
from scipy.sparse import csr_matrix

from hgcn import geometry
from hgcn.config import Config
from hgcn.data.sparse import as_features
from hgcn.errors import ConfigError, GraphError, ModelError
from hgcn.models import HGCN, build
from hgcn.nn import HGCNConv
from hgcn.nn.aggregation import origin
from hgcn.sampling import Adjacency, NeighbourSampler
from hgcn.training.problem import choose
from small_graphs import tree

GRAPH = tree()
WEIGHT = 0.5 + (GRAPH.edge_index.sum(0) % 3).double()


def pair(c, *, bias, dtype=torch.float64):
    """Our layer and PyG's with the same weights."""
    from torch_geometric.nn import GCNConv

    options = {"aggregation": "origin", "attention": False, "symmetric": True, "act": None}
    ours = HGCNConv(4, 3, c=c, bias=bias, **options).to(dtype)
    theirs = GCNConv(4, 3, bias=bias).to(dtype)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.linear.weight)
        if bias:
            ours.bias.normal_(std=0.1)
            theirs.bias.copy_(ours.bias)
    return ours, theirs


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("c", [1e-4, 1.0])
def test_without_bias_it_is_gcn_conv_at_any_curvature(c, dtype, weighted):
    ours, theirs = pair(c, bias=False, dtype=dtype)
    x = GRAPH.x.to(dtype)
    weight = WEIGHT.to(dtype) if weighted else None
    out = ours(x, GRAPH.edge_index, weight)
    torch.testing.assert_close(out, theirs(x, GRAPH.edge_index, weight), rtol=1e-6, atol=1e-6)


def test_with_bias_it_is_gcn_conv_in_the_limit():
    """The distance to it falls in proportion to the curvature, and is below 1e-6 for short ones."""
    apart = []
    for c in (1e-2, 1e-3, 1e-4):
        torch.manual_seed(0)
        ours, theirs = pair(c, bias=True)
        x = 0.1 * GRAPH.x.double()
        out = ours(x, GRAPH.edge_index) - theirs(x, GRAPH.edge_index)
        apart.append(float(out.detach().abs().max()))
    assert apart[2] < 1e-6
    assert apart[0] / apart[1] == pytest.approx(10, rel=0.05)
    assert apart[1] / apart[2] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("aggregation", ["local", "origin"])
@pytest.mark.parametrize("attention", [False, True])
def test_weights_are_those_of_the_mean_balanced_by_both_ends(attention, aggregation):
    """Each weight is written out, and attention that says nothing gives GCN's."""
    torch.manual_seed(0)
    options = {"c": 0.7, "aggregation": aggregation, "attention": attention, "act": None}
    conv = HGCNConv(4, 3, symmetric=True, **options).double()
    with torch.no_grad():
        conv.bias.normal_()
    x = GRAPH.x.double().requires_grad_()
    out, (edges, share) = conv(x, GRAPH.edge_index, return_attention_weights=True)
    degree = 1 + torch.bincount(GRAPH.edge_index[1], minlength=len(x)).double()
    weight = share[:, 0] * (degree[edges[1]] / degree[edges[0]]).sqrt()
    if not attention:
        torch.testing.assert_close(weight, (degree[edges[1]] * degree[edges[0]]).rsqrt())
    h, c = conv.linear(x), conv.curvature()
    zero = torch.zeros_like(h)
    if aggregation == "origin":
        mean = zero.index_add(0, edges[1], weight[:, None] * h[edges[0]])
    else:
        logs = geometry.local_log(h[edges[1]], h[edges[0]], c=c)
        mean = geometry.translate(h, zero.index_add(0, edges[1], weight[:, None] * logs), c=c)
    torch.testing.assert_close(out, geometry.translate(mean, conv.bias, c=c))
    for slope in torch.autograd.grad(out.square().sum(), [x, *conv.parameters()]):
        assert slope.isfinite().all()


def test_a_block_with_all_neighbours_gives_the_rows_of_the_whole_graph():
    torch.manual_seed(0)
    encoder = HGCN(4, 3, symmetric=True).double().eval()
    assert encoder.normalised
    x, wanted = GRAPH.x.double(), torch.tensor([3, 17, 40])
    rows = Adjacency.of(GRAPH.edge_index, None, GRAPH.num_nodes)
    sample = NeighbourSampler(rows, [-1, -1], totals=True).sample(wanted, seed=0)
    out = encoder.encode_blocks(x[sample.nodes], sample.blocks())
    torch.testing.assert_close(out, encoder(x, GRAPH.edge_index)[wanted])


def test_what_it_cannot_be_is_refused():
    with pytest.raises(ModelError, match="add up to one"):
        HGCNConv(4, 3, symmetric=True, aggregation="centroid")
    conv = HGCNConv(4, 3, symmetric=True)
    with pytest.raises(GraphError, match="one set of nodes"):
        conv((torch.randn(5, 4), torch.randn(2, 4)), torch.tensor([[0, 4], [0, 1]]))
    with pytest.raises(ConfigError, match="gcn has no setting `symmetric`"):
        choose(GRAPH, Config(model="gcn", symmetric=True))


def test_off_it_is_the_layer_of_the_paper():
    conv = HGCNConv(4, 3, aggregation="origin", attention=False)
    assert conv.bias is None
    assert conv._aggregate is origin


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_in_training_too_it_is_gcn(layout):
    """Dropout of coordinates is that of GCN: the same draws give the same numbers."""
    options = {"layers": 2, "act": "tanh"}
    torch.manual_seed(0)
    theirs = build("gcn", 4, 3, dropout=0.4, **options).double().train()
    limit = {"c": 1e-4, "aggregation": "origin", "attention": False, "symmetric": True}
    ours = HGCN(4, 3, point_dropout=0.4, **limit, **options).double().train()
    with torch.no_grad():
        for conv, other in zip(ours.convs, theirs.convs, strict=True):
            other.bias.normal_(std=0.1)
            conv.linear.weight.copy_(other.lin.weight)
            conv.bias.copy_(other.bias)
    x = GRAPH.x.double()
    x = x if layout == "dense" else as_features(csr_matrix(x.numpy())).double()
    torch.manual_seed(1)
    wanted = theirs(x, GRAPH.edge_index)
    torch.manual_seed(1)
    torch.testing.assert_close(ours(x, GRAPH.edge_index), wanted, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(
        ours.eval()(x, GRAPH.edge_index), theirs.eval()(x, GRAPH.edge_index), rtol=1e-3, atol=1e-4
    )
    assert not torch.allclose(ours(x, GRAPH.edge_index), wanted, rtol=1e-2)
