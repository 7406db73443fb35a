"""Gradient descent with a step size for each row."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from hgcn.models import row_descent
from hgcn.models.row_descent import KEEP, RowDescent


def stepped(point: torch.Tensor, gradients: list[torch.Tensor], **options: float) -> torch.Tensor:
    parameter = nn.Parameter(point.clone())
    descent = RowDescent(parameter, lr=0.1, **options)
    for gradient in gradients:
        parameter.grad = gradient.clone()
        descent.step()
    return parameter.detach()


def test_steps_are_those_of_the_formula() -> None:
    point = torch.randn(4, 3, dtype=torch.float64)
    first, second = torch.randn(2, 4, 3, dtype=torch.float64)
    square = first.square().mean(1)
    expected = point - 0.1 * first / square.sqrt()[:, None]
    square = KEEP * square + (1 - KEEP) * second.square().mean(1)
    expected -= 0.1 * second / square.sqrt()[:, None]
    torch.testing.assert_close(stepped(point, [first, second]), expected)


def test_the_first_step_of_a_row_does_not_depend_on_the_size_of_its_gradient() -> None:
    point, gradient = torch.zeros(5, 4), torch.randn(5, 4)
    scale = torch.tensor([1e-12, 1e-3, 1.0, 1e3, 1e12])[:, None]
    plain = stepped(point, [gradient])
    torch.testing.assert_close(stepped(point, [gradient * scale]), plain)
    torch.testing.assert_close(plain.norm(dim=1), torch.full((5,), 0.1 * 2.0))


def test_rows_without_a_gradient_stay() -> None:
    point, gradient = torch.randn(3, 2), torch.randn(3, 2)
    gradient[1] = 0.0
    gradient[2] = 1e-30  # its square is zero in float32
    moved = stepped(point, [gradient, torch.zeros(3, 2)])
    assert torch.equal(moved[1:], point[1:])
    assert not torch.equal(moved[0], point[0])


def test_a_rotation_of_all_points_rotates_the_steps() -> None:
    point = torch.randn(6, 3, dtype=torch.float64)
    gradients = list(torch.randn(3, 6, 3, dtype=torch.float64))
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))[0]
    turned = stepped(point @ turn, [gradient @ turn for gradient in gradients])
    torch.testing.assert_close(turned, stepped(point, gradients) @ turn)


def test_weight_decay_moves_all_rows_towards_the_origin() -> None:
    point = torch.randn(3, 2)
    assert bool(
        (
            stepped(point, [torch.zeros(3, 2)], weight_decay=0.1).norm(dim=1) < point.norm(dim=1)
        ).all()
    )


def test_goes_on_from_a_saved_state() -> None:
    point, gradients = torch.randn(3, 2), list(torch.randn(4, 3, 2))
    parameter = nn.Parameter(point.clone())
    descent = RowDescent(parameter, lr=0.1)
    for i, gradient in enumerate(gradients):
        if i == 2:
            state = copy.deepcopy(descent.state_dict())
            parameter = nn.Parameter(parameter.detach().clone())
            descent = RowDescent(parameter, lr=0.7)
            descent.load_state_dict(state)
        parameter.grad = gradient.clone()
        descent.step()
    assert torch.equal(parameter.detach(), stepped(point, gradients))


def test_a_device_computes_with_all_rows_and_gets_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    point, gradients = torch.randn(5, 3), list(torch.randn(3, 5, 3))
    for k, gradient in enumerate(gradients):
        gradient[k] = 0.0
    some = stepped(point, gradients)
    monkeypatch.setattr(row_descent, "SPARSE", ())
    torch.testing.assert_close(stepped(point, gradients), some, rtol=0, atol=0)
