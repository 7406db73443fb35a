"""Operations over neighbourhoods, fused on the CPU."""

from hgcn.kernels.csr import Neighbourhoods, dropout_sparse, neighbourhoods
from hgcn.kernels.operations import (
    attention,
    ends,
    local_sum,
    sparse_product,
    squared_distance,
    translate,
    weighted_sum,
)

__all__ = [
    "Neighbourhoods",
    "attention",
    "dropout_sparse",
    "ends",
    "local_sum",
    "neighbourhoods",
    "sparse_product",
    "squared_distance",
    "translate",
    "weighted_sum",
]
