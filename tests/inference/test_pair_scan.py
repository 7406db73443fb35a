"""The quick look in single precision misses no node that lies close."""

import numpy as np
import pytest
import torch

from hgcn.inference.missing_links import search_form
from hgcn.inference.pair_scan import CHUNK, find_close, place_after, places_of, room_for_found
from hgcn.nearest.heights import height as height_of_pair
from hgcn.nn.spaces import Euclidean, Hyperbolic

N = 200


def points(size):
    """Points around a few centres, as far out as ``size`` says, and one at the origin."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((5, 6))[rng.integers(0, 5, N)]
    z += rng.standard_normal((N, 6)) * 10.0 ** rng.uniform(-9, 0, (N, 1))
    z[7] = 0.0
    return torch.from_numpy(z * size)


@pytest.mark.parametrize("size", [1e-8, 0.1, 1.0, 5.0, 30.0, 1e6, 1e25])
@pytest.mark.parametrize("space", [Euclidean(), Hyperbolic(1.0)])
def test_all_close_nodes_are_found(space, size):
    form = search_form(space, points(size))
    order, zeros = np.arange(N), np.zeros(N, int)
    places, found = places_of(form, zeros, zeros, order, both_ways=True), room_for_found()
    for i in range(0, N, 9):
        height = np.array([height_of_pair(form, i, form, j, np.inf) for j in order])
        for limit in (0.0, *np.quantile(height, [0.05, 0.3, 1.0]), np.inf):
            count = find_close(i, 0, N, limit, *form, places, found)
            assert set(np.flatnonzero(height <= limit)) <= set(found[1][:count])


def test_few_others_are_found():
    form = search_form(
        Hyperbolic(1.0), torch.from_numpy(np.random.default_rng(0).normal(size=(CHUNK, 6)))
    )
    zeros, order = np.zeros(CHUNK, int), np.arange(CHUNK)
    places, found = places_of(form, zeros, zeros, order, both_ways=True), room_for_found()
    height = np.array([height_of_pair(form, 0, form, j, np.inf) for j in order])
    limit = np.quantile(height, 0.02)
    assert find_close(0, 0, CHUNK, limit, *form, places, found) < 0.2 * CHUNK


def test_nodes_are_in_the_order_of_graph_class_and_rank():
    rng = np.random.default_rng(1)
    group, kind, rows = rng.integers(0, 3, N) * 5, rng.integers(0, 4, N), rng.permutation(N)
    form = search_form(Euclidean(), points(1.0))
    places = places_of(form, group, kind, rows, both_ways=False)
    assert [rows[r] for r in places.rank] == list(range(N))
    for i in range(N):
        later = {j for j in range(N) if places.rank[j] > places.rank[i]}
        assert places.least[i] == min(later | {i})
        seen = set()
        for run in range(places.first[places.group[i]], places.first[places.group[i] + 1]):
            after = places.order[place_after(i, run, places) : places.begin[run + 1]]
            assert set(kind[after]) <= {places.kind[run]}
            seen |= set(after)
        assert seen == {j for j in later if group[j] == group[i]}
