"""Neighbour sampling: the small graph of a batch, its blocks, and batches made ahead of time."""

from hgcn.sampling.adjacency import Adjacency
from hgcn.sampling.blocks import Block
from hgcn.sampling.prefetch import prefetched
from hgcn.sampling.sampler import NeighbourSampler, Sample, seed_of

__all__ = ["Adjacency", "Block", "NeighbourSampler", "Sample", "prefetched", "seed_of"]
