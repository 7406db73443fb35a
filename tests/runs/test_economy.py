"""After training nothing is computed or written twice."""

import importlib.metadata
import pickle
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from importlib import import_module

import pytest
import torch

from hgcn import files
from hgcn.models import Encoder
from hgcn.runs.fit import fit
from hgcn.runs.folder import describe_environment
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
    # Scores are of what training may see, embeddings of the whole graph. If the best epoch was the
    # last one, its scores need no encoding.
    assert counts["encoded"] <= 2
    counts.clear()
    run.embeddings()
    run.embedding_table()
    run.top_links(3)
    assert not counts


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

    def counted(path, *content):
        written[path.name] += 1
        write(path, *content)

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


def test_what_a_run_hands_out_may_be_changed():
    run = fit(tree(), task="node", **QUICK)
    chance = run.predict_nodes()
    for values in (run.embeddings(), *run.embedding_layers()):
        values.zero_()
    assert run.predict_nodes().equal(chance)


def test_changes_that_autograd_does_not_see_are_seen():
    run = fit(tree(), task="link", **QUICK)
    before = run.embeddings()
    for weight in run.predictor.encoder.parameters():
        weight.data.mul_(0.5)
    after = run.embeddings()
    assert not after.equal(before)
    run.graph.x.mul_(3)
    assert not run.embeddings().equal(after)


def test_embeddings_of_inference_mode_are_not_kept():
    run = fit(tree(), task="link", **QUICK)
    run._kept.pop("layers", None)
    with torch.inference_mode():
        run.embeddings()
    z = run.embeddings()
    assert not z.is_inference()
    z.requires_grad_().sum().backward()


def test_a_changed_copy_of_a_run_has_a_memory_of_its_own(tmp_path):
    run = fit(tree(), task="link", **QUICK)
    copy = replace(run, metrics={**run.metrics, "note": "copied"})
    copy.save(tmp_path / "copy")
    assert run.path is None
    for other in (deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert other.embeddings(tree()).equal(run.embeddings())


def test_versions_are_read_once(monkeypatch):
    first = describe_environment(tree(), 0.0)["packages"]

    def read_again(name):
        raise AssertionError(name)

    monkeypatch.setattr(importlib.metadata, "version", read_again)
    assert describe_environment(tree(), 0.0)["packages"] == first
    first.clear()  # which is the caller's own
    assert "torch" in describe_environment(tree(), 0.0)["packages"]


def test_a_training_loads_no_compiler_and_no_statistics(tmp_path):
    """Each of these takes a second or more to import, and a run with its page needs none."""
    script = f"""if True:
        import sys, torch, hgcn
        node = torch.arange(40)
        ring = torch.stack((node, (node + 1) % 40))
        graph = hgcn.Graph(torch.cat((ring, ring.flip(0)), dim=1), num_nodes=40)
        hgcn.fit(graph, task="link", epochs=2, dim=3, out={str(tmp_path / "run")!r})
        loaded = {{"torch._dynamo", "scipy.optimize", "sklearn", "sympy"}} & set(sys.modules)
        assert not loaded, loaded
    """
    subprocess.run([sys.executable, "-c", script], check=True)
    assert (tmp_path / "run" / "disk.html").exists()
