"""After training nothing is computed or written twice."""

from collections import Counter
from importlib import import_module

import pytest

from hgcn import files
from hgcn.models import Encoder
from hgcn.runs.fit import fit
from small_graphs import QUICK, tree

fit_module = import_module("hgcn.runs.fit")


@pytest.mark.parametrize("task", ["link", "node"])
def test_a_graph_is_encoded_once_for_scores_and_once_for_everything_else(
    task, tmp_path, monkeypatch
):
    counts = Counter()
    encode, train = Encoder.encode_layers, fit_module.train

    def counted(self, *arguments):
        counts["encoded"] += 1
        return encode(self, *arguments)

    def trained(*arguments, **options):
        state = train(*arguments, **options)
        counts.clear()
        return state

    monkeypatch.setattr(Encoder, "encode_layers", counted)
    monkeypatch.setattr(fit_module, "train", trained)
    run = fit(tree(), task=task, out=tmp_path / "run", **QUICK)
    assert (tmp_path / "run" / "disk.html").exists()
    # Scores are of what training may see, embeddings of the whole graph.
    assert counts["encoded"] == 2
    run.embeddings()
    run.embedding_table()
    run.top_links(3)
    assert counts["encoded"] == 2


def test_other_weights_and_other_graphs_are_encoded_anew():
    run = fit(tree(), task="link", **QUICK)
    before = run.embeddings()
    other = run.embeddings(tree(60))
    assert len(other) == 60
    assert run.embeddings().equal(before)
    for weight in run.predictor.parameters():
        weight.data.mul_(1.5)  # not noticed by autograd, but by us
    run.predictor.load_state_dict(run.predictor.state_dict())
    assert not run.embeddings().equal(before)


def test_each_file_is_written_once_and_the_graph_hashed_once(tmp_path, monkeypatch):
    written, hashed = Counter(), Counter()
    write = files.write_bytes

    def counted(path, content):
        written[path.name] += 1
        write(path, content)

    monkeypatch.setattr(files, "write_bytes", counted)
    data = import_module("hgcn.data.graph")
    facts = data._facts

    def counted_facts(graph):
        hashed["graph"] += 1
        return facts(graph)

    monkeypatch.setattr(data, "_facts", counted_facts)
    graph = tree()
    run = fit(graph, task="link", out=tmp_path / "run", **QUICK)
    run.resolve(graph)
    assert set(written.values()) == {1}
    assert {"config.toml", "model.safetensors", "history.csv"} <= set(written)
    assert hashed["graph"] == 1
