import networkx as nx
import numpy as np
import pytest
import torch

from hgcn.data.graph import Graph
from hgcn.errors import DataError
from hgcn.scenes.columns import column, depth
from hgcn.viewer import Categories, Layer, MissingLinks, Numbers, Scene, scene_from_embeddings

POINTS = np.zeros((3, 2))


@pytest.fixture
def graph():
    edges = torch.tensor([[0, 1, 1, 2, 2, 2], [1, 0, 2, 1, 3, 2]])
    edges = torch.cat((edges, torch.tensor([[3], [2]])), 1)
    return Graph(
        edges,
        num_nodes=4,
        y=torch.tensor([0, 1, 1, -1]),
        class_names=("a", "b"),
        ids=np.array(["w", "x", "y", "z"]),
        split={"train": torch.tensor([0]), "test": torch.tensor([2])},
        columns={"height": np.array([1.5, np.nan, 2.0, 3.0]), "kind": np.array(list("pqpq"))},
    )


def test_scene_of_a_graph(graph):
    share = torch.arange(1.0, 8.0) / 10
    scene = scene_from_embeddings(
        graph,
        [torch.randn(4, 5), torch.randn(4, 2)],
        [0.5, 2.0],
        predictions=torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]),
        attention=[None, share],
        missing=(torch.tensor([[0], [3]]), torch.tensor([0.75])),
        metrics={"AUC": 97.5},
    )
    assert scene.ids.tolist() == ["w", "x", "y", "z"]
    assert scene.edges.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert [layer.title for layer in scene.layers] == ["Input", "Layer 1"]
    assert scene.layers[0].lost is not None
    assert scene.layers[1].lost is None
    columns = scene.columns
    assert columns["label"].codes.tolist() == [0, 1, 1, -1]
    assert columns["prediction"].codes.tolist() == [0, 0, 1, 1]
    assert columns["right or wrong"].codes.tolist() == [0, 1, 0, -1]
    assert columns["confidence"].values.tolist() == pytest.approx([0.9, 0.8, 0.7, 0.6])
    assert columns["split"].codes.tolist() == [0, -1, 2, -1]
    assert columns["degree"].values.tolist() == [1, 2, 2, 1]
    assert columns["kind"].names == ("p", "q")
    assert np.isnan(columns["height"].values[1])
    # edge_index holds 0->1, 1->0, 1->2, 2->1, 2->3, a self-loop and 3->2.
    expected = [[0.1, 0.3, 0.5], [0.2, 0.4, 0.7]]
    np.testing.assert_allclose(scene.layers[1].attention, expected, rtol=1e-6)
    assert scene.metrics == (("AUC", "97.5"),)


def test_attention_of_a_directed_graph_has_no_way_back():
    graph = Graph(torch.tensor([[2, 0], [0, 1]]), num_nodes=3, directed=True)
    scene = scene_from_embeddings(
        graph, [torch.randn(3, 2)], [1.0], attention=[torch.tensor([0.25, 1.0])]
    )
    assert scene.edges.tolist() == [[0, 2], [1, 0]]
    np.testing.assert_allclose(scene.layers[0].attention[0], [1.0, 0.25])
    assert np.isnan(scene.layers[0].attention[1]).all()


def test_layers_keep_their_distances(graph):
    points = torch.randn(4, 2)
    scene = scene_from_embeddings(graph, [torch.randn(4, 2), points], [1.0, 1.0])
    drawn = torch.from_numpy(scene.layers[1].points)
    torch.testing.assert_close(torch.cdist(drawn, drawn), torch.cdist(points, points).double())


@pytest.mark.parametrize("seed", range(3))
def test_depth_counts_hops_from_the_middle(seed):
    graph = nx.random_labeled_tree(40, seed=seed)
    pairs = np.array(graph.edges()).T
    middle = nx.center(graph)
    hops = [nx.single_source_shortest_path_length(graph, one) for one in middle]
    found = depth(pairs, 41)
    assert any([one[i] for i in range(40)] == found[:40].tolist() for one in hops)
    assert found[40] == 0  # a node without edges is its own middle


def test_columns_of_any_kind():
    assert column(np.array([True, False])).codes.tolist() == [1, 0]
    assert column(np.array([3, 4])).values.tolist() == [3, 4]
    assert column(np.array(["b", "a", "b"])).names == ("a", "b")
    assert column(np.array([f"text {i}" for i in range(500)])) is None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Layer("One", np.zeros((3, 3))), r"finite matrix \[n, 2\], got shape \[3, 3\]"),
        (lambda: Layer("One", np.full((3, 2), np.nan)), "not finite"),
        (lambda: Layer("One", POINTS, -1.0), "c > 0, got -1.0"),
        (lambda: Categories(np.array([0, 2]), ("a", "b")), r"codes in -1..1, got 0..2"),
        (lambda: MissingLinks(np.zeros((2, 3)), np.zeros(2)), "as many missing links"),
        (lambda: scene(layers=[]), "at least one layer"),
        (lambda: scene(edges=[[0], [3]]), r"edges to hold nodes in 0..2, got 0..3"),
        (lambda: scene(edges=[0, 1]), r"edges to have shape \[2, m\]"),
        (lambda: scene(layers=[Layer("One", np.zeros((2, 2)))]), "'One' to have 3 nodes, got 2"),
        (lambda: scene(columns={"x": Numbers(np.zeros(2))}), "column 'x' to have 3 entries"),
        (
            lambda: scene(layers=[Layer("One", POINTS, attention=np.zeros((2, 5)))]),
            r"attention of layer 'One' to have shape \[2, 1\]",
        ),
        (lambda: scene(missing=MissingLinks([[0], [9]], [0.5])), "missing links to hold nodes"),
    ],
)
def test_what_does_not_fit_is_refused(build, message):
    with pytest.raises(DataError, match=message):
        build()


def scene(**changes):
    fields = {"layers": [Layer("One", POINTS)], "edges": [[0], [1]], **changes}
    return Scene("test", ids=np.arange(3), **fields)


def test_embeddings_must_fit_the_graph(graph):
    with pytest.raises(DataError, match="layer 0 to have 4 rows"):
        scene_from_embeddings(graph, [torch.randn(5, 2)], [1.0])
    with pytest.raises(DataError, match="1 layers and 2 curvatures"):
        scene_from_embeddings(graph, [torch.randn(4, 2)], [1.0, 2.0])
    with pytest.raises(DataError, match="Average the heads"):
        scene_from_embeddings(graph, [torch.randn(4, 2)], [1.0], attention=[torch.rand(7, 2)])
