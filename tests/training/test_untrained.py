"""Scores without training against NetworkX and by hand, and beside those of a network."""

import networkx as nx
import pytest
import torch
from sklearn.metrics import roc_auc_score

from hgcn import kernels
from hgcn.data import Graph
from hgcn.runs.seeds import summarise
from hgcn.training.links import LinkTask
from hgcn.training.metrics import link_metrics
from hgcn.training.problem import Problem
from hgcn.training.untrained import untrained_scores
from small_graphs import forest, quick_run, tree

NAMES = [
    "common_neighbours",
    "adamic_adar",
    "resource_allocation",
    "preferential_attachment",
    "short_paths",
]


def as_tensor(graph: nx.Graph) -> torch.Tensor:
    edges = torch.tensor(list(graph.edges)).T
    return torch.cat((edges, edges.flip(0)), dim=1)


def test_scores_are_those_of_networkx() -> None:
    graph = nx.gnm_random_graph(40, 120, seed=1)
    pairs = list(nx.non_edges(graph))
    scores = untrained_scores(torch.tensor(pairs).T, as_tensor(graph), None, 40, directed=False)
    assert list(scores) == NAMES
    wanted = {
        "common_neighbours": nx.common_neighbor_centrality(graph, pairs, alpha=1.0),
        "adamic_adar": nx.adamic_adar_index(graph, pairs),
        "resource_allocation": nx.resource_allocation_index(graph, pairs),
        "preferential_attachment": nx.preferential_attachment(graph, pairs),
    }
    for name, found in wanted.items():
        expected = torch.tensor([value for *_, value in found], dtype=torch.float64)
        torch.testing.assert_close(scores[name], expected)
    matrix = torch.from_numpy(nx.to_numpy_array(graph))
    index = matrix @ matrix + 0.01 * matrix @ matrix @ matrix
    near = torch.tensor([nx.shortest_path_length(graph, *pair) < 4 for pair in pairs])
    expected = index[tuple(torch.tensor(pairs).T)]
    torch.testing.assert_close(scores["short_paths"][near], expected[near])


def test_far_pairs_come_by_distance_and_the_own_edge_counts_nothing() -> None:
    path = nx.path_graph(7)
    path.add_nodes_from([7])
    pairs = torch.tensor([[0, 0, 0, 0, 3], [3, 4, 6, 7, 4]])
    scores = untrained_scores(pairs, as_tensor(path), None, 8, directed=False)
    none = -(kernels.FARTHEST + 1.0)
    assert scores["short_paths"].tolist() == [0.01, -4.0, -6.0, none, none]
    # 3 and 4 have two neighbours each, one of them the other.
    assert scores["preferential_attachment"].tolist() == [2.0, 2.0, 1.0, 0.0, 1.0]


def test_in_a_directed_graph_out_and_in_degrees_are_attached() -> None:
    edges = torch.tensor([[0, 0, 1, 3], [1, 2, 3, 2]])
    pairs = torch.tensor([[0, 3, 0], [3, 0, 1]])
    scores = untrained_scores(pairs, edges, None, 4, directed=True)
    assert scores["preferential_attachment"].tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["one", "many", "directed", "weighted"])
def test_a_run_has_them_on_its_own_pairs(kind: str) -> None:
    graph: Graph = forest() if kind == "many" else tree()
    if kind == "directed":
        graph = graph.replace(edge_index=graph.pairs(), directed=True)
    if kind == "weighted":
        graph = graph.replace(edge_weight=torch.ones(graph.edge_index.shape[1]) + 1)
    run = quick_run(graph=graph, model="gcn")
    task = Problem(graph, run.config).task(run.predictor)
    assert isinstance(task, LinkTask)
    for part in ("val", "test"):
        found = run.metrics["untrained"][part]
        assert list(found) == NAMES
        assert all(list(scores) == list(run.metrics[part]) for scores in found.values())
        own = getattr(task.parts, part)
        scores = untrained_scores(
            torch.cat((own.positives, own.negatives), dim=1),
            own.messages,
            own.message_weight,
            graph.num_nodes,
            directed=graph.directed,
        )
        count = own.positives.shape[1]
        expected = link_metrics(*scores["short_paths"].split([count, own.negatives.shape[1]]))
        assert {k: found["short_paths"][k] for k in expected} == expected


def test_the_score_against_equal_degrees_is_that_of_the_drawn_pairs() -> None:
    graph = tree()
    run = quick_run(graph=graph, model="gcn")
    task = Problem(graph, run.config).task(run.predictor)
    assert isinstance(task, LinkTask)
    alike = task._alike("test")
    every = {frozenset(pair) for pair in graph.pairs().T.tolist()}
    assert not {frozenset(pair) for pair in alike.T.tolist()} & every
    positive, negative = task.outputs("test")[0], task.logits("test", alike)
    truth = [1] * len(positive) + [0] * len(negative)
    expected = roc_auc_score(truth, torch.cat((positive, negative)).tolist())
    assert run.metrics["test"]["roc_auc_degrees"] == pytest.approx(expected)
    # Every pair has the degrees of its positive, so the product of degrees tells nothing.
    attached = run.metrics["untrained"]["test"]["preferential_attachment"]
    assert attached["roc_auc_degrees"] == pytest.approx(0.5, abs=0.1)


def test_seeds_average_them_and_other_tasks_have_others() -> None:
    runs = [quick_run(seed=seed, model="gcn", epochs=2).metrics for seed in (0, 1)]
    found = summarise(runs)["untrained"]["test"]["adamic_adar"]["roc_auc"]
    values = [run["untrained"]["test"]["adamic_adar"]["roc_auc"] for run in runs]
    assert found["mean"] == pytest.approx(sum(values) / 2)
    assert "untrained" not in summarise([{k: v for k, v in runs[0].items() if k != "untrained"}])
    nodes = quick_run("node", model="gcn", epochs=2).metrics["untrained"]
    assert set(nodes["test"]).isdisjoint(runs[0]["untrained"]["test"])
