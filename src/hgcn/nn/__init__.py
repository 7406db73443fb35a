"""Layers and decoders on normal coordinates; they follow the conventions of PyTorch Geometric."""

from hgcn.nn.activation import HypActivation
from hgcn.nn.attention import NeighbourAttention
from hgcn.nn.conv import HGCNConv
from hgcn.nn.decoders import FermiDirac, HyperbolicMLR, TangentClassifier
from hgcn.nn.linear import HypLinear
from hgcn.nn.structure import StructureTerm, pair_facts

__all__ = [
    "FermiDirac",
    "HGCNConv",
    "HypActivation",
    "HypLinear",
    "HyperbolicMLR",
    "NeighbourAttention",
    "StructureTerm",
    "TangentClassifier",
    "pair_facts",
]
