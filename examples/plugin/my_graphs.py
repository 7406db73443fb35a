"""my_graphs.py: a mean without attention, a model that reads nothing but degrees, a ring."""

import torch
from torch import nn

from hgcn import kernels
from hgcn.data import DATASETS, Dataset, Graph
from hgcn.models import Encoder
from hgcn.names import AGGREGATIONS, MODELS


def plain(target, source, weight, c, graph):
    """The mean in the tangent space of the origin, whatever the attention says."""
    return kernels.weighted_sum(source, graph.shares(source.dtype), graph)


class Degrees(Encoder):
    """A vector of each node's degree: an encoder is a constructor and `_encode`."""

    def __init__(self, in_channels, dim=16, *, bias=True):
        super().__init__(in_channels, dim, layers=1)
        self.linear = nn.Linear(1, dim, bias=bias)

    def _encode(self, x, edge_index, edge_weight):
        degree = torch.bincount(edge_index[1], minlength=len(x)).to(x.dtype)
        return [x, self.linear(degree.unsqueeze(1))]


def ring():
    """A graph of sixty nodes, each joined to the next."""
    edges = torch.stack((torch.arange(60), torch.arange(1, 61) % 60))
    return Graph(torch.cat((edges, edges.flip(0)), dim=1), num_nodes=60, name="ring")


def register():
    AGGREGATIONS.register("plain", plain)
    MODELS.register("degrees", Degrees)
    DATASETS.register("ring", Dataset("ring", "sixty nodes in a ring", load=ring))
