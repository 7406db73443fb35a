"""Dropout of sparse features."""

import pytest
import torch

from hgcn import kernels
from hgcn.data.sparse import csr_matrix


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


def _ones(rows: int, columns: int) -> torch.Tensor:
    start, column = torch.arange(rows + 1) * columns, torch.arange(columns).repeat(rows)
    return csr_matrix(start, column, torch.ones(rows * columns), (rows, columns))


@pytest.mark.parametrize("p", [0.05, 0.39, 0.8])
def test_entries_are_dropped_independently(p: float) -> None:
    torch.manual_seed(1)
    masks = torch.stack(
        [kernels.dropout_sparse(_ones(300, 400), p).values() == 0 for _ in range(4)]
    )
    masks = masks.double()
    sigma = (p * (1 - p) / masks[0].numel()) ** 0.5
    assert masks.mean(1).sub(p).abs().max() < 5 * sigma
    # Neighbours in a row, in a column, and the same entry in two draws have nothing in common.
    apart = [masks[0].roll(lag) for lag in (1, 2, 400)] + [masks[1], masks[2]]
    for other in apart:
        correlation = torch.corrcoef(torch.stack((masks[0], other)))[0, 1]
        assert abs(correlation) < 5 / masks[0].numel() ** 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_seed_of_torch_decides(dtype: torch.dtype) -> None:
    x = _ones(20, 30).to(dtype)
    one, two = (torch.manual_seed(s) and kernels.dropout_sparse(x, 0.3).values() for s in (3, 3))
    torch.testing.assert_close(one, two, rtol=0, atol=0)
    torch.testing.assert_close(one.unique(), torch.tensor([0, 1 / 0.7], dtype=dtype))
    torch.testing.assert_close(kernels.dropout_sparse(x, 0.0).values(), x.values(), rtol=0, atol=0)


def test_the_mean_is_kept() -> None:
    torch.manual_seed(2)
    kept = kernels.dropout_sparse(_ones(500, 500), 0.6).values().double().mean()
    assert float(kept) == pytest.approx(1.0, abs=0.012)
