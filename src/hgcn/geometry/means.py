"""Weighted means of points: the Lorentz centroid and the Fréchet mean, in normal coordinates."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry.normal import local_log, square_root, translate
from hgcn.geometry.scalars import atanhc, norm, sinhc, sinhc_minus_1

# In float32 one step from a far reference comes at most 8.7 curvature radii nearer.
_CENTROID_STEPS = 5
_FRECHET_STEPS = 14

Logs = Callable[[Tensor], Tensor]
"""A function from a point for each mean, ``[..., d]``, to the local logarithms of its points."""
Total = Callable[[Tensor], Tensor]
"""A function that sums one vector a logarithm, by weights that add up to one or are all zero."""


def centroid(points: Tensor, weights: Tensor | None = None, *, c: float | Tensor) -> Tensor:
    """Lorentz centroid: the weighted sum on the hyperboloid, scaled back onto it.

    It equals the Einstein midpoint of the Klein model and minimises the weighted sum of
    ``cosh(sqrt(c) d) - 1``. In closed form it loses all digits far from the origin, so it is
    evaluated as seen from its own neighbourhood; the value does not depend on that choice.

    Args:
        points: shape ``[..., m, d]``.
        weights: non-negative, shape ``[..., m]``; they need not add up to one. Equal if not given.
            Where all are zero, the result is the origin.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.

    Example:
        >>> points = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
        >>> centroid(points, c=1.0).norm().item()  # half of the way between two
        0.0
    """
    return centroid_from(*_views(points, weights, c))


def frechet_mean(points: Tensor, weights: Tensor | None = None, *, c: float | Tensor) -> Tensor:
    """The point with the least weighted sum of squared distances.

    Each step takes the best of a Newton step, a quarter of it, and a Lorentz centroid with weights
    ``w D/sinh(D)``, which never increases the sum (``arcosh²`` is concave in its argument). The
    gradient is the implicit one: that of a single Newton step at the solution.

    Args:
        points: shape ``[..., m, d]``.
        weights: non-negative, shape ``[..., m]``; they need not add up to one. Equal if not given.
            Where all are zero, the result is the origin.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.

    Example:
        >>> points = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
        >>> frechet_mean(points, c=1.0).norm() < 1e-6
        tensor(True)
    """
    return frechet_mean_from(*_views(points, weights, c))


def centroid_from(
    at: Tensor, logs: Logs, total: Total, root: Tensor, *, steps: int = _CENTROID_STEPS
) -> Tensor:
    """Lorentz centroid, given local logarithms and weighted sums; ``at`` is the first viewpoint."""
    with torch.no_grad():
        for left in reversed(range(steps - 1)):
            step = _centroid_step(at, logs, total, root)
            at = translate(at, step, c=root.square())
            if left and _within(step, root, 1.0):  # a GPU is waited for only to spare it a step
                break
    return translate(at, _centroid_step(at, logs, total, root), c=root.square())


def frechet_mean_from(
    at: Tensor, logs: Logs, total: Total, root: Tensor, *, steps: int = _FRECHET_STEPS
) -> Tensor:
    """Fréchet mean, given local logarithms and weighted sums; the search starts from ``at``."""
    c = root.square()
    with torch.no_grad():
        at = centroid_from(at, logs, total, root)
        for _ in range(steps):
            seen = logs(at)
            newton = _newton_step(seen, total, root)
            if _within(newton, root, 1e-4):
                break
            tried = (newton, newton / 4, _descent_step(seen, total, root))
            points = [translate(at, step, c=c) for step in tried]
            spread = torch.stack([total(norm(logs(p)).square().unsqueeze(-1)) for p in points])
            at = torch.stack(points).take_along_dim(spread.argmin(0, keepdim=True), 0).squeeze(0)
        # Near the solution rounding hides which step is best, and Newton's is.
        at = translate(at, _newton_step(logs(at), total, root), c=c)
        hessian = _hessian(logs(at), total, root)
    return translate(at, torch.linalg.solve(hessian, total(logs(at))), c=c)


def _views(
    points: Tensor, weights: Tensor | None, c: float | Tensor
) -> tuple[Tensor, Logs, Total, Tensor]:
    if points.dim() < 2:
        raise GeometryError(f"Expected points of shape [..., m, d], got {list(points.shape)}.")
    if weights is None:
        weights = torch.ones_like(points[..., 0])
    if weights.shape[-1:] != points.shape[-2:-1]:
        raise GeometryError(
            f"Expected one weight for each of the {points.shape[-2]} points, shape "
            f"[..., {points.shape[-2]}], got {list(weights.shape)}."
        )
    root = square_root(c, points)
    added = weights.sum(-1, keepdim=True)
    share = (weights / torch.where(added > 0, added, 1.0)).unsqueeze(-1)

    def logs(at: Tensor) -> Tensor:
        return local_log(at.unsqueeze(-2), points, c=root.square().unsqueeze(-1))

    def total(vectors: Tensor) -> Tensor:
        return (share * vectors).sum(-2)

    return torch.zeros_like(points[..., 0, :]), logs, total, root


def _within(step: Tensor, root: Tensor, radius: float) -> bool:
    """Whether no step is longer than ``radius``; False while tracing or in vmap."""
    if torch.compiler.is_compiling():
        return False
    try:
        return bool((root * norm(step) < radius).all())
    except RuntimeError:  # vmap has no single answer
        return False


def _centroid_step(at: Tensor, logs: Logs, total: Total, root: Tensor) -> Tensor:
    seen = logs(at)
    reach = root.unsqueeze(-1) * norm(seen)
    space = total(sinhc(reach).unsqueeze(-1) * seen)
    time = total(reach.cosh().unsqueeze(-1))
    return _from_klein(space / torch.where(time > 0, time, 1.0), root)


def _from_klein(klein: Tensor, root: Tensor) -> Tensor:
    below_one = 1 - torch.finfo(klein.dtype).eps
    return atanhc((root * norm(klein)).clamp_max(below_one)).unsqueeze(-1) * klein


def _descent_step(seen: Tensor, total: Total, root: Tensor) -> Tensor:
    excess = _coth_excess(root.unsqueeze(-1) * norm(seen))
    return _from_klein(total(seen) / (1 + total(excess.unsqueeze(-1))), root)


def _newton_step(seen: Tensor, total: Total, root: Tensor) -> Tensor:
    return torch.linalg.solve(_hessian(seen, total, root), total(seen))


def _hessian(seen: Tensor, total: Total, root: Tensor) -> Tensor:
    """The Hessian of half the squared distance: 1 along the geodesic, D coth(D) across it."""
    length = norm(seen)
    excess = _coth_excess(root.unsqueeze(-1) * length).unsqueeze(-1)
    unit = seen / torch.where(length > 0, length, 1.0).unsqueeze(-1)
    columns = [total(excess * unit[..., k : k + 1] * unit) for k in range(seen.shape[-1])]
    eye = torch.eye(seen.shape[-1], dtype=seen.dtype, device=seen.device)
    return (1 + total(excess)).unsqueeze(-1) * eye - torch.stack(columns, dim=-2)


def _coth_excess(x: Tensor) -> Tensor:
    """``x coth(x) - 1``, which is x²/3 near zero."""
    near = x < 0.5
    safe = torch.where(near, 1.0, x)
    half = torch.where(near, x, 0.0) / 2
    # x cosh(x) - sinh(x) over sinh(x), with cosh(x) = 1 + 2 sinh²(x/2).
    series = (2 * half.sinh().square() - sinhc_minus_1(2 * half)) / sinhc(2 * half)
    return torch.where(near, series, safe / safe.tanh() - 1)
