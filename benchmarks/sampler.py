"""The neighbour sampler against a vectorised one in torch, and how long training waits for it.

    python benchmarks/sampler.py                        # 1M nodes, 10M edges
    python benchmarks/sampler.py --nodes 1e5 --edges 1e6 --steps 20

The rival is what one writes without a kernel: it draws positions in the CSR rows of all nodes of a
hop at once, with replacement, which needs no loop, and numbers nodes by ``torch.unique``. Where
pyg-lib or torch-sparse is installed, PyG's own sampler is measured too. Alternatives take turns on
the same batches, and the table has the fastest and the median of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from hgcn.config import Config
from hgcn.data import Graph
from hgcn.sampling import Adjacency, NeighbourSampler
from hgcn.training.problem import Problem, choose

BATCH, FANOUTS = 1024, (15, 10)


def random_graph(nodes: int, edges: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(nodes, (2, edges), generator=generator)


def torch_sample(start: Tensor, source: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes, and the edges between them in new numbers."""
    edges, hop = [], batch
    for fanout in FANOUTS:
        degree = start[hop + 1] - start[hop]
        hop, degree = hop[degree > 0], degree[degree > 0]
        draws = (torch.rand(len(hop), fanout) * degree.unsqueeze(1)).long()
        position = (start[hop].unsqueeze(1) + draws).flatten()
        edges.append(torch.stack((source[position], hop.repeat_interleave(fanout))))
        hop = torch.unique(edges[-1][0])
    every = torch.cat(edges, dim=1)
    nodes, number = torch.unique(torch.cat((batch, every.flatten())), return_inverse=True)
    return nodes, number[len(batch) :].reshape(2, -1)


def rivals(edge_index: Tensor, nodes: int) -> Iterator[tuple[str, Callable[[Tensor], Any]]]:
    rows = Adjacency.of(edge_index, None, nodes)
    sampler = NeighbourSampler(rows, FANOUTS)
    start, source = torch.from_numpy(rows.start), torch.from_numpy(rows.source)
    yield "hgcn", lambda batch: sampler.sample(batch, seed=0)
    yield "torch", lambda batch: torch_sample(start, source, batch)
    from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE

    if WITH_PYG_LIB or WITH_TORCH_SPARSE:
        from torch_geometric.data import Data
        from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

        own = NeighborSampler(Data(edge_index=edge_index, num_nodes=nodes), list(FANOUTS))
        yield "PyG", lambda batch: own.sample_from_nodes(NodeSamplerInput(None, batch))


def waiting(edge_index: Tensor, nodes: int, steps: int, workers: int) -> tuple[float, float]:
    """Seconds of a step, and the share of them that training waited for its batch."""
    generator = torch.Generator().manual_seed(1)
    graph = Graph(
        edge_index,
        nodes,
        x=torch.randn(nodes, 64, generator=generator),
        y=torch.randint(8, (nodes,), generator=generator),
        directed=True,
    )
    config = Config(task="node", batch_size=BATCH, fanout="15,10", workers=workers, val_share=0.1)
    problem = Problem(graph, choose(graph, config))
    task = problem.task(problem.predictor())
    optimizer = task.predictor.encoder.make_optimizer(0.01)
    batches = task.batches(1, generator)
    begin, waited, began = 0.0, 0.0, time.perf_counter()
    for step in range(steps + 3):
        asked = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - asked
        optimizer.zero_grad()
        task.loss(batch).backward()
        optimizer.step()
        if step == 2:  # the first ones build rows and fill the queue
            begin, waited, began = time.perf_counter(), 0.0, time.perf_counter()
    total = time.perf_counter() - max(begin, began)
    batches.close()
    return total / steps, waited / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=float, default=1e6)
    parser.add_argument("--edges", type=float, default=1e7)
    parser.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    nodes, steps = int(given.nodes), given.steps
    edge_index = random_graph(nodes, int(given.edges))
    generator = torch.Generator().manual_seed(2)
    batches = [torch.randperm(nodes, generator=generator)[:BATCH] for _ in range(steps + 1)]
    found = list(rivals(edge_index, nodes))
    times: dict[str, list[float]] = {name: [] for name, _ in found}
    for batch in batches:
        for name, sample in found:
            began = time.perf_counter()
            sample(batch)
            times[name].append(time.perf_counter() - began)
    print(f"batch {BATCH}, fan-out 15,10, {nodes:,} nodes, {edge_index.shape[1]:,} edges")
    print(f"{'sampler':10s}{'fastest':>10s}{'median':>10s}")
    for name, seconds in times.items():
        own = seconds[1:]  # the first call compiles
        print(f"{name:10s}{1e3 * min(own):7.1f} ms{1e3 * statistics.median(own):7.1f} ms")
    del found
    for workers in (0, 1):
        seconds, share = waiting(edge_index, nodes, steps, workers)
        print(
            f"workers {workers}: a step of HGCN {1e3 * seconds:.0f} ms, waiting {share:.1%} of it"
        )


if __name__ == "__main__":
    main()
