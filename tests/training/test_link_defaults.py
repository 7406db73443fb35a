"""Settings of link prediction that were left open follow from what the graph has."""

import pytest
import torch

from hgcn.config import Config
from hgcn.data import Graph
from hgcn.data.sparse import csr_matrix
from hgcn.training import link_defaults as link_defaults_of
from hgcn.training.link_defaults import ENOUGH, link_defaults
from hgcn.training.problem import choose

LINK = Config(task="link", structure=True)


def ring(nodes, chords=0, x=None):
    """A ring whose nodes are also joined to those 2, 3, ... places on."""
    node = torch.arange(nodes)
    steps = [(node + step) % nodes for step in range(1, 2 + chords)]
    edges = torch.stack((node.repeat(len(steps)), torch.cat(steps)))
    return Graph(torch.cat((edges, edges.flip(0)), dim=1), num_nodes=nodes, x=x)


@pytest.mark.parametrize(("nodes", "share"), [(1000, 0.1), (30_000, ENOUGH / 90_000)])
def test_a_step_hides_a_tenth_of_the_edges_but_not_too_many(nodes, share):
    graph = ring(nodes, chords=2)
    assert link_defaults(graph, LINK)["hidden_share"] == pytest.approx(share)
    assert choose(graph, LINK.replace(hidden_share=0.4)).hidden_share == 0.4


def test_patience_is_longer_where_few_edges_are_for_validation():
    assert choose(ring(500), LINK).patience == 200
    assert choose(ring(5000), LINK).patience == 100
    assert choose(ring(5000), LINK.replace(val_share=0.02)).patience == 200


def test_words_get_one_layer_and_more_negatives():
    words = csr_matrix(torch.arange(51), torch.arange(50), torch.ones(50), (50, 50))
    words = choose(ring(50, x=words), LINK)
    assert (words.layers, words.negatives, words.aggregation) == (1, 5, "origin")
    dense = choose(ring(50, chords=1, x=torch.randn(50, 3)), LINK)
    assert (dense.layers, dense.negatives, dense.aggregation) == (2, 1, "local")


def test_words_are_like_other_features_where_there_are_many_edges_for_each():
    def layers(count):
        width = graph.num_edges // count
        places = torch.arange(51), torch.arange(50) % width, torch.ones(50)
        return choose(graph.replace(x=csr_matrix(*places, (50, width))), LINK).layers

    graph = ring(50, chords=9)
    assert (layers(20), layers(25)) == (1, 2)


def test_trees_with_features_hide_more():
    assert choose(ring(50, x=torch.randn(50, 3)), LINK).hidden_share == 0.3
    assert choose(ring(50), LINK).hidden_share == 0.1


def test_without_the_term_nothing_of_this_holds():
    assert link_defaults(ring(50), Config(task="link", structure=False)) == {}


def test_a_large_graph_is_trained_in_mini_batches(monkeypatch, caplog):
    monkeypatch.setattr(link_defaults_of, "LARGE", 2000)
    large = choose(ring(200_000, chords=2), LINK)
    assert (large.batch_size, large.patience) == (1024, 20)
    assert large.hidden_share == pytest.approx(16 * 1024 / 600_000)
    assert "Training in mini-batches: --batch-size 1024; 0 is a full batch" in caplog.text
    assert choose(ring(500, chords=2), LINK).batch_size == 0


@pytest.mark.parametrize("settings", [{"batch_size": 0}, {"model": "euc"}])
def test_full_batches_are_kept_where_they_are_asked_for_or_needed(monkeypatch, settings):
    monkeypatch.setattr(link_defaults_of, "LARGE", 100)
    assert choose(ring(500), LINK.replace(**settings)).batch_size == 0
