"""Our Adam against that of torch: the same numbers to the last bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hgcn.models.optim import Adam

STEPS = 30
SHAPES = [(7, 16), (16,), (), (3, 5, 2), (1000,), (1,)]

Make = Callable[[list[dict[str, Any]]], torch.optim.Optimizer]


def ours(groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    return Adam(groups, lr=0.02)


def theirs(groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    return torch.optim.Adam(groups, lr=0.02)


class Training:
    """Parameters in two groups, and the same gradients for every optimiser."""

    def __init__(self, make: Make, dtype: torch.dtype = torch.float32) -> None:
        self.draws = torch.Generator().manual_seed(3)
        self.weights = [nn.Parameter(self.draw(shape, dtype)) for shape in SHAPES]
        decayed, spared = self.weights[:4], self.weights[4:]
        self.optimizer = make(
            [{"params": decayed, "weight_decay": 0.3}, {"params": spared, "lr": 0.1}]
        )

    def draw(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.randn(shape, generator=self.draws, dtype=dtype)

    def run(self, steps: range) -> Training:
        for step in steps:
            self.optimizer.zero_grad()
            for i, weight in enumerate(self.weights):
                if i != 1 or step % 3:  # one that a step may leave out, so that counts differ
                    weight.grad = 10.0 ** (step % 7 - 3) * self.draw(weight.shape, weight.dtype)
            self.optimizer.step()
        return self

    def assert_same(self, other: Training) -> None:
        for mine, its in zip(self.weights, other.weights, strict=True):
            torch.testing.assert_close(mine, its, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_bit_is_that_of_torch(dtype: torch.dtype) -> None:
    mine, its = (Training(make, dtype).run(range(STEPS)) for make in (ours, theirs))
    mine.assert_same(its)


@pytest.mark.parametrize(("first", "second"), [(ours, ours), (theirs, ours), (ours, theirs)])
def test_a_stored_state_goes_on(first: Make, second: Make) -> None:
    whole = Training(theirs).run(range(STEPS))
    start = Training(first).run(range(STEPS // 2))
    state = copy.deepcopy(start.optimizer.state_dict())
    rest = Training(second)
    rest.draws.set_state(start.draws.get_state())
    for weight, value in zip(rest.weights, start.weights, strict=True):
        weight.data.copy_(value.data)
    rest.optimizer.load_state_dict(state)
    rest.run(range(STEPS // 2, STEPS)).assert_same(whole)


def test_a_loaded_state_is_a_copy() -> None:
    start = Training(ours).run(range(3))
    state = start.optimizer.state_dict()
    before = copy.deepcopy(state["state"][0]["exp_avg"])
    rest = Training(ours)
    rest.optimizer.load_state_dict(state)
    rest.run(range(3))
    torch.testing.assert_close(state["state"][0]["exp_avg"], before, rtol=0, atol=0)


def test_a_state_of_other_parameters_is_refused() -> None:
    state = Training(ours).run(range(1)).optimizer.state_dict()
    other = Adam([{"params": [nn.Parameter(torch.zeros(2))]}], lr=0.1)
    with pytest.raises(ValueError, match=r"groups of \[1\] parameters, got \[4, 2\]"):
        other.load_state_dict(state)


def test_the_closure_is_called_with_gradients() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer = Adam([{"params": [weight]}], lr=0.1)

    def closure() -> float:
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return float(loss.detach())

    assert optimizer.step(closure) == 2.0
    assert (weight < 1).all()
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad is not None
    assert not weight.grad.any()
