"""Swap a layer of PyTorch Geometric for a hyperbolic one: one line changes, the rest stays.

The graph is a random tree, a family of 2,000 members. The task is to tell, for members whose branch
is not known, to which of eight branches of the family they belong. Run it with

    python examples/pyg_swap.py
"""

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

from hgcn.nn import HGCNConv

NODES, BRANCHES, FEATURES = 2_000, 8, 16


def family_tree(seed: int) -> Data:
    """Each member has an earlier one as parent, its parent's branch, and noisy features."""
    generator = torch.Generator().manual_seed(seed)
    draws = torch.rand(NODES, generator=generator).tolist()
    parent, branch = [0] * NODES, [0] * NODES
    for i in range(1, NODES):
        founder = i <= BRANCHES
        parent[i] = 0 if founder else 1 + int(draws[i] * (i - 1))
        branch[i] = i - 1 if founder else branch[parent[i]]
    y = torch.tensor(branch)
    x = torch.randn(NODES, FEATURES, generator=generator)
    x += 0.5 * torch.randn(BRANCHES, FEATURES, generator=generator)[y]
    children = torch.arange(1, NODES)
    edge_index = to_undirected(torch.stack((torch.tensor(parent)[1:], children)))
    train = torch.rand(NODES, generator=generator) < 0.1
    return Data(x=x, edge_index=edge_index, y=y, train_mask=train)


class Network(torch.nn.Module):
    def __init__(self, hyperbolic: bool) -> None:
        super().__init__()
        if hyperbolic:
            self.conv = HGCNConv(16, 16)  # <- the one line that changes
        else:
            self.conv = GCNConv(16, 16)
        self.classifier = torch.nn.Linear(16, BRANCHES)

    def forward(self, data: Data) -> torch.Tensor:
        v = self.conv(data.x, data.edge_index)
        return self.classifier(v.relu())


def train(model: torch.nn.Module, data: Data) -> float:
    """Accuracy on the members whose branch was not shown."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(200):
        optimizer.zero_grad()
        logits = model(data)
        functional.cross_entropy(logits[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    with torch.no_grad():
        right = model(data).argmax(1) == data.y
    return right[~data.train_mask].float().mean().item()


def main() -> None:
    data = family_tree(seed=0)
    print(data)
    for name, hyperbolic in (("GCNConv", False), ("HGCNConv", True)):
        torch.manual_seed(0)
        print(f"{name:8s} accuracy {train(Network(hyperbolic), data):.3f}")


if __name__ == "__main__":
    main()
