"""Hard negatives by hand on small graphs."""

import pytest
import torch

from hgcn.errors import ConfigError
from hgcn.training.hard import HARD, hard_ends, hard_metrics
from small_graphs import forest, quick_run, tree

VISIBLE = torch.tensor([[0, 0, 1, 2, 2], [1, 2, 3, 3, 4]])
KNOWN = torch.cat((VISIBLE, torch.tensor([[5], [0]])), dim=1)
ONE = torch.zeros(6, dtype=torch.long)


def ends(nodes: list[int], count: int = 3, seed: int = 0, **given: torch.Tensor) -> list[list[int]]:
    known = {"visible": VISIBLE, "known": KNOWN, "graph_ids": ONE, **given}
    found = hard_ends(torch.tensor(nodes), count=count, seed=seed, **known)
    return found.tolist()


def test_nodes_that_share_most_come_first_and_edges_never() -> None:
    # 0 shares 1 (of two neighbours) and 2 (of three) with 3, and 2 with 4; 5 is linked to it.
    assert ends([0]) == [[3, 4, -1]]
    assert ends([0], count=1) == [[3]]
    # 3 shares more with 0 than with 4; 5 shares nothing and fills up.
    assert ends([3]) == [[0, 4, 5]]
    # 2 shares nothing with 5; with 1 it shares 0 and 3.
    assert ends([2]) == [[1, 5, -1]]
    # 5 shares nothing with anybody.
    ((*others, none),) = ends([5], count=5)
    assert sorted(others) == [1, 2, 3, 4]
    assert none == -1


def test_the_rest_is_random_but_the_same_for_equal_seeds() -> None:
    wide = torch.zeros(200, dtype=torch.long)
    first = ends([5, 0], count=40, graph_ids=wide)
    assert first == ends([5, 0], count=40, graph_ids=wide)
    assert first != ends([5, 0], count=40, graph_ids=wide, seed=1)
    assert first[1][:2] == [3, 4]
    assert all(len(set(row)) == 40 and -1 not in row for row in first)
    # An even choice of 200 nodes: the mean is within five standard deviations.
    assert abs(sum(first[0]) / 40 - 100) < 5 * 58 / 40**0.5


def test_other_graphs_have_no_ends() -> None:
    two = torch.tensor([0, 0, 0, 0, 0, 1, 1])
    (found,) = ends([4], count=4, graph_ids=two)
    assert sorted(found[:2]) == [0, 3]
    assert found[2:] == [1, -1]
    assert ends([6], count=4, graph_ids=two, known=VISIBLE) == [[5, -1, -1, -1]]


def test_a_hub_of_thousands_counts_nothing() -> None:
    star = torch.stack((torch.zeros(5000, dtype=torch.long), torch.arange(1, 5001)))
    star = torch.cat((star, torch.tensor([[5001, 5001], [7, 8]])), dim=1)
    ids = torch.zeros(5002, dtype=torch.long)
    found = hard_ends(torch.tensor([7]), star, star, ids, count=20, seed=0)[0].tolist()
    assert found[0] == 8
    assert len(set(found)) == 20


def test_ranks_are_those_among_the_own_negatives() -> None:
    # Edge 0-1 beats all; edge 2-3 comes after two of its four, and ties with one.
    score = {(0, 1): 9, (2, 3): 5, (0, 8): 1, (7, 1): 2, (2, 8): 6, (2, 9): 5, (7, 3): 8, (6, 3): 1}
    other = {0: [8, -1], 1: [7, -1], 2: [8, 9], 3: [7, 6]}

    def logits(pairs: torch.Tensor) -> torch.Tensor:
        return torch.tensor([float(score[pair]) for pair in map(tuple, pairs.T.tolist())])

    found = hard_metrics(
        torch.tensor([[0, 2], [1, 3]]),
        lambda nodes: torch.tensor([other[node] for node in nodes.tolist()]),
        logits,
    )
    assert found == {"hits@10": 1.0, "hits@50": 1.0, "mrr": pytest.approx((1 + 1 / 3.5) / 2)}


@pytest.mark.parametrize("kind", ["one", "many", "directed"])
def test_a_run_is_evaluated_against_them(kind: str) -> None:
    graph = forest() if kind == "many" else tree()
    if kind == "directed":
        graph = graph.replace(edge_index=graph.pairs(), directed=True)
    run = quick_run(graph=graph, model="gcn")
    task, taken = run.link_task(), []
    logits = task.logits
    task.logits = lambda part, pairs: taken.append(pairs) or logits(part, pairs)
    scores = task.hard_metrics("test")
    assert scores == run.evaluate(negatives="hard")
    assert list(scores) == ["hits@10", "hits@50", "mrr"]
    own, number = task._pairs["test"][0], task._numbers["test"]
    known = graph.pairs() if number is None else number[graph.pairs()]
    asked = {frozenset(pair) for pairs in taken[1:] for pair in pairs.T.tolist()}
    assert not asked & {frozenset(pair) for pair in known.T.tolist()}
    assert torch.equal(taken[0], own)
    if kind == "one":  # a tree of 90 nodes: nearly all other nodes are taken at either end
        degree = torch.bincount(graph.edge_index[0])
        assert taken[1].shape[1] == sum(
            min(HARD // 2, 89 - int(degree[node])) for node in own[0].unique()
        )
    unseen = run.evaluate(tree(60, seed=5), negatives="hard")
    assert 0 < unseen["mrr"] <= 1


def test_only_links_have_hard_negatives() -> None:
    run = quick_run("node", model="gcn", epochs=2)
    with pytest.raises(ConfigError, match="links"):
        run.evaluate(negatives="hard")
    with pytest.raises(ConfigError, match="random"):
        run.evaluate(negatives="soft")
