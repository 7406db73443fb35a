"""Our sampler in PyTorch Geometric's loaders: classes with NodeLoader, links with LinkLoader.

Neither pyg-lib nor torch-sparse is needed. The graph is a random one of two communities: classes
are the communities, and links are likely within them. Run it with

    python examples/pyg_loaders.py
"""

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.utils import to_undirected

from hgcn.nn import FermiDirac, HGCNConv
from hgcn.sampling.pyg import PyGSampler

NODES, EPOCHS = 1_000, 5


def communities() -> Data:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % 2
    pairs = torch.randint(NODES, (2, 12 * NODES), generator=generator)
    far = y[pairs[0]] != y[pairs[1]]
    kept = ~far | (torch.rand(len(far), generator=generator) < 0.1)
    proper = kept & (pairs[0] != pairs[1])
    x = torch.randn(NODES, 8, generator=generator)
    x[:, 0] += y
    return Data(x=x, y=y, edge_index=to_undirected(pairs[:, proper]))


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = HGCNConv(8, 16), HGCNConv(16, 16, act=None)
        self.classifier, self.decoder = torch.nn.Linear(16, 2), FermiDirac(2.0, 1.0)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index), edge_index)


def train_nodes(data: Data) -> float:
    """Accuracy on the nodes whose class was not shown."""
    shown, asked = torch.arange(NODES).split(NODES // 2)
    sampler = PyGSampler(data, [10, 5])
    loader = NodeLoader(data, sampler, shown, batch_size=100, shuffle=True)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for sampler.epoch in range(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            z = model(batch.x, batch.edge_index)[: batch.batch_size]
            functional.cross_entropy(model.classifier(z), batch.y[: batch.batch_size]).backward()
            optimizer.step()
    with torch.no_grad():
        right = model.classifier(model(data.x, data.edge_index)).argmax(1) == data.y
    return right[asked].float().mean().item()


def train_links(data: Data) -> float:
    """Mean loss of the last epoch: each batch is asked for edges that it is not shown."""
    sampler = PyGSampler(data, [10, 5])
    loader = LinkLoader(
        data, sampler, data.edge_index, neg_sampling="binary", batch_size=512, shuffle=True
    )
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for sampler.epoch in range(EPOCHS):
        losses = []
        for batch in loader:
            optimizer.zero_grad()
            ends = model(batch.x, batch.edge_index)[batch.edge_label_index]
            logits = model.decoder((ends[0] - ends[1]).square().sum(-1))
            loss = functional.binary_cross_entropy_with_logits(logits, batch.edge_label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return sum(losses) / len(losses)


def main() -> None:
    torch.manual_seed(0)
    data = communities()
    print(f"NodeLoader: accuracy {train_nodes(data):.3f}")
    print(f"LinkLoader: loss {train_links(data):.3f}")


if __name__ == "__main__":
    main()
