"""A short tour of the geometry: ``python -m hgcn.geometry.demo``."""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn import geometry

RADII = (0.01, 0.1, 1.0, 3.0, 6.0, 10.0, 20.0, 40.0)


def textbook_distance(v: Tensor, w: Tensor) -> Tensor:
    """``arccosh(-<x, y>)`` on the hyperboloid, its argument clamped as is usual."""
    x, y = geometry.to_hyperboloid(v, c=1.0), geometry.to_hyperboloid(w, c=1.0)
    product = x[..., 0] * y[..., 0] - (x[..., 1:] * y[..., 1:]).sum(-1)
    return product.clamp_min(1 + torch.finfo(v.dtype).eps).acosh()


def errors(v: Tensor, w: Tensor) -> list[str]:
    """The distance, and the errors of ours and of the textbook in float32 (medians)."""
    v, w = v.float(), w.float()
    exact = geometry.distance(v.double(), w.double(), c=1.0)
    cells = [f"{exact.median():10.2g}"]
    for got in (geometry.distance(v, w, c=1.0), textbook_distance(v, w)):
        error = float((got / exact - 1).abs().median())
        cells.append(f"{error:10.0e}" if error < 0.95 else f"{'lost':>10}")
    return cells


def show_accuracy() -> None:
    """Neighbours and random pairs at growing distance from the origin."""
    print("Relative error of a distance in float32: median of 200 pairs in 8 dimensions,")
    print("against the same function in float64 at the same rounded points.\n")
    print(f"{'':8}{'neighbours':^30}   {'random pairs':^30}")
    columns = "".join(f"{name:>10}" for name in ("distance", "hgcn", "arccosh"))
    print(f"{'radius':>8}{columns}   {columns}")
    directions = torch.randn(3, 200, 8, dtype=torch.float64)
    u, e, step = directions / directions.norm(dim=-1, keepdim=True)
    for radius in RADII:
        v = radius * u
        neighbour = geometry.translate(v, 0.01 * step, c=1.0)
        cells = [*errors(v, neighbour), "   ", *errors(v, radius * e)]
        print(f"{radius:8g}{''.join(cells)}")
    print(
        "\nFrom radius 15 on, float32 has no directions fine enough for neighbours: the distances"
    )
    print("printed there are what rounding makes of them.\n")


def show_round_trip() -> None:
    """The functions undo one another."""
    v, w = torch.tensor([3.0, 1.0]), torch.tensor([2.0, -2.0])
    step = geometry.local_log(v, w, c=1.0)
    ball = geometry.to_ball(v, c=1.0)
    print("Walk from v to w, and into the ball and back:")
    print(f"  v = {v.tolist()}, w = {w.tolist()}, distance {geometry.distance(v, w, c=1.0):.4f}")
    print(f"  local_log(v, w)    = {_rounded(step)}, of length {step.norm():.4f}")
    print(f"  translate(v, that) = {_rounded(geometry.translate(v, step, c=1.0))}, which is w")
    print(
        f"  to_ball(v) = {_rounded(ball)}, from_ball = {_rounded(geometry.from_ball(ball, c=1.0))}"
    )


def _rounded(v: Tensor) -> list[float]:
    return [round(x, 4) for x in v.tolist()]


def embed_tree(curvature: geometry.Curvature) -> None:
    """Fit a binary tree of 15 nodes into two dimensions, and say how well."""
    children, parents = torch.arange(1, 15), torch.arange(14) // 2
    hops = torch.full((15, 15), 99.0).fill_diagonal_(0)
    hops[children, parents] = hops[parents, children] = 1
    for k in range(15):
        hops = torch.minimum(hops, hops[:, k : k + 1] + hops[k])
    i, j = torch.triu_indices(15, 15, 1)
    points = torch.nn.Parameter(torch.randn(15, 2, generator=torch.Generator().manual_seed(0)))
    optimizer = torch.optim.Adam([points, *curvature.parameters()], lr=0.05)
    for step in range(301):
        off = geometry.distance(points[i], points[j], c=curvature()) / hops[i, j] - 1
        if step % 100 == 0:
            print(
                f"  step {step:3}: distances off by {off.abs().mean():6.1%}, c = {curvature():.2f}"
            )
        optimizer.zero_grad()
        torch.autograd.backward(off.square().mean())
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    show_accuracy()
    show_round_trip()
    print("\nA binary tree of 15 nodes in two dimensions, in a nearly flat plane:")
    embed_tree(geometry.Curvature(0.01, trainable=False))
    print("and with the curvature trained along with the points:")
    embed_tree(geometry.Curvature(0.01))
