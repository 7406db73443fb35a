import networkx as nx
import numpy as np
import pytest
import torch

from hgcn import geometry
from hgcn.data import load
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, DataError
from hgcn.scenes import build, columns
from hgcn.scenes.columns import column, columns_of, depth, labels_of
from hgcn.scenes.compare import aligned_to
from hgcn.scenes.home import from_home
from hgcn.scenes.sample import sample_of_nodes, sampled
from hgcn.viewer import (
    Categories,
    Layer,
    Measured,
    MissingLinks,
    Numbers,
    Scene,
    Texts,
    scene_from_embeddings,
)

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
    many = column(np.array([f"text {i} {'x' * i}" for i in range(500)] + [None]))
    assert isinstance(many, Texts)
    assert many.values[:2] == ("text 0 ", "text 1 x")
    assert many.values[-1] == ""
    assert max(map(len, many.values)) == 120


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


def test_what_the_model_says_is_not_what_the_drawing_says(graph):
    points = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)).double()
    share = torch.tensor([0.2, 0.3, 0.25, 0.4, 0.5, 0.1, 0.35])
    scene = scene_from_embeddings(
        graph, [points], [2.0], attention=[share],
        missing=(torch.tensor([[0, 1], [3, 3]]), torch.tensor([0.2, 0.7])),
    )  # fmt: skip
    layer = scene.layers[0]
    measured = layer.measured
    true = geometry.distance(points.unsqueeze(0), points.unsqueeze(1), c=2.0)
    np.testing.assert_allclose(measured.radius, points.norm(dim=1))
    np.testing.assert_allclose(measured.distance, true[scene.edges[0], scene.edges[1]], rtol=1e-9)
    assert measured.nearest.tolist() == true.argsort(1)[:, 1:].tolist()
    np.testing.assert_allclose(measured.nearest_distance, true.sort(1)[0][:, 1:], rtol=1e-9)
    assert measured.kept.tolist() == [1.0] * 4  # there are only three others
    # What is left of each node's attention is for itself; its self-loop is part of that.
    np.testing.assert_allclose(layer.own, [0.7, 0.4, 0.4, 0.5], rtol=1e-6)
    # Missing links come with the most probable first.
    assert scene.missing.pairs.tolist() == [[1, 0], [3, 3]]
    np.testing.assert_allclose(scene.missing.distance, [true[1, 3], true[0, 3]], rtol=1e-6)


def test_only_the_last_layers_of_large_graphs_list_their_nearest(monkeypatch):
    monkeypatch.setattr(build, "NEAREST_NODES", 45)
    monkeypatch.setattr(build, "MEASURED_NODES", 8)
    graph = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=20)
    points = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    scene = scene_from_embeddings(graph, [points] * 3, [1.0] * 3)
    assert [layer.measured.nearest is not None for layer in scene.layers] == [False, True, True]
    assert [int(np.isfinite(layer.measured.kept).sum()) for layer in scene.layers] == [8, 20, 20]


def test_names_of_nodes():
    edges = torch.tensor([[0, 1], [1, 0]])
    columns = {"town": np.array(["Ulm", "Ulm", "Bonn"]), "name": np.array(["Ann", "", "Cid"])}
    graph = Graph(edges, num_nodes=3, ids=np.array([7, 8, 9]), columns=columns)
    # A column that names nearly every node, and the id where it is empty.
    assert labels_of(graph) == ["Ann", "8", "Cid"]
    assert labels_of(graph, "town") == ["Ulm", "Ulm", "Bonn"]
    with pytest.raises(ConfigError, match="Did you mean 'town'"):
        labels_of(graph, "twn")
    # Ids that are text are names already, unless a column says that it has them.
    ids = np.array(["p7", "p8", "p9"])
    for name, wanted in (("town", None), ("Name", ["Ann", "p8", "Cid"])):
        column = {name: columns["name"]}
        assert labels_of(Graph(edges, num_nodes=3, ids=ids, columns=column)) == wanted
    assert labels_of(Graph(edges, num_nodes=2, ids=np.array(["a", "b"]), columns={})) is None
    assert labels_of(Graph(edges, num_nodes=2)) is None


def test_text_of_many_values_is_told_but_for_the_names():
    ring = torch.stack((torch.arange(70), (torch.arange(70) + 1) % 70))
    texts = {name: np.array([f"{name} {k}" for k in range(70)]) for name in ("name", "street")}
    graph = Graph(ring, num_nodes=70, columns=texts)
    scene = scene_from_embeddings(graph, [torch.randn(70, 2)], [1.0])
    assert scene.labels[3] == "name 3"
    assert list(scene.columns) == ["degree", "depth", "street"]
    assert scene.columns["street"].values[3] == "street 3"


def test_what_the_network_reads_of_a_table_is_told_too(tmp_path, monkeypatch):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "people.csv").write_text(
        "id,age,role,shoe\na,30,cook,40\nb,20,clerk,41\nc,9,cook,33\n"
    )
    graph = load(tmp_path / "edges.csv", features=tmp_path / "people.csv")
    found = columns_of(graph, None, graph.pairs())
    assert found["age"].values.tolist() == [30, 20, 9]
    assert found["role"].names == ("clerk", "cook")
    monkeypatch.setattr(columns, "_MOST_READ", 2)
    assert "shoe" in found
    assert "shoe" not in columns_of(graph, None, graph.pairs())


def test_a_sample_of_nodes_has_edges():
    n = 2000
    ring = torch.stack((torch.arange(n), (torch.arange(n) + 1) % n))
    graph = Graph(torch.cat((ring, ring.flip(0)), 1), num_nodes=n)
    nodes = sample_of_nodes(graph, 200)
    assert len(nodes) == 200
    assert len(nodes.unique()) == 200
    # Of even draws a tenth of the ten neighbours would be there: 20 edges.
    part = sampled(graph, nodes)
    assert part.edge_index.shape[1] // 2 > 80
    # What is told of a node is true of the whole graph.
    assert part.columns["degree"].tolist() == [2] * 200
    np.testing.assert_array_equal(part.columns["depth"], depth(ring.numpy(), n)[nodes])


def test_a_second_scene_is_turned_to_the_first():
    random = np.random.default_rng(0)
    points, ids = random.normal(size=(30, 2)), np.arange(30)
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    first = Scene("one", [Layer("One", points, 1.0)], ids, np.zeros((2, 0)))
    second = Scene("two", [Layer("One", points[5:] @ turn, 1.0)], ids[5:], np.zeros((2, 0)))
    np.testing.assert_allclose(aligned_to(second, first).layers[0].points, points[5:], atol=1e-12)
    other = Scene("three", [Layer("One", points[:2], 1.0)], ["x", "y"], np.zeros((2, 0)))
    assert aligned_to(other, first) is other


def test_scenes_lie_alike_as_they_are_seen_from_home():
    points = torch.randn(40, 2, generator=torch.Generator().manual_seed(0)).double()
    turn = torch.tensor([[0.6, 0.8], [0.8, -0.6]]).double()
    moved = geometry.translate(torch.tensor([1.5, -2.0]).double(), points @ turn, c=0.7)
    first, second = (
        Scene("a", [Layer("One", z.numpy(), 0.7)], np.arange(40), np.zeros((2, 0)))
        for z in (points, moved)
    )
    turned = torch.from_numpy(aligned_to(second, first).layers[0].points)
    torch.testing.assert_close(from_home(turned, 0.7), from_home(points, 0.7))
    # And home is where the Fréchet mean is, but for the place of a root.
    mean = geometry.frechet_mean(from_home(moved, 0.7), c=0.7)
    torch.testing.assert_close(mean, torch.zeros(2).double())
    assert from_home(moved, 0.7, rooted=True) is moved


@pytest.mark.parametrize("name", ["radius", "distance", "kept", "nearest"])
def test_measures_of_another_size_are_refused(name):
    sizes = {"radius": np.zeros(3), "distance": np.zeros(1), "kept": np.zeros(3)}
    sizes[name] = np.zeros(7)
    layer = Layer("One", POINTS, 1.0, measured=Measured(**sizes))
    with pytest.raises(DataError, match="of layer 'One' to have size"):
        Scene("x", [layer], np.arange(3), np.array([[0], [1]]))
