import json
import shutil
from dataclasses import replace
from importlib import import_module

import numpy as np
import polars as pl
import pytest
import torch

from hgcn import files, geometry
from hgcn.errors import ConfigError, GraphError, RunError
from hgcn.runs import trees
from hgcn.runs.fit import fit
from hgcn.runs.folder import SEALED, load_run
from small_graphs import forest, quick_run, same_weights, tree, write_files

# The package has a function of that name.
fit_module = import_module("hgcn.runs.fit")

FILES = {
    *SEALED, "environment.json", "embeddings.parquet", "disk.html", "report.html", "README.md"
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run folder of a node classification on files."""
    folder = tmp_path_factory.mktemp("finished")
    edges, nodes = write_files(folder, tree())
    run = fit(
        edges, features=nodes, labels="side", epochs=6, eval_every=2, dim=3, out=folder / "run"
    )
    return run, folder / "run"


@pytest.fixture
def _no_page(monkeypatch):
    """The page takes longer than the training."""
    monkeypatch.setattr(fit_module, "_draw", lambda run, folder: None)


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished[1], tmp_path / "run")


def test_the_folder_has_the_documented_files(finished):
    assert {file.name for file in finished[1].iterdir()} == FILES


@pytest.mark.usefixtures("_no_page")
@pytest.mark.parametrize("model", ["hgcn", "gat", "hyp", "hyp-mixed"])
@pytest.mark.parametrize("task", ["link", "node"])
def test_a_run_is_read_back_as_it_was(model, task, tmp_path):
    run = quick_run(task, model=model, dtype="float64", normalise="standard", out=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.config == run.config
    assert again.metrics == run.metrics
    assert again.history == run.history
    assert again.class_names == run.class_names
    assert same_weights(again, run)
    assert torch.equal(again.embeddings(tree()), run.embeddings())
    with pytest.raises(RunError, match="held in memory"):
        again.embeddings()


def test_the_graph_is_read_again_from_its_files(finished):
    run, folder = finished
    again = load_run(folder)
    assert torch.equal(again.embeddings(), run.embeddings())
    assert again.evaluate() == run.metrics["test"]
    assert again.class_names == ("side0", "side1")
    table = pl.read_parquet(folder / "embeddings.parquet")
    assert table["id"].to_list() == run.graph.ids.tolist()
    np.testing.assert_array_equal(table.drop("id").to_numpy(), run.embeddings().numpy())


def test_data_that_have_changed_are_refused(finished, tmp_path):
    folder = shutil.copytree(finished[1].parent, tmp_path / "moved")
    config = finished[0].config
    edges = str(config.source)
    original = (folder / "edges.csv").read_text()
    run = load_run(folder / "run")
    assert run.graph.num_nodes == 90
    with open(edges, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write("n3,n80\n")
    try:
        with pytest.raises(RunError, match="have changed since"):
            load_run(folder / "run").evaluate()
    finally:
        with open(edges, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(original)
    assert load_run(folder / "run").evaluate() == finished[0].metrics["test"]


def test_data_that_are_gone_are_named(finished, tmp_path):
    run = load_run(finished[1])
    run = replace(run, config=run.config.replace(source=str(tmp_path / "gone.csv")))
    with pytest.raises(RunError, match=r"trained on, but: .*gone\.csv"):
        run.embeddings()


@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("how", ["one byte", "truncated", "empty", "missing", "longer"])
def test_a_changed_file_is_refused(name, how, copy):
    file = copy / name
    content = bytearray(file.read_bytes())
    if how == "missing":
        file.unlink()
    elif how == "one byte":
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    else:
        cut = {"truncated": content[:-1], "empty": b"", "longer": content + b"\n"}[how]
        file.write_bytes(cut)
    said = "No such file" if how == "missing" else "changed or truncated"
    with pytest.raises(RunError, match=said) as caught:
        load_run(copy)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ("", "to be JSON"),
        ("[]", "of format 1"),
        ("{}", "of format 1, got None. Is it a run of hgcn"),
        ('{"format": 2}', "of format 1, got 2. A newer hgcn made the run"),
        ('{"format": 1}', "changed or truncated"),
        ('{"format": 1, "files": []}', "changed or truncated"),
        ('{"format": 1, "files": {"config.toml": 3}}', "changed or truncated"),
    ],
)
def test_a_foreign_environment_is_refused(environment, said, copy):
    (copy / "environment.json").write_text(environment)
    with pytest.raises(RunError, match=said):
        load_run(copy)


def seal(folder):
    """Sign the files of a folder anew, as one would who wants to deceive."""
    environment = json.loads((folder / "environment.json").read_text())
    environment["files"] = {name: files.checksum(folder / name) for name in SEALED}
    (folder / "environment.json").write_text(json.dumps(environment))


def test_foreign_weights_under_a_good_seal_are_refused(copy):
    good = trees.read_tree(copy / "model.safetensors")
    bad = [
        [],
        {"about": {}, "weights": {}},
        {**good, "weights": {}},
        {**good, "about": {**good["about"], "in_channels": 5}},
        {**good, "about": {**good["about"], "num_nodes": None, "class_names": 3}},
        {**good, "about": {**good["about"], "features": {"names": None, "evil": 1}}},
    ]
    for tree_ in bad:
        trees.write_tree(copy / "model.safetensors", tree_)
        seal(copy)
        with pytest.raises(RunError, match="to be a run of hgcn, got a foreign one"):
            load_run(copy)
    trees.write_tree(copy / "model.safetensors", good)
    seal(copy)
    load_run(copy)


def test_other_files_under_a_good_seal_are_refused(copy):
    text = (copy / "config.toml").read_text()
    (copy / "config.toml").write_text(text.replace("dim = 3", "dim = 0"))
    seal(copy)
    with pytest.raises(ConfigError, match="`dim` to be at least 1"):
        load_run(copy)
    (copy / "config.toml").write_text(text)
    (copy / "history.csv").write_text("epoch,loss\n1,much\n")
    seal(copy)
    with pytest.raises(RunError, match=r"history\.csv to be a table of numbers"):
        load_run(copy)


def test_what_is_no_run_folder_is_refused(tmp_path):
    with pytest.raises(RunError, match="there is none at"):
        load_run(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="there is none at"):
        load_run(tmp_path / "file")
    with pytest.raises(RunError, match=r"got no environment\.json\.$"):
        load_run(tmp_path)
    (tmp_path / "resume.safetensors").write_text("")
    with pytest.raises(RunError, match="Go on with: hgcn train --resume"):
        load_run(tmp_path)


def test_a_finished_run_is_never_overwritten(finished, tmp_path):
    run, folder = finished
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(RunError, match="holds a finished run already"):
        run.save(folder)
    with pytest.raises(RunError, match="holds a run already"):
        fit(tree(), out=folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert same_weights(load_run(run.save(tmp_path / "elsewhere")), run)


def test_a_full_disk_leaves_an_unfinished_folder(tmp_path, monkeypatch):
    run = quick_run()

    def full(path, blocks):
        assert path.name == "embeddings.parquet"
        raise RunError("No space left on device.")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_blocks", full)
        with pytest.raises(RunError, match="No space left"):
            run.save(tmp_path / "run")
    with pytest.raises(RunError, match=r"got no environment\.json"):
        load_run(tmp_path / "run")
    assert same_weights(load_run(run.save(tmp_path / "run")), run)


def test_coordinates_are_those_of_the_geometry():
    run = quick_run()
    normal, hyperboloid, ball = (
        run.embeddings(coordinates=name) for name in ("normal", "hyperboloid", "ball")
    )
    c = run.metrics["curvatures"][-1]
    assert hyperboloid.shape == (90, 4)
    minkowski = hyperboloid[:, 1:].square().sum(-1) - hyperboloid[:, 0].square()
    torch.testing.assert_close(minkowski, torch.full((90,), -1 / c).double(), rtol=1e-6, atol=0)
    assert bool((ball.norm(dim=-1) < c**-0.5).all())
    torch.testing.assert_close(geometry.from_ball(ball, c=c), normal.double(), rtol=1e-5, atol=1e-7)
    table = run.embedding_table(coordinates="hyperboloid")
    assert table.columns == ["id", "z0", "z1", "z2", "z3"]
    np.testing.assert_array_equal(table.drop("id").to_numpy(), hyperboloid.numpy())
    with pytest.raises(ConfigError, match="Did you mean 'ball'"):
        run.embeddings(coordinates="bal")
    with pytest.raises(ConfigError, match="'normal' for embeddings that are Euclidean"):
        quick_run(model="gcn").embeddings(coordinates="ball")


def test_the_class_table_has_the_best_class_of_each_node():
    run = quick_run("node")
    table, chance = run.class_table(), run.predict_nodes()
    torch.testing.assert_close(chance.sum(-1), torch.ones(90))
    assert table.columns == ["id", "class", "probability", "p(left)", "p(right)"]
    assert table["id"].to_list() == [f"n{i}" for i in range(90)]
    names = [("left", "right")[k] for k in chance.argmax(-1).tolist()]
    assert table["class"].to_list() == names
    np.testing.assert_array_equal(table["probability"].to_numpy(), chance.amax(-1).numpy())


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([[0, 1]], "of shape"),
        ([[0.0], [1.0]], "integers"),
        ([[0, 90], [1, 1]], r"0\.\.89, got \[90, 1\] as pair 1"),
        ([[-1], [1]], r"got \[-1, 1\] as pair 0"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs, said, finished):
    with pytest.raises(GraphError, match=said):
        finished[0].predict_links(pairs)


def test_a_run_embeds_graphs_of_every_shape(finished):
    run = quick_run()
    assert run.embeddings(forest()).shape == (150, 3)
    assert run.embeddings(tree(1)).shape == (1, 3)
    pyg = tree(50, seed=2).to_pyg()
    assert torch.equal(run.embeddings(pyg), run.embeddings(tree(50, seed=2)))
    with pytest.raises(GraphError, match="Expected 4 features"):
        run.embeddings(str(finished[0].config.source))
