"""Swap a layer of PyTorch Geometric for a hyperbolic one: one line changes, the rest stays.

The graph is a family tree of 2,000 members, whose features are their parent's and some change. Two
questions are asked about the half of them for whom the answer is not shown: to which branch of the
family does a member belong, and to which generation? Run it with

    python examples/pyg_swap.py

It shows how to swap. One tree and one seed do not tell which layer is better: the branch is mostly
what all neighbours have in common, where a plain mean does well; the generation is not.
"""

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

from hgcn.nn import HGCNConv

NODES, CLASSES, EPOCHS = 2_000, 8, 200


def family_tree(question: str) -> Data:
    generator = torch.Generator().manual_seed(0)
    draws = torch.rand(NODES, generator=generator).tolist()
    x = 0.1 * torch.randn(NODES, 16, generator=generator)
    parent, branch, generation = torch.zeros(3, NODES, dtype=torch.long)
    for i in range(1, NODES):
        if i <= CLASSES:
            branch[i] = i - 1  # a child of the root founds a branch
        else:
            parent[i] = 1 + int(draws[i] * (i - 1))
            branch[i] = branch[parent[i]]
            generation[i] = (generation[parent[i]] + 1).clamp_max(CLASSES - 1)
        x[i] += x[parent[i]]
    return Data(
        x=x,
        edge_index=to_undirected(torch.stack((parent[1:], torch.arange(1, NODES)))),
        y={"branch": branch, "generation": generation}[question],
        train_mask=torch.rand(NODES, generator=generator) < 0.5,
    )


def layer(hyperbolic: bool) -> torch.nn.Module:
    if hyperbolic:
        return HGCNConv(16, 16)  # <- the one line that changes
    return GCNConv(16, 16)


class Network(torch.nn.Module):
    def __init__(self, hyperbolic: bool) -> None:
        super().__init__()
        self.first, self.second = layer(hyperbolic), layer(hyperbolic)
        self.classifier = torch.nn.Linear(16, CLASSES)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        x = self.first(x, edge_index).relu()
        x = self.second(x, edge_index).relu()
        return self.classifier(x)


def train(model: torch.nn.Module, data: Data) -> float:
    """Accuracy on the members for whom the answer was not shown."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    shown = data.train_mask
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        logits = model(data.x, data.edge_index)
        functional.cross_entropy(logits[shown], data.y[shown]).backward()
        optimizer.step()
    with torch.no_grad():
        right = model(data.x, data.edge_index).argmax(1) == data.y
    return right[~shown].float().mean().item()


def main() -> None:
    print("accuracy    GCNConv  HGCNConv")
    for question in ("branch", "generation"):
        data = family_tree(question)
        results = []
        for hyperbolic in (False, True):
            torch.manual_seed(0)
            results.append(train(Network(hyperbolic), data))
        print(f"{question:10s}  {results[0]:7.3f}  {results[1]:8.3f}")


if __name__ == "__main__":
    main()
