"""What do the geometry's functions cost? Ours, the textbook's and other packages', on one thread.

Writes its tables into docs/geometry.md.
"""

from __future__ import annotations

import platform
import statistics
import time
import warnings
from collections.abc import Callable

import _textbook as textbook
import torch
from _document import GUIDE, markdown_table, text_table, write_between_markers
from _rivals import geoopt_ball, hypll_ball
from hypll.tensors import ManifoldTensor
from torch import Tensor

from hgcn import geometry

DIMENSION, GROUP = 16, 10
SIZES = (100_000, 1_000)
SECONDS, FEWEST, MOST = 1.5, 3, 200  # for each row: budget, and how many rounds
Call = Callable[..., Tensor]
Contestant = tuple[Call, tuple[Tensor, ...]]


def karcher_steps(points: Tensor) -> int:
    """How many steps of the plain flow come within 1e-6 of the mean, in float64."""
    points = points[:1000].double()
    exact = geometry.frechet_mean(points, c=1.0)
    for steps in range(1, 200):
        if (textbook.karcher_flow(points, steps) - exact).norm(dim=-1).max() < 1e-6:
            return steps
    raise SystemExit("Expected the Karcher flow to converge in 200 steps; it did not.")


def contestants(n: int) -> tuple[dict[str, dict[str, Contestant]], int]:
    """By function and column, what to call and on what; and the number of Karcher steps."""
    generator = torch.Generator().manual_seed(0)
    v, w = torch.randn(2, n, DIMENSION, generator=generator) / DIMENSION**0.5
    groups = v.reshape(-1, GROUP, DIMENSION)
    steps = karcher_steps(groups)
    share = torch.tensor(0.3)
    ball, other_ball = geoopt_ball(v, 1.0), hypll_ball(v, 1.0)

    def into(x: Tensor) -> Tensor:
        return ball.expmap0(x / 2)

    def back(x: Tensor) -> Tensor:
        return 2 * ball.logmap0(x)

    def hypll_mean(x: Tensor) -> Tensor:
        return other_ball.frechet_mean(ManifoldTensor(x, other_ball), batch_dim=1).tensor

    def midpoint(x: Tensor) -> Tensor:
        return ball.weighted_midpoint(x, reducedim=[1])

    x, y, x_groups = into(v), into(w), into(groups)
    table: dict[str, dict[str, Contestant]] = {
        "distance": {
            "hgcn": (lambda a, b: geometry.distance(a, b, c=1.0), (v, w)),
            "textbook": (textbook.distance, (v, w)),
            "package": (lambda a, b: ball.dist(into(a), into(b)), (v, w)),
            "package, own points": (ball.dist, (x, y)),
        },
        "squared_distance": {
            "hgcn": (lambda a, b: geometry.squared_distance(a, b, c=1.0), (v, w)),
            "textbook": (textbook.squared_distance, (v, w)),
            "package": (lambda a, b: ball.dist2(into(a), into(b)), (v, w)),
            "package, own points": (ball.dist2, (x, y)),
        },
        "translate": {
            "hgcn": (lambda a, b: geometry.translate(a, b, c=1.0), (v, w)),
            "textbook": (textbook.translate, (v, w)),
            "package": (lambda a, b: back(ball.mobius_add(into(a), into(b))), (v, w)),
            "package, own points": (ball.mobius_add, (x, y)),
        },
        "local_log": {
            "hgcn": (lambda a, b: geometry.local_log(a, b, c=1.0), (v, w)),
            "textbook": (textbook.local_log, (v, w)),
            "package": (lambda a, b: back(ball.mobius_add(-into(a), into(b))), (v, w)),
            "package, own points": (lambda a, b: back(ball.mobius_add(-a, b)), (x, y)),
        },
        "geodesic": {
            "hgcn": (lambda a, b: geometry.geodesic(a, b, 0.3, c=1.0), (v, w)),
            "textbook": (lambda a, b: textbook.geodesic(a, b, 0.3), (v, w)),
            "package": (lambda a, b: back(ball.geodesic(share, into(a), into(b))), (v, w)),
            "package, own points": (lambda a, b: ball.geodesic(share, a, b), (x, y)),
        },
        "centroid": {
            "hgcn": (lambda a: geometry.centroid(a, c=1.0), (groups,)),
            "textbook": (textbook.centroid, (groups,)),
            "package": (lambda a: back(midpoint(into(a))), (groups,)),
            "package, own points": (midpoint, (x_groups,)),
        },
        "frechet_mean": {
            "hgcn": (lambda a: geometry.frechet_mean(a, c=1.0), (groups,)),
            "textbook": (lambda a: textbook.karcher_flow(a, steps), (groups,)),
            "package": (lambda a: back(hypll_mean(into(a))), (groups,)),
            "package, own points": (hypll_mean, (x_groups,)),
        },
    }
    return table, steps


def check(table: dict[str, dict[str, Contestant]]) -> None:
    """Everyone computes the same thing, or timing it means nothing."""
    for name, row in table.items():
        results = {
            column: call(*(x[:100].double() for x in inputs))
            for column, (call, inputs) in row.items()
            if column != "package, own points"
        }
        for column, result in results.items():
            torch.testing.assert_close(
                result, results["hgcn"], rtol=1e-4, atol=1e-5, msg=f"{name}: {column} differs"
            )


def run(contestant: Contestant, *, backward: bool) -> float:
    call, inputs = contestant
    inputs = tuple(x.detach().requires_grad_(backward) for x in inputs)
    start = time.perf_counter()
    result = call(*inputs)
    if backward:
        torch.autograd.grad(result.sum(), inputs)
    return time.perf_counter() - start


def time_row(row: dict[str, Contestant], *, backward: bool) -> dict[str, float]:
    """Median seconds; the contestants take turns, so that a slow moment meets all of them."""
    samples: dict[str, list[float]] = {column: [] for column in row}
    for contestant in row.values():
        run(contestant, backward=backward)
    start = time.perf_counter()
    for turn in range(MOST):
        if turn >= FEWEST and time.perf_counter() - start > SECONDS:
            break
        for column, contestant in row.items():
            samples[column].append(run(contestant, backward=backward))
    return {column: statistics.median(values) for column, values in samples.items()}


def measure(n: int, *, backward: bool) -> tuple[list[str], list[list[str]], int]:
    table, steps = contestants(n)
    check(table)
    rows = []
    for name, row in table.items():
        seconds = time_row(row, backward=backward)
        ours = seconds.pop("hgcn")
        others = (f"{s / n * 1e9:.0f} ({s / ours:.2f}x)" for s in seconds.values())
        rows.append([f"`{name}`", f"{ours / n * 1e9:.0f}", *others])
    return ["function", *row], rows, steps


def main() -> None:
    start = time.perf_counter()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parts = []
    for n in SIZES:
        for backward in (False, True):
            header, rows, steps = measure(n, backward=backward)
            title = f"{n:,} pairs, forward{' and backward' if backward else ''}, ns a pair"
            note = f"the Karcher flow takes {steps} steps"
            print(f"\n{title}; {note}\n\n{text_table(header, rows)}", flush=True)
            parts.append(f"**{title}**; {note}\n\n{markdown_table(header, rows)}")
    version = torch.__version__.split("+")[0]
    parts.append(f"Measured on {platform.machine()} with torch {version}.")
    write_between_markers(GUIDE, "speed", "\n\n".join(parts))
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
