"""The formulas of docs/kernels.md with 50 digits, against differences of what they derive from."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import pytest
from mpmath import asinh, cosh, diff, exp, sinh, sqrt, tanh


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


def draw(count: int, seed: int) -> list[Any]:
    generator = random.Random(seed)
    return [mp.mpf(generator.uniform(0.1, 3)) for _ in range(count)]


def same(a: Any, b: Any) -> None:
    assert abs(a - b) < mp.mpf("1e-20") * (1 + abs(b)), (a, b)


def kappa(h: Any) -> Any:
    return asinh(sqrt(h)) / sqrt(h * (1 + h))


def kappa_h(h: Any) -> Any:
    return (1 - (1 + 2 * h) * kappa(h)) / (2 * h * (1 + h))


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_a_radius(seed: int) -> None:
    x, y = draw(2, seed)
    p, q, f, g = exp(x / 2) - 1, exp(y / 2) - 1, exp(-x / 2), exp(-y / 2)
    same(p * (1 + f), 2 * sinh(x / 2))
    same(p * (1 + f) * (1 + p + f) / 2, sinh(x))
    same(p * (1 + f) / (1 + p + f), tanh(x / 2))
    same((p - q) * (f + g), 2 * sinh((x - y) / 2))
    same((1 + p) * g + (1 + q) * f, 2 * cosh((x - y) / 2))


@pytest.mark.parametrize("seed", range(3))
def test_functions_of_one_number(seed: int) -> None:
    x, h = draw(2, seed)
    same(diff(lambda x: asinh(x) / x, x) / x, (1 / sqrt(1 + x * x) - asinh(x) / x) / x**2)
    same(kappa(sinh(x / 2) ** 2), x / sinh(x))
    same(diff(kappa, h), kappa_h(h))
    same(diff(lambda h: (2 * asinh(sqrt(h))) ** 2, h), 4 * kappa(h))
    same(diff(lambda y: 40 + y / sqrt(1 + y * y / 4), x), (1 + x * x / 4) ** mp.mpf(-1.5))


def test_series_near_zero() -> None:
    one = mp.taylor(lambda x: asinh(x) / x if x else mp.mpf(1), mp.mpf("1e-12"), 0)
    assert abs(one[0] - 1) < mp.mpf("1e-20")
    for x in (mp.mpf("0.01"), mp.mpf("0.02")):
        q = x * x
        series = 1 - q / 6 + 3 * q**2 / 40 - 15 * q**3 / 336
        assert abs(asinh(x) / x - series) < q**4 / 30
        slope = -mp.mpf(1) / 3 + 3 * q / 10 - 15 * q**2 / 56 + 35 * q**3 / 144
        assert abs((1 / sqrt(1 + q) - asinh(x) / x) / q - slope) < q**4 / 4
    h = mp.mpf("1e-4")
    series = 1 - 2 * h / 3 + 8 * h**2 / 15 - 16 * h**3 / 35
    assert abs(kappa(h) - series) < h**4 / 2
    slope = -mp.mpf(2) / 3 + 16 * h / 15 - 48 * h**2 / 35
    assert abs(kappa_h(h) - slope) < 2 * h**3


def edge_product(i: Any, j: Any, s: Any, a: Any, b: Any) -> Any:
    """P L for step_u = a and step_difference = b."""
    h = sinh((j - i) / 2) ** 2 + sinh(i) * sinh(j) * s
    return kappa(h) * ((sinh(j - i) - 2 * s * sinh(j) * (cosh(i) - 1)) * a + sinh(j) * b)


@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_an_edge(seed: int) -> None:
    i, j, a, b, w = draw(5, seed)
    s = mp.mpf(seed + 1) / 6
    h = sinh((j - i) / 2) ** 2 + sinh(i) * sinh(j) * s
    along = sinh(j - i) - 2 * s * sinh(j) * (cosh(i) - 1)
    by_h = w * kappa_h(h) * (along * a + sinh(j) * b)
    by_along = w * kappa(h) * a

    def by(n: int) -> Any:
        inputs = [i, j, s]

        def moved(x: Any) -> Any:
            return w * edge_product(*[*inputs[:n], x, *inputs[n + 1 :]], a, b)

        return diff(moved, inputs[n])

    gap = j - i
    by_i = by_h * (cosh(i) * sinh(j) * s - sinh(gap) / 2)
    same(by(0), by_i - by_along * (cosh(gap) + 2 * s * sinh(i) * sinh(j)))
    by_j = by_h * (sinh(gap) / 2 + sinh(i) * cosh(j) * s) + w * kappa(h) * cosh(j) * b
    same(by(1), by_j + by_along * (cosh(gap) - 2 * s * cosh(j) * (cosh(i) - 1)))
    same(by(2), sinh(j) * (by_h * sinh(i) - 2 * by_along * (cosh(i) - 1)))
    bracket = cosh(j - i / 2) + 2 * s * sinh(j) * sinh(i / 2)
    same(along - sinh(j), -2 * sinh(i / 2) * bracket)


def along_of(rho: Any, tau: Any, par: Any) -> Any:
    return cosh(tau) * sinh(rho) + cosh(rho) * sinh(tau) / tau * par


@pytest.mark.parametrize("seed", range(4))
def test_translation_and_its_inward_form(seed: int) -> None:
    rho, tau = draw(2, seed)
    par = -tau * mp.mpf(seed + 1) / 5
    square = tau**2 - par**2
    k, sigma = square / (tau - par), sinh(tau) / tau
    bend = (cosh(tau) - sigma) / tau**2
    same(diff(lambda t: sinh(t) / t, tau) / tau, bend)
    along, along_rho = along_of(rho, tau, par), diff(lambda r: along_of(r, tau, par), rho)
    along_tau = diff(lambda t: along_of(rho, t, par), tau) / tau
    along_par = cosh(rho) * sigma + along_tau * par
    same(along, sinh(rho - tau) + cosh(rho) * sigma * k)
    same(along_rho, cosh(tau) * cosh(rho) + sinh(rho) * sigma * par)
    same(along_rho, cosh(rho - tau) + sinh(rho) * sigma * k)
    same(along_tau, sigma * sinh(rho) + cosh(rho) * par * bend)
    same(along_tau, (cosh(rho) * sigma - cosh(rho - tau)) / tau + cosh(rho) * k * bend)
    inward = sigma * sinh(rho) * k + cosh(rho) * bend * k * (k - 2 * tau)
    same(along_par, cosh(rho - tau) + inward)
    tilt = tanh(rho / 2) * sinh(rho) / rho
    same(tilt, (cosh(rho) - 1) / rho)
    same((along - sigma * par) / rho, cosh(tau) * sinh(rho) / rho + sigma * par * tilt)


def gradient(f: Callable[[list[Any]], Any], x: list[Any]) -> list[Any]:
    def moved(n: int, value: Any) -> Any:
        return f([*x[:n], value, *x[n + 1 :]])

    return [diff(lambda value, n=n: moved(n, value), x[n]) for n in range(len(x))]


def translate(rho: Any, u: list[Any], t: list[Any]) -> list[Any]:
    par = mp.fdot(t, u)
    tau = sqrt(mp.fdot(t, t))
    z = [along_of(rho, tau, par) * a + sinh(tau) / tau * (b - par * a) for a, b in zip(u, t)]  # noqa: B905
    length = sqrt(mp.fdot(z, z))
    return [asinh(length) / length * a for a in z]


@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_a_translation(seed: int) -> None:
    """By v and by t, at root = 1 and below saturation, in the names of the code."""
    v, t, g = ([x - 1 for x in draw(3, 3 * seed + n)] for n in range(3))
    rho = sqrt(mp.fdot(v, v))
    u = [x / rho for x in v]
    tau, par = sqrt(mp.fdot(t, t)), mp.fdot(t, u)
    x = [b - par * a for a, b in zip(u, t, strict=True)]
    square, sigma, along = mp.fdot(x, x), sinh(tau) / tau, along_of(rho, tau, par)
    length = sqrt(along**2 + sigma**2 * square)
    value = asinh(length) / length
    decay = (1 / sqrt(1 + length**2) - value) / length**2
    grad_u, grad_across = mp.fdot(g, u), mp.fdot(g, x)
    towards = decay * (along * grad_u + sigma * grad_across)
    z_u = value * grad_u + towards * along
    z_across = value * grad_across + towards * sigma * square
    bend = (cosh(tau) - sigma) / tau**2
    along_rho = cosh(tau) * cosh(rho) + sinh(rho) * sigma * par
    along_tau = sigma * sinh(rho) + cosh(rho) * par * bend
    along_par = cosh(rho) * sigma + along_tau * par
    turn, tilt = (along - sigma * par) / rho, (cosh(rho) - 1) / rho
    of_v = z_u * along_rho - turn * value * grad_u
    of_across = sigma * (turn * towards + tilt * z_u)
    by_u = z_u * along_par + z_across * bend * par + sigma * (towards * along - z_u)
    by_across = z_u * along_tau + z_across * bend + sigma**2 * towards

    def from_v(v: list[Any]) -> Any:
        r = sqrt(mp.fdot(v, v))
        return mp.fdot(g, translate(r, [a / r for a in v], t))

    by_v = gradient(from_v, v)
    by_t = gradient(lambda t: mp.fdot(g, translate(rho, u, t)), t)
    for n in range(3):
        same(by_v[n], turn * value * g[n] + of_v * u[n] + of_across * x[n])
        same(by_t[n], sigma * value * g[n] + by_u * u[n] + by_across * x[n])
