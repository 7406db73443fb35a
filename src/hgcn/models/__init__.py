"""Encoders: HGCN and every model that the paper compares it with, behind one contract.

Importing this module loads neither PyTorch Geometric nor geoopt; building a model that is made of
them does.
"""

from hgcn.models.base import Encoder
from hgcn.models.hyperbolic import HGCN, HNN
from hgcn.models.linear import MLP
from hgcn.models.mixed import EucMixed, HypMixed
from hgcn.models.propagated import Propagated
from hgcn.models.pyg import GAT, GCN, SAGE, SGC
from hgcn.models.shallow import Euc, Free, Hyp
from hgcn.models.table import build, options_of
from hgcn.names import MODELS

__all__ = [
    "GAT",
    "GCN",
    "HGCN",
    "HNN",
    "MLP",
    "MODELS",
    "SAGE",
    "SGC",
    "Encoder",
    "Euc",
    "EucMixed",
    "Free",
    "Hyp",
    "HypMixed",
    "Propagated",
    "build",
    "options_of",
]
