"""Columns as steps between quantiles."""

import numpy as np
import pytest
import torch
from scipy import sparse

from hgcn import fit, load_run
from hgcn.data.bins import MOST_BINS, MOST_STEPS, quantile_bins, steps
from hgcn.data.features import BINS
from hgcn.data.sparse import as_features
from hgcn.errors import GraphError
from hgcn.inference.feature_map import FeatureMap
from small_graphs import QUICK, tree


def test_the_sum_of_the_steps_is_the_place_among_the_quantiles():
    """For each column, by the interpolation of NumPy; other rows are held within the ends."""
    generator = torch.Generator().manual_seed(0)
    seen = torch.randn(500, 2, generator=generator).exp()
    x = torch.cat((seen, torch.tensor([[-9.0, 1e6]])))
    begin, width = quantile_bins(seen)
    out = steps(x, begin, width) * (2 * MOST_BINS) ** 0.5
    assert out.shape == (501, 2 * MOST_BINS)
    for column in range(2):
        ends = np.quantile(seen[:, column], np.linspace(0, 1, MOST_BINS + 1), method="nearest")
        place = np.interp(x[:, column], ends, np.arange(MOST_BINS + 1))
        own = out[:, column * MOST_BINS : (column + 1) * MOST_BINS]
        torch.testing.assert_close(own.sum(1).double(), torch.from_numpy(place))
        # Each bin is full before the next one begins.
        assert ((own[:, 1:] == 0) | (own[:, :-1] == 1)).all()


def test_few_values_have_few_bins():
    x = torch.tensor([[0.0, 5.0, 1.0], [1.0, 5.0, 2.0], [0.0, 5.0, 4.0], [1.0, 5.0, 4.0]])
    begin, width = quantile_bins(x)
    assert BINS.made_of(3, begin, width) == [0, 1, 2, 2]
    out = steps(torch.tensor([[1.0, 7.0, 3.0]]), begin, width) * 2
    torch.testing.assert_close(out, torch.tensor([[1.0, 1.0, 1.0, 0.5]]))


def test_rows_are_at_most_one_long_and_many_columns_have_few_bins():
    x = torch.randn(100, 400)
    begin, width = quantile_bins(x)
    assert len(BINS.made_of(400, begin, width)) == 400 * (MOST_STEPS // 400)
    assert steps(100 * x, begin, width).norm(dim=1).max() <= 1 + 1e-6


def test_sparse_features_are_refused():
    with pytest.raises(GraphError, match="Expected dense features for `normalise='bins'`"):
        quantile_bins(as_features(sparse.eye_array(4, format="csr")))


def test_a_run_keeps_its_bins(tmp_path):
    graph = tree(60)
    run = fit(
        graph, task="node", normalise="bins", degree_features=True, out=tmp_path / "r", **QUICK
    )
    again = load_run(tmp_path / "r")
    torch.testing.assert_close(run.embeddings(), again.embeddings(graph), rtol=0, atol=0)
    names = {reason.name for reason in run.explain("n3").of("feature")}
    assert "feature 0" in names
    assert len(names) <= 4 + 8


def test_other_nodes_do_not_move_the_bins():
    graph, nodes = tree(60), torch.arange(30)
    moved = graph.replace(x=torch.cat((graph.x[:30], 9 * graph.x[30:])))
    one, two = (FeatureMap.fit(g, nodes, "bins", degrees=False) for g in (graph, moved))
    torch.testing.assert_close(one(graph)[:30], two(moved)[:30], rtol=0, atol=0)
    assert one.num_features == one(graph).shape[1] == len(one.owners)
