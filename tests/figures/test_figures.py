"""Figures: their geometry against formulas written out here, their numbers against the store."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from hgcn import figures, geometry
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, GraphError, RunError
from hgcn.experiments import Store
from hgcn.experiments.cells import curvature, lowdim
from hgcn.figures import attention as attention_module
from hgcn.figures.curvature import FLAT, curvature_scores, stored_scores
from hgcn.figures.geometry import ENDS, FAR, POINT, crosses, end_distance, line
from hgcn.inference.attention import attention_layers, heard_from
from hgcn.names import score_name
from hgcn.plots.disk import MANY, arcs, centred, disk_points, draw_layer, edge_path, magnify
from hgcn.runs.fit import fit
from hgcn.runs.pictures import scene_from_run
from hgcn.runs.run import Run
from hgcn.viewer import Layer


def tree(nodes: int = 40, branching: int = 3) -> Graph:
    child = torch.arange(1, nodes)
    parent = (child - 1) // branching
    depth = np.zeros(nodes, dtype=np.int64)
    for k in range(1, nodes):
        depth[k] = depth[(k - 1) // branching] + 1
    x = torch.nn.functional.one_hot(torch.from_numpy(depth)).float()
    return Graph(
        torch.cat((torch.stack((parent, child)), torch.stack((child, parent))), dim=1),
        num_nodes=nodes,
        x=torch.cat((x, torch.randn(nodes, 3, generator=torch.Generator().manual_seed(0))), dim=1),
        y=torch.arange(nodes) % 3,
        class_names=("low", "middle", "high"),
        columns={"depth": depth, "kind": np.array(["a", "b"] * (nodes // 2))},
        ids=np.array([f"n{k}" for k in range(nodes)]),
        name="tree",
    )


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(tree(), task="node", dim=2, epochs=10, eval_every=5)


@pytest.fixture(scope="module")
def wide() -> Run:
    return fit(tree(), task="link", dim=4, epochs=10, eval_every=5, model="hgcn", attention=True)


@pytest.fixture(scope="module")
def flat() -> Run:
    return fit(tree(), task="node", dim=4, epochs=10, eval_every=5, model="gat")


def bezier(curves: torch.Tensor, steps: int = 33) -> torch.Tensor:
    """Points of cubic curves, ``[n, steps, 2]``."""
    t = torch.linspace(0, 1, steps, dtype=torch.float64).view(1, -1, 1)
    a, b, c, d = (curves[:, k : k + 1] for k in range(4))
    return (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


def circle(points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Centre and radius of the circle through the first, middle and last of some points."""
    a, b, c = points[0], points[len(points) // 2], points[-1]
    centre = torch.linalg.solve(
        2 * torch.stack((b - a, c - a)), torch.stack(((b @ b) - (a @ a), (c @ c) - (a @ a)))
    )
    return centre, (a - centre).norm()


@pytest.mark.parametrize("c", [0.04, 1.0, 9.0])
def test_arcs_are_circles_orthogonal_to_the_rim(c: float) -> None:
    random = torch.Generator().manual_seed(1)
    v, w = 2.5 / c**0.5 * torch.randn(2, 60, 2, generator=random, dtype=torch.float64)
    for points in bezier(arcs(v, w, c=c)):
        centre, radius = circle(points)
        if radius > 50:
            continue  # as good as straight
        # Two circles meet at right angles if the squared distance of centres is r² + 1².
        assert float(centre @ centre - radius**2) == pytest.approx(1, abs=1e-4 * float(radius + 1))
        torch.testing.assert_close(
            (points - centre).norm(dim=1), radius.expand(len(points)), atol=2e-5, rtol=0
        )


def test_arcs_join_the_points_through_their_midpoint() -> None:
    random = torch.Generator().manual_seed(2)
    v, w = 2 * torch.randn(2, 40, 2, generator=random, dtype=torch.float64)
    for k in range(40):
        curves = arcs(v[k : k + 1], w[k : k + 1], c=1.0)
        for end, place in ((v[k], 0), (w[k], 3)):
            gaps = (curves[:, place] - disk_points(end, c=1.0)).norm(dim=1)
            assert float(gaps.min()) < 1e-12
        middle = disk_points(geometry.geodesic(v[k], w[k], 0.5, c=1.0), c=1.0)
        nearest = (bezier(curves, 2001).reshape(-1, 2) - middle).norm(dim=1).min()
        assert float(nearest) < 1e-3


def test_disk_points_are_tanh_of_half_the_radius() -> None:
    v = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -0.2]])
    expected = [[0.6 * math.tanh(5), 0.8 * math.tanh(5)], [0, 0], [0, -math.tanh(0.2)]]
    torch.testing.assert_close(disk_points(v, c=4.0), torch.tensor(expected).double())


def test_edges_too_short_to_see_are_left_out() -> None:
    points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0001, 0.0]])
    edges = torch.tensor([[0, 1], [1, 2]])
    assert len(edge_path(points, edges, c=1.0).vertices) == 4
    assert len(edge_path(points, edges, c=None).vertices) == 2


def test_centring_keeps_distances_and_moves_the_mean_to_the_origin() -> None:
    v = np.random.default_rng(0).normal(size=(30, 2)) + np.array([2.0, 1.0])
    moved = torch.from_numpy(centred(Layer("", v, 0.7)).points)
    before = geometry.distance(torch.from_numpy(v[:1]), torch.from_numpy(v), c=0.7)
    torch.testing.assert_close(geometry.distance(moved[:1], moved, c=0.7), before)
    mean = geometry.frechet_mean(moved, c=0.7)
    torch.testing.assert_close(mean, torch.zeros(2).double(), atol=1e-6, rtol=0)


def test_distance_in_figure_1_is_that_of_the_paper() -> None:
    x, y = ENDS.tolist()
    for c in (0.1, 1.0, 2.0):
        # Appendix of the paper: arcosh formula of the ball.
        gap = math.dist(x, y) ** 2
        room = (1 - c * math.hypot(*x) ** 2) * (1 - c * math.hypot(*y) ** 2)
        assert end_distance(c) == pytest.approx(math.acosh(1 + 2 * c * gap / room) / c**0.5)


def test_lines_of_figure_1() -> None:
    through = line(POINT, 0.3)
    radii = torch.stack([disk_points(end, c=1.0).norm() for end in through])
    torch.testing.assert_close(radii, torch.ones(2).double(), atol=1e-4, rtol=0)
    torch.testing.assert_close(
        geometry.distance(*through, c=1.0), torch.tensor([2 * FAR]).double(), atol=1e-6, rtol=0
    )
    origin = torch.zeros(2).double()
    assert crosses(line(origin, 0.0), line(origin, 1.0))
    assert not crosses(line(torch.tensor([0.0, 2.0]).double(), 0.0), line(-POINT, 0.0))


def check_file(figure: Figure, path: Path) -> bytes:
    """Write a figure twice; both files are equal and of their kind."""
    data = figures.save(figure, path).read_bytes()
    again = figures.save(figure, path.with_stem("again")).read_bytes()
    assert data == again
    start = {".svg": b"<?xml", ".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF"}[path.suffix]
    assert data.startswith(start)
    return data


@pytest.mark.parametrize("kind", [".svg", ".png", ".pdf"])
def test_files_are_deterministic(tmp_path: Path, kind: str) -> None:
    data = check_file(figures.geometry_figure(), tmp_path / f"geometry{kind}")
    if kind == ".svg":
        assert ET.fromstring(data).tag.endswith("svg")
        assert b"dc:date" not in data
        assert len(data) < 150_000


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"one of '.svg', '.pdf', '.png', got '.gif'"):
        figures.save(figures.geometry_figure(), tmp_path / "a.gif")


def fake_store(path: Path, rows: dict[str, list[float]]) -> Path:
    cells = {cell.row: cell for cell in curvature()}
    with path.open("w") as file:
        for row, scores in rows.items():
            for seed, score in enumerate(scores):
                record = {"key": cells[row].key(seed), "test": {"roc_auc": score}}
                file.write(json.dumps(record) + "\n")
    return path


def test_curvature_figure_shows_what_the_store_holds(tmp_path: Path) -> None:
    rows = {"0.1": [0.90, 0.92], "1": [0.95, 0.97], "gcn": [0.8, 0.84]}
    store = fake_store(tmp_path / "runs.jsonl", rows)
    assert curvature_scores(Store(store)) == {k: [100 * s for s in v] for k, v in rows.items()}
    figure = figures.curvature_figure(store)
    drawn, level = figure.axes[0].get_lines()[0], figure.axes[0].get_lines()[-1]
    assert [float(c) for c in drawn.get_xdata()] == pytest.approx([0.1, 1.0])
    assert [float(mean) for mean in drawn.get_ydata()] == pytest.approx([91.0, 96.0])
    assert [float(mean) for mean in level.get_ydata()] == pytest.approx([82.0, 82.0])
    check_file(figure, tmp_path / "curvature.svg")


def test_the_figure_of_few_dimensions_has_a_line_for_each_network_that_was_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(RunError, match=r"hgcn reproduce lowdim --store .*none\.jsonl"):
        figures.lowdim_figure(tmp_path / "none.jsonl")
    store = Store(tmp_path / "runs.jsonl")
    for cell in lowdim():
        if cell.dataset == "cora" and cell.task == "link" and cell.settings["model"] != "gat":
            score = 0.9 if cell.settings["model"] == "hgcn" else 0.8
            store.add({"key": cell.key(0), "test": {"roc_auc": score}})
    axes = figures.lowdim_figure(tmp_path / "runs.jsonl").axes
    assert len(axes) == 8
    (drawn,) = (ax for ax in axes if ax.containers)
    # Networks stand side by side, less than half of the way to the next dimension aside.
    found = {
        c.get_label(): [
            (2 ** np.log2(np.array(c[0].get_xdata(), float)).round()).tolist(),
            np.array(c[0].get_ydata(), float).tolist(),
        ]
        for c in drawn.containers
    }
    dims = [2, 4, 8, 16]
    assert len({tuple(c[0].get_xdata()) for c in drawn.containers}) == 3
    assert found == {
        "GCN": [dims, [80.0] * 4],
        "SAGE": [dims, [80.0] * 4],
        "HGCN": [dims, [90.0] * 4],
    }


def test_curvature_figure_says_how_to_fill_the_store(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"hgcn reproduce curvature --store .*none\.jsonl"):
        figures.curvature_figure(tmp_path / "none.jsonl")


def test_the_scores_that_come_with_hgcn_are_those_of_the_store() -> None:
    """If not: `python benchmarks/curvature_scores.py` writes them anew."""
    stored = curvature_scores(Store(Path(__file__).parents[2] / "results" / "runs.jsonl"))
    assert stored_scores() == stored
    assert min(map(len, stored.values())) >= 10
    drawn = figures.curvature_figure().axes[0].get_lines()
    assert len(drawn[0].get_xdata()) == sum(float(c) > FLAT for c in stored if c != "gcn")


def test_training_figure_shows_the_history(run: Run, tmp_path: Path) -> None:
    figure = figures.training_figure(run)
    loss, score, c = figure.axes
    epochs = [row["epoch"] for row in run.history]
    np.testing.assert_array_equal(loss.get_lines()[0].get_xdata(), epochs)
    for curve, name in zip(loss.get_lines(), ("loss", "val_loss"), strict=False):
        np.testing.assert_allclose(curve.get_ydata(), [r[name] for r in run.history])
    assert [text.get_text() for text in loss.get_legend().get_texts()] == ["training", "validation"]
    select = run.metrics["select"]
    np.testing.assert_allclose(
        score.get_lines()[0].get_ydata(), [100 * r[select] for r in run.history]
    )
    for k in range(3):
        np.testing.assert_allclose(c.get_lines()[k].get_ydata(), [r[f"c{k}"] for r in run.history])
    # A space has the name that the page gives it.
    page = [layer.title.lower() for layer in scene_from_run(run).layers]
    assert [text.get_text() for text in c.get_legend().get_texts()] == page
    check_file(figure, tmp_path / "training.svg")


def headings(figure: Figure) -> list[tuple[str, ...]]:
    """Letter and heading of each run."""
    return [tuple(text.get_text() for text in ax.texts) for ax in figure.axes if ax.texts]


def test_embeddings_figure_has_two_panels_a_run(run: Run, flat: Run, tmp_path: Path) -> None:
    figure = figures.embeddings_figure([run, flat])
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == ["first layer", "last layer"] * 2
    score = 100 * run.metrics["test"][run.metrics["select"]]
    (a, first), (b, second) = headings(figure)
    assert (a, b) == ("a", "b")
    assert first == f"HGCN, tree. Test {score_name(run.metrics['select'])} {score:.1f}"
    assert second.startswith("GAT, tree. Test ")
    check_file(figure, tmp_path / "embeddings.svg")
    shallow = fit(tree(), task="link", model="euc", dim=2, epochs=2, eval_every=1)
    figure = figures.embeddings_figure([shallow])
    assert [ax.get_title() for ax in figure.axes] == ["embedding", ""]
    assert headings(figure)[0][1].startswith("Euc, tree. ")
    with pytest.raises(ConfigError, match="at least one run"):
        figures.embeddings_figure([])


def test_a_crowd_in_the_middle_of_the_disk_is_magnified(run: Run, flat: Run) -> None:
    scene = scene_from_run(run)
    last = centred(scene.layers[-1])
    rho = math.sqrt(last.curvature or 0.0) * np.linalg.norm(last.points, axis=1).max()
    for radius, times in ((0.2, 1 / (1.1 * math.tanh(0.1))), (3.0, 1.0)):
        layer = replace(last, points=last.points * (radius / rho))
        ax = Figure().add_subplot()
        draw_layer(ax, scene, layer)
        limits = ax.get_xlim()
        assert magnify(ax, layer) == pytest.approx(times)
        assert (ax.get_xlim() == limits) == (times == 1)
        # Every node is inside what is shown.
        far = disk_points(torch.from_numpy(layer.points), c=layer.curvature).norm(dim=1).max()
        assert float(far) < ax.get_xlim()[1]
    plane = scene_from_run(flat).layers[-1]
    assert magnify(Figure().add_subplot(), plane) == 1


def test_attention_is_a_share_of_each_neighbourhood(wide: Run, flat: Run) -> None:
    for trained in (wide, flat):
        for edges, share in attention_layers(trained, trained.graph):
            total = torch.zeros(40).index_add(0, edges[1], share)
            torch.testing.assert_close(total, torch.ones(40))
        assert sum(
            heard_from(attention_layers(trained, trained.graph)[-2:], 4).values()
        ) == pytest.approx(1)


def test_attention_figure_draws_two_hops(wide: Run, flat: Run, tmp_path: Path) -> None:
    figure = figures.attention_figure([flat, wide], node="n1")
    # Node 1 has parent 0, children 4..6, and two hops away 2, 3 and 13..21.
    assert len(figure.axes[0].get_lines()) == (4 + 2 + 9) + (1 + 4 + 2 + 9)
    around = attention_module.neighbourhood(
        1, attention_module._neighbours(wide.graph), attention_module.node_depth(wide.graph)
    )
    shares = attention_module.path_shares(wide, around)
    edges, last = attention_layers(wide, wide.graph)[-1]
    parent = last[(edges[0] == 0) & (edges[1] == 1)]
    assert shares[1, 0] == pytest.approx(float(parent))
    edges, before = attention_layers(wide, wide.graph)[-2]
    sibling = before[(edges[0] == 2) & (edges[1] == 0)]
    assert shares[0, 2] == pytest.approx(float(parent * sibling))
    assert around.position[0][1] > around.position[1][1] > around.position[13][1]
    check_file(figure, tmp_path / "attention.svg")


def test_what_all_nodes_hear_from_above(wide: Run) -> None:
    level = attention_module.node_depth(wide.graph)
    upward = attention_module.upward_shares(wide, level)
    layers = attention_layers(wide, wide.graph)[-2:]
    for node in (1, 5, 17):
        heard = heard_from(layers, node)
        above = sum(share for j, share in heard.items() if level[j] < level[node])
        assert upward[node] == pytest.approx(above, rel=1e-5)
    assert np.isnan(upward[level == level.min()]).all()
    # Runs of one model are seeds: they share a panel, with a line for each below.
    figure = figures.attention_figure([wide, wide], node="n1")
    below = figure.axes[1]
    assert "2 seeds" in below.get_title(loc="left")
    assert len(below.patches) == 2


def test_attention_figure_refuses(run: Run, wide: Run) -> None:
    with pytest.raises(GraphError, match="id of a node, such as 'n0', got 'x'"):
        figures.attention_figure([wide], node="x")
    without = fit(tree(), task="node", dim=2, epochs=1, eval_every=1, attention=False)
    with pytest.raises(ConfigError, match="run with attention"):
        figures.attention_figure([without])


def test_chosen_centre_has_family_on_both_sides() -> None:
    graph = tree(120)
    level = attention_module.node_depth(graph)
    neighbours = attention_module._neighbours(graph)
    centre = attention_module.choose_centre(neighbours, level)
    assert level[centre] >= 2
    assert sum(level[j] > level[centre] for j in neighbours[centre]) == 3


def test_plot_disk_puts_nodes_where_they_are(run: Run) -> None:
    ax = run.plot_disk(Figure().add_subplot(), color="tab:red")
    drawn = np.asarray(ax.collections[0].get_offsets())
    ball = run.embeddings(coordinates="ball") * run.metrics["curvatures"][-1] ** 0.5
    order = np.lexsort(drawn.T)
    expected = ball.numpy()[np.lexsort(ball.numpy().T)]
    np.testing.assert_allclose(drawn[order], expected, atol=1e-6)
    assert np.hypot(*drawn.T).max() < 1


def test_plot_disk_makes_a_figure_of_its_own(run: Run) -> None:
    from matplotlib import pyplot

    before, size = pyplot.get_fignums(), pyplot.rcParams["font.size"]
    ax = run.plot_disk()
    assert pyplot.gca() is ax
    assert ax.get_title() == "hgcn on tree"
    pyplot.close(ax.figure)
    assert (pyplot.get_fignums(), pyplot.rcParams["font.size"]) == (before, size)


def test_plot_disk_colours(run: Run, flat: Run) -> None:
    ax = flat.plot_disk(Figure().add_subplot(), "label")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["low", "middle", "high"]
    ax = run.plot_disk(Figure().add_subplot(), "kind")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    ax = run.plot_disk(Figure().add_subplot(), np.arange(40.0), centre=True)
    assert sorted(ax.collections[0].get_array().tolist()) == list(range(40))
    with pytest.raises(ConfigError, match="Did you mean 'depth'"):
        run.plot_disk(Figure().add_subplot(), "dept")
    with pytest.raises(ConfigError, match="each of the 40 nodes"):
        run.plot_disk(Figure().add_subplot(), np.arange(3))
    with pytest.raises(ConfigError, match=r"`layer` to be in -3..2, got 3"):
        run.plot_disk(Figure().add_subplot(), layer=3)


def test_many_edges_are_sampled_and_drawn_as_pixels(run: Run) -> None:
    ax = run.plot_disk(Figure().add_subplot(), "blue", max_edges=7)
    edges = [patch for patch in ax.patches if not patch.get_fill() or patch.get_zorder() == 1]
    assert 0 < sum(len(edge.get_path().vertices) for edge in edges) <= 2 * 4 * 7
    assert not any(edge.get_rasterized() for edge in edges)
    assert MANY > 39


def test_scene_holds_what_is_known_of_the_run(run: Run, wide: Run) -> None:
    scene = scene_from_run(run)
    assert [layer.title for layer in scene.layers] == ["Input", "Layer 1", "Layer 2"]
    assert scene.layers[-1].curvature == pytest.approx(run.metrics["curvatures"][-1])
    last = run.embeddings().numpy()
    # Alignment turns the earlier layers, never the last.
    np.testing.assert_allclose(scene.layers[-1].points, last, atol=1e-6)
    names = {"label", "prediction", "right or wrong", "confidence", "split", "degree", "depth"}
    assert names | {"kind"} <= set(scene.columns)
    assert scene.missing is None
    assert scene.layers[-1].attention is not None
    links = scene_from_run(wide, missing=5).missing
    assert links is not None
    assert links.pairs.shape == (2, 5)
    known = {tuple(pair) for pair in wide.graph.pairs().T.tolist()}
    assert not known & {tuple(sorted(pair)) for pair in links.pairs.T.tolist()}
