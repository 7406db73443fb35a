"""The sampler draws what it says: whole neighbourhoods, fair draws, hidden edges, repeatable."""

import threading

import pytest
import torch
from torch import Tensor

from hgcn.errors import ConfigError, GraphError
from hgcn.sampling import Adjacency, NeighbourSampler, Sample, prefetched, seed_of


def random_edges(n: int, count: int, seed: int = 0) -> Tensor:
    return torch.randint(n, (2, count), generator=torch.Generator().manual_seed(seed))


def star(leaves: int) -> Tensor:
    """Edges from each leaf to node 0."""
    return torch.stack((torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.long)))


def as_given(sample: Sample, edges: Tensor) -> None:
    """Each edge of a sample is the edge of the list that it says it is."""
    torch.testing.assert_close(sample.nodes[sample.edge_index], edges[:, sample.edges])


def test_all_neighbours_are_those_of_a_search_in_breadth() -> None:
    n, edges = 60, random_edges(60, 150)
    batch = torch.tensor([7, 3, 50])
    sample = NeighbourSampler(Adjacency.of(edges, None, n), [-1, -1, -1]).sample(batch, seed=0)
    as_given(sample, edges)
    assert sample.stands is None
    reached, expanded = batch.tolist(), set()
    for hop, (nodes, count) in enumerate(
        zip(sample.node_counts, (0, *sample.edge_counts), strict=True)
    ):
        assert set(sample.nodes[:nodes].tolist()) == set(reached)
        assert len(reached) == nodes, f"hop {hop}"
        wanted = {e for e in range(edges.shape[1]) if int(edges[1, e]) in expanded}
        assert set(sample.edges[:count].tolist()) == wanted
        assert count == len(wanted)
        expanded = set(reached)
        for j, i in edges.T.tolist():
            if i in expanded and j not in reached:
                reached.append(j)


def test_blocks_are_nested_and_end_at_the_batch() -> None:
    edges = random_edges(80, 300)
    batch = torch.arange(5)
    sample = NeighbourSampler(Adjacency.of(edges, None, 80), [3, 2]).sample(batch, seed=1)
    first, second = sample.blocks()
    assert first.num_targets == second.num_sources
    assert (first.num_sources, second.num_targets) == (len(sample.nodes), 5)
    for block in (first, second):
        assert int(block.edge_index[0].max()) < block.num_sources
        assert int(block.edge_index[1].max()) < block.num_targets
        assert bool((block.edge_index[1].diff() >= 0).all())
    degree = torch.bincount(edges[1], minlength=80)[batch]
    drawn = torch.bincount(second.edge_index[1], minlength=5)
    torch.testing.assert_close(drawn, degree.clamp_max(3))


def stars(count: int, leaves: int) -> Tensor:
    """Edges from each of some leaves to each of the nodes before them."""
    centre = torch.arange(count).repeat_interleave(leaves)
    return torch.stack((count + torch.arange(leaves).repeat(count), centre))


@pytest.mark.parametrize(("size", "fanout"), [(5, 4), (64, 20), (65, 3), (90, 60)])
def test_every_set_of_neighbours_is_as_likely(size: int, fanout: int) -> None:
    """All ways to draw without replacement: up to 64, few of many, and most of many."""
    tries = 4000
    rows = Adjacency.of(stars(tries, size), None, tries + size)
    sample = NeighbourSampler(rows, [fanout]).sample(torch.arange(tries), seed=0)
    assert sample.stands is not None
    torch.testing.assert_close(sample.stands, torch.full_like(sample.stands, size / fanout))
    drawn = (sample.nodes[sample.edge_index[0]] - tries).reshape(tries, fanout)
    chosen = torch.zeros(tries, size, dtype=torch.float64).scatter(1, drawn, 1.0)
    assert bool((chosen.sum(1) == fanout).all())  # nobody twice
    both = chosen.T @ chosen  # how often each was drawn, and each two of them
    share = torch.full((size, size), fanout * (fanout - 1) / (size * (size - 1)))
    share.fill_diagonal_(fanout / size)
    deviation = (tries * share * (1 - share)).sqrt()
    assert bool(((both - tries * share).abs() < 6 * deviation).all())


@pytest.mark.parametrize("by_weight", [False, True])
@pytest.mark.parametrize("replace", [False, True])
def test_a_sum_over_draws_has_the_expectation_of_the_whole(by_weight: bool, replace: bool) -> None:
    tries, weight = 8000, torch.tensor([0.1, 5.0, 1.0, 0.0, 2.0, 0.5, 1.0]).double()
    size = len(weight)
    rows = Adjacency.of(stars(tries, size), weight.repeat(tries), tries + size)
    sampler = NeighbourSampler(rows, [3], by_weight=by_weight, replace=replace)
    sample = sampler.sample(torch.arange(tries), seed=1)
    (block,) = sample.blocks()
    assert block.weight is not None
    assert torch.equal(torch.bincount(block.edge_index[1]), torch.full((tries,), 3))
    leaf = sample.nodes[sample.edge_index[0]] - tries
    found = torch.zeros(tries * size, dtype=torch.float64)
    found = found.index_add(0, sample.edge_index[1] * size + leaf, block.weight)
    error, mean = torch.std_mean(found.reshape(tries, size), dim=0)
    assert bool(((mean - weight).abs() <= 5 * error / tries**0.5 + 1e-9).all()), (mean, weight)


def test_by_weight_prefers_heavy_edges_and_takes_all_if_there_are_few() -> None:
    weight = torch.tensor([1.0, 9.0])
    adjacency = Adjacency.of(star(2), weight, 3)
    once = NeighbourSampler(adjacency, [1], by_weight=True)
    heavy = [once.sample(torch.tensor([0]), seed=k).edges.item() for k in range(1000)]
    assert 880 < sum(heavy) < 990
    both = NeighbourSampler(adjacency, [2], by_weight=True).sample(torch.tensor([0]), seed=0)
    assert both.edges.tolist() == [0, 1]
    assert both.stands is None


def test_a_sample_depends_on_its_seed_alone() -> None:
    edges = random_edges(500, 5000)
    adjacency = Adjacency.of(edges, torch.rand(5000), 500)
    seeds = [torch.arange(k, k + 20) for k in range(8)]
    for options in ({}, {"replace": True}, {"by_weight": True}):
        sampler = NeighbourSampler(adjacency, [4, 3], **options)

        def make(k: int, sampler: NeighbourSampler = sampler) -> Sample:
            return sampler.sample(seeds[k], seed=seed_of(0, k))

        runs = [list(prefetched(make, order, workers=workers)) for workers, order in (
            (0, range(8)), (1, range(8)), (3, range(8)), (2, range(7, -1, -1))
        )]  # fmt: skip
        runs[-1].reverse()
        for run in runs[1:]:
            for one, two in zip(runs[0], run, strict=True):
                torch.testing.assert_close(one.nodes, two.nodes, rtol=0, atol=0)
                torch.testing.assert_close(one.edges, two.edges, rtol=0, atol=0)
    other = sampler.sample(seeds[0], seed=seed_of(0, 99))
    assert not torch.equal(other.edges, runs[0][0].edges)


@pytest.mark.parametrize("fanouts", [[-1, -1], [3, 2]])
def test_hidden_edges_are_as_if_they_were_not_there(fanouts: list[int]) -> None:
    n, edges = 40, random_edges(40, 400)
    hidden = edges[:, ::5]
    keys = hidden[0] * n + hidden[1]
    back = hidden[1] * n + hidden[0]
    left = ~torch.isin(edges[0] * n + edges[1], torch.cat((keys, back)))
    batch = torch.arange(10)
    one = NeighbourSampler(Adjacency.of(edges, None, n), fanouts)
    two = NeighbourSampler(Adjacency.of(edges[:, left], None, n), fanouts)
    given = one.sample(batch, seed=5, hidden=hidden)
    wanted = two.sample(batch, seed=5)
    torch.testing.assert_close(given.nodes, wanted.nodes)
    torch.testing.assert_close(given.edge_index, wanted.edge_index)
    torch.testing.assert_close(left.nonzero()[:, 0][wanted.edges], given.edges)
    torch.testing.assert_close(given.stands, wanted.stands)


def test_totals_are_those_of_the_whole_graph() -> None:
    edges = torch.tensor([[1, 2, 0, 1], [0, 0, 2, 1]])
    weight = torch.tensor([2.0, 3.0, 4.0, 0.5])
    adjacency = Adjacency.of(edges, weight, 4)
    sample = NeighbourSampler(adjacency, [1], totals=True).sample(torch.tensor([0, 1]), seed=0)
    dense = torch.eye(4).double()
    dense[1, 1] = 0.5
    dense = dense.index_put((edges[1][:3], edges[0][:3]), weight[:3].double())
    torch.testing.assert_close(sample.totals, dense.sum(1)[sample.nodes])


def test_wrong_requests_are_refused() -> None:
    adjacency = Adjacency.of(star(3), None, 4)
    with pytest.raises(ConfigError, match="fan-outs of at least 1"):
        NeighbourSampler(adjacency, [0])
    with pytest.raises(ConfigError, match="edge weights to draw by"):
        NeighbourSampler(adjacency, [1], by_weight=True)
    with pytest.raises(GraphError, match="got 4 in an edge"):
        Adjacency.of(torch.tensor([[4], [0]]), None, 4)
    sampler = NeighbourSampler(adjacency, [1])
    with pytest.raises(GraphError, match="got 2 twice"):
        sampler.sample(torch.tensor([1, 2, 3, 2]), seed=0)
    with pytest.raises(GraphError, match=r"0\.\.3, got 9"):
        sampler.sample(torch.tensor([9]), seed=0)
    # What was refused leaves nothing behind.
    assert sampler.sample(torch.tensor([2, 1]), seed=0).nodes.tolist() == [2, 1]


def test_nothing_at_all_is_a_sample_too() -> None:
    sampler = NeighbourSampler(Adjacency.of(torch.empty(2, 0).long(), None, 3), [2, -1])
    sample = sampler.sample(torch.tensor([1]), seed=0)
    assert (sample.node_counts, sample.edge_counts) == ((1, 1, 1), (0, 0))
    assert sampler.sample(torch.empty(0).long(), seed=0).node_counts == (0, 0, 0)
    lonely = NeighbourSampler(sampler.adjacency, []).sample(torch.tensor([1]), seed=0)
    assert lonely.blocks() == ()


def test_an_error_in_a_worker_comes_out_at_its_turn_and_threads_end() -> None:
    def make(k: int) -> int:
        if k == 3:
            raise GraphError("Expected better, got three.")
        return k

    before = threading.active_count()
    found: list[int] = []
    with pytest.raises(GraphError, match="got three"):
        found.extend(prefetched(make, range(100), workers=2))
    assert found == [0, 1, 2]
    assert threading.active_count() == before


def test_leaving_early_ends_the_threads_and_makes_no_more() -> None:
    made = []
    before = threading.active_count()
    batches = prefetched(made.append, range(1000), workers=1)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    assert len(made) <= 5
