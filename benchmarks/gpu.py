"""The fused operations on a GPU: time, share of the bandwidth, and plain torch beside it.

    python benchmarks/gpu.py              about a minute; prints a table to paste into an issue
    python benchmarks/gpu.py --bounds     needs no GPU: the table of bounds of docs/gpu.md
    python benchmarks/gpu.py --device cpu --nodes 9 --degree 2
                                          the same by Triton's interpreter, whose times mean nothing

The bytes of an edge are counted as if nothing but a row's own point were found in a cache, so a
graph with locality can be faster than its bound. Points are read in several passes, all but the
first from a cache. Flops are products and sums, those of numbers beside the vectors in round terms.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from hgcn import kernels
from hgcn.kernels import backends
from hgcn.nn.structure import both_ways

CARDS = {  # bytes a second, by the makers' data sheets
    "T4": 320e9, "RTX 3090": 936e9, "RTX 4090": 1008e9, "A100 40GB": 1555e9, "H100 SXM": 3350e9,
}  # fmt: skip
INDEX, REAL = 8, 4  # bytes of an index and of a float32


def costs(d: int) -> dict[str, tuple[str, int, int, int, int]]:
    """For each operation: of what, and its bytes and flops forward, and in the backward pass."""
    row, point = REAL * d, REAL
    return {
        "local_sum": (
            "edge",
            INDEX + REAL + point + row,
            5 * d + 60,
            # The pass over targets, and what it leaves of an edge; the pass over sources.
            (INDEX + REAL + point + row) + 4 * REAL + (2 * INDEX + 3 * REAL + 2 * row),
            11 * d + 120,
        ),
        "weighted_sum": (
            "edge",
            2 * INDEX + REAL + row,
            2 * d,
            (2 * INDEX + REAL + row) + (2 * INDEX + REAL + row),
            4 * d,
        ),
        "attention": (
            "edge",
            (INDEX + row + REAL) + 3 * REAL + (INDEX + 4 * REAL),
            4 * d + 20,
            2 * REAL + (INDEX + row + 3 * REAL) + (2 * INDEX + row + REAL),
            4 * d + 6,
        ),
        "squared_distance": ("pair", 2 * row + REAL, 13 * d + 90, 4 * row + 4 * REAL, 24 * d + 160),
        "translate": ("point", 2 * row, 31 * d + 130, 3 * row + 2 * REAL, 45 * d + 260),
    }


def bounds(d: int) -> None:
    """The table of docs/gpu.md: bytes and flops, and the time that bandwidth allows."""
    print(f"Dimension {d}, float32, indices of 64 bits; forward + backward; computed, not measured")
    print("| operation | of an | bytes | flops |", " | ".join(f"{c} (ns)" for c in CARDS), "|")
    print("|---|---|--:|--:|" + "--:|" * len(CARDS))
    for name, (what, *numbers) in costs(d).items():
        moved = numbers[0] + numbers[2]
        times = " | ".join(f"{1e9 * moved / rate:.2f}" for rate in CARDS.values())
        print(
            f"| `{name}` | {what} | {numbers[0]} + {numbers[2]} | {numbers[1]} + {numbers[3]} "
            f"| {times} |"
        )


Problem = tuple[Callable[[], Tensor], list[Tensor], int]
"""A call on random data, what to differentiate it by, and of how many edges, pairs or points."""


def problems(n: int, degree: int, d: int, device: str) -> dict[str, Problem]:
    """One for each operation."""
    generator = torch.Generator(device).manual_seed(0)
    edges = torch.randint(n, (2, n * degree), device=device, generator=generator)
    graph = kernels.neighbourhoods(edges, num_sources=n, num_targets=n, add_self_loops=False)
    count = len(graph.source)
    v = torch.randn(n, d, device=device, generator=generator).requires_grad_()
    other = v.detach().flip(0).requires_grad_()
    w = torch.rand(count, device=device, generator=generator).requires_grad_()
    c, bias = torch.ones((), device=device), torch.zeros(d, device=device)
    vector, prior = torch.ones(1, d, device=device), torch.ones_like(w).detach()
    return {
        "local_sum": (lambda: kernels.local_sum(v, v, w, c, graph), [v, w], count),
        "weighted_sum": (lambda: kernels.weighted_sum(v, w, graph), [v, w], count),
        "attention": (
            lambda: kernels.attention(v, other, bias, vector, prior, graph, negative_slope=0.2),
            [v, other],
            count,
        ),
        "squared_distance": (lambda: kernels.squared_distance(v, other, c), [v, other], n),
        "translate": (lambda: kernels.translate(v, bias, c), [v], n),
    }


def pair_counts(n: int, degree: int, device: str) -> Callable[[], Tensor]:
    """The counts of random pairs on a random graph; they have no gradient."""
    ends = torch.randint(n, (2, n * degree // 2), device=device)
    shown = both_ways(torch.cat((ends, ends.flip(0)), dim=1), None, n)
    pairs = torch.randint(n, (2, n), device=device)
    return lambda: kernels.pair_counts(pairs, shown.weight, shown.direction, shown.graph)


def seconds(call: Callable[[], Tensor], by: list[Tensor], backend: str) -> float | None:
    """The least time of five for a call and its gradient; None if it does not fit into memory."""
    best = float("inf")
    try:
        with backends.using(backend):
            gradient = torch.ones_like(call())  # which compiles
            on_gpu = gradient.is_cuda
            for _ in range(5 if on_gpu else 1):
                if on_gpu:
                    torch.cuda.synchronize()
                before = time.perf_counter()
                out = call()
                if by:
                    torch.autograd.grad(out, by, gradient)
                if on_gpu:
                    torch.cuda.synchronize()
                best = min(best, time.perf_counter() - before)
    except torch.OutOfMemoryError:
        return None
    return best


def shown(time: float | None) -> str:
    """A time in milliseconds for the table."""
    return "no memory" if time is None else f"{1e3 * time:.2f}"


def bandwidth(card: object) -> float | None:
    """Bytes a second that the card says it can move: two for each clock and each wire's bit."""
    clock, wires = (getattr(card, f"memory_{name}", 0) for name in ("clock_rate", "bus_width"))
    return 2 * 1e3 * clock * wires / 8 or None


def measure(n: int, degree: int, dimensions: list[int], device: str) -> None:
    """Print the table."""
    import triton

    name, known = "Triton's interpreter, whose times mean nothing", None
    if device == "cuda":
        card = torch.cuda.get_device_properties(0)
        name, known = card.name, bandwidth(card)
    print(f"{name}; torch {torch.__version__}, Triton {triton.__version__}")
    print(f"{n:,} nodes, {n * degree:,} edges, forward + backward, best of five")
    print("| operation | d | fused (ms) | GB/s counted | of the bandwidth | plain torch (ms) |")
    print("|---|--:|--:|--:|--:|--:|")
    for d in dimensions:
        for operation, (call, by, count) in problems(n, degree, d, device).items():
            _, forward, _, backward, _ = costs(d)[operation]
            fused, plain = seconds(call, by, "triton"), seconds(call, by, "torch")
            rate = count * (forward + backward) / fused if fused else 0.0
            share = f"{rate / known:.0%}" if known else ""
            print(
                f"| `{operation}` | {d} | {shown(fused)} | {rate / 1e9:.0f} | {share} "
                f"| {shown(plain)} |"
            )
    # Plain torch would need a row of all nodes for each pair.
    counted = seconds(pair_counts(n, degree, device), [], "triton")
    print(f"| `pair_counts` of {n:,} pairs | | {shown(counted)} | | | |")


def main(arguments: list[str] | None = None) -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bounds", action="store_true", help="print the computed bounds only")
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args(arguments)
    if given.bounds:
        for d in given.dimensions:
            bounds(d)
        return
    if given.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    elif not torch.cuda.is_available():
        sys.exit("Expected a GPU that torch can use, got none. `--bounds` needs none.")
    measure(given.nodes, given.degree, given.dimensions, given.device)


if __name__ == "__main__":
    main()
