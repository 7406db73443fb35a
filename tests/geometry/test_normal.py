"""Laws of hyperbolic geometry, the origin and other special places, and use inside torch."""

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hgcn import geometry
from hgcn.errors import GeometryError
from hgcn.geometry import means

CURVATURES = [1e-3, 1.0, 1e3]


def points(count: int, d: int = 3, *, c: float, radius: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    u = torch.randn(count, d, generator=generator, dtype=torch.float64)
    r = radius * torch.rand(count, 1, generator=generator, dtype=torch.float64) / math.sqrt(c)
    return u / u.norm(dim=-1, keepdim=True) * r


spaces = st.fixed_dictionaries(
    {
        "c": st.floats(-3, 3).map(lambda e: 10**e),
        "radius": st.floats(-6, 1).map(lambda e: 10**e),
        "d": st.integers(1, 8),
        "seed": st.integers(0, 10**6),
    }
)


def three_points(space: dict[str, float]) -> tuple[Tensor, Tensor, Tensor]:
    x = points(60, int(space["d"]), c=space["c"], radius=space["radius"], seed=int(space["seed"]))
    return x[:20], x[20:40], x[40:]


def close(a: Tensor, b: Tensor, space: dict[str, float], tolerance: float = 1e-9) -> None:
    unit = space["radius"] / math.sqrt(space["c"])
    torch.testing.assert_close(a / unit, b / unit, rtol=tolerance, atol=tolerance)


@given(spaces)
def test_translate_undoes_itself(space: dict[str, float]) -> None:
    v, t, _ = three_points(space)
    there = geometry.translate(v, t, c=space["c"])
    close(geometry.translate(-v, there, c=space["c"]), t, space, 1e-6)


@given(spaces)
def test_local_log_leads_to_the_point_and_is_as_long_as_the_distance(
    space: dict[str, float],
) -> None:
    v, w, _ = three_points(space)
    log = geometry.local_log(v, w, c=space["c"])
    close(geometry.translate(v, log, c=space["c"]), w, space, 1e-6)
    close(log.norm(dim=-1), geometry.distance(v, w, c=space["c"]), space)


@given(spaces)
def test_distance_is_a_metric(space: dict[str, float]) -> None:
    v, w, x = three_points(space)
    c = space["c"]
    vw, wx, vx = (geometry.distance(a, b, c=c) for a, b in ((v, w), (w, x), (v, x)))
    close(vw, geometry.distance(w, v, c=c), space)
    assert (vx <= (vw + wx) * (1 + 1e-12)).all()
    assert (vw > 0).all()
    close(geometry.squared_distance(v, w, c=c).sqrt(), vw, space)
    # Normal coordinates at a point of negative curvature never lengthen a chord.
    assert (vw >= (v - w).norm(dim=-1) * (1 - 1e-12)).all()


@given(spaces)
def test_translation_is_an_isometry(space: dict[str, float]) -> None:
    v, w, x = three_points(space)
    c = space["c"]
    moved = geometry.distance(geometry.translate(x, v, c=c), geometry.translate(x, w, c=c), c=c)
    close(moved, geometry.distance(v, w, c=c), space, 1e-5)


@given(spaces, st.floats(0, 1))
def test_geodesic_divides_the_distance(space: dict[str, float], s: float) -> None:
    v, w, _ = three_points(space)
    c = space["c"]
    between = geometry.geodesic(v, w, s, c=c)
    whole = geometry.distance(v, w, c=c)
    close(geometry.distance(v, between, c=c), s * whole, space, 1e-6)
    close(geometry.distance(between, w, c=c), (1 - s) * whole, space, 1e-6)


def test_geodesic_ends_and_midpoint_of_antipodes() -> None:
    v = torch.tensor([[40.0, 0.0], [0.3, 0.4]])
    for s, expected in ((0.0, v), (0.5, torch.zeros_like(v)), (1.0, -v)):
        torch.testing.assert_close(geometry.geodesic(v, -v, s, c=1.0), expected)
    fractions = torch.tensor([0.0, 1.0])
    torch.testing.assert_close(
        geometry.geodesic(v, -v, fractions, c=1.0), torch.stack((v[0], -v[1]))
    )
    torch.testing.assert_close(geometry.geodesic(v, v, 0.3, c=1.0), v)


def test_theorem_1_another_curvature_gives_the_same_graph() -> None:
    """Scaling all points by sqrt(K'/K) and (r, t) by K'/K keeps every Fermi-Dirac probability."""
    k, k_new, r, t = 0.7, 5.0, 2.0, 1.0
    v, w = points(60, c=1 / k, radius=5, seed=0).chunk(2)
    scale = k_new / k
    before = (r - geometry.squared_distance(v, w, c=1 / k)) / t
    moved = (math.sqrt(scale) * x for x in (v, w))
    after = (scale * r - geometry.squared_distance(*moved, c=1 / k_new)) / (scale * t)
    torch.testing.assert_close(after, before)


def test_flat_limit_is_euclidean() -> None:
    v, w = torch.randn(2, 100, 3, dtype=torch.float64)
    for c, tolerance in ((1e-4, 1e-2), (1e-8, 1e-6), (1e-12, 1e-10)):
        closeness = {"rtol": tolerance, "atol": tolerance}
        torch.testing.assert_close(geometry.distance(v, w, c=c), (v - w).norm(dim=-1), **closeness)
        torch.testing.assert_close(geometry.translate(v, w, c=c), v + w, **closeness)
        torch.testing.assert_close(geometry.local_log(v, w, c=c), w - v, **closeness)
        torch.testing.assert_close(
            geometry.geodesic(v, w, 0.3, c=c), v + 0.3 * (w - v), **closeness
        )
        stacked = torch.stack((v, w), dim=-2)
        for mean in (geometry.centroid, geometry.frechet_mean):
            torch.testing.assert_close(mean(stacked, c=c), (v + w) / 2, **closeness)


@pytest.mark.parametrize("name", ["translate", "local_log", "squared_distance"])
@pytest.mark.parametrize("radius", [0.0, 1e-12, 1e-3, 0.0999, 0.1001, 3.0])
@pytest.mark.parametrize("other", ["zero", "same", "opposite", "unrelated", "tiny"])
def test_gradients_at_special_places(name: str, radius: float, other: str) -> None:
    """At the origin, on both sides of each change of formula, at repeats and at antipodes."""
    u, unrelated = torch.randn(2, 4, 3, dtype=torch.float64)
    v = u / u.norm(dim=-1, keepdim=True) * radius
    w = {
        "zero": torch.zeros_like(v),
        "same": v.clone(),
        "opposite": -v,
        "unrelated": unrelated,
        "tiny": 1e-12 * unrelated,
    }[other]
    c = torch.tensor(0.8, dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (v, w, c)]
    function = getattr(geometry, name)
    assert torch.autograd.gradcheck(lambda v, w, c: function(v, w, c=c), inputs, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["distance", "translate", "local_log", "geodesic", "to_hyperboloid"]
)
def test_gradcheck_with_broadcasting(name: str) -> None:
    v = torch.randn(4, 1, 3, dtype=torch.float64, requires_grad=True)
    w = torch.randn(1, 5, 3, dtype=torch.float64, requires_grad=True)
    c = torch.tensor([[0.5], [1.0], [2.0], [3.0]], dtype=torch.float64, requires_grad=True)
    calls = {
        "geodesic": lambda v, w, c: geometry.geodesic(v, w, 0.3, c=c),
        "to_hyperboloid": lambda v, w, c: geometry.to_hyperboloid(v + w, c=c),
    }
    call = calls.get(name, lambda v, w, c: getattr(geometry, name)(v, w, c=c))
    assert torch.autograd.gradcheck(call, (v, w, c))


def test_distance_has_a_zero_gradient_where_points_coincide() -> None:
    v = torch.randn(5, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(geometry.distance(v, v.detach(), c=1.0).sum(), v)
    assert (gradient == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_norms_saturate_smoothly(dtype: torch.dtype) -> None:
    """Radius 40 + y counts as 40 + y/sqrt(1 + y²/4), so never as more than 42."""
    radius = torch.tensor([39.0, 40.0, 40.5, 42.0, 50.0, 1e3, 1e30], dtype=dtype)
    v = torch.zeros(7, 2, dtype=dtype)
    v[:, 0] = radius
    v.requires_grad_()
    d = geometry.distance(v, torch.zeros_like(v), c=1.0)
    beyond = (radius.double() - 40).clamp_min(0)
    expected = radius.double().clamp_max(40) + beyond / (1 + beyond.square() / 4).sqrt()
    torch.testing.assert_close(d.double(), expected.clamp_max(42), rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(d.sum(), v)
    slope = (1 + beyond.square() / 4) ** -1.5
    torch.testing.assert_close(gradient[:, 0].double(), slope, rtol=1e-4, atol=1e-7)


def test_a_radius_is_measured_in_units_of_the_curvature_radius() -> None:
    v = torch.tensor([100.0, 0.0])
    assert geometry.distance(v, torch.zeros(2), c=0.01) == 100
    assert geometry.distance(v, torch.zeros(2), c=1.0) < 42


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hyperboloid_round_trip(c: float, dtype: torch.dtype) -> None:
    v = points(200, c=c, radius=40, seed=0).to(dtype)
    v[0] = 0
    x = geometry.to_hyperboloid(v, c=c)
    torch.testing.assert_close(geometry.from_hyperboloid(x, c=c), v, rtol=1e-5, atol=0)
    near = v.norm(dim=-1) * math.sqrt(c) < 2
    inner = -(x[near, 0] ** 2) + x[near, 1:].square().sum(-1)
    torch.testing.assert_close(inner * c, -torch.ones_like(inner), rtol=1e-4, atol=1e-4)


def test_translate_equals_geoopt_moebius_addition() -> None:
    geoopt = pytest.importorskip("geoopt")
    for c in (0.25, 1.0, 4.0):  # geoopt holds c in float32
        v, t = points(200, c=c, radius=3, seed=1).chunk(2)
        v_ball, t_ball = (geometry.to_ball(x, c=c) for x in (v, t))
        expected = geoopt.PoincareBall(c=c).mobius_add(v_ball, t_ball)
        moved = geometry.to_ball(geometry.translate(v, t, c=c), c=c)
        torch.testing.assert_close(moved, expected, rtol=1e-12, atol=1e-12)


def everything(v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    stacked = torch.stack((v, w), dim=-2)
    return torch.stack(
        (
            geometry.translate(v, w, c=c),
            geometry.local_log(v, w, c=c),
            geometry.geodesic(v, w, 0.3, c=c),
            geometry.distance(v, w, c=c).unsqueeze(-1) * v,
            geometry.squared_distance(v, w, c=c).unsqueeze(-1) * v,
            geometry.centroid(stacked, c=c),
            geometry.frechet_mean(stacked, c=c),
            geometry.from_hyperboloid(geometry.to_hyperboloid(v, c=c), c=c),
            geometry.from_ball(geometry.to_ball(w, c=c), c=c),
        )
    )


def test_vmap() -> None:
    v, w = torch.randn(2, 6, 3, dtype=torch.float64)
    v[0] = 0
    c = torch.rand(6, dtype=torch.float64) + 0.5
    mapped = torch.func.vmap(everything, out_dims=1)(v, w, c)
    torch.testing.assert_close(mapped, everything(v, w, c))
    per_point = torch.func.vmap(torch.func.grad(lambda v, w: geometry.distance(v, w, c=1.0)))(v, w)
    whole = v.clone().requires_grad_()
    (expected,) = torch.autograd.grad(geometry.distance(whole, w, c=1.0).sum(), whole)
    torch.testing.assert_close(per_point, expected)


def test_compile_traces_everything_without_a_break(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"centroid_from": 1, "frechet_mean_from": 1}  # steps; tracing unrolls them
    for name, steps in few.items():
        monkeypatch.setattr(means, name, functools.partial(getattr(means, name), steps=steps))
    v, w = (x.requires_grad_() for x in torch.randn(2, 6, 3))
    c = torch.tensor(0.7, requires_grad=True)
    expected = everything(v, w, c)
    compiled = torch.compile(everything, fullgraph=True, backend="eager")(v, w, c)
    torch.testing.assert_close(compiled, expected)
    torch.testing.assert_close(
        torch.autograd.grad(compiled.sum(), (v, w, c)),
        torch.autograd.grad(expected.sum(), (v, w, c)),
    )


def test_compile_to_machine_code() -> None:
    v, w = torch.randn(2, 6, 3)
    compiled = torch.compile(geometry.distance, fullgraph=True)
    torch.testing.assert_close(compiled(v, w, c=1.0), geometry.distance(v, w, c=1.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: geometry.distance(v, v, c=0.0), "curvature c > 0, got 0.0"),
        (lambda v: geometry.distance(v, v, c=-1.0), "curvature c > 0, got -1.0"),
        (lambda v: geometry.distance(v, v, c=math.nan), "curvature c > 0, got nan"),
        (lambda v: geometry.distance(v, v[:, :2], c=1.0), r"float32 \[4, 3\] and .* \[4, 2\]"),
        (lambda v: geometry.translate(v, v.double(), c=1.0), "same dtype"),
        (lambda v: geometry.translate(v.long(), v.long(), c=1.0), "got torch.int64"),
        (lambda v: geometry.to_hyperboloid(v.half(), c=1.0), "got torch.float16"),
        (lambda v: geometry.centroid(v[0], c=1.0), r"\[..., m, d\], got \[3\]"),
        (lambda v: geometry.centroid(v, torch.ones(3), c=1.0), "each of the 4 points"),
        (lambda v: geometry.frechet_mean(v, torch.ones(4, 1), c=1.0), "each of the 4 points"),
    ],
)
def test_bad_input_is_explained(call: object, message: str) -> None:
    with pytest.raises(GeometryError, match=message):
        call(torch.randn(4, 3))  # type: ignore[operator]
