"""Scenes for tests and screenshots, made without a model."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import torch

from hgcn import geometry
from hgcn.data.graph import Graph
from hgcn.viewer import (
    Categories,
    Layer,
    MissingLinks,
    Numbers,
    ProjectionLoss,
    Scene,
    scene_from_embeddings,
)


def tree_layout(parents: list[int], step: float = 1.0) -> np.ndarray:
    """A tree on the hyperbolic plane: each node owns a wedge as wide as its leaves are many."""
    n = len(parents)
    leaves = np.ones(n)
    for i in range(n - 1, 0, -1):
        if leaves[i] == 0:
            leaves[i] = 1
        leaves[parents[i]] += leaves[i]
    depth = np.zeros(n)
    start, width = np.zeros(n), np.zeros(n)
    width[0] = 2 * math.pi
    used = np.zeros(n)
    for i in range(1, n):
        p = parents[i]
        depth[i] = depth[p] + 1
        share = leaves[i] / (leaves[p] - 1)
        start[i] = start[p] + used[p]
        width[i] = width[p] * share
        used[p] += width[i]
    angle = start + width / 2
    return np.stack((depth * step * np.cos(angle), depth * step * np.sin(angle)), 1)


def random_tree(n: int, seed: int = 0) -> list[int]:
    random = np.random.default_rng(seed)
    parents, level = [0], [0]
    for i in range(1, n):
        # About four children a node, some many more.
        p = int((i - 1) / 4 * (0.55 + 0.45 * random.random()))
        parents.append(p)
        level.append(level[p] + 1)
    return parents


def tree_scene(
    n: int = 1044, name: str = "Disease tree", c: float = 1.2, flat: bool = False
) -> Scene:
    random = np.random.default_rng(1)
    parents = random_tree(n)
    edges = np.array([parents[1:], list(range(1, n))])
    last = tree_layout(parents, 0.95)
    noise = random.normal(size=(n, 2))
    layers = [
        Layer("Input", 0.55 * noise, None if flat else 0.4),
        Layer(
            "Layer 1",
            0.35 * last + 0.4 * noise,
            None if flat else 0.8,
            ProjectionLoss(0.18, 0.41, 0.87),
        ),
        Layer(
            "Layer 2",
            last + 0.04 * noise,
            None if flat else c,
            ProjectionLoss(0.062, 0.62, 0.974),
            attention=random.dirichlet(np.ones(3), n - 1).T[:2],
        ),
    ]
    branch = np.zeros(n, int)
    tops = [i for i in range(1, n) if parents[i] == 0]
    for i in range(1, n):
        branch[i] = tops.index(i) % 5 if parents[i] == 0 else branch[parents[i]]
    predicted = np.where(random.random(n) < 0.9, branch, random.integers(5, size=n))
    depth = np.zeros(n)
    for i in range(1, n):
        depth[i] = depth[parents[i]] + 1
    names = ("susceptible", "exposed", "infected", "recovered", "immune")
    pairs = random.integers(n, size=(2, 300))
    return Scene(
        name=name,
        layers=layers,
        ids=np.array([f"patient {i}" for i in range(n)]),
        edges=edges,
        columns={
            "label": Categories(branch, names),
            "prediction": Categories(predicted, names),
            "right or wrong": Categories((predicted != branch).astype(int), ("right", "wrong")),
            "split": Categories(random.integers(3, size=n), ("train", "val", "test")),
            "degree": Numbers(np.bincount(edges.ravel(), minlength=n)),
            "depth": Numbers(depth),
        },
        missing=MissingLinks(pairs, np.sort(random.random(300))[::-1]),
        metrics=[("test F1", "91.4"), ("test AUC", "96.9"), ("epochs", "412")],
        rooted=True,
    )


def scale_free_scene(n: int = 20_000, layers: int = 3) -> Scene:
    """A tree-like graph with hubs: radius falls with degree, angle follows the attachment."""
    random = np.random.default_rng(2)
    graph = nx.barabasi_albert_graph(n, 3, seed=2)
    edges = np.array(graph.edges()).T
    angle = np.zeros(n)
    first = np.full(n, -1)
    for s, t in edges.T:
        low, high = min(s, t), max(s, t)
        if first[high] < 0:
            first[high] = low
    radius = np.zeros(n)
    for i in range(n):
        if i < 8:
            angle[i], radius[i] = 2 * math.pi * i / 8, 0.9 * (i > 0)
        else:
            radius[i] = 0.8 + 0.45 * math.log(i)
            angle[i] = angle[first[i]] + random.normal() * 1.3 * math.exp(-0.45 * radius[i])
    points = np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1)
    noise = random.normal(size=(n, 2))
    community = (np.floor((angle % (2 * math.pi)) / (2 * math.pi) * 7)).astype(int)
    steps = np.linspace(0.15, 1, layers)
    return Scene(
        name="Scale-free graph",
        layers=[
            Layer("Input" if k == 0 else f"Layer {k}", s * points + (1 - s) * 0.7 * noise, 1.0)
            for k, s in enumerate(steps)
        ],
        ids=np.array([f"n{i}" for i in range(n)]),
        edges=edges,
        columns={
            "label": Categories(community, tuple("ABCDEFG")),
            "degree": Numbers(np.bincount(edges.ravel(), minlength=n)),
        },
    )


def cluster_scene(n: int = 2708, flat: bool = False, name: str = "Cora, HGCN") -> Scene:
    """Seven clusters in 16 dimensions, projected, as a citation graph might look."""
    generator = torch.Generator().manual_seed(3)
    random = np.random.default_rng(3)
    y = torch.randint(7, (n,), generator=generator)
    centres = torch.randn(7, 16, generator=generator)
    centres = 2.6 * centres / centres.norm(dim=1, keepdim=True)
    spread = torch.randn(n, 16, generator=generator)
    depth = torch.rand(n, 1, generator=generator)
    last = centres[y] * (0.25 + depth) + 0.33 * spread
    first = 0.3 * spread + 0.25 * centres[y]
    pairs = set()
    members = [np.flatnonzero((y == k).numpy()) for k in range(7)]
    while len(pairs) < 2 * n:
        i = int(random.integers(n))
        same = random.random() < 0.86
        j = int(random.choice(members[int(y[i])])) if same else int(random.integers(n))
        if i != j:
            pairs.add((min(i, j), max(i, j)))
    half = torch.tensor(sorted(pairs)).T
    order = torch.randperm(n, generator=generator)
    names = (
        "Case based", "Genetic algorithms", "Neural networks", "Probabilistic methods",
        "Reinforcement learning", "Rule learning", "Theory",
    )  # fmt: skip
    graph = Graph(
        torch.cat((half, half.flip(0)), 1),
        num_nodes=n,
        y=y,
        class_names=names,
        ids=np.array([f"paper {1000 + i}" for i in range(n)]),
        split={"train": order[:140], "val": order[140:640], "test": order[640:1640]},
        name=name,
    )
    logits = torch.nn.functional.one_hot(y, 7) * 3 + torch.randn(n, 7, generator=generator) * 1.3
    weight = torch.rand(graph.edge_index.shape[1], generator=generator)
    total = torch.zeros(n).index_add_(0, graph.edge_index[1], weight)
    share = weight / total[graph.edge_index[1]]
    return scene_from_embeddings(
        graph,
        [first, 0.5 * (first + last), last],
        [None] * 3 if flat else [0.5, 0.9, 1.3],
        predictions=logits.softmax(1),
        attention=[None, share, share],
        metrics={"test accuracy": "79.9" if flat else "81.6", "epochs": 312},
    )


def spiral_scene(radii: list[float], children: int = 4, seed: int = 4) -> Scene:
    """Far nodes with a known neighbourhood: children at distance 1 around each of them."""
    random = np.random.default_rng(seed)
    points, edges, ids = [[0.0, 0.0]], [], ["root"]
    for radius in radii:
        angle = 2 * math.pi * random.random()
        parent = torch.tensor([radius * math.cos(angle), radius * math.sin(angle)]).double()
        where = len(points)
        points.append(parent.tolist())
        edges.append((0, where))
        ids.append(f"far {radius:g}")
        for k in range(children):
            turn = 2 * math.pi * k / children
            step = torch.tensor([math.cos(turn), math.sin(turn)]).double()
            child = geometry.translate(parent, step, c=1.0)
            edges.append((where, len(points)))
            ids.append(f"child {radius:g} {k}")
            points.append(child.tolist())
    return Scene(
        "Far nodes", [Layer("Layer 1", np.array(points), 1.0)], np.array(ids), np.array(edges).T
    )
