"""Settings and devices that no machine has: refused by name, before memory is taken."""

import pytest
import torch
from torch import nn

from hgcn import fit
from hgcn.config import Config
from hgcn.errors import ConfigError
from hgcn.models import Encoder
from hgcn.names import MODELS
from hgcn.training import memory, problem
from hgcn.training.links import LinkTask
from hgcn.training.memory import check_memory, enough_memory, total_memory
from hgcn.training.problem import build_network, has_device
from small_graphs import tree

QUICK = {"task": "link", "epochs": 2, "eval_every": 1, "dim": 2}
GIGABYTE = 10**9


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dim", 10**9), ("dim", 10**30), ("dim", 60_000), ("heads", 10**6), ("layers", 10**6),
        ("negatives", 1e9), ("lr", 1e300), ("weight_decay", 1e300), ("clip", 1e300), ("r", -1e300),
    ],
)  # fmt: skip
def test_absurd_numbers_are_refused_by_name(name, value, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "total_memory", lambda: 16 * GIGABYTE)
    with pytest.raises(ConfigError, match=f"`{name}`"):
        fit(tree(), **{**QUICK, name: value}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("model", MODELS)
def test_weights_are_counted_without_making_them(model, monkeypatch):
    """What the shapes alone tell is what the network has; and the count draws nothing at random."""
    config = problem.model_settings(Config(task="node", model=model, dim=8))
    counted = []
    monkeypatch.setattr(problem, "check_memory", lambda need, *_: counted.append(need))
    torch.manual_seed(0)
    network = build_network(config, in_channels=5, num_nodes=30, num_classes=3)
    assert counted[-1] == 4 * sum(weight.numel() for weight in network.parameters())
    torch.manual_seed(0)
    monkeypatch.setattr(problem, "_count_weights", lambda make: 0)
    again = build_network(config, in_channels=5, num_nodes=30, num_classes=3)
    for first, second in zip(network.parameters(), again.parameters(), strict=True):
        assert torch.equal(first, second)


def test_a_model_that_reads_its_numbers_when_it_is_made_is_built_all_the_same(monkeypatch):
    class Reading(Encoder):
        def __init__(self, in_channels, dim=16):
            super().__init__(in_channels, dim, layers=1)
            self.linear = nn.Linear(in_channels, dim)
            self.norm = float(self.linear.weight.norm())

        def _encode(self, x, edge_index, edge_weight):
            return [x, self.linear(x)]

    monkeypatch.setitem(MODELS._entries, "reading", Reading)
    assert fit(tree(), **QUICK, model="reading").predictor.encoder.norm > 0


def test_negatives_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "total_memory", lambda: 10 * 2**20)
    assert fit(tree(), **QUICK, negatives=2.0).metrics["epochs"] == 2
    with pytest.raises(ConfigError, match=r"the negatives of a step.*`negatives` 100000"):
        fit(tree(), **QUICK, negatives=100_000.0)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ..."),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    ],
)
def test_memory_that_runs_out_in_training_names_the_settings(error, monkeypatch):
    def fail(self, batch):
        raise error

    monkeypatch.setattr(LinkTask, "loss", fail)
    with pytest.raises(ConfigError, match=r"`dim` 2, `layers` 2.*does not suffice") as caught:
        fit(tree(), **QUICK)
    assert caught.value.__cause__ is error


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="shapes"), enough_memory(Config()):
        raise RuntimeError("shapes do not fit")


def test_the_memory_of_a_machine(monkeypatch, tmp_path):
    whole = total_memory()
    assert GIGABYTE / 10 < whole < 10**16
    monkeypatch.setattr(memory, "CGROUP", tmp_path / "memory.max")
    (tmp_path / "memory.max").write_text("1000000\n")
    assert total_memory() == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert total_memory() >= whole
    check_memory(total_memory(), "this", Config())
    with pytest.raises(ConfigError, match="Expected this to fit into the memory of this machine"):
        check_memory(total_memory() + 1, "this", Config())


@pytest.mark.parametrize(
    "name",
    ["meta", "cpu:7", "cpu:-1", "nonsense", "", "vulkan", "xla", "lazy", "hpu", "cuda:99", "\0",
     "cpu" * 1000, "privateuseone"],
)  # fmt: skip
def test_devices_that_are_not_there(name):
    assert not has_device(name)
    with pytest.raises(ConfigError, match="`device`"):
        fit(tree(), **QUICK, device=name)


def test_an_error_says_why_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for version, why in ((None, "is built without CUDA"), ("13.0", "no GPU, or no driver")):
        monkeypatch.setattr(torch.version, "cuda", version)
        with pytest.raises(ConfigError, match=f"got 'cuda:99'.*{why}"):
            fit(tree(), **QUICK, device="cuda:99")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ConfigError, match="from cuda:0: 2"):
        fit(tree(), **QUICK, device="cuda:99")


@pytest.mark.parametrize("name", ["cpu", "cpu:0"])
def test_devices_that_are_there(name):
    assert has_device(name)
    assert fit(tree(), **QUICK, device=name).metrics["epochs"] == 2
