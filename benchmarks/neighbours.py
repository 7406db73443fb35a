"""The search for the nearest of many points against comparing all of them.

    python benchmarks/neighbours.py            # 100,000 points of 16 dimensions, radii to 12
    python benchmarks/neighbours.py --points 10000 --dim 8

Both are exact, in one thread, for the same queries: the search of `hgcn.neighbours`, and the plain
way, all distances in blocks by the same fused kernel, then the k smallest. Three clouds: directions
at random with radii as hyperbolic volume has them (nearly all points far out and far from one
another, the hardest case), with even radii, and the leaves and branches of a random tree, as learnt
embeddings of hierarchies look.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from hgcn import geometry, kernels
from hgcn.nearest.search import Nearest
from hgcn.nn.spaces import Hyperbolic


def directions(n: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    v = torch.randn(n, dim, generator=generator, dtype=torch.float64)
    return v / v.norm(dim=1, keepdim=True)


def volume(n: int, dim: int, radius: float, generator: torch.Generator) -> torch.Tensor:
    share = torch.rand(n, 1, generator=generator, dtype=torch.float64)
    return directions(n, dim, generator) * (radius + share.log() / (dim - 1)).clamp(min=0)


def even(n: int, dim: int, radius: float, generator: torch.Generator) -> torch.Tensor:
    share = torch.rand(n, 1, generator=generator, dtype=torch.float64)
    return directions(n, dim, generator) * radius * share


def tree(n: int, dim: int, radius: float, generator: torch.Generator) -> torch.Tensor:
    """Each point one step from a random earlier one, the step outwards more often than not."""
    step = radius / (2 * np.log(n))
    v = torch.zeros(n, dim, dtype=torch.float64)
    done = 1
    while done < n:
        more = min(done, n - done)
        parent = v[torch.randint(done, (more,), generator=generator)]
        away = directions(more, dim, generator) + parent / (1e-9 + parent.norm(dim=1, keepdim=True))
        v[done : done + more] = geometry.translate(parent, step * away, c=1.0)
        done += more
    length = v.norm(dim=1, keepdim=True)
    return v * (length.clamp(max=radius) / length.clamp(min=1e-9))


def plain(z: torch.Tensor, rows: np.ndarray, k: int) -> np.ndarray:
    """The numbers of the k nearest by all distances."""
    found = []
    c = torch.tensor(1.0, dtype=z.dtype)
    for row in rows.tolist():
        square = kernels.squared_distance(z[row].expand_as(z), z, c)
        square[row] = torch.inf
        found.append(square.topk(k, largest=False)[1].numpy())
    return np.stack(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--radius", type=float, default=12.0)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("-k", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| cloud | prepared, s | search, us a query | all distances, us | ratio | recall |")
    print("|---|--:|--:|--:|--:|--:|")
    for make in (volume, even, tree):
        generator = torch.Generator().manual_seed(0)
        z = make(options.points, options.dim, options.radius, generator)
        rows = torch.randperm(len(z), generator=generator)[: options.queries].numpy()
        Nearest(z[:1000], Hyperbolic(1.0)).of(np.arange(10), options.k)  # compiles
        nearest = Nearest(z, Hyperbolic(1.0))
        start = time.process_time()
        _ = nearest.leaves
        prepared = time.process_time() - start
        start = time.process_time()
        numbers, _ = nearest.of(rows, options.k)
        ours = (time.process_time() - start) / len(rows)
        few = rows[:50]
        plain(z, few[:2], options.k)
        start = time.process_time()
        expected = plain(z, few, options.k)
        theirs = (time.process_time() - start) / len(few)
        same = [len(set(a) & set(b)) / options.k for a, b in zip(numbers, expected, strict=False)]
        print(
            f"| {make.__name__} | {prepared:.1f} | {1e6 * ours:.0f} | {1e6 * theirs:.0f} | "
            f"{theirs / ours:.1f} | {np.mean(same):.4f} |"
        )


if __name__ == "__main__":
    main()
