"""Operations over neighbourhoods, fused on the CPU."""

from hgcn.kernels.csr import Neighbourhoods, dropout_sparse, neighbourhoods
from hgcn.kernels.operations import (
    PAIR_COUNTS,
    attention,
    ends,
    local_sum,
    pair_counts,
    sparse_product,
    squared_distance,
    translate,
    weighted_sum,
)

__all__ = [
    "PAIR_COUNTS",
    "Neighbourhoods",
    "attention",
    "dropout_sparse",
    "ends",
    "local_sum",
    "neighbourhoods",
    "pair_counts",
    "sparse_product",
    "squared_distance",
    "translate",
    "weighted_sum",
]
