"""A task of somebody else's: which way an edge of a tree points."""

from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from hgcn import names
from hgcn.config import Config
from hgcn.errors import ConfigError
from hgcn.runs.fit import fit
from hgcn.runs.folder import load_run
from hgcn.training.metrics import LINK_SCORES
from hgcn.training.task import Input, Task
from hgcn.tuning.search import search
from small_graphs import QUICK, tree


@dataclass(frozen=True)
class Split:
    """Pairs of each part, parent first."""

    train: Tensor
    val: Tensor
    test: Tensor


class Upward(nn.Module):
    """Logits of "the first node is the parent"."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * dim, 1)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        return self.linear(torch.cat((first, second), -1)).squeeze(-1)


class DirectionTask(Task):
    scores = {"direction_auc": LINK_SCORES["roc_auc"]}  # noqa: RUF012
    colour = "depth"

    @classmethod
    def check(cls, graph):
        if graph.edge_index.shape[1] == 0:
            raise ConfigError("Expected edges, got none.")

    @classmethod
    def default_score(cls, graph):
        return "direction_auc"

    @classmethod
    def split(cls, graph, config):
        pairs = graph.pairs()
        order = torch.randperm(
            pairs.shape[1], generator=torch.Generator().manual_seed(config.seed_of_split)
        )
        return Split(*(pairs[:, some] for some in order.tensor_split((50, 70))))

    @classmethod
    def without_test(cls, split):
        return Split(split.train, split.val, split.test[:, :0])

    @classmethod
    def fitting_nodes(cls, graph, split):
        return torch.arange(graph.num_nodes)

    @classmethod
    def heads(cls, encoder, config):
        return {"upward": Upward(config.dim)}

    @classmethod
    def search_space(cls, graph, config):
        return {}

    def __init__(self, graph, split, features, predictor, config):
        super().__init__(graph, split, features, predictor, config)
        self.pairs = split
        self.seen = Input(features(graph), graph.edge_index).to(self.device, self.dtype)

    def batches(self, epoch, generator):
        yield from self.pairs.train.chunk(2, dim=1)

    def _logits(self, pairs: Tensor) -> Any:
        seen = self.seen
        return self.network(seen.x, seen.edge_index, pairs=pairs, head="upward")

    def loss(self, batch):
        up, down = self._logits(batch), self._logits(batch.flip(0))
        return functional.softplus(-up).mean() + functional.softplus(down).mean()

    @torch.no_grad()
    def outputs(self, part):
        pairs = getattr(self.pairs, part)
        return self._logits(pairs), self._logits(pairs.flip(0))

    @classmethod
    def constants(cls, first, second):
        yield torch.zeros_like(first), torch.zeros_like(second)

    def metrics(self, part):
        return {"direction_auc": self.scores["direction_auc"](*self.outputs(part))}

    @classmethod
    def evaluate(cls, trained, graph):
        whole = Split(*[graph.pairs()] * 3)
        task = cls(graph, whole, trained.features, trained.predictor.eval(), trained.config)
        return task.metrics("test")

    @classmethod
    def predict(cls, trained, graph):
        return pl.DataFrame({"id": graph.ids.tolist()})


@pytest.fixture
def _registered(monkeypatch):
    monkeypatch.setitem(names.TASKS._entries, "direction", DirectionTask)


@pytest.mark.usefixtures("_registered")
def test_a_task_of_ones_own_trains_saves_loads_and_is_searched(tmp_path):
    graph = tree()
    wanted = {**QUICK, "task": "direction", "epochs": 40, "select": "direction_auc"}
    run = fit(graph, out=tmp_path / "run", degree_features=True, **wanted)
    assert run.metrics["val"]["direction_auc"] > 0.6
    assert run.metrics["guessing"]["val"] == {"direction_auc": 0.5}
    again = load_run(tmp_path / "run")
    assert again.evaluate(graph) == run.evaluate(graph)
    assert again.predict(graph).height == graph.num_nodes
    assert (tmp_path / "run" / "disk.html").exists()
    with pytest.raises(ConfigError, match="one of 'direction_auc', got 'roc_auc'"):
        fit(graph, **{**wanted, "select": "roc_auc"})
    result = search(graph, task="direction", trials=2, space={"lr": [0.01, 0.02]}, **QUICK)
    assert result.score == "direction_auc"


def test_a_task_that_nobody_registered_is_refused():
    with pytest.raises(
        ConfigError, match="`task` to be one of 'link', 'node', 'hierarchy', got 'direction'"
    ):
        Config(task="direction")
