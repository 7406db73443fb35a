"""The structural term of a link, and the facts that it reads."""

import pytest
import torch

from hgcn.errors import GraphError
from hgcn.kernels import FARTHEST
from hgcn.nn.structure import FACTS, StructureTerm, both_ways, pair_facts


def both(*ends):
    edges = torch.tensor(ends).T
    return torch.cat((edges, edges.flip(0)), dim=1)


LONG = FARTHEST + 1
PATH = both(*((node, node + 1) for node in range(LONG)))


def test_facts_of_nodes_with_nothing_in_common_are_zero():
    island, alone = LONG + 1, LONG + 3
    edges = torch.cat((PATH, both((island, island + 1))), dim=1)
    pairs = torch.tensor([[0, 0, island, alone, alone], [LONG, island, island + 1, 0, alone + 1]])
    assert not pair_facts(pairs, edges, None, alone + 2).any()
    assert pair_facts(torch.tensor([[0], [FARTHEST]]), edges, None, alone + 2).any()


def test_the_term_of_nodes_with_nothing_in_common_is_zero_whatever_it_learnt():
    torch.manual_seed(0)
    term = StructureTerm()
    for weight in term.parameters():
        torch.nn.init.normal_(weight)
    assert term(torch.zeros(3, FACTS)).tolist() == [0, 0, 0]
    facts = pair_facts(torch.tensor([[0], [2]]), PATH, None, LONG + 1).float()
    assert term(facts).item() != 0


@pytest.mark.parametrize("directed", [False, True])
def test_the_edge_between_two_nodes_does_not_change_their_facts(directed):
    edges = both((0, 1), (1, 2), (0, 3), (3, 2), (0, 4), (2, 5))
    if directed:
        edges = edges[:, :9]
    pair = torch.tensor([[0, 2], [2, 0]])
    without = pair_facts(pair, edges, None, 6)
    for more in (pair, pair[:, :1], pair[:, 1:]):
        shown = pair_facts(pair, torch.cat((edges, more), dim=1), None, 6)
        torch.testing.assert_close(shown, without)


def test_direction_is_a_fact_of_directed_graphs_alone():
    along = torch.tensor([[0, 1, 3], [1, 2, 2]])  # 0 -> 1 -> 2, and 3 -> 2
    pair = torch.tensor([[0, 2], [2, 0]])
    there, back = pair_facts(pair, along, None, 4)
    assert not torch.equal(there, back)
    torch.testing.assert_close(there[:-8], back[:-8])
    undirected = pair_facts(pair, torch.cat((along, along.flip(0)), dim=1), None, 4)
    assert not undirected[:, -8:].any()
    torch.testing.assert_close(undirected[:, :-8], torch.stack((there, back))[:, :-8])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_edges_does_not_change_facts(weighted):
    generator = torch.Generator().manual_seed(0)
    ends = torch.unique(torch.randint(30, (2, 60), generator=generator), dim=1)
    ends = ends[:, ends[0] < ends[1]]
    weight = torch.rand(ends.shape[1], generator=generator, dtype=torch.float64) + 0.5
    edges, weight = torch.cat((ends, ends.flip(0)), dim=1), torch.cat((weight, weight))
    order = (edges[0] * 30 + edges[1]).argsort()
    mixed = torch.randperm(len(order), generator=generator)
    pairs = torch.combinations(torch.arange(30)).T
    rows = [
        pair_facts(pairs, edges[:, by], weight[by] if weighted else None, 30)
        for by in (order, mixed)
    ]
    torch.testing.assert_close(*rows)


def test_self_loops_and_repeated_edges_do_not_count():
    more = torch.cat((PATH, torch.tensor([[1, 2, 0], [1, 2, 1]])), dim=1)
    pairs = torch.combinations(torch.arange(LONG + 1)).T
    torch.testing.assert_close(
        pair_facts(pairs, more, None, LONG + 1), pair_facts(pairs, PATH, None, LONG + 1)
    )
    assert both_ways(more, None, LONG + 1).graph.degree.tolist() == [1, *[2] * (LONG - 1), 1]


def test_other_numbers_of_facts_are_refused():
    with pytest.raises(GraphError, match=f"Expected {FACTS} facts of each pair, got 3"):
        StructureTerm()(torch.zeros(2, 3))
