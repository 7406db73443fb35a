"""How exact is a distance? Ours, the textbook's and other packages', against 100 digits.

Writes its tables into docs/geometry.md and README.md, and the figure docs/geometry_accuracy.svg.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import _oracle
import numpy as np
import torch
from _document import GUIDE, README, ROOT, markdown_table, text_table, write_between_markers
from _figure import draw_errors
from _oracle import Array
from _rivals import OURS, RIVALS, check
from torch import Tensor

PAIRS, DIMENSION = 200, 16
RADII = (0.01, 0.03, 0.1, 0.3, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 35, 40)
SHOWN_RADII = (0.01, 0.1, 1, 3, 6, 10, 20, 40)
SWEEP_RADII = (0.01, 0.3, 3, 6, 15, 40)
CURVATURES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
DTYPES = {"float32": torch.float32, "float64": torch.float64}
FAMILIES = ("near", "typical", "angle")
LABELS = {"near": "neighbours", "typical": "random directions"}
Key = tuple[str, str, float]  # dtype, family, radius


def make_pairs(family: str, radius: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Points in normal coordinates of curvature -1, rounded to the dtype."""
    rng = np.random.default_rng([FAMILIES.index(family), round(1000 * radius)])
    u, e = _unit(rng.standard_normal((2, PAIRS, DIMENSION)))
    v = radius * u
    if family == "typical":
        w = radius * rng.uniform(0.5, 1.0, (PAIRS, 1)) * e
    else:
        e = _unit(e - (e * u).sum(1, keepdims=True) * u)
        if family == "angle":
            w = radius * (np.cos(0.01) * u + np.sin(0.01) * e)
        else:
            apart = 10 ** rng.uniform(-3, -1, (PAIRS, 1))
            if lie_on_a_ray(radius, dtype):
                return _pairs_on_a_ray(v, apart / radius, dtype)
            outward = rng.uniform(-1, 0, (PAIRS, 1))
            z = (np.cosh(apart) * np.sinh(radius) + np.sinh(apart) * np.cosh(radius) * outward) * u
            z += np.sinh(apart) * np.sqrt(1 - outward**2) * e
            w = np.arcsinh(np.linalg.norm(z, axis=1, keepdims=True)) * _unit(z)
            # Neither point may lie beyond the radius: past 40 ours saturate on purpose.
            shrink = np.minimum(radius / np.linalg.norm(w, axis=1, keepdims=True), 1)
            v, w = shrink * v, shrink * w
    return torch.from_numpy(v).to(dtype), torch.from_numpy(w).to(dtype)


def lie_on_a_ray(radius: float, dtype: torch.dtype) -> bool:
    """Whether neighbours must share a ray, as rounding their directions would part them."""
    return math.sinh(radius) * torch.finfo(dtype).eps / 2 > 0.02


def _unit(x: Array) -> Array:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _pairs_on_a_ray(v: Array, share: Array, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """A point with half of its mantissa empty, and its multiple by ``1 - k/2^half``: both exact."""
    half = (1 - round(math.log2(torch.finfo(dtype).eps))) // 2
    mantissa, exponent = np.frexp(v)
    v = np.ldexp(np.trunc(np.ldexp(mantissa, half)), exponent - half)
    w = v * (1 - np.maximum(np.rint(share * 2.0**half), 1) / 2.0**half)
    points, others = torch.from_numpy(v).to(dtype), torch.from_numpy(w).to(dtype)
    assert (others.double().numpy() == w).all()
    return points, others


def relative_error(got: Array, exact: Array, scale: Array) -> Array:
    with np.errstate(all="ignore"):
        error = np.abs(got - exact) / scale
    return np.where(np.isfinite(got), error, np.inf)


def array(x: Tensor) -> Array:
    return x.detach().double().numpy()


class Measurement(NamedTuple):
    """Relative errors, one for each pair; inf where a result is not finite."""

    distance: dict[str, Array]
    gradient: dict[str, Array]
    broken: dict[str, int]  # how many distances or gradients are not finite, or negative


def measure_from_common_input(
    dtype: str, family: str, radius: float, *, c: float = 1.0
) -> Measurement:
    """Everyone starts from the same normal coordinates, and converts them in the same dtype.

    The gradient is the one in these normal coordinates, through the conversion.
    """
    c = torch.tensor(c, dtype=DTYPES[dtype]).item()
    v, w = (x / c**0.5 for x in make_pairs(family, radius, DTYPES[dtype]))
    exact, slope = _oracle.from_normal(array(v), array(w), c)
    result = Measurement({}, {}, {})
    for rival in RIVALS:
        point = v.clone().requires_grad_()
        d = rival.distance(rival.convert(point, c), rival.convert(w, c), c)
        (g,) = torch.autograd.grad(d.sum(), point)
        off = np.linalg.norm(array(g) - slope, axis=1)
        size = np.linalg.norm(slope, axis=1)
        result.distance[rival.name] = relative_error(array(d), exact, exact)
        result.gradient[rival.name] = relative_error(off, np.zeros(PAIRS), size)
        sound = d.isfinite() & g.isfinite().all(-1) & (d >= 0)
        result.broken[rival.name] = int((~sound).sum())
    return result


def measure_input(dtype: str, family: str, radius: float) -> Array:
    """What the input is worth: the change when each coordinate of v moves to a neighbour float."""
    v, w = make_pairs(family, radius, DTYPES[dtype])
    signs = torch.from_numpy(np.random.default_rng(0).choice([-np.inf, np.inf], v.shape))
    exact, _ = _oracle.from_normal(array(v), array(w))
    moved, _ = _oracle.from_normal(array(v.nextafter(signs.to(v.dtype))), array(w))
    return relative_error(moved, exact, exact)


def measure_from_own_coordinates(dtype: str, family: str, radius: float) -> dict[str, Array]:
    """Each rival gets its own coordinates, rounded once, and is judged at these.

    A pair that this rounding merges or pushes out of the ball is no pair; its error is NaN.
    """
    v, w = make_pairs(family, radius, DTYPES[dtype])
    own = {}
    for kind, convert, distance in (
        ("hyperboloid", _oracle.to_hyperboloid, _oracle.from_hyperboloid),
        ("ball", _oracle.to_ball, _oracle.from_ball),
    ):
        x, y = (torch.from_numpy(convert(array(p))).to(v.dtype) for p in (v, w))
        exact = distance(array(x), array(y))
        own[kind] = x, y, np.where(exact > 0, exact, np.nan)
    errors = {}
    for rival in RIVALS:
        if rival is not OURS:
            x, y, exact = own[rival.coordinates]
            error = relative_error(array(rival.distance(x, y, 1.0)), exact, exact)
            errors[rival.name] = np.where(np.isnan(exact), np.nan, error)
    return errors


def show(error: float) -> str:
    """One digit; an error of 100 % or more has none right."""
    if math.isnan(error):
        return "no pair"
    if error >= 0.95:
        return "lost"
    mantissa, exponent = f"{error:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}" if error else "<1e-16"  # the reference is a float64


def median_and_worst(errors: Array) -> str:
    valid = errors[~np.isnan(errors)]
    if 2 * len(valid) < len(errors):
        return "no pair"
    median, worst = show(float(np.median(valid))), show(float(valid.max()))
    return median if median == worst else f"{median} ({worst})"


Table = tuple[str, list[str], list[list[str]]]


def table_by_radius(dtype: str, what: str, errors: dict[Key, dict[str, Array]]) -> Table:
    rows = [
        [
            f"{family}: {rival.name}",
            *(median_and_worst(errors[dtype, family, r][rival.name]) for r in SHOWN_RADII),
        ]
        for family in FAMILIES
        for rival in RIVALS
        if rival.name in errors[dtype, family, SHOWN_RADII[0]]
    ]
    header = ["pairs, method", *(f"radius {r:g}" for r in SHOWN_RADII)]
    return f"{dtype} {what}", header, rows


def table_of_broken(common: dict[Key, Measurement]) -> Table:
    total = PAIRS * len(RADII) * len(FAMILIES)
    rows = [
        [
            rival.name,
            *(
                str(sum(m.broken[rival.name] for key, m in common.items() if key[0] == dtype))
                for dtype in DTYPES
            ),
        ]
        for rival in RIVALS
    ]
    title = f"Pairs of {total} whose distance or gradient is NaN, infinite or negative"
    return title, ["method", *DTYPES], rows


def table_of_curvatures() -> Table:
    rows: dict[str, list[str]] = {}
    for c in CURVATURES:
        near = measure_from_common_input("float32", "near", 3, c=c).distance
        for name, errors in near.items():
            rows.setdefault(f"near, radius 3: {name}", []).append(median_and_worst(errors))
        everywhere = [
            measure_from_common_input("float32", family, radius, c=c).distance[OURS.name]
            for family in ("typical", "angle")
            for radius in SWEEP_RADII
        ]
        label = f"typical and angle, radius {SWEEP_RADII[0]:g} to {SWEEP_RADII[-1]:g}: {OURS.name}"
        rows.setdefault(label, []).append(median_and_worst(np.concatenate(everywhere)))
    title = "float32 distance at other curvatures; the radius is in units of 1/sqrt(c)"
    header = ["pairs, method", *(f"c = {c:g}" for c in CURVATURES)]
    return title, header, [[label, *cells] for label, cells in rows.items()]


def table_for_readme(distances: dict[Key, dict[str, Array]]) -> str:
    rows = []
    for family, radii in (("near", (0.01, 1, 3, 6, 12)), ("typical", (0.01, 6, 40))):
        for radius in radii:
            errors = distances["float32", family, radius]
            cells = (show(float(np.median(errors[rival.name]))) for rival in RIVALS)
            rows.append([f"{LABELS[family]}, radius {radius:g}", *cells])
    return markdown_table(["pairs", *(rival.name for rival in RIVALS)], rows)


def main() -> None:
    start = time.perf_counter()
    check()
    keys = [(d, f, float(r)) for d in DTYPES for f in FAMILIES for r in RADII]
    common = {key: measure_from_common_input(*key) for key in keys}
    own = {key: measure_from_own_coordinates(*key) for key in keys if key[2] in SHOWN_RADII}
    worth = {key: measure_input(*key) for key in keys if key[1] != "angle"}

    distances = {key: m.distance for key, m in common.items()}
    gradients = {key: m.gradient for key, m in common.items()}
    views = {
        "distance from common input: normal coordinates, converted in that dtype": distances,
        "distance from own coordinates, rounded once: the formula alone": own,
        "gradient of the distance in the common input": gradients,
    }
    tables = [table_by_radius(d, what, errors) for what, errors in views.items() for d in DTYPES]
    tables += [table_of_broken(common), table_of_curvatures()]
    for title, header, rows in tables:
        print(f"\n{title}\n\n{text_table(header, rows)}")
    guide = "\n\n".join(f"**{t}**\n\n{markdown_table(h, rows)}" for t, h, rows in tables)
    write_between_markers(GUIDE, "accuracy", guide)

    short = README_TEXT.format(table=table_for_readme(distances))
    write_between_markers(README, "accuracy", short)
    draw_errors(
        ROOT / "docs" / "geometry_accuracy.svg",
        errors=distances,
        worth=worth,
        rays={d: max(r for r in RADII if not lie_on_a_ray(r, t)) for d, t in DTYPES.items()},
        rivals=[rival.name for rival in RIVALS],
    )
    print(f"\n{time.perf_counter() - start:.0f} s")


README_TEXT = """\
## How exact is it?

Relative error of a distance in float32 (the median of 200 pairs; *lost* means 100 % or more), for
neighbours that are 0.001 to 0.1 apart and for points in random directions. The radius is their
distance from the origin. All start from the same vectors.

{table}

![Error of the distance against the radius](docs/geometry_accuracy.svg)

[docs/geometry.md](docs/geometry.md) explains the figure, and has worst cases, float64, gradients,
other curvatures and speed.
"""


if __name__ == "__main__":
    main()
