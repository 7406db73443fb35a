import pytest
import torch

from hgcn.training.loop import Average, State


def test_the_average_of_the_weights_is_what_is_kept():
    module = torch.nn.Linear(1, 1, bias=False)
    average = Average(module, 0.5)
    seen = []
    for epoch, weight in enumerate((4.0, 8.0, 0.0), start=1):
        module.weight.data.fill_(weight)
        average.update(epoch)
        with average.in_place():
            seen.append(module.weight.item())
        assert module.weight.item() == weight
    # The first as it is; then 1/11 and 2/12 of the old, for the decay is smaller at the start.
    assert seen == pytest.approx([4.0, 4 / 11 + 80 / 11, (4 / 11 + 80 / 11) / 6])
    for epoch in range(100, 103):
        average.update(epoch)
    assert average.values[0].item() == pytest.approx(seen[-1] / 8)


def test_an_error_inside_gives_the_weights_back():
    module = torch.nn.Linear(1, 1)
    own = module.weight.item()
    average = Average(module, 0.9)
    average.values[0].fill_(7.0)

    def fail():
        assert module.weight.item() == 7.0
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"), average.in_place():
        fail()
    assert module.weight.item() == own


def test_without_averaging_the_last_weights_are_evaluated():
    module = torch.nn.Linear(2, 2)
    average = Average(module, 0.0)
    for epoch in range(1, 4):
        module.weight.data.normal_()
        average.update(epoch)
        assert torch.equal(average.values[0], module.weight)


def test_a_state_knows_where_dropout_draws_on_a_gpu(monkeypatch):
    class Network(torch.nn.Linear):
        device = torch.device("cuda:1")

    network, known = Network(1, 1), {1: torch.tensor([7], dtype=torch.uint8)}
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda gpu: known[gpu.index])
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, gpu: known.update({gpu.index: state + 1})
    )
    optimizer = torch.optim.SGD(network.parameters())
    state = State(network, optimizer, torch.Generator(), Average(network, 0.5))
    state.load_tree(state.to_tree())
    assert known[1].item() == 8
    network.device = torch.device("cpu")
    state.load_tree(state.to_tree())  # to go on without it
    assert known[1].item() == 8
