"""A hyperbolic layer inside PyTorch Geometric's own loop with NeighborLoader.

NeighborLoader needs pyg-lib or torch-sparse; without them this script says so and ends.
examples/pyg_loaders.py needs neither. Run it with

    python examples/pyg_neighbor_loader.py
"""

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
from torch_geometric.utils import to_undirected

from hgcn.nn import HGCNConv

NODES, EPOCHS = 1_000, 5


def tree() -> Data:
    """A random tree whose classes are the sides of its root's first child."""
    generator = torch.Generator().manual_seed(0)
    child = torch.arange(1, NODES)
    parent = (torch.rand(NODES - 1, generator=generator) * child).long()
    y = torch.zeros(NODES, dtype=torch.long)
    for i in range(1, NODES):
        y[i] = 1 if i == 1 else y[parent[i - 1]]
    x = torch.randn(NODES, 8, generator=generator)
    x[:, 0] += y
    return Data(x=x, y=y, edge_index=to_undirected(torch.stack((parent, child))))


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = HGCNConv(8, 16), HGCNConv(16, 2, act=None)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index), edge_index)


def main() -> None:
    if not (WITH_PYG_LIB or WITH_TORCH_SPARSE):
        print("NeighborLoader needs pyg-lib or torch-sparse, and neither is installed.")
        return
    torch.manual_seed(0)
    data, shown = tree(), torch.arange(NODES // 2)
    loader = NeighborLoader(data, [10, 5], shown, batch_size=100, shuffle=True)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            logits = model(batch.x, batch.edge_index)[: batch.batch_size]
            functional.cross_entropy(logits, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    with torch.no_grad():
        right = model(data.x, data.edge_index).argmax(1) == data.y
    print(f"accuracy {right[NODES // 2 :].float().mean().item():.3f}")


if __name__ == "__main__":
    main()
