"""PyTorch Geometric's loaders take our sampler, and get what it draws."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader

from hgcn.errors import ConfigError
from hgcn.sampling.pyg import PyGSampler


@pytest.fixture
def data() -> Data:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.unique(torch.randint(50, (2, 150), generator=generator), dim=1)
    pairs = pairs[:, pairs[0] < pairs[1]]
    edges = torch.cat((pairs, pairs.flip(0)), dim=1)
    return Data(
        x=torch.randn(50, 3, generator=generator),
        edge_index=edges,
        edge_attr=torch.arange(edges.shape[1]),
        num_nodes=50,
    )


def test_nodes_edges_and_attributes_are_those_of_the_graph(data: Data) -> None:
    loader = NodeLoader(data, PyGSampler(data, [3, 2]), torch.arange(50), batch_size=8)
    for batch in loader:
        torch.testing.assert_close(batch.x, data.x[batch.n_id])
        torch.testing.assert_close(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        torch.testing.assert_close(batch.edge_attr, batch.e_id)
        assert sum(batch.num_sampled_nodes) == len(batch.n_id)
        assert sum(batch.num_sampled_edges) == batch.edge_index.shape[1]
        torch.testing.assert_close(batch.n_id[: batch.batch_size], data_ids(batch))
        assert int(torch.bincount(batch.edge_index[1]).max()) <= 3


def data_ids(batch: Data) -> torch.Tensor:
    ids: torch.Tensor = batch.input_id
    return ids


@pytest.mark.parametrize("fanouts", [[-1, -1], [4, 4]])
def test_links_are_hidden_and_negatives_are_none(data: Data, fanouts: list[int]) -> None:
    known = {frozenset(pair) for pair in data.edge_index.T.tolist()}
    loader = LinkLoader(
        data, PyGSampler(data, fanouts), data.edge_index, neg_sampling="binary", batch_size=20
    )
    for batch in loader:
        asked = batch.n_id[batch.edge_label_index].T.tolist()
        one = {frozenset(p) for p, y in zip(asked, batch.edge_label, strict=True) if y > 0}
        zero = {frozenset(p) for p, y in zip(asked, batch.edge_label, strict=True) if y == 0}
        assert one <= known
        assert zero
        assert not zero & known
        shown = {frozenset(p) for p in batch.n_id[batch.edge_index].T.tolist()}
        assert shown <= known - one
        if fanouts == [-1, -1]:  # every visible edge into a node that is asked about
            ends = {node for pair in asked for node in pair}
            assert shown >= {pair for pair in known - one if pair & ends}


def test_hiding_can_be_left_out(data: Data) -> None:
    sampler = PyGSampler(data, [-1], hide=False)
    batch = next(iter(LinkLoader(data, sampler, data.edge_index, batch_size=5)))
    shown = {tuple(p) for p in batch.n_id[batch.edge_index].T.tolist()}
    assert {tuple(p) for p in batch.n_id[batch.edge_label_index].T.tolist()} <= shown


def test_workers_do_not_change_what_is_drawn(data: Data) -> None:
    def drawn(workers: int, epoch: int = 0) -> list[torch.Tensor]:
        sampler = PyGSampler(data, [2, 2])
        sampler.epoch = epoch
        loader = NodeLoader(data, sampler, torch.arange(50), batch_size=10, num_workers=workers)
        return [batch.e_id for batch in loader]

    alone = drawn(0)
    for one, two in zip(alone, drawn(2), strict=True):
        assert torch.equal(one, two)
    assert any(not torch.equal(*both) for both in zip(alone, drawn(0, epoch=1), strict=True))


def test_triplets_are_refused(data: Data) -> None:
    loader = LinkLoader(data, PyGSampler(data, [2]), data.edge_index, neg_sampling="triplet")
    with pytest.raises(ConfigError, match="mode 'binary'"):
        next(iter(loader))
