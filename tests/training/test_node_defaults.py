"""The defaults of nodes: a rule on what the graph has, and nothing where a choice was made."""

import pytest
import torch

from hgcn.config import Config
from hgcn.data import Graph
from hgcn.data.sparse import as_features
from hgcn.runs.fit import settle
from hgcn.training.problem import choose
from small_graphs import tree

PLAIN = {"consistency": 0.0, "feature_dropout": 0.0, "weight_decay": 0.0, "lr": 0.01,
         "class_weights": False, "patience": 100}  # fmt: skip
AGREEING = {"consistency": 2.0, "feature_dropout": 0.8, "weight_decay": 5e-4, "lr": 0.03,
            "class_weights": True, "patience": 200}  # fmt: skip


def graph(*, words: bool, labelled: int) -> Graph:
    """A tree of 200 nodes of which some are for training."""
    base = tree(200)
    order = torch.arange(200)
    split = {"train": order[:labelled], "val": order[150:170], "test": order[170:]}
    if words:
        base = base.replace(x=as_features((base.x > 0.5).float().to_sparse()))
    return base.replace(split=split)


def chosen(given: Graph, **settings: object) -> dict[str, object]:
    config = choose(given, Config(task="node", **settings))
    return {name: getattr(config, name) for name in PLAIN}


@pytest.mark.parametrize(
    ("words", "labelled", "expected"),
    [(True, 20, AGREEING), (True, 21, PLAIN), (False, 20, PLAIN)],
)
def test_agreement_is_for_words_with_few_labels(words, labelled, expected):
    given = graph(words=words, labelled=labelled)
    assert chosen(given) == expected
    assert choose(given, Config(task="node")).ties_by_loss


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_where_agreement_is_given_nothing_goes_with_it(weight):
    given = graph(words=True, labelled=20)
    assert chosen(given, consistency=weight) == {**PLAIN, "consistency": weight}
    assert choose(given, Config(task="node", consistency=weight)).ties_by_loss is False


def test_mini_batches_have_no_larger_learning_rate_than_usual_unless_it_is_given():
    """Rules and presets were chosen in full batches, whose gradients are less noisy."""
    given = graph(words=True, labelled=20)
    small = {"batch_size": 16, "fanout": "3"}
    assert chosen(given)["lr"] == 0.03
    assert chosen(given, **small)["lr"] == 0.01
    assert chosen(given, **small, lr=0.02)["lr"] == 0.02
    for how in ({"batch_size": 16}, {"fanout": "3"}):
        assert settle("pubmed", {"task": "node", **how})[0].lr == 0.01
        assert settle("pubmed", {"task": "node", **how, "lr": 0.02})[0].lr == 0.02
    for how in ({}, {"batch_size": 0}):
        assert settle("pubmed", {"task": "node", **how})[0].lr > 0.02
    # A smaller one stays as it is.
    assert settle("disease", {"task": "node", "batch_size": 16})[0].lr < 0.01


def test_what_is_given_stays_and_a_model_has_only_its_own_settings():
    given = graph(words=True, labelled=20)
    assert chosen(given, lr=0.5, feature_dropout=0.1) == {
        **AGREEING, "lr": 0.5, "feature_dropout": 0.1,
    }  # fmt: skip
    assert choose(given, Config(task="node", model="sgc")).act is None


def test_the_rule_makes_hgcn_the_network_that_has_gcn_as_its_limit():
    """What `tests/nn/test_symmetric.py` shows to be GCN, unless another average is asked for."""
    given = graph(words=True, labelled=20)
    names = ("symmetric", "attention", "aggregation", "point_dropout", "dropout")

    def found(**settings: object) -> list[object]:
        config = choose(given, Config(task="node", **settings))
        return [getattr(config, name) for name in names]

    assert found() == [True, False, "origin", 0.4, 0.0]
    assert found(attention=True)[:2] == [True, True]
    assert found(aggregation="centroid")[:3] == [False, True, "centroid"]
    assert found(model="hnn") == [None, None, None, 0.0, 0.3]
    assert found(model="gcn") == [None, None, None, None, 0.3]


def test_links_have_none_of_it():
    config = choose(graph(words=True, labelled=20), Config(task="link"))
    assert (config.consistency, config.ties_by_loss, config.weight_decay) == (0.0, False, 0.0)


def test_a_preset_is_a_whole():
    """It was chosen without the rule, so what it leaves open is as it was then."""
    config, name = settle("airport", {"task": "node"})
    assert name == "airport-node-hgcn"
    assert config.consistency == 0.0
    config, name = settle("twitch", {"task": "node"})
    assert (name, config.consistency) == ("", None)
