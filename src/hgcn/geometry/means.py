"""Weighted means of points: the Lorentz centroid and the Fréchet mean, in normal coordinates."""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry.normal import local_log, square_root, translate
from hgcn.geometry.scalars import atanhc, norm, sinhc, sinhc_minus_1

# In float32 one step from a far reference comes at most 8.7 curvature radii nearer.
_CENTROID_STEPS = 5
_FRECHET_STEPS = 14


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
    """
    weights = _normalised(points, weights)
    root = square_root(c, points)
    at = torch.zeros_like(points[..., 0, :])
    with torch.no_grad():
        for _ in range(_CENTROID_STEPS - 1):
            at = _centroid_seen_from(at, points, weights, root)
    return _centroid_seen_from(at, points, weights, root)


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
    """
    weights = _normalised(points, weights)
    root = square_root(c, points)
    with torch.no_grad():
        at = centroid(points, weights, c=root.square())
        logs = _logs(at, points, root)
        for _ in range(_FRECHET_STEPS):
            newton = _newton_step(logs, weights, root)
            steps = torch.stack((newton, newton / 4, _descent_step(logs, weights, root)))
            at, logs = _best(translate(at, steps, c=root.square()), points, weights, root)
        # Near the solution rounding hides which step is best, and Newton's is.
        at = translate(at, _newton_step(logs, weights, root), c=root.square())
        hessian = _hessian(_logs(at, points, root), weights, root)
    pull = _mean(_logs(at, points, root), weights)
    return translate(at, torch.linalg.solve(hessian, pull), c=root.square())


def _normalised(points: Tensor, weights: Tensor | None) -> Tensor:
    if points.dim() < 2:
        raise GeometryError(f"Expected points of shape [..., m, d], got {list(points.shape)}.")
    if weights is None:
        weights = torch.ones_like(points[..., 0])
    if weights.shape[-1:] != points.shape[-2:-1]:
        raise GeometryError(
            f"Expected one weight for each of the {points.shape[-2]} points, shape "
            f"[..., {points.shape[-2]}], got {list(weights.shape)}."
        )
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)


def _logs(at: Tensor, points: Tensor, root: Tensor) -> Tensor:
    return local_log(at.unsqueeze(-2), points, c=root.square().unsqueeze(-1))


def _mean(vectors: Tensor, weights: Tensor) -> Tensor:
    return (weights.unsqueeze(-1) * vectors).sum(-2)


def _best(
    candidates: Tensor, points: Tensor, weights: Tensor, root: Tensor
) -> tuple[Tensor, Tensor]:
    """Of the candidates ``[k, ..., d]`` the one with the least sum, and the logarithms there."""
    logs = _logs(candidates, points, root)
    best = (weights * norm(logs).square()).sum(-1).argmin(0, keepdim=True)[..., None]
    at = candidates.take_along_dim(best, 0).squeeze(0)
    return at, logs.take_along_dim(best[..., None], 0).squeeze(0)


def _centroid_seen_from(at: Tensor, points: Tensor, weights: Tensor, root: Tensor) -> Tensor:
    logs = _logs(at, points, root)
    reach = root.unsqueeze(-1) * norm(logs)
    # The farthest point sets the unit, so that neither sum overflows.
    unit = reach.detach().amax(-1, keepdim=True).cosh()
    space = _mean(logs, weights * (sinhc(reach) / unit))
    time = (weights * (reach.cosh() / unit)).sum(-1)
    klein = space / torch.where(time > 0, time, 1.0).unsqueeze(-1)
    return translate(at, _from_klein(klein, root), c=root.square())


def _from_klein(klein: Tensor, root: Tensor) -> Tensor:
    below_one = 1 - torch.finfo(klein.dtype).eps
    return atanhc((root * norm(klein)).clamp_max(below_one)).unsqueeze(-1) * klein


def _descent_step(logs: Tensor, weights: Tensor, root: Tensor) -> Tensor:
    stiffness = (weights * (1 + _coth_excess(root.unsqueeze(-1) * norm(logs)))).sum(
        -1, keepdim=True
    )
    return _from_klein(_mean(logs, weights) / stiffness.clamp_min(1.0), root)


def _newton_step(logs: Tensor, weights: Tensor, root: Tensor) -> Tensor:
    return torch.linalg.solve(_hessian(logs, weights, root), _mean(logs, weights))


def _hessian(logs: Tensor, weights: Tensor, root: Tensor) -> Tensor:
    """Of half the squared distance: 1 along the geodesic, D coth(D) across it."""
    length = norm(logs)
    excess = weights * _coth_excess(root.unsqueeze(-1) * length)
    unit = logs / torch.where(length > 0, length, 1.0).unsqueeze(-1)
    along = torch.einsum("...m,...mi,...mj->...ij", excess, unit, unit)
    eye = torch.eye(logs.shape[-1], dtype=logs.dtype, device=logs.device)
    return (1 + excess.sum(-1))[..., None, None] * eye - along


def _coth_excess(x: Tensor) -> Tensor:
    """``x coth(x) - 1``, which is x²/3 near zero."""
    near = x < 0.5
    safe = torch.where(near, 1.0, x)
    half = torch.where(near, x, 0.0) / 2
    # x cosh(x) - sinh(x) over sinh(x), with cosh(x) = 1 + 2 sinh²(x/2).
    series = (2 * half.sinh().square() - sinhc_minus_1(2 * half)) / sinhc(2 * half)
    return torch.where(near, series, safe / safe.tanh() - 1)
