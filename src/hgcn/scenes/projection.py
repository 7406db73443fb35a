"""Embeddings of many dimensions drawn in two, with distances kept as well as a plane allows.

Two dimensions are shown as they are. More are projected in two steps: principal components of the
normal coordinates, or for a hierarchy the drawing of its tree, with each node's radius kept; and
then *stress minimisation*: pairs of nodes are moved along their geodesic until drawn and true
distances agree. How much was lost is measured and shown, as no plane picture of many dimensions is
free of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hgcn.errors import GeometryError
from hgcn.geometry.normal import saturate
from hgcn.nearest.search import Nearest
from hgcn.nn.spaces import Space, space_of

_SWEEPS = 15
_PARTNERS = 2, 10  # fewest and most that a node is compared with in a sweep of a large graph
_PAIRS = 80_000  # of nodes in a sweep of a large graph, about
_LEAST_PAIRS = 60_000
_SAMPLED_PAIRS = 50_000
NEAREST = 10
"""How many nearest nodes of each node are compared."""
MEASURED_NODES = 2_000
"""In larger graphs, the nearest of so many nodes are compared, an even sample."""


@dataclass(frozen=True)
class ProjectionLoss:
    """The loss of a projection.

    A mean of relative errors would tell of the pairs that nearly coincide and of nothing else.

    Made by :func:`hgcn.viewer.scene_from_embeddings`.

    Attributes:
        relative_error: median of ``|drawn - true| / true`` over random pairs of nodes.
        kept: the share of the ten nearest nodes of a node that are among its ten nearest in the
            drawing, on average.
        correlation: correlation of drawn and true distances (Pearson).
    """

    relative_error: float
    kept: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Compared:
    """The nearest nodes of some nodes in the space of the model, and how many a drawing kept.

    Attributes:
        rows: the numbers of these nodes, ``[m]``.
        numbers: their nearest nodes, nearest first, ``[m, k]``.
        distance: how far these are, ``[m, k]``.
        kept: the share of them that are among the k nearest of the drawing, ``[m]``.
    """

    rows: np.ndarray
    numbers: np.ndarray
    distance: np.ndarray
    kept: np.ndarray


@dataclass(frozen=True, eq=False)
class Projection:
    """Points of a plane, and the loss of projecting them there.

    Attributes:
        points: normal coordinates ``[n, 2]``, float64.
        curvature: the number c of the plane; None for a flat one.
        lost: the projection loss; None where nothing was lost.
    """

    points: Tensor
    curvature: float | None
    lost: ProjectionLoss | None
    compared: Compared | None = None


def project(
    points: Tensor, *, c: float | None, edges: Tensor | None = None, seed: int = 0
) -> tuple[Tensor, ProjectionLoss | None]:
    """Points in two dimensions, in normal coordinates of the same curvature.

    Example:
        >>> flat, lost = project(torch.randn(50, 8), c=1.0)
        >>> flat.shape, lost.correlation > 0.5
        (torch.Size([50, 2]), True)

    Args:
        points: normal coordinates, shape ``[n, d]``.
        c: the space has sectional curvature ``-c``; None for a Euclidean embedding.
        edges: pairs of nodes ``[2, m]`` whose distance matters most to the eye.
        seed: seed of the sampled pairs. The same seed gives the same picture.

    Returns:
        Points ``[n, 2]``, float64, and the projection loss, or None where nothing was lost.
    """
    found = project_to_plane(points, space_of(c), edges=edges, seed=seed)
    return found.points, found.lost


@torch.no_grad()
def project_to_plane(
    points: Tensor,
    space: Space,
    *,
    edges: Tensor | None = None,
    seed: int = 0,
    nodes: int = MEASURED_NODES,
    towards: Tensor | None = None,
) -> Projection:
    """Points of any space in two dimensions.

    Args:
        points: normal coordinates, shape ``[n, d]``.
        space: what they lie in.
        edges: pairs of nodes ``[2, m]`` whose distance matters most to the eye.
        seed: seed of the sampled pairs.
        nodes: of how many nodes the nearest are compared.
        towards: where each node is seen from the origin at the start, ``[n, 2]``, of any length;
            by default as principal components have it.
    """
    if points.dim() != 2 or not len(points) or not bool(points.isfinite().all()):
        raise GeometryError(
            f"Expected points to be a finite matrix [n, d], got shape {list(points.shape)}"
            f"{'' if bool(points.isfinite().all()) else ' with NaN or infinite values'}."
        )
    points = points.detach().to("cpu", torch.float64)
    n, d = points.shape
    if d <= 2:
        points = nn.functional.pad(points, (0, 2 - d))
        return Projection(points, space.plane(points)[1], None)
    flat, c = space.plane(points)
    if towards is not None:
        flat = nn.functional.normalize(towards.double()) * flat.norm(dim=1, keepdim=True)
    # Up to two nodes, any picture with the right radii and angle is exact.
    if n > 2:
        flat = _minimise_stress(flat, c, points, space, edges, seed)
    plane = space_of(c)
    compared = compare_nearest(points, space, flat, plane, nodes=nodes, seed=seed)
    lost = projection_loss(points, space, flat, plane, compared, seed=seed)
    return Projection(flat, c, lost, compared)


def compare_nearest(
    points: Tensor, space: Space, flat: Tensor, plane: Space, *, nodes: int, seed: int = 0
) -> Compared:
    """The nearest of some nodes, and how many of them are among the nearest in the drawing."""
    n, k = len(points), min(NEAREST, len(points) - 1)
    rows = np.arange(n)
    if n > nodes:
        rows = np.sort(np.random.default_rng(seed).choice(n, nodes, replace=False))
    if k < 1:
        nothing = np.zeros((n, 0))
        return Compared(rows, nothing.astype(np.int64), nothing, np.ones(n))
    numbers, distance = Nearest(points, space).of(rows, k)
    drawn, _ = Nearest(flat, plane).of(rows, k)
    both = np.sort(np.concatenate((numbers, drawn), 1), 1)
    kept = (both[:, 1:] == both[:, :-1]).sum(1) / k
    return Compared(rows, numbers, distance, kept)


def projection_loss(
    points: Tensor,
    space: Space,
    flat: Tensor,
    plane: Space,
    compared: Compared | None = None,
    *,
    seed: int = 0,
) -> ProjectionLoss:
    """The loss between the distances of ``points`` and of ``flat``, over 50,000 random pairs.

    ``compared`` are the nearest nodes, where they are known already.
    """
    if compared is None:
        compared = compare_nearest(points, space, flat, plane, nodes=MEASURED_NODES, seed=seed)
    kept = float(compared.kept.mean())
    n = len(points)
    generator = torch.Generator().manual_seed(seed + 1)
    i, j = torch.randint(n, (2, _SAMPLED_PAIRS), generator=generator)
    i, j = i[i != j], j[i != j]
    true, drawn = distances(space, points, i, j), distances(plane, flat, i, j)
    apart = true > 0
    if not bool(apart.any()):
        return ProjectionLoss(0.0, kept, 1.0)
    error = ((drawn - true).abs() / true)[apart].median()
    both = torch.stack((true, drawn))
    correlation = torch.corrcoef(both)[0, 1] if bool((both.std(1) > 0).all()) else torch.ones(())
    return ProjectionLoss(float(error), kept, float(correlation))


def align(layers: Sequence[Tensor], seen: Sequence[Tensor] | None = None) -> list[Tensor]:
    """Turn or mirror each layer so that it lies as near as it can to the one before.

    Rotations and reflections about the origin are isometries, so nothing is lost (orthogonal
    Procrustes problem; the radii are compared on a logarithmic scale, as layers differ in size).

    Args:
        layers: points ``[n, 2]`` of each layer.
        seen: what is compared: the points as a picture shows them at first, if it has moved them.
    """
    seen = layers if seen is None else seen
    aligned, before = [layers[0]], seen[0]
    for layer, view in zip(layers[1:], seen[1:], strict=True):
        turn = turn_to(view, before)
        aligned.append(layer @ turn)
        before = view @ turn
    return aligned


def turn_to(points: Tensor, other: Tensor) -> Tensor:
    """The rotation or reflection ``[2, 2]`` that brings points nearest to others, row by row."""
    u, _, v = torch.linalg.svd(_damped(points).T @ _damped(other))
    return u @ v


def _damped(points: Tensor) -> Tensor:
    length = points.norm(dim=1, keepdim=True)
    return points * (length.log1p() / length.clamp(min=1e-12))


def _minimise_stress(
    flat: Tensor, plane: float | None, points: Tensor, space: Space, edges: Tensor | None, seed: int
) -> Tensor:
    """Move the points of the plane until their distances are near to the true ones.

    The compiled loop works at curvature -1 or 0, so all lengths are in units of the curvature
    radius of the plane.
    """
    # Numba's first call takes seconds, and not every page has more than two dimensions.
    from hgcn.scenes.stress import sweep

    random = np.random.default_rng(seed)
    root = 1.0 if plane is None else plane**0.5
    n = len(points)
    if plane is not None:
        flat = saturate(flat, torch.tensor(root, dtype=flat.dtype))[0]
    drawn = np.ascontiguousarray((root * flat).numpy())
    ends = np.empty((2, 0), np.int64) if edges is None else edges.numpy()
    fewest, most = _PARTNERS
    partners = min(max(min(most, max(fewest, _PAIRS // n)), _LEAST_PAIRS // n), n)
    for rate in np.geomspace(1.0, 0.01, _SWEEPS):
        everyone = np.tile(np.arange(n), partners)
        pairs = np.stack((everyone, random.integers(n, size=len(everyone))))
        some = random.permutation(ends.shape[1])[: len(everyone)]
        pairs = np.concatenate((pairs, ends[:, some]), 1)
        true = root * distances(space, points, *torch.from_numpy(pairs)).numpy()
        sweep(drawn, pairs, true, rate, plane is None)
    return torch.from_numpy(drawn) / root


@torch.no_grad()
def distances(space: Space, points: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """How far the points of pairs are from one another."""
    return space.squared_distance(points[i], points[j]).clamp_min(0).sqrt()
