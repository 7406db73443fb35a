"""What a prediction rests on: the parts add up to the whole, and name what they are."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from hgcn.cli import main
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, GraphError
from hgcn.figures.explanation import explanation_figure
from hgcn.inference.attention import attention_layers, heard_from
from hgcn.inference.explanation import Explanation, Reason, _Model, integrated_gradients
from hgcn.runs.fit import fit
from hgcn.runs.run import Run


def ladder() -> Graph:
    """Two rails with rungs, three classes, and names in a column of text."""
    generator = torch.Generator().manual_seed(0)
    n = 40
    rail = torch.stack((torch.arange(n - 2), torch.arange(2, n)))
    rungs = torch.stack((torch.arange(0, n, 2), torch.arange(1, n, 2)))
    half = torch.cat((rail, rungs), 1)
    y = torch.arange(n) * 3 // n
    return Graph(
        torch.cat((half, half.flip(0)), 1),
        num_nodes=n,
        x=torch.randn(n, 5, generator=generator) + y.unsqueeze(1),
        y=y,
        feature_names=("red", "green", "blue", "wide", "tall"),
        columns={"name": np.array([f"rung {k}" for k in range(n)])},
        name="ladder",
    )


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    settings = {"dim": 4, "epochs": 15, "eval_every": 5, "dtype": "float64"}
    graph = ladder()
    return {
        "node": fit(graph, task="node", attention=True, act="tanh", **settings),
        "gcn": fit(graph, task="node", model="gcn", act="tanh", **settings),
        "link": fit(graph, task="link", structure=True, act="tanh", **settings),
    }


@pytest.mark.parametrize(("kind", "nodes"), [("node", [17]), ("gcn", [17]), ("link", [16, 19])])
def test_features_add_up_to_the_difference_they_make(runs, kind, nodes):
    why = runs[kind].explain(*nodes)
    added = sum(reason.value for reason in why.of("feature"))
    assert added == pytest.approx(why.score - why.baseline, rel=2e-3, abs=1e-6)
    # The same sum, taken by nodes.
    assert sum(reason.value for reason in why.of("node")) == pytest.approx(added)
    assert {reason.name for reason in why.of("feature")} <= {*ladder().feature_names, "constant"}
    assert all(reason.name.startswith("rung ") for reason in why.of("node"))


@pytest.mark.parametrize("kind", ["node", "gcn"])
def test_the_neighbourhood_is_all_that_counts(runs, kind):
    run = runs[kind]
    model = _Model(run, run.graph, [17])
    assert len(model.x) < run.graph.num_nodes
    chance = run.predict_nodes()[17]
    best, second = chance.topk(2)[0]
    logits = float(model.score(model.x).detach()) * run.calibration.scale
    assert math.exp(logits) == pytest.approx(float(best / second), rel=1e-9)
    # Nodes further off than messages come add nothing.
    added = integrated_gradients(model).abs().sum(1)
    far = (model.around - 17).abs() > 2 * (run.predictor.encoder.hops + 1)
    assert float(added[far].sum()) == 0


def test_a_link_is_distance_and_structure(runs):
    run = runs["link"]
    why = run.explain(16, 19)
    assert [reason.name for reason in why.of("part")] == ["distance", "structure"]
    assert sum(reason.value for reason in why.of("part")) == pytest.approx(why.score)
    pair = torch.tensor([[16], [19]])
    assert why.probability == pytest.approx(float(run.predict_links(pair)))
    assert float(run.calibration(torch.tensor(why.score).double())) == pytest.approx(
        why.probability
    )
    # 17 and 18 are beside both, and have three edges each.
    assert [(r.name, r.value) for r in why.of("common neighbour")] == [
        ("rung 17", pytest.approx(1 / math.log(3))),
        ("rung 18", pytest.approx(1 / math.log(3))),
    ]


def test_attention_has_the_node_itself_and_adds_up_to_one(runs):
    run = runs["node"]
    why = run.explain(17)
    heard = why.of("attention")
    assert heard[0].name == heard[0].of == "rung 17"
    assert sum(reason.value for reason in heard) == pytest.approx(1)
    assert {r.name for r in heard} == {"rung 15", "rung 16", "rung 17", "rung 19"}
    two = heard_from(attention_layers(run, run.graph)[-2:], 17)
    assert sum(two.values()) == pytest.approx(1)
    assert {14, 13, 15, 16, 17, 18, 19, 21} == set(two)


def test_wrong_nodes_are_refused(runs):
    with pytest.raises(ConfigError, match="Expected one node, whose class is explained, got 2"):
        runs["node"].explain(1, 2)
    with pytest.raises(ConfigError, match="Expected two nodes, whose link is explained, got 1"):
        runs["link"].explain(1)
    with pytest.raises(GraphError, match="the same twice"):
        runs["link"].explain(1, 1)
    with pytest.raises(GraphError, match="got 'nobody'"):
        runs["node"].explain("nobody")
    with pytest.raises(GraphError, match="Did you mean 'rung 1' or 'rung 10' or 'rung 11'"):
        runs["node"].explain("Rung 1")
    # Names are as good as ids.
    assert runs["node"].explain("rung 17").subject == runs["node"].explain(17).subject == "rung 17"
    with pytest.raises(ConfigError, match="Did you mean 'name'"):
        runs["node"].explain(1, label_column="nam")


def test_a_picture_has_the_first_of_very_many_reasons():
    many = [Reason(kind, of, f"node {k}", 1 / (k + 1))
            for kind, of in (("node", ""), ("feature", ""), ("attention", "A"), ("attention", "B"))
            for k in range(400)]  # fmt: skip
    figure = explanation_figure(Explanation("A and B", "link", 0.9, 2.2, 0.1, tuple(many)))
    wide, high = figure.get_size_inches()
    assert wide < 14
    assert high < 7
    panels = [ax for ax in figure.axes if ax.axison]
    assert [len(ax.patches) for ax in panels] == [10] * 4
    assert panels[3].get_title("left") == "attention of B, 10 of 400"


def test_the_command_writes_tables_and_pictures(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    edges = "\n".join(["source,target", *(f"p{k},p{(k - 1) // 2}" for k in range(1, 31))])
    Path("tree.csv").write_text(edges)
    fit("tree.csv", task="link", out="run", dim=3, epochs=5, eval_every=5)
    assert main(["explain", "run", "p0", "p3"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("kind,of,name,value\n")
    assert 'common neighbour,"",p1' in out
    assert "p0 and p3: link, probability" in err
    assert main(["explain", "run", "p0", "p3", "-o", "why.svg"]) == 0
    assert Path("why.svg").read_text().startswith("<?xml")
    assert main(["explain", "run", "p0", "p3", "-o", "why.csv"]) == 0
    assert set(pl.read_csv("why.csv")["kind"]) >= {"part", "node", "feature", "common neighbour"}
    assert main(["explain", "run", "p0", "p3", "-o", "why.gif"]) == 2
    assert ".svg" in capsys.readouterr().err
