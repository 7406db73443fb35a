"""Hyperbolic geometry in normal coordinates: a point is stored as its logarithm at the origin.

A point x of the space of sectional curvature ``-c`` is the vector ``v = log_o(x)``, a plain tensor
``[..., d]``. The straight line from the origin to v is a geodesic and ``|v|`` is its length.

Everything here rests on one operation, :func:`translate`. It carries the whole space by the
isometry that takes the origin to v without turning it. The local logarithm is the same operation
with v negated, and a distance is the length of a local logarithm.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hgcn.errors import GeometryError
from hgcn.geometry.scalars import asinh, asinhc, dot, norm, sinhc, sinhc_minus_1

MAX_RADIUS = 40.0
"""Radius, in units of the curvature radius 1/sqrt(c), beyond which points saturate smoothly."""

_SMALL = 0.1


def distance(v: Tensor, w: Tensor, *, c: float | Tensor) -> Tensor:
    """Length of the geodesic between two points (paper, Eq. 4).

    The gradient where the points coincide is taken as zero.

    Args:
        v, w: points, shapes that broadcast to ``[..., d]``.
        c: the space has sectional curvature ``-c``; a positive number, or a tensor that
            broadcasts with the leading dimensions.

    Returns:
        Distances, shape ``[...]``.

    Example:
        >>> distance(torch.tensor([3.0, 0.0]), torch.tensor([-1.0, 0.0]), c=1.0)
        tensor(4.)
    """
    root = square_root(c, v)
    return _Move(-v, w, root).length() / root


def squared_distance(v: Tensor, w: Tensor, *, c: float | Tensor) -> Tensor:
    """Square of :func:`distance`, differentiable also where the points coincide.

    Example:
        >>> v, w = torch.tensor([3.0, 0.0]), torch.tensor([-1.0, 0.0])
        >>> squared_distance(v, w, c=1.0)
        tensor(16.)
    """
    root = square_root(c, v)
    return (_Move(-v, w, root).length() / root).square()


def translate(v: Tensor, t: Tensor, *, c: float | Tensor) -> Tensor:
    """Walk from ``v`` along ``t``: ``log_o exp_x P_{o->x} t`` (paper, Eq. 7).

    ``t`` is a tangent vector at the origin, carried to v by parallel transport. As a product of
    points this is Möbius addition, so ``translate(-v, translate(v, t)) == t``.

    Args:
        v: points, shape ``[..., d]``.
        t: tangent vectors at the origin, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.

    Example:
        >>> v, w = torch.tensor([3.0, 0.0]), torch.tensor([-1.0, 0.0])
        >>> translate(v, w, c=1.0)  # three steps forth and one back
        tensor([2., 0.])
    """
    return _Move(v, t, square_root(c, v)).point()


def local_log(at: Tensor, to: Tensor, *, c: float | Tensor) -> Tensor:
    """Direction and distance to a point as seen from another: ``P_{x->o} log_x(y)``.

    The result is a tangent vector at ``at``, written in the frame carried to the origin. Its
    length is ``distance(at, to)``, and ``translate(at, local_log(at, to))`` is ``to``.

    Args:
        at: points where the tangent spaces are, shape ``[..., d]``.
        to: points looked at, same shape or one that broadcasts.
        c: the space has sectional curvature ``-c``.

    Returns:
        Tangent vectors, shape ``[..., d]``.

    Example:
        >>> v, w = torch.tensor([3.0, 0.0]), torch.tensor([-1.0, 0.0])
        >>> local_log(v, w, c=1.0)  # four steps back lead from v to w
        tensor([-4.,  0.])
    """
    return translate(-at, to, c=c)


def geodesic(v: Tensor, w: Tensor, s: float | Tensor, *, c: float | Tensor) -> Tensor:
    """The point at fraction ``s`` of the way from ``v`` to ``w``.

    Args:
        v, w: points, shapes that broadcast to ``[..., d]``.
        s: 0 gives v, 1 gives w; a number, or a tensor that broadcasts with the leading dimensions.
        c: the space has sectional curvature ``-c``.

    Returns:
        Points, shape ``[..., d]``.

    Example:
        >>> v, w = torch.tensor([3.0, 0.0]), torch.tensor([-1.0, 0.0])
        >>> torch.allclose(geodesic(v, w, 0.5, c=1.0), torch.tensor([1.0, 0.0]))  # half of the way
        True
    """
    root = square_root(c, v)
    reach = root * distance(v, w, c=c)
    whole = sinhc(reach)
    ends = []
    for end, share in ((v, 1 - s), (w, s)):
        point, radius = saturate(end, root)
        weight = share * sinhc((share * reach).abs()) / whole
        ends.append((weight * sinhc(radius)).unsqueeze(-1) * point)
    return _from_spatial(ends[0] + ends[1], root)


def to_hyperboloid(v: Tensor, *, c: float | Tensor) -> Tensor:
    """Points as hyperboloid coordinates ``(x_0, x_1..x_d)``, ``[..., d + 1]`` (paper, Eq. 5).

    Example:
        >>> to_hyperboloid(torch.zeros(2), c=1.0)  # the origin
        tensor([1., 0., 0.])
    """
    root = square_root(c, v)
    v, radius = saturate(v, root)
    time = (radius.cosh() / root).unsqueeze(-1)
    return torch.cat((time, sinhc(radius).unsqueeze(-1) * v), dim=-1)


def from_hyperboloid(x: Tensor, *, c: float | Tensor) -> Tensor:
    """Inverse of :func:`to_hyperboloid`; reads the spatial part, which determines the point.

    Example:
        >>> from_hyperboloid(torch.tensor([1.0, 0.0, 0.0]), c=1.0)
        tensor([0., 0.])
    """
    return _from_spatial(x[..., 1:], square_root(c, x))


def square_root(c: float | Tensor, like: Tensor) -> Tensor:
    """Square root of the curvature, checked, in the dtype of the points."""
    if like.dtype not in (torch.float32, torch.float64):
        raise GeometryError(
            f"Expected points of dtype float32 or float64, got {like.dtype}. Convert with .float()."
        )
    if isinstance(c, Tensor):
        return c.to(like.dtype).sqrt()
    if not 0 < c < float("inf"):
        raise GeometryError(f"Expected a curvature c > 0, got {c}. Sectional curvature is -c.")
    return torch.tensor(c, dtype=like.dtype, device=like.device).sqrt()


def saturate(v: Tensor, root: Tensor) -> tuple[Tensor, Tensor]:
    """Points drawn back smoothly to radius 42 at most, and their radii in curvature units.

    Up to ``MAX_RADIUS`` the factor is exactly 1, so that differences of near points keep every
    digit. Beyond it, radius 40 + y becomes 40 + y/sqrt(1 + y²/4): twice differentiable, and the
    gradient fades like a power, not like an exponential.
    """
    radius = root * norm(v)
    beyond = (radius - MAX_RADIUS).clamp(0.0, 1e15)
    held = MAX_RADIUS + beyond / (1 + (beyond / 2).square()).sqrt()
    outside = beyond > 0
    # Divided first and then multiplied: the gradient of one factor held/radius would overflow.
    unit = v / torch.where(outside, radius, 1.0).unsqueeze(-1)
    return unit * torch.where(outside, held, 1.0).unsqueeze(-1), torch.where(outside, held, radius)


def _from_spatial(z: Tensor, root: Tensor) -> Tensor:
    return asinhc(root * norm(z)).unsqueeze(-1) * z


def _power_of_two(x: Tensor) -> Tensor:
    """The power of two nearest to ``x`` in ratio, with its sign; 0 for 0."""
    return x.sign() * x.abs().log2().round().exp2()


class _Move:
    """The point ``x + t`` (Möbius addition) as the spatial part z of its hyperboloid coordinates.

    In units of the curvature radius, with rho = |x|, tau = |t| and u = x/rho, the paper's formulas
    for exp and transport give z = a u + sinh(tau)/tau t_perp, where t_perp is orthogonal to u and

        a = cosh(tau) sinh(rho) + cosh(rho) sinh(tau)/tau t_par.

    Three things keep every digit that the input has:

    * When t points inward, the two terms of ``a`` cancel. Then
      a = sinh(rho - tau) + cosh(rho) sinh(tau)/tau k, k = tau + t_par = |t_perp|²/(tau - t_par).
    * When t points nearly against x, t_perp is what is left of t + q x + r x, where q and r are
      powers of two such that q, then q + r, comes near tau/rho: these sums have no rounding error,
      a projection of t itself would. With q = 1 they also give rho - tau to full precision.
    * When x is near the origin, u has no meaning. Then z = sinh(tau)/tau (x + t) + gamma x, with a
      gamma that is of second order and analytic in both vectors.

    All cases share one form, z = alpha x + beta p. Only the choice of scalars differs. They are
    held divided by a constant ``scale`` near |z|, so that no square overflows.
    """

    def __init__(self, x: Tensor, t: Tensor, root: Tensor) -> None:
        if x.shape[-1] != t.shape[-1] or x.dtype != t.dtype:
            raise GeometryError(
                "Expected two tensors of the same dtype and last dimension, got "
                f"{x.dtype} {list(x.shape)} and {t.dtype} {list(t.shape)}."
            )
        x, rho = saturate(x, root)
        t, tau = saturate(t, root)
        c = root.square()

        with torch.no_grad():
            along = c * dot(x, t)
            at_origin = rho < _SMALL
            inward = (along < 0) & (tau > _SMALL / 2)
            rho_safe = torch.where(at_origin, 1.0, rho)
            ratio = torch.where(inward, tau / rho_safe, 1.0)
            q = _power_of_two(ratio)
            r = _power_of_two(ratio - q)
            against = along < -q * rho.square() / 2
            q = torch.where(at_origin, 1.0, torch.where(against, q, 0.0))
            r = torch.where(against & ~at_origin, r, 0.0)

        rho_safe = torch.where(at_origin, 1.0, rho)
        w = torch.addcmul(torch.addcmul(t, q.unsqueeze(-1), x), r.unsqueeze(-1), x)
        wx = c * dot(w, x)
        w_par = torch.where(at_origin, 0.0, wx / rho_safe)
        # addcmul rounds once on most machines, which far out is worth several digits.
        p = torch.addcmul(w, -(w_par / rho_safe).unsqueeze(-1), x)
        with torch.no_grad():
            leak = torch.where(at_origin, 0.0, c * dot(p, x) / rho_safe)
        p = torch.addcmul(p, -(leak / rho_safe).unsqueeze(-1), x)
        p_length = root * norm(p)

        t_par = w_par - (q + r) * rho
        k = torch.where(inward, p_length.square(), 0.0) / torch.where(inward, tau - t_par, 1.0)
        gap = torch.where(against & (q == 1), w_par - k - r * rho, rho - tau)
        cosh_rho, cosh_tau = rho.cosh(), tau.cosh()
        sigma_rho_1, sigma_tau_1 = sinhc_minus_1(rho), sinhc_minus_1(tau)
        sigma_tau = 1 + sigma_tau_1
        a = torch.where(
            inward,
            gap.sinh() + cosh_rho * sigma_tau * k,
            cosh_tau * rho.sinh() + cosh_rho * sigma_tau * t_par,
        )
        chi_rho = sinhc(rho / 2).square() / 2
        gamma = (
            2 * (tau / 2).sinh().square() * (1 + sigma_rho_1)
            + (sigma_rho_1 - sigma_tau_1)
            + sigma_tau * chi_rho * (wx - rho.square())
        )
        alpha = torch.where(at_origin, gamma, a / rho_safe)

        scale = torch.maximum((alpha * rho).abs(), sigma_tau * p_length).detach()
        self.scale = torch.where(scale > 1e-36, scale, 1.0)
        self.alpha, self.beta = alpha / self.scale, sigma_tau / self.scale
        self.x, self.p = x, p
        square = (
            (self.alpha * rho).square()
            + (self.beta * p_length).square()
            + torch.where(at_origin, 2 * self.alpha * self.beta * wx, 0.0)
        )
        positive = ~(square <= 0)  # so that what is no number stays none
        self.sinh_length = torch.where(positive, torch.where(positive, square, 1.0).sqrt(), 0.0)

    def length(self) -> Tensor:
        """Distance of the point from the origin, in units of the curvature radius."""
        return asinh(self.scale * self.sinh_length)

    def point(self) -> Tensor:
        """The point in normal coordinates."""
        sinh_length = self.scale * self.sinh_length
        at_origin = sinh_length < _SMALL
        far = self.length() / torch.where(at_origin, 1.0, self.sinh_length)
        stretch = torch.where(at_origin, self.scale * asinhc(sinh_length), far)
        z = (stretch * self.alpha).unsqueeze(-1) * self.x
        return z + (stretch * self.beta).unsqueeze(-1) * self.p
