"""Columns of numbers as steps between quantiles, for what changes fast within a column."""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn.data.sparse import is_csr
from hgcn.errors import GraphError

MOST_BINS = 48
"""At most so many bins for a column."""
MOST_STEPS = 1024
"""At most so many steps for all columns; each column has at least one."""


def quantile_bins(x: Tensor) -> tuple[Tensor, Tensor]:
    """Where the bins of each column begin, and how wide they are, ``[columns, bins]`` each.

    The ends are quantiles of the column, so that about as many rows fall into each bin. Equal
    quantiles are one: a column of zeros and ones has one bin. Bins that a column does not have are
    not a number wide.

    Args:
        x: rows of features to learn from.
    """
    if is_csr(x):
        raise GraphError(
            "Expected dense features for `normalise='bins'`, got sparse ones, where most entries "
            "are zero. Choose 'none', 'row' or 'standard'."
        )
    bins = max(1, min(MOST_BINS, MOST_STEPS // max(1, x.shape[1])))
    share = torch.linspace(0, 1, bins + 1, dtype=torch.float64)
    begin = torch.zeros(x.shape[1], bins)
    width = torch.full((x.shape[1], bins), torch.nan)
    for column in range(x.shape[1]):
        # The middle of each share: torch.quantile takes no more than 16 million numbers.
        ordered = x[:, column].sort().values
        ends = torch.unique_consecutive(ordered[(share * (len(ordered) - 1)).round().long()])
        begin[column, : len(ends) - 1] = ends[:-1]
        width[column, : len(ends) - 1] = ends.diff()
        if len(ends) == 1:  # it was constant: one step, from there on
            begin[column, 0], width[column, 0] = ends[0], 1.0
    return begin, width


def steps(x: Tensor, begin: Tensor, width: Tensor) -> Tensor:
    """For each bin, how much of it lies below the value of its column, divided by the root of bins.

    That is 0 below the bin and 1 above it, so that a row, whose length is at most 1, says in which
    bin its value is and where there. A linear map of it is a curve of straight pieces: it can
    bend at each quantile (Gorishniy et al., 2022).
    """
    kept = width.isfinite()
    found = [
        ((column[:, None] - low[here]) / wide[here]).clamp(0, 1)
        for column, low, wide, here in zip(x.T, begin, width, kept, strict=True)
    ]
    return torch.cat(found, dim=1) / kept.sum().sqrt()


def owners(begin: Tensor, width: Tensor) -> list[int]:
    """The column that each of the steps is of."""
    del begin
    column: list[int] = width.isfinite().nonzero()[:, 0].tolist()
    return column
