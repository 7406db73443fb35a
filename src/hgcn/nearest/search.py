"""The nearest of many points: exact, in blocks, in the own distance of any space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import in_chunks
from hgcn.data.pairs import Ints
from hgcn.errors import ConfigError, DataError
from hgcn.nearest.forms import search_form
from hgcn.nn.spaces import Space
from hgcn.text import count

BLOCK = 4096
"""Points whose nearest are searched in one call; Ctrl-C acts in between."""
PLAIN_BLOCK = 1_000_000
"""Pairs of points that are compared at a time in spaces that the compiled search does not know."""
SPARE = 8
"""So many more than asked for are found, as rounding may swap the last ones."""

Found = tuple[Ints, np.ndarray]
"""Numbers ``[m, k]`` of points, nearest first, and their distances."""


class Nearest:
    """The exact search for the nearest of many points.

    Points that are about as near as others are compared by their heights in double precision
    (:mod:`hgcn.nearest.forms`), and then by the distance of the space itself. Equally near ones are
    ordered by their numbers. Memory is that of the points and of the result.

    Args:
        z: the points ``[n, d]``, in hyperbolic space normal coordinates.
        space: what they lie in.
    """

    def __init__(self, z: Tensor, space: Space) -> None:
        check_points(z)
        self.z, self.space = z.detach().cpu().double().contiguous(), space
        self.form = search_form(space, self.z)
        self._leaves: Any = None

    def of(self, rows: Ints, k: int) -> Found:
        """The k nearest of the points with these numbers, themselves left out."""
        self.check(k, others=len(self.z) - 1)
        return self._search(self.z[torch.from_numpy(rows)], rows, k)

    def to(self, v: Tensor, k: int) -> Found:
        """The k nearest to other points ``[m, d]``."""
        check_points(v, self.z.shape[1])
        self.check(k, others=len(self.z))
        return self._search(v.detach().cpu().double(), np.full(len(v), -1), k)

    def check(self, k: int, *, others: int) -> None:
        """Refuse a number of points that is none, or more than there are."""
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise ConfigError(f"Expected `k` to be a whole number of at least 1, got {k!r}.")
        if k > others:
            raise ConfigError(
                f"Expected `k` to be at most {others}, as there are {count(len(self.z), 'point')}, "
                f"got {k}."
            )

    @torch.no_grad()
    def _search(self, v: Tensor, own: Ints, k: int) -> Found:
        found: list[Found] = []
        order = self._order(own)
        for low in range(0, len(v), BLOCK):
            some = order[low : low + BLOCK]
            numbers = self._candidates(v[some], own[some], min(k + SPARE, len(self.z)))
            found.append(self._ranked(v[some], numbers, k))
        numbers = np.empty((len(v), k), np.int64)
        distance = np.empty((len(v), k))
        for part, result in zip((0, 1), (numbers, distance), strict=True):
            if found:
                result[order] = np.concatenate([block[part] for block in found])
        return numbers, distance

    def _order(self, own: Ints) -> Ints:
        """An order in which points that are searched together are near one another."""
        if self.form is None or not len(own) or own[0] < 0:
            return np.arange(len(own))
        place = np.empty(len(self.z), np.int64)
        place[self.leaves.node] = np.arange(len(self.z))
        return np.argsort(place[own], kind="stable")

    @property
    def leaves(self) -> Any:
        """The points as the compiled search takes them; made when first asked for."""
        if self._leaves is None:
            from hgcn.nearest.leaves import leaves_of  # Numba takes a while to import

            self._leaves = leaves_of(self.form, curved=bool(self.space.curvatures))  # type: ignore[arg-type]
        return self._leaves

    def _candidates(self, v: Tensor, own: Ints, k: int) -> Ints:
        """The numbers of the k nearest in any order; -1 where there are fewer."""
        if self.form is None:
            return self._plain_candidates(v, own, k)
        from hgcn.nearest.scan import QUERIES, search

        form: Any = search_form(self.space, v)
        nothing = np.iinfo(np.int64).max
        heaps = np.full((len(v), k), np.inf), np.full((len(v), k), nothing)
        in_chunks(search, -(-len(v) // QUERIES), form, own, self.leaves, heaps)
        return np.where(heaps[1] == nothing, -1, heaps[1])

    def _plain_candidates(self, v: Tensor, own: Ints, k: int) -> Ints:
        best = torch.full((len(v), k), -1)
        rows = max(1, PLAIN_BLOCK // len(self.z))
        for low in range(0, len(v), rows):
            some = v[low : low + rows, None]
            pairs = len(some), len(self.z), self.z.shape[1]
            square = self.space.squared_distance(some.expand(pairs), self.z.expand(pairs))
            at = torch.from_numpy(own[low : low + rows])
            inside = (at >= 0).nonzero().flatten()
            square[inside, at[inside]] = math.inf
            least, index = square.sort(dim=1, stable=True)
            best[low : low + rows] = torch.where(least < math.inf, index, -1)[:, :k]
        return best.numpy()

    def _ranked(self, v: Tensor, numbers: Ints, k: int) -> Found:
        """The k nearest of some candidates of each point, in order, by the space's own distance."""
        at = torch.from_numpy(np.maximum(numbers, 0))
        other = self.z[at.flatten()].view(*at.shape, -1)
        square = self.space.squared_distance(v[:, None].expand_as(other).contiguous(), other)
        square = torch.where(torch.from_numpy(numbers) < 0, math.inf, square)
        distance = square.sqrt().numpy()
        rows = np.arange(len(v))[:, None]
        order = np.lexsort((numbers, distance))[:, :k]
        return numbers[rows, order], distance[rows, order]


def check_points(z: Tensor, dimensions: int | None = None) -> None:
    """Refuse what is no matrix of finite coordinates."""
    if z.dim() != 2 or not z.shape[1] or (dimensions is not None and z.shape[1] != dimensions):
        wanted = "d" if dimensions is None else dimensions
        raise DataError(
            f"Expected points as a matrix [n, {wanted}], got the shape {list(z.shape)}."
        )
    if not len(z):
        raise DataError("Expected at least one point, got none.")
    bad = (~z.isfinite()).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        raise DataError(
            f"Expected finite coordinates, got {float(z[row, column])} in row {row}, column "
            f"{column} (counted from 0); {count(len(set(bad[:, 0].tolist())), 'such row')}."
        )
