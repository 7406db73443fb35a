"""Throughput of two ranks against one, with a thread each: steps of training, and validation.

    python benchmarks/ranks.py            # starts itself with one and two ranks, in turns

The graph is random, with 100,000 nodes and a million edges. Each rank has the same share of a batch
in both cases, or the whole batch is the same. Other processes of the machine disturb: each figure
is the best of several short runs that take turns, and the load is printed beside. The time of the
processor, which others disturb less, leaves out what a rank waits for the other.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
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
    """Train some steps as one rank, validate, and tell how long a step and a validation took."""
    import torch

    from hgcn.config import Config
    from hgcn.ranks import started, together
    from hgcn.training import loop
    from hgcn.training.problem import Problem, choose

    torch.set_num_threads(1)
    graph = make_graph()
    clocks = {"seconds": time.perf_counter, "cpu": time.process_time}

    @together
    def measured() -> dict[str, float]:
        config = Config(
            task=task, batch_size=batch, fanout="10,5", workers=0, dim=32, lr=1e-3, epochs=3,
            structure=None if task == "node" else False, val_share=0.05, test_share=0.05,
        )  # fmt: skip
        problem = Problem(graph, choose(graph, config))
        prepared = problem.task(problem.predictor())
        marks: list[dict[str, float]] = []
        step = loop._step

        def timed(*given):
            if len(marks) > steps:
                raise KeyboardInterrupt
            result = step(*given)
            marks.append({name: clock() for name, clock in clocks.items()})
            return result

        loop._step = timed
        with contextlib.suppress(KeyboardInterrupt):
            loop.train(prepared)
        loop._step = step
        prepared.predictor.eval()
        found = {}
        before = {name: clock() for name, clock in clocks.items()}
        prepared.score("val")
        for name, clock in clocks.items():
            found[f"validation {name}"] = clock() - before[name]
            times = [two[name] - one[name] for one, two in itertools.pairwise(marks[2:])]
            # Of the seconds those of the fastest steps, which nobody disturbed much.
            found[f"step {name}"] = min(times) if name == "seconds" else sum(times) / len(times)
        return found

    found = measured()
    if started().first:
        print(json.dumps(found))


def start(world: int, batch: int, given: argparse.Namespace) -> dict[str, float]:
    """The figures of some ranks of a process each."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    common = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    own = [given.task, str(batch), str(given.steps)]
    words = [sys.executable, __file__, "--work", *own]
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
        work(given.work[0], *map(int, given.work[1:]))
        return
    best: dict[tuple[int, int], dict[str, float]] = {}
    for _ in range(given.turns):
        for world, batch in ((1, SHARE), (2, 2 * SHARE), (1, 2 * SHARE)):
            found = start(world, batch, given)
            old = best.setdefault((world, batch), found)
            best[world, batch] = {name: min(old[name], found[name]) for name in found}
            shown = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
            load = os.getloadavg()[0]
            print(f"{world} of {batch}: {shown}, load {load:.1f}", file=sys.stderr)
    two = best[2, 2 * SHARE]
    for clock in ("seconds", "cpu"):
        for label, one, amount in (
            ("step, the same share for each rank", best[1, SHARE], 2),
            ("step, the same whole batch", best[1, 2 * SHARE], 1),
            ("validation", best[1, SHARE], 1),
        ):
            name = f"{label.split(',')[0]} {clock}"
            print(f"{label}, {clock}: {amount * one[name] / two[name]:.2f} x")


if __name__ == "__main__":
    main()
