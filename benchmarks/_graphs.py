"""Graphs to measure on: citation networks from plain files, and scale-free graphs of any size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

VARIABLE = "HGCN_DATA"
LABELLED_PER_CLASS = 20
Ints = NDArray[np.int64]


class Problem(NamedTuple):
    """A node classification problem; ``train`` holds the numbers of the labelled nodes."""

    x: Tensor
    edge_index: Tensor
    y: Tensor
    train: Tensor

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1

    def sizes(self) -> str:
        nodes, features = self.x.shape
        edges = self.edge_index.shape[1]
        return f"{nodes:,} nodes, {edges:,} directed edges, {features:,} features"


def citations(name: str) -> tuple[Problem | None, str]:
    """Cora or PubMed with sparse features (CSR), or None and the reason why not."""
    root = os.environ.get(VARIABLE)
    if not root:
        return None, f"{name}: skipped, as {VARIABLE} does not name a folder with {name}/edges.csv."
    folder = Path(root) / name
    missing = [f for f in ("edges.csv", "features.npz", "labels.npy") if not (folder / f).is_file()]
    if missing:
        return None, f"{name}: skipped, as {folder} has no {' and no '.join(missing)}."
    once = np.loadtxt(folder / "edges.csv", delimiter=",", skiprows=1, dtype=np.int64).T
    # What scipy.sparse.save_npz writes for a CSR matrix.
    with np.load(folder / "features.npz") as file:
        parts = (file["indptr"].astype(np.int64), file["indices"].astype(np.int64), file["data"])
        shape = tuple(file["shape"].tolist())
    x = torch.sparse_csr_tensor(*map(torch.from_numpy, parts), size=shape)
    y = torch.from_numpy(np.load(folder / "labels.npy"))
    train = torch.cat([(y == k).nonzero()[:LABELLED_PER_CLASS, 0] for k in y.unique()])
    edges = np.concatenate((once, once[::-1]), axis=1)
    return Problem(x, torch.from_numpy(edges), y, train), ""


def scale_free(nodes: int, *, features: int, degree: int = 10, classes: int = 10) -> Problem:
    """Preferential attachment after Barabási and Albert: ``degree`` directed edges a node.

    Features have a length of about one; labels are random.
    """
    rng = np.random.default_rng(nodes)
    edges = _preferential_attachment(nodes, degree // 2, rng)
    generator = torch.Generator().manual_seed(nodes)
    x = torch.randn(nodes, features, generator=generator) / features**0.5
    y = torch.randint(classes, (nodes,), generator=generator)
    train = torch.randperm(nodes, generator=generator)[: nodes // 10]
    return Problem(x, torch.from_numpy(edges), y, train)


def _preferential_attachment(nodes: int, each: int, rng: np.random.Generator) -> Ints:
    """Every node brings ``each`` edges, to old nodes in proportion to their degree.

    Batagelj and Brandes (2005): an end of an edge drawn uniformly is a node drawn by its degree.
    Edge k starts at node k // each and ends where the drawn one of the 2k + 1 ends before it is;
    that end is a start, known at once, or the end of an earlier edge, looked up until it is known.
    """
    number = np.arange(nodes * each)
    drawn = rng.integers(0, 2 * number + 1)
    unknown = (drawn % 2).nonzero()[0]
    while len(unknown):
        drawn[unknown] = drawn[drawn[unknown] // 2]
        unknown = unknown[drawn[unknown] % 2 == 1]
    # Ids in the order of arrival would put all hubs into the same corner of the cache.
    name = rng.permutation(nodes)
    a, b = name[number // each], name[drawn // 2 // each]
    codes = np.concatenate((a * nodes + b, b * nodes + a))
    codes = np.unique(codes[codes // nodes != codes % nodes])
    return np.stack((codes // nodes, codes % nodes))
