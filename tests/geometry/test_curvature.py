import copy

import pytest
import torch
from torch import nn

from hgcn.errors import GeometryError
from hgcn.geometry import Curvature, parameter_groups


@pytest.mark.parametrize("c", [1e-4, 0.1, 0.3, 1.0, 7.7, 1e4])
@pytest.mark.parametrize("trainable", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_number_passed_is_the_number_used(
    c: float, trainable: bool, dtype: torch.dtype
) -> None:
    curvature = Curvature(c, trainable=trainable).to(dtype)
    rtol = 0 if dtype is torch.float32 else 1e-7  # it was held in float32 before
    torch.testing.assert_close(curvature(), torch.tensor(c, dtype=dtype), rtol=rtol, atol=0)
    assert len(list(curvature.parameters())) == trainable


@pytest.mark.parametrize("c", [1e-4, 1.0, 300.0, 1e4])
@pytest.mark.parametrize("direction", [1, -1])
def test_training_never_leaves_the_bounds(c: float, direction: int) -> None:
    curvature = Curvature(c)
    optimizer = torch.optim.SGD(curvature.parameters(), lr=1.0)
    seen = [c]
    for _ in range(200):
        optimizer.zero_grad()
        (direction * curvature().log()).backward()
        optimizer.step()
        seen.append(curvature().item())
    assert all(torch.isfinite(torch.tensor(seen)))
    assert min(seen) >= 0.99e-4
    assert max(seen) <= 1.0001e4
    assert seen == sorted(seen, reverse=direction > 0)
    if c == 1.0:
        assert min(seen) < 1.2e-4 if direction > 0 else max(seen) > 8e3


def test_the_map_is_smooth_and_a_step_is_relative() -> None:
    curvature = Curvature(50.0).double()
    assert curvature.raw is not None

    def value(raw: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(curvature, {"raw": raw}, ()).log()

    at = torch.tensor(0.0, dtype=torch.float64)
    torch.testing.assert_close(torch.func.grad(value)(at), torch.ones_like(at))
    second = torch.func.grad(torch.func.grad(value))
    steps = torch.tensor([-1e-6, 0.0, 1e-6], dtype=torch.float64)
    torch.testing.assert_close(
        torch.func.vmap(second)(steps), torch.zeros_like(steps), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("c", [0.0, -1.0, 1e5, 1e-5, float("nan"), float("inf")])
def test_bad_curvatures_are_refused(c: float) -> None:
    with pytest.raises(GeometryError, match=r"between 0.0001 and 10000, got"):
        Curvature(c)


def test_state_and_copies_keep_the_value() -> None:
    curvature = Curvature(0.3)
    with torch.no_grad():
        curvature.raw.add_(0.5)  # type: ignore[union-attr]
    for other in (copy.deepcopy(curvature), Curvature(2.0)):
        other.load_state_dict(curvature.state_dict())
        torch.testing.assert_close(other(), curvature(), rtol=0, atol=0)
    assert repr(curvature) == "Curvature(c=0.4944, trainable=True)"
    assert repr(Curvature(2, trainable=False)) == "Curvature(c=2, trainable=False)"


def test_weight_decay_spares_curvatures() -> None:
    model = nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ModuleList([Curvature(), Curvature(2.0)])})
    for module in (model, copy.deepcopy(model)):
        decayed, spared = parameter_groups(module, weight_decay=0.1)
        assert (decayed["weight_decay"], spared["weight_decay"]) == (0.1, 0.0)
        assert [p.shape for p in decayed["params"]] == [(3, 2), (3,)]
        assert spared["params"] == [module["b"][0].raw, module["b"][1].raw]
        torch.optim.AdamW([decayed, spared])
    assert len(parameter_groups(nn.Linear(2, 2), weight_decay=0.1)) == 1
