import itertools
import tracemalloc

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, roc_auc_score

from hgcn import geometry
from hgcn.data import Graph
from hgcn.data.sparse import as_features
from hgcn.data.splits import split_links
from hgcn.errors import ConfigError, GraphError
from hgcn.inference import missing_links
from hgcn.inference.missing_links import closest_pairs
from hgcn.nn.spaces import space_of
from hgcn.training.problem import Problem
from small_graphs import forest, quick_run, tree


def random_graph(nodes: int, edges: int, **fields) -> Graph:
    generator = torch.Generator().manual_seed(nodes)
    ends = torch.randint(nodes, (2, edges), generator=generator)
    if not fields.get("directed"):
        ends = torch.cat((ends, ends.flip(0)), dim=1)
    return Graph(torch.unique(ends, dim=1), nodes, **fields)


def brute_force(z, graph, k, c, per_node):
    """All pairs in a list, without edges, sorted."""
    edges = set(map(tuple, graph.edge_index.T.tolist()))
    both = per_node or graph.directed
    n = range(graph.num_nodes)
    pairs = [
        (i, j)
        for i, j in (itertools.permutations(n, 2) if both else itertools.combinations(n, 2))
        if (i, j) not in edges
        and (graph.graph_ids is None or graph.graph_ids[i] == graph.graph_ids[j])
    ]
    # The smaller node first: rounding must not put one of (i, j) and (j, i) before the other.
    one, two = torch.tensor(pairs).reshape(-1, 2).sort(-1)[0].T
    z = z.double()
    if c is None:
        distance = (z[one] - z[two]).square().sum(-1)
    else:
        distance = geometry.squared_distance(z[one], z[two], c=c)
    order = sorted(range(len(pairs)), key=lambda p: (float(distance[p]), pairs[p]))
    if per_node:
        kept = []
        for node in n:
            kept += [p for p in order if pairs[p][0] == node][:k]
        order = kept
    else:
        order = order[:k]
    return [pairs[p] for p in order], distance[order]


@pytest.mark.parametrize("c", [None, 1.0, 0.2])
@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("kind", ["plain", "directed", "many", "loops"])
@pytest.mark.parametrize("k", [1, 7, 10_000])
def test_closest_pairs_are_those_of_brute_force(c, per_node, kind, k):
    fields = {"directed": kind == "directed"}
    if kind == "many":
        graph = forest((8, 1, 12))
    elif kind == "loops":
        graph = tree(25)
        loops = torch.arange(0, 25, 2).repeat(2, 1)
        graph = graph.replace(edge_index=torch.cat((graph.edge_index, loops), dim=1))
    else:
        graph = random_graph(25, 60, **fields)
    z = torch.randn(graph.num_nodes, 4, generator=torch.Generator().manual_seed(1))
    pairs, distance = closest_pairs(z, graph, k, space=space_of(c), per_node=per_node)
    expected, lengths = brute_force(z, graph, k, c, per_node)
    assert list(map(tuple, pairs.T.tolist())) == expected
    torch.testing.assert_close(distance, lengths, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 3.0, 12.0, 40.0])
def test_distances_are_right_at_every_radius(scale):
    graph = random_graph(30, 40)
    z = scale * torch.randn(30, 3, generator=torch.Generator().manual_seed(2))
    z[3] = z[4] * (1 + 1e-5)
    z[7] = 0
    pairs, distance = closest_pairs(z, graph, 10_000, space=space_of(0.7))
    exact = geometry.squared_distance(z[pairs[0]].double(), z[pairs[1]].double(), c=0.7)
    torch.testing.assert_close(distance, exact, rtol=1e-7, atol=0)
    assert bool((distance.diff() >= 0).all())


@pytest.mark.parametrize("per_node", [False, True])
def test_equal_distances_are_ordered_by_node(per_node):
    graph = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=5)
    pairs, _ = closest_pairs(torch.zeros(5, 2), graph, 2, space=space_of(1.0), per_node=per_node)
    if per_node:
        expected = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)]
    else:
        expected = [(0, 2), (0, 3)]
    assert list(map(tuple, pairs.T.tolist())) == expected


def test_a_complete_graph_lacks_nothing():
    edges = torch.tensor(list(itertools.permutations(range(4), 2))).T
    for per_node in (False, True):
        found, distance = closest_pairs(
            torch.randn(4, 2), Graph(edges, 4), 3, space=space_of(None), per_node=per_node
        )
        assert found.shape == (2, 0)
        assert distance.shape == (0,)
    assert closest_pairs(torch.randn(1, 2), Graph(edges[:, :0], 1), 3, space=space_of(1.0))[
        0
    ].shape == (2, 0)


@pytest.mark.parametrize("per_node", [False, True])
def test_blocks_and_threads_change_nothing(per_node, monkeypatch):
    graph, z = random_graph(60, 90), torch.randn(60, 3)
    whole = closest_pairs(z, graph, 20, space=space_of(1.0), per_node=per_node)
    monkeypatch.setattr(missing_links, "BLOCK", 60 * 7)
    blocks = closest_pairs(z, graph, 20, space=space_of(1.0), per_node=per_node)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        shared = closest_pairs(z, graph, 20, space=space_of(1.0), per_node=per_node)
    finally:
        torch.set_num_threads(threads)
    for other in (blocks, shared):
        assert torch.equal(whole[0], other[0])
        assert torch.equal(whole[1], other[1])


def test_memory_does_not_grow_with_the_number_of_pairs():
    graph, z = random_graph(3000, 6000), torch.randn(3000, 4)
    closest_pairs(z[:50], random_graph(50, 90), 5, space=space_of(1.0))
    tracemalloc.start()
    try:
        closest_pairs(z, graph, 5, space=space_of(1.0), per_node=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3000 * 3000  # bytes: less than one for each pair


@pytest.mark.parametrize("k", [0, -1, 2.0, True])
def test_k_must_be_a_count(k):
    with pytest.raises(GraphError, match="whole number of at least 1"):
        closest_pairs(torch.zeros(3, 2), random_graph(3, 2), k, space=space_of(None))


@pytest.mark.parametrize("model", ["hgcn", "gcn", "hyp"])
def test_top_links_have_the_probabilities_of_predict_links(model):
    run = quick_run(model=model)
    pairs, probability = run.top_links(12)
    torch.testing.assert_close(probability, run.predict_links(pairs), rtol=1e-4, atol=1e-6)
    assert bool((probability.diff() <= 0).all())
    every = torch.combinations(torch.arange(90)).T
    edges = set(map(tuple, run.graph.pairs().T.tolist()))
    free = torch.tensor([tuple(pair) not in edges for pair in every.T.tolist()])
    best = run.predict_links(every[:, free]).sort(descending=True)[0][:12]
    torch.testing.assert_close(probability, best, rtol=1e-4, atol=1e-6)
    each, _ = run.top_links(2, per_node=True)
    assert each[0].tolist() == [node for node in range(90) for _ in range(2)]


def test_link_scores_on_another_graph_hide_a_tenth_of_its_edges():
    run, graph = quick_run(), tree(70, seed=5)
    scores = run.evaluate(graph)
    split = split_links(graph, val=0.0, test=0.1, seed=run.config.split_seed or 0)
    shown = graph.replace(edge_index=split.test.messages)
    assert split.test.negatives is not None
    edges = run.predict_links(split.test.positives, shown).numpy()
    others = run.predict_links(split.test.negatives, shown).numpy()
    truth = np.r_[np.ones(len(edges)), np.zeros(len(others))]
    assert len(edges) == 7
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(truth, np.r_[edges, others]))
    assert scores["ap"] == pytest.approx(average_precision_score(truth, np.r_[edges, others]))
    assert run.evaluate(graph) == scores


def test_link_scores_on_many_graphs(monkeypatch):
    run, graph = quick_run(), forest()
    asked = []
    links = run.predictor.links

    def spy(z, pairs, facts=None):
        asked.append(pairs)
        return links(z, pairs, facts)

    monkeypatch.setattr(run.predictor, "links", spy)
    scores = {"roc_auc", "roc_auc_degrees", "ap", "hits@10", "hits@50", "mrr"}
    assert set(run.evaluate(graph)) == scores
    pairs = asked[0]
    assert graph.graph_ids is not None
    assert torch.equal(*graph.graph_ids[pairs])
    assert pairs.shape[1] == 2 * round(0.1 * graph.num_edges)


def test_classes_are_matched_by_name():
    run = quick_run("node")
    graph = tree(50, seed=3)
    scores = run.evaluate(graph)
    assert graph.y is not None
    guess = run.predict_nodes(graph).argmax(-1)
    assert scores["accuracy"] == pytest.approx(float((guess == graph.y).double().mean()))
    swapped = graph.replace(y=1 - graph.y, class_names=("right", "left"))
    assert run.evaluate(swapped) == scores
    more = graph.replace(y=graph.y + 1, class_names=("nobody", "left", "right"))
    assert run.evaluate(more) == scores
    unnamed = graph.replace(class_names=None)
    assert run.evaluate(unnamed) == scores
    hidden = graph.y.clone()
    hidden[:25] = -1
    part = run.evaluate(graph.replace(y=hidden))
    assert part["accuracy"] == pytest.approx(float((guess == graph.y)[25:].double().mean()))


def test_classes_that_do_not_match_are_refused():
    run, graph = quick_run("node"), tree(50, seed=3)
    with pytest.raises(GraphError, match=r"among 'left', 'right'.* got 'up'"):
        run.evaluate(graph.replace(class_names=("left", "up")))
    assert graph.y is not None
    with pytest.raises(GraphError, match=r"classes 0\.\.1.* got 2"):
        run.evaluate(graph.replace(y=graph.y + 1, class_names=None))
    with pytest.raises(GraphError, match="with labels"):
        run.evaluate(graph.replace(y=None, class_names=None))
    with pytest.raises(GraphError, match="at least one labelled"):
        run.evaluate(graph.replace(y=torch.full((50,), -1)))


def test_other_features_are_refused():
    names = ("age", "size", "mass", "hue")
    run = quick_run(graph=tree(feature_names=names))
    with pytest.raises(GraphError, match=r"Expected 4 features.* got 3"):
        run.embeddings(tree(50, features=3))
    with pytest.raises(GraphError, match=r"Expected 4 features.* got 0"):
        run.embeddings(tree(50, x=None))
    with pytest.raises(GraphError, match=r"Missing: size, mass\. Unknown: weight"):
        run.embeddings(tree(50, features=3, feature_names=("age", "hue", "weight")))
    with pytest.raises(GraphError, match=r"got others. Missing: mass. Unknown: weight"):
        run.embeddings(tree(50, feature_names=("age", "size", "weight", "hue")))
    assert run.embeddings(tree(50, feature_names=names)).shape == (50, 3)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_found_by_name(sparse):
    names, moved = ("age", "size", "mass", "hue"), [2, 0, 3, 1]
    run = quick_run(graph=tree(feature_names=names), normalise="standard")
    graph = tree(50, feature_names=names)
    other = graph.replace(x=graph.x[:, moved], feature_names=tuple(names[i] for i in moved))
    if sparse:
        graph, other = (g.replace(x=as_features(csr_array(g.x.numpy()))) for g in (graph, other))
    torch.testing.assert_close(run.embeddings(other), run.embeddings(graph), rtol=0, atol=0)


@pytest.mark.parametrize("model", ["hyp", "euc", "euc-mixed"])
def test_shallow_models_refuse_other_graphs(model):
    run = quick_run(model=model)
    for other in (tree(50), tree(90, seed=4)):
        for use in (run.embeddings, run.evaluate):
            with pytest.raises(GraphError, match="learns a vector for each node"):
                use(other)
    assert torch.equal(run.embeddings(tree()), run.embeddings())


def test_a_run_for_links_has_no_classes():
    with pytest.raises(ConfigError, match="trained for classes"):
        quick_run().predict_nodes()


@pytest.mark.parametrize("batch_size", [0, 8])
def test_a_network_is_applied_and_evaluated_where_it_is(batch_size):
    """After `run.predictor.to(device)` the settings still name the device of training."""
    run = quick_run(batch_size=batch_size)
    expected = run.predict_links([[0, 1], [2, 3]])
    object.__setattr__(run, "config", run.config.replace(device="cuda"))
    run._kept.pop("layers", None)
    assert run.device == torch.device("cpu")
    torch.testing.assert_close(run.predict_links([[0, 1], [2, 3]]), expected)
    assert run.evaluate() == run.metrics["test"]
    problem = Problem(run.graph, run.config)
    (*batches,) = problem.task(run.predictor).batches(1, torch.Generator().manual_seed(0))
    assert {batch.pairs.device.type for batch in batches} == {"cpu"}
