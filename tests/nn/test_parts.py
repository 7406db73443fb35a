"""Linear map, activation and decoders on their own."""

import math

import pytest
import torch

from hgcn import geometry
from hgcn.errors import ModelError
from hgcn.geometry import Curvature, ball
from hgcn.nn import FermiDirac, HypActivation, HyperbolicMLR, HypLinear, TangentClassifier


def test_linear_is_a_product_and_a_moebius_bias() -> None:
    layer = HypLinear(5, 3, c=0.7).double()
    with torch.no_grad():
        layer.bias.copy_(torch.randn(3))
    v = torch.randn(20, 5, dtype=torch.float64)
    c = 0.7
    expected = ball.add(
        ball.matvec(layer.weight, ball.exp0(v, c=c), c=c), ball.exp0(layer.bias, c=c), c=c
    )
    # The module holds c in float32.
    torch.testing.assert_close(ball.exp0(layer(v), c=c), expected, rtol=1e-6, atol=1e-6)
    assert torch.equal(HypLinear(5, 3, bias=False)(torch.zeros(2, 5)), torch.zeros(2, 3))


def test_linear_shares_a_curvature() -> None:
    curvature = Curvature(0.5)
    first, second = (HypLinear(3, 3, c=curvature) for _ in range(2))
    assert first.curvature is second.curvature
    assert len(list(torch.nn.ModuleList([first, second]).parameters())) == 5


def test_activation_is_the_papers_between_two_curvatures() -> None:
    """exp_o with the next K of sigma of log_o with this K, on the hyperboloid."""
    v = torch.randn(10, 3, dtype=torch.float64)
    at = geometry.to_hyperboloid(v, c=0.5)
    expected = geometry.to_hyperboloid(geometry.from_hyperboloid(at, c=0.5).relu(), c=2.0)
    torch.testing.assert_close(geometry.to_hyperboloid(HypActivation("relu")(v), c=2.0), expected)
    assert HypActivation(None)(v) is v
    torch.testing.assert_close(HypActivation(torch.sin)(v), v.sin())
    with pytest.raises(ModelError, match=r"one of 'relu', .*'none', .* Did you mean 'gelu'"):
        HypActivation("gelo")


def test_fermi_dirac_gives_logits() -> None:
    d2 = torch.tensor([0.0, 2.0, 50.0, 1e4])
    logits = FermiDirac(r=2.0, t=0.5)(d2)
    probability = 1 / (((d2.double() - 2) / 0.5).exp() + 1)
    torch.testing.assert_close(logits.double().sigmoid(), probability)
    assert logits.isfinite().all()


def test_fermi_dirac_trains_with_a_positive_temperature() -> None:
    decoder = FermiDirac(r=2.0, t=1.0, trainable=True)
    assert (decoder.r.item(), decoder.t.item()) == (2.0, 1.0)
    optimizer = torch.optim.SGD(decoder.parameters(), lr=1.0)
    for _ in range(50):
        optimizer.zero_grad()
        (decoder.t - decoder.r).backward()
        optimizer.step()
    assert decoder.t > 0
    assert decoder.r > 2
    assert not list(FermiDirac().parameters())
    with pytest.raises(ModelError, match="positive, got 0"):
        FermiDirac(t=0)


def test_tangent_classifier_is_linear() -> None:
    head = TangentClassifier(3, 4)
    v = torch.randn(5, 3)
    torch.testing.assert_close(head(v), v @ head.weight.T + head.bias)


def test_hyperbolic_mlr_is_ganeas_formula_on_the_ball() -> None:
    c = 0.5
    head = HyperbolicMLR(3, 4, c=c).double()
    with torch.no_grad():
        head.point.copy_(torch.randn(4, 3))
    v = torch.randn(20, 3, dtype=torch.float64)
    x, p = ball.exp0(v, c=c), ball.exp0(head.point, c=c)
    moved = ball.add(-p, x.unsqueeze(1), c=c)
    a = head.normal
    size = a.norm(dim=-1)
    factor = 2 * math.sqrt(c) * (moved * a).sum(-1) / ((1 - c * moved.square().sum(-1)) * size)
    expected = size / math.sqrt(c) * factor.asinh()
    torch.testing.assert_close(head(v), expected)


def test_hyperbolic_mlr_measures_the_distance_to_a_hyperplane() -> None:
    """Walking from the hyperplane along its normal, the logit is the distance times |a|."""
    head = HyperbolicMLR(2, 1, c=1.0).double()
    with torch.no_grad():
        head.point.copy_(torch.randn(1, 2))
    unit = head.normal / head.normal.norm()
    for height in (-3.0, -1e-9, 0.0, 1e-9, 0.5, 30.0):
        at = geometry.translate(head.point, height * unit, c=1.0)
        expected = height * head.normal.norm().reshape(1, 1)
        torch.testing.assert_close(head(at), expected, rtol=1e-6, atol=1e-12)


def test_hyperbolic_mlr_is_linear_in_flat_space_and_has_gradients_on_the_hyperplane() -> None:
    head = HyperbolicMLR(3, 2, c=1e-4, trainable_c=False).double()
    v = 0.1 * torch.randn(5, 3, dtype=torch.float64)
    v[0] = 0
    torch.testing.assert_close(head(v), v @ head.normal.T, rtol=1e-3, atol=1e-6)
    v.requires_grad_()
    (gradient,) = torch.autograd.grad(head(v)[:, 0].sum(), v)
    torch.testing.assert_close(gradient, head.normal[0].expand(5, 3), rtol=1e-3, atol=1e-6)
