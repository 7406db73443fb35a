"""A small tree, and the loss of the paper's link prediction on it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hgcn.models import Encoder
from hgcn.nn import FermiDirac

NODES, FEATURES = 40, 7


@dataclass(frozen=True)
class Tree:
    x: Tensor
    edge_index: Tensor
    linked: Tensor
    apart: Tensor

    def loss(self, encoder: Encoder, x: Tensor | None = None) -> Tensor:
        z = encoder(self.x if x is None else x, self.edge_index)
        pairs = torch.cat((self.linked, self.apart), dim=1)
        logits = FermiDirac()(encoder.squared_distance(z[pairs[0]], z[pairs[1]]))
        truth = torch.zeros_like(logits)
        truth[: self.linked.shape[1]] = 1
        return nn.functional.binary_cross_entropy_with_logits(logits, truth)

    def train(self, encoder: Encoder, *, steps: int, lr: float, weight_decay: float = 0.0) -> None:
        optimizer = encoder.make_optimizer(lr, weight_decay)
        for _ in range(steps):
            optimizer.zero_grad()
            self.loss(encoder).backward()
            optimizer.step()


def random_tree() -> Tree:
    generator = torch.Generator().manual_seed(0)
    child = torch.arange(1, NODES)
    parent = (torch.rand(NODES - 1, generator=generator) * child).long()
    linked = torch.stack((parent, child))
    apart = torch.randint(0, NODES, (2, 3 * NODES), generator=generator)
    apart = apart[:, (apart[0] != apart[1]) & (parent[apart.amax(0) - 1] != apart.amin(0))]
    x = torch.randn(NODES, FEATURES, generator=generator)
    x = x * (torch.rand(NODES, FEATURES, generator=generator) < 0.5)  # as sparse features are
    return Tree(x, torch.cat((linked, linked.flip(0)), dim=1), linked, apart)
