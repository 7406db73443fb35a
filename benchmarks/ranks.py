"""Throughput of two ranks against one, with a thread each: steps of training, and whole epochs.

    python benchmarks/ranks.py            # starts itself with one and two ranks, in turns

The graph is random, with 100,000 nodes and a million edges. Each rank has the same share of a batch
in both cases, or the whole batch is the same. Other processes of the machine disturb: each figure
is the best of several short runs that take turns, and the load is printed beside.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time

NODES, EDGES, FEATURES = 100_000, 500_000, 64
SHARE = 512
"""Nodes of a batch for each rank."""


def make_graph():
    """A random graph with classes that features tell of."""
    import torch

    from hgcn.data import Graph

    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(NODES, (2, EDGES), generator=generator)
    pairs = pairs[:, pairs[0] != pairs[1]]
    y = torch.randint(5, (NODES,), generator=generator)
    x = torch.randn(NODES, FEATURES, generator=generator) + y.unsqueeze(1) / 2
    return Graph(torch.cat((pairs, pairs.flip(0)), dim=1), NODES, x=x, y=y)


def work(task: str, batch: int, steps: int) -> None:
    """Train a few epochs as one rank, and tell how long its steps and its validation took."""
    import torch

    from hgcn.config import Config
    from hgcn.data.graph import Graph
    from hgcn.ranks import current, started, together
    from hgcn.training import loop
    from hgcn.training.problem import Problem, choose

    torch.set_num_threads(1)
    graph: Graph = make_graph()

    @together
    def measured() -> dict[str, float]:
        config = Config(
            task=task, batch_size=batch, fanout="10,5", workers=0, dim=32, epochs=3, seed=1,
            structure=False if task == "link" else None, hidden_share=0.02 if task == "link" else None,
            val_share=0.05, test_share=0.05 if task == "link" else 0.05,
        )  # fmt: skip
        problem = Problem(graph, choose(graph, config))
        prepared = problem.task(problem.predictor())
        marks: list[float] = []
        real = loop._step

        def timed(*given):
            if len(marks) > steps:
                raise KeyboardInterrupt
            result = real(*given)
            marks.append(time.perf_counter())
            return result

        loop._step = timed
        state = None
        try:
            state = loop.train(prepared)
        except KeyboardInterrupt:
            pass
        loop._step = real
        del state
        begin = time.perf_counter()
        prepared.predictor.eval()
        prepared.score("val")
        validation = time.perf_counter() - begin
        return {"steps": (marks[-1] - marks[2]) / (len(marks) - 3), "validation": validation}

    found = measured()
    if started().first:
        print(json.dumps({**found, "world": started().world, "batch": batch}))
    assert current().world == 1


def start(world: int, task: str, batch: int, steps: int) -> dict[str, float]:
    """The figures of some ranks of a process each."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    common = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    words = [sys.executable, __file__, "--work", task, str(batch), str(steps)]
    running = [
        subprocess.Popen(
            words,
            env={**os.environ, **common, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    outputs = [process.communicate()[0] for process in running]
    return json.loads(outputs[0].strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--task", default="node", choices=["node", "link"])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    if given.work:
        work(given.work[0], int(given.work[1]), int(given.work[2]))
        return
    best: dict[tuple[int, int], dict[str, float]] = {}
    for turn in range(given.turns):
        for world, batch in ((1, SHARE), (2, 2 * SHARE), (1, 2 * SHARE)):
            found = start(world, given.task, batch, given.steps)
            old = best.setdefault((world, batch), found)
            for name in ("steps", "validation"):
                old[name] = min(old[name], found[name])
            load = os.getloadavg()[0]
            print(f"turn {turn}, {world} of {batch}: {found}, load {load:.1f}", file=sys.stderr)
    two = best[2, 2 * SHARE]
    for label, one, amount in (
        ("the same share for each rank", best[1, SHARE], 2),
        ("the same whole batch", best[1, 2 * SHARE], 1),
    ):
        print(f"steps, {label}: {amount * one['steps'] / two['steps']:.2f} x")
    print(f"validation: {best[1, SHARE]['validation'] / two['validation']:.2f} x")


if __name__ == "__main__":
    main()
