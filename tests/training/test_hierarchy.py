"""The task "hierarchy": closure, splits, loss, ranks, commands."""

from pathlib import Path

import mpmath
import networkx as nx
import numpy as np
import pytest
import torch
from torch.nn import functional

from hgcn import compiled, geometry
from hgcn.cli import main
from hgcn.config import Config
from hgcn.data import Graph, load
from hgcn.data.splits.hierarchy import closure, split_hierarchy
from hgcn.errors import ConfigError, GraphError
from hgcn.inference.ranks_above import ranks_above
from hgcn.kernels.numba_cpu.cone_ranking import ConeRankingLoss
from hgcn.kernels.numba_cpu.ranking import RankingLoss
from hgcn.nn.is_a import APERTURE, ConeScore, DistanceScore, cone_angles
from hgcn.nn.spaces import Euclidean, Hyperbolic
from hgcn.runs.fit import fit
from hgcn.runs.folder import load_run
from hgcn.runs.pictures import scene_from_run
from hgcn.training.loop import train
from hgcn.training.problem import Problem, choose
from hgcn.training.tree_start import FARTHEST, tree_start

FREE = {"task": "hierarchy", "model": "free", "dim": 4, "epochs": 60, "eval_every": 20}


def dag(nodes: int = 60, seed: int = 0, **fields) -> Graph:
    """A random hierarchy in which some nodes have two parents."""
    draw = np.random.default_rng(seed)
    edges = {(i, int(draw.integers(i))) for i in range(1, nodes)}
    edges |= {(i, int(draw.integers(i))) for i in draw.integers(2, nodes, nodes // 10)}
    ids = np.array([f"n{i}" for i in range(nodes)])
    return Graph(torch.tensor(sorted(edges)).T, nodes, directed=True, ids=ids, **fields)


def as_set(pairs):
    return set(map(tuple, pairs.T.tolist()))


def test_the_closure_is_that_of_networkx():
    graph = dag()
    network = nx.DiGraph(graph.edge_index.T.tolist())
    assert as_set(closure(graph.pairs(), 60)) == set(nx.transitive_closure(network).edges)


def test_a_cycle_is_refused_by_name():
    graph = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 0, 0]]), 4, directed=True)
    with pytest.raises(GraphError, match="cycle: 0 -> 1 -> 2 -> 0"):
        split_hierarchy(graph)
    with pytest.raises(GraphError, match="directed graph"):
        fit(load((["a", "b"], ["b", "c"])), **FREE)


def test_held_out_edges_take_along_what_follows_from_them_alone():
    graph = dag(200)
    split = split_hierarchy(graph, hold_out="edges", val=0.1, test=0.1)
    parts = [as_set(part) for part in (split.train, split.val, split.test)]
    assert set.union(*parts) == as_set(split.closure)
    assert sum(map(len, parts)) == split.closure.shape[1]
    shown = nx.transitive_closure(nx.DiGraph(split.edges.T.tolist()))
    assert set(shown.edges) == parts[0]  # nothing held out follows from what is shown
    assert len(parts[1]) > 0
    assert len(parts[2]) > 0


def test_held_out_pairs_are_between_inner_nodes_and_implied_ones_are_no_negatives():
    graph = dag(200)
    split = split_hierarchy(graph, hold_out="pairs", val=0.1, test=0.1)
    child, parent = map(set, graph.pairs().tolist())
    for u, v in as_set(split.val) | as_set(split.test):
        assert u in parent
        assert v in child
    assert as_set(split.train) <= as_set(split.known) <= as_set(split.closure)
    whole = split_hierarchy(graph, hold_out="nothing")
    assert as_set(whole.train) == as_set(whole.test) == as_set(whole.closure)


@pytest.mark.parametrize("kind", ["distance", "cone"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("c", [0.3, 1.0, 4.0])
def test_the_fused_loss_and_its_gradients_are_those_of_the_formula(dtype, c, kind):
    torch.manual_seed(0)
    z = ((2 if kind == "distance" else 1) * torch.randn(40, 3)).double()
    z[5] = 0.0
    z = z.to(dtype).requires_grad_()
    curvature, scale = torch.tensor([c, 5.0], dtype=dtype).unbind()
    curvature, scale = curvature.clone().requires_grad_(), scale.clone().requires_grad_()
    nodes, start = np.array([3, 7, 5]), np.array([0, 2, 3, 5])
    above, candidates = np.array([1, 2, 1, 9, 8]), np.arange(0, 40, 2)
    out = [[1], [], [4]]  # positions of candidates: nodes 2 and 8
    lists = np.array([0, 1, 1, 2]), np.array([1, 4])
    batch = nodes, start, above, candidates, *lists, np.array([1.0, 2.0, 0.5])
    if kind == "distance":
        loss = RankingLoss.apply(z, curvature, *batch)
    else:
        loss = ConeRankingLoss.apply(z, curvature, scale, *batch)
    loss.backward()
    plain, own_c = z.detach().double().requires_grad_(), torch.tensor(c, dtype=torch.float64)
    own_c, own_scale = own_c.requires_grad_(), scale.detach().double().requires_grad_()

    def score(u, others):
        if kind == "distance":
            return -own_c.sqrt() * geometry.distance(plain[u], plain[others], c=own_c)
        pairs = plain[u].expand(len(others), -1), plain[others]
        aperture, angle = cone_angles(*pairs, own_c.sqrt())
        return own_scale * (aperture - angle)

    total = torch.zeros(())
    for b, u in enumerate(nodes):
        wrong = score(u, [j for k, j in enumerate(candidates) if k not in out[b]])
        for right in score(u, above[start[b] : start[b + 1]]):
            total = total + batch[-1][b] * functional.softplus(wrong.logsumexp(0) - right)
    total.backward()
    bound = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {}
    torch.testing.assert_close(loss.double(), total, **bound)
    # At the origin only the direction of a gradient is a convention.
    rows = [i for i in range(40) if i != 5]
    torch.testing.assert_close(z.grad.double()[rows], plain.grad[rows], **bound)
    torch.testing.assert_close(curvature.grad.double(), own_c.grad, **bound)
    if kind == "cone":
        torch.testing.assert_close(scale.grad.double(), own_scale.grad, **bound)
    assert z.grad.isfinite().all()


@pytest.mark.parametrize("dim", [3, 10])
def test_points_start_one_step_from_the_nearest_node_above_them(dim):
    graph = dag(200)
    known, root = closure(graph.pairs(), 200), 2.0
    z = tree_start(known, 200, dim, step=0.5, root=root, generator=torch.Generator().manual_seed(0))
    depth = torch.bincount(known[0], minlength=200)
    for u in range(1, 200):
        above = known[1, known[0] == u]
        nearest = above[depth[above] == depth[above].max()]
        far = root * geometry.distance(z[u], z[nearest], c=root**2)
        assert float((far - 0.5).abs().min()) < 1e-9
    deep = torch.stack((torch.arange(1, 100), torch.arange(99)))
    chain = tree_start(
        closure(deep, 100), 100, dim, step=0.5, root=1.0, generator=torch.Generator()
    )
    assert float(chain.norm(dim=1).max()) <= FARTHEST + 0.1


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0])
def test_cones_are_those_of_the_ball(c):
    torch.manual_seed(1)
    lower, upper = torch.randn(2, 20, 3, dtype=torch.float64) * 1.5 / c**0.5
    aperture, angle = cone_angles(lower, upper, c**0.5)
    for i in range(20):
        with mpmath.workdps(40):
            y, x = (
                [mpmath.tanh(mpmath.mpf(c) ** 0.5 * n / 2) * mpmath.mpf(k) / n for k in v]
                for v in (lower[i].tolist(), upper[i].tolist())
                for n in [mpmath.sqrt(sum(mpmath.mpf(k) ** 2 for k in v))]
            )
            dot = sum(a * b for a, b in zip(x, y, strict=True))
            xx, yy = sum(a * a for a in x), sum(a * a for a in y)
            gap = mpmath.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
            # Ganea et al. (2018), Eqs. 25 and 28.
            below = mpmath.sqrt(xx) * gap * mpmath.sqrt(1 + xx * yy - 2 * dot)
            expected = mpmath.acos((dot * (1 + xx) - xx * (1 + yy)) / below)
            wide = mpmath.asin(min(1, APERTURE * (1 - xx) / mpmath.sqrt(xx)))
        assert abs(float(angle[i]) - float(expected)) < 1e-6
        assert abs(float(aperture[i]) - float(wide)) < 2e-3  # clamped just below a half space


@pytest.mark.parametrize("kind", ["distance", "cone", "flat"])
def test_ranks_are_those_of_the_definition(kind):
    graph = dag(50)
    whole = closure(graph.pairs(), 50)
    torch.manual_seed(2)
    z = 2 * torch.randn(50, 3, dtype=torch.float64)
    space = Euclidean() if kind == "flat" else Hyperbolic(0.7)
    score = ConeScore(space) if kind == "cone" else DistanceScore(space).eval()
    if kind != "cone":
        score.choose(0.7, 0.2)
    nodes = torch.unique(whole[0])
    asked = whole[:, ::2]
    nodes = torch.unique(asked[0])
    precision, rank = ranks_above(z, z, space, score, asked, whole, nodes)
    with torch.no_grad():
        value = score.double()(z.unsqueeze(1), z.unsqueeze(0))
    for b, u in enumerate(nodes.tolist()):
        right = set(whole[1, whole[0] == u].tolist())
        wrong = [j for j in range(50) if j != u and j not in right]
        before = sorted(
            sum(float(value[u, j]) >= float(value[u, v]) for j in wrong)
            for v in asked[1, asked[0] == u].tolist()
        )
        parts = [(k + 1) / (k + 1 + w) for k, w in enumerate(before)]
        assert float(precision[b]) == pytest.approx(np.mean(parts))
        assert float(rank[b]) == pytest.approx(np.mean(before) + 1)


@pytest.mark.parametrize("is_a", ["distance", "cone"])
def test_a_hierarchy_is_learnt_stored_and_asked(tmp_path, is_a):
    graph = dag()
    run = fit(graph, out=tmp_path / "run", hold_out="nothing", is_a=is_a, **FREE)
    assert run.metrics["test"]["map"] > run.metrics["untrained"]["test"]["popularity"]["map"]
    assert run.metrics["test"]["f1"] > 0.5
    again = load_run(tmp_path / "run")
    again._kept["graph"] = graph
    assert again.evaluate() == run.metrics["test"]
    above = run.ancestors(["n7", "n9"], 3)
    assert above["id"].to_list() == ["n7"] * 3 + ["n9"] * 3
    assert above["probability"].is_between(0, 1).all()
    assert run.roots(2)["radius"].is_sorted()
    assert run.predict().height == graph.num_nodes
    with pytest.raises(GraphError, match="got 'n99'"):
        run.ancestors("n99")
    with pytest.raises(ConfigError, match="reads features"):
        run.place(np.zeros((1, 4)))


def test_a_small_hierarchy_is_trained_beyond_the_first_epoch_that_has_found_all():
    """The first epochs put all in order already; later ones tell right pairs from wrong ones."""
    bests, f1 = [], []
    for by_loss in (False, None):  # None is the default
        settings = Config(
            task="hierarchy", model="free", dim=5, hold_out="nothing", ties_by_loss=by_loss
        )
        problem = Problem(dag(), choose(dag(), settings))
        task = problem.task(problem.predictor())
        bests.append(train(task).best)
        f1.append(task.metrics("val")["f1"])
    assert bests[0].score == bests[1].score == 1.0
    assert bests[0].epoch < bests[1].epoch
    assert f1[0] < f1[1]


def test_training_repeats_with_any_number_of_threads(monkeypatch):
    graph = dag(400)
    monkeypatch.setattr(compiled, "SMALL", 300)  # smaller graphs are given to one thread
    helped, pool = [], compiled._pool
    monkeypatch.setattr(compiled, "_pool", lambda: helped.append(threads) or pool())
    settings = {**FREE, "epochs": 4, "hold_out": "nothing", "negatives": 100.0}
    runs = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            runs.append(fit(graph, **settings))
        finally:
            torch.set_num_threads(before)
    assert set(helped) == {2}
    assert torch.equal(*(run.predictor.encoder.embedding for run in runs))
    assert runs[0].metrics["test"] == runs[1].metrics["test"]


@pytest.mark.parametrize("model", ["hgcn", "mlp"])
def test_new_nodes_are_placed_by_their_features(model):
    """Features tell the branch, so a new node belongs below the child of the root that they say."""
    branch = [0, *[i % 3 for i in range(99)]]
    edges = [(i, 0) if i <= 3 else (i, 1 + branch[i]) for i in range(1, 100)]
    x = torch.eye(3)[branch]
    x[0] = 1.0
    graph = Graph(torch.tensor(edges).T, 100, x=x, directed=True)
    run = fit(
        graph, task="hierarchy", model=model, dim=4, epochs=60, eval_every=20, hold_out="nothing",
        feature_dropout=0.0, normalise="none",
    )  # fmt: skip
    placed = run.place(torch.eye(3), k=2)
    for row in range(3):
        assert set(placed["ancestor"][2 * row : 2 * row + 2].to_list()) == {0, 1 + row}


def test_features_are_read_by_an_encoder():
    graph = dag().replace(x=torch.randn(dag().num_nodes, 3))
    quick = {"task": "hierarchy", "dim": 2, "epochs": 1, "hold_out": "edges"}
    assert fit(graph, **quick).config.model == "hgcn"
    assert fit(dag(), **quick, model="hgcn").config.model == "hgcn"


def test_seeds_and_searches_take_the_usual_model_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [f"n{i},n{j}" for i, j in dag().edge_index.T.tolist()]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *pairs]))
    words = ["edges.csv", "--task", "hierarchy", "--dim", "2", "--epochs", "2", "--quiet"]
    assert main(["train", *words, "--seeds", "1", "--out", "seeds"]) == 0
    assert load_run("seeds/seed-0").config.model == "free"
    assert main(["search", *words, "--trials", "1", "--processes", "1", "--out", "found"]) == 0
    assert Path("found/edges-hierarchy-free.toml").is_file()


def test_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pairs = [f"n{i},n{j}" for i, j in dag().edge_index.T.tolist()]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *pairs]))
    words = ["train", "edges.csv", "--task", "hierarchy", "--dim", "3"]
    assert main([*words, "--epochs", "5", "--hold-out", "edges", "--out", "run", "--quiet"]) == 0
    run = load_run("run")
    assert run.config.model == "free"  # there are no features
    facts = dict(scene_from_run(run).metrics)
    assert facts["test mean rank"] == f"{run.metrics['test']['mean_rank']:.1f}"
    assert facts["test MAP"] == f"{100 * run.metrics['test']['map']:.1f}"
    assert main(["ancestors", "run", "n5", "-k", "2"]) == 0
    assert "id,ancestor,rank,probability\nn5," in capsys.readouterr().out
    assert main(["roots", "run", "-k", "3", "-o", "top.csv"]) == 0
    assert (tmp_path / "top.csv").read_text().startswith("id,radius,parents,children")
    assert main(["place", "run", "--features", "edges.csv"]) == 2
    assert "reads features" in capsys.readouterr().err
