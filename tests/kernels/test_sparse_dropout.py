"""Dropout of sparse features."""

import torch

from hgcn import kernels
from hgcn.data.graph import csr_matrix


def test_entries_are_kept_doubled_or_dropped() -> None:
    torch.manual_seed(0)
    dense = torch.rand(60, 30) * (torch.rand(60, 30) < 0.3)
    kept = dense != 0
    start = torch.cat((torch.zeros(1, dtype=torch.int64), kept.sum(1).cumsum(0)))
    x = csr_matrix(start, kept.nonzero()[:, 1], dense[kept], (60, 30))
    out = kernels.dropout_sparse(x, 0.5)
    values = out.to_dense()
    torch.testing.assert_close(values[values != 0], 2 * dense[values != 0])
    share = float((values != 0).sum() / kept.sum())
    assert 0.4 < share < 0.6
    weight = torch.randn(4, 30)
    torch.testing.assert_close(kernels.sparse_product(out, weight), values @ weight.T)
    torch.testing.assert_close(kernels.sparse_product(x, weight), dense @ weight.T)
    assert not torch.equal(kernels.dropout_sparse(x, 0.5).to_dense(), values)
