r"""Points divided into leaves, that is, small groups of near points, each within a ball.

A leaf lies within the distance R of its centre m. By the triangle inequality none of its points is
nearer to a point q than :math:`d(q, m) - R`, so most leaves need not be looked at. Hyperbolic space
is like a tree, and there the bound is nearly the truth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled
from hgcn.kernels.rows import Doubles, Ints
from hgcn.nearest.forms import Form
from hgcn.nearest.heights import PointForm, height

Singles = NDArray[np.float32]

SMALLEST = 64
"""Points of a leaf at least, if there are so many."""


class Leaves(NamedTuple):
    """Points by leaves.

    Attributes:
        points: the points in the order of their leaves.
        node: the number of each of them.
        begin: the first point of each leaf, and at last the number of points.
        centres: the centres of the balls.
        far: of each ball, (sinh(R/2), cosh(R/2)); in flat space (R, 1).
        columns: directions in single precision, ``[leaf, d, place]``.
        half: half the squares of their lengths, ``[leaf, place]``; infinite where no point is.
        inverse: one over their sinh(rho).
        square: the largest square of a length.
        curved: whether space is hyperbolic.
    """

    points: PointForm
    node: Ints
    begin: Ints
    centres: PointForm
    far: Doubles
    columns: Singles
    half: Singles
    inverse: Singles
    square: float
    curved: bool


def leaves_of(form: Form, *, curved: bool) -> Leaves:
    """Divide points, at least one, into leaves of about the root of their number."""
    n = len(form[0])
    levels = max(0, round(np.log2(n / max(SMALLEST, n**0.5))))
    groups = [np.arange(n)]
    for _ in range(levels):
        groups = [half for group in groups for half in _halves(form, group, curved)]
    node = np.concatenate(groups)
    sizes = np.array([len(group) for group in groups])
    begin = np.concatenate(([0], np.cumsum(sizes)))
    balls = [_ball(form, group, curved) for group in groups]
    centres = (
        np.concatenate([ball[0] for ball in balls]),
        np.concatenate([ball[1] for ball in balls]),
    )
    reach = np.array([ball[2] for ball in balls])
    far = np.stack((np.sinh(reach / 2), np.cosh(reach / 2)) if curved else (reach, 1 + 0 * reach))
    points = form[0][node], form[1][node]
    square = (points[0] ** 2).sum(1)
    width = -(-sizes.max() // 8) * 8
    columns = np.zeros((len(groups), form[0].shape[1], width), np.float32)
    half = np.full((len(groups), width), np.inf, np.float32)
    inverse = np.zeros((len(groups), width), np.float32)
    with np.errstate(over="ignore", divide="ignore"):  # then everything passes
        for leaf, (low, size) in enumerate(zip(begin, sizes, strict=False)):
            columns[leaf, :, :size] = points[0][low : low + size].T
            half[leaf, :size] = 0.5 * square[low : low + size]
            inverse[leaf, :size] = 1 / np.maximum(points[1][low : low + size, 1], 1e-37)
    return Leaves(
        points, node, begin, centres, np.ascontiguousarray(far.T), columns, half, inverse,
        float(square.max()), curved,
    )  # fmt: skip


def _halves(form: Form, group: Ints, curved: bool) -> tuple[Ints, Ints]:
    """A group of points cut in two: those nearer to one of two far points, and the others."""
    one, two = _far_pair(form, group)
    closer = _lengths(form, group, one, curved) - _lengths(form, group, two, curved)
    order = np.argpartition(closer, len(group) // 2)
    return group[order[: len(group) // 2]], group[order[len(group) // 2 :]]


def _far_pair(form: Form, group: Ints) -> tuple[int, int]:
    """Two points of a group that are far from one another."""
    one = group[np.argmax(heights_from(form, group, form, group[0]))]
    two = group[np.argmax(heights_from(form, group, form, one))]
    return int(one), int(two)


def _lengths(form: Form, group: Ints, i: int, curved: bool) -> Doubles:
    root = np.sqrt(heights_from(form, group, form, i))
    return 2 * np.arcsinh(root) if curved else root


def _ball(form: Form, group: Ints, curved: bool) -> tuple[Doubles, Doubles, float]:
    """The middle between two far points of a group, and the largest distance from it."""
    one, two = _far_pair(form, group)
    middle = form[1][one : one + 1].copy()
    if curved:
        # The spatial part of the hyperboloid's point (x + y) / (2 cosh(D/2)).
        spatial = form[1][[one, two], 1:2] * form[0][[one, two]]
        between = float(heights_from(form, np.array([one]), form, two)[0])
        z = spatial.sum(0, keepdims=True) / (2 * np.sqrt(1 + between))
        size = np.linalg.norm(z)
        rho = np.arcsinh(size)
        z /= size if size > 0 else 1.0
        middle[:] = (rho, np.sinh(rho), np.exp(rho / 2), np.exp(-rho / 2))
    else:
        z = form[0][[one, two]].mean(0, keepdims=True)
    height = heights_from(form, group, (z, middle), 0)
    root = np.sqrt(height.max())
    # A little more than rounding may take away.
    return z, middle, float(2 * np.arcsinh(root) if curved else root) * (1 + 1e-9) + 1e-12


@compiled(nogil=True)
def heights_from(form: PointForm, rows: Ints, other: PointForm, i: int) -> Doubles:
    """Heights of pairs of some points with one other point."""
    result = np.empty(len(rows))
    for at, row in enumerate(rows):
        result[at] = height(form, row, other, i, np.inf)
    return result
