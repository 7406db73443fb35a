"""How many pairs of nodes a second can be counted, and what does the structural term cost a step?

Random graphs of average degree 20, random pairs, one core: common neighbours alone, and all that
the structural term reads. Then a step of training, forward and backward, with and without the
term. Run it with ``python benchmarks/pair_counts.py``.
"""

from __future__ import annotations

import torch
from _measure import set_threads, take_turns
from missing_links import random_graph

from hgcn import kernels
from hgcn.compiled import compiled
from hgcn.config import Config
from hgcn.data import Graph
from hgcn.kernels.numba_cpu import counts_of_pairs
from hgcn.nn.structure import both_ways
from hgcn.training.problem import Problem, choose

PAIRS = 50_000


@compiled()
def common_alone(pairs, graph, scratch, out):  # type: ignore[no-untyped-def]
    """Common neighbours of each pair, from the node that has fewer neighbours."""
    start = graph[0]
    for m in range(pairs.shape[1]):
        i, j = pairs[0, m], pairs[1, m]
        if start[i + 1] - start[i] > start[j + 1] - start[j]:
            i, j = j, i
        marks = scratch[0], scratch[1], scratch[2]
        counts_of_pairs._shared(i, j, graph, marks, m, False, out[m])


def rates(nodes: int) -> dict[str, float]:
    """Pairs a second."""
    graph = random_graph(nodes)
    shown = both_ways(graph.edge_index, None, nodes)
    pairs = torch.randint(nodes, (2, PAIRS), generator=torch.Generator().manual_seed(1))
    edges = counts_of_pairs.visible(shown.weight, shown.direction, shown.graph)
    scratch, out = counts_of_pairs.scratch_of(nodes), torch.zeros(PAIRS, 10).double().numpy()
    calls = {
        "common": lambda: common_alone(pairs.numpy(), edges, scratch, out),
        "all": lambda: kernels.pair_counts(pairs, shown.weight, shown.direction, shown.graph),
    }
    return {name: PAIRS / s.min() for name, s in take_turns(calls, seconds=5).items()}


def steps(graph: Graph) -> dict[str, float]:
    """Seconds of a step without and with the term, all other settings the same."""
    calls = {}
    usual = choose(graph, Config(task="link", structure=True))
    for structure in (False, True):
        problem = Problem(graph, usual.replace(structure=structure))
        task, generator = problem.task(problem.predictor()), torch.Generator().manual_seed(0)

        def step(task=task, generator=generator) -> None:  # type: ignore[no-untyped-def]
            for batch in task.batches(1, generator):
                torch.autograd.backward(task.loss(batch))

        calls["with" if structure else "without"] = step
    return {name: float(s.min()) for name, s in take_turns(calls, seconds=10).items()}


def main() -> None:
    set_threads(1)
    print("| nodes | common neighbours, pairs/s | all facts, pairs/s | step with / without |")
    print("|--:|--:|--:|--:|")
    for nodes in (1_000, 10_000, 100_000):
        rate, step = rates(nodes), steps(random_graph(nodes))
        ratio = step["with"] / step["without"]
        counted = " | ".join(f"{rate[name]:,.0f}" for name in ("common", "all"))
        print(f"| {nodes:,} | {counted} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
