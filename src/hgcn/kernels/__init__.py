"""Operations over neighbourhoods, fused on the CPU."""

from hgcn.kernels.csr import Neighbourhoods, dropout_sparse, neighbourhoods, scale_rows
from hgcn.kernels.derivatives import first_only
from hgcn.kernels.kept import kept_with
from hgcn.kernels.operations import (
    PAIR_COUNTS,
    Scores,
    attention,
    centroid,
    convolution,
    ends,
    frechet_mean,
    local_sum,
    pair_counts,
    sparse_product,
    squared_distance,
    translate,
    weighted_sum,
)
from hgcn.kernels.rows import FARTHEST

__all__ = [
    "FARTHEST",
    "PAIR_COUNTS",
    "Neighbourhoods",
    "Scores",
    "attention",
    "centroid",
    "convolution",
    "dropout_sparse",
    "ends",
    "first_only",
    "frechet_mean",
    "kept_with",
    "local_sum",
    "neighbourhoods",
    "pair_counts",
    "scale_rows",
    "sparse_product",
    "squared_distance",
    "translate",
    "weighted_sum",
]
