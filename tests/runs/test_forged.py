"""Run folders that were forged, checksums and all: refused with the reason, or harmless."""

import json
import os
import shutil
import struct
import time
from pathlib import Path

import pytest
import torch

from hgcn import files, fit, load_run
from hgcn.cli import main
from hgcn.errors import ConfigError, RunError
from hgcn.runs import folder as run_folder
from hgcn.runs.checkpoint import CHECKPOINT_SECONDS, checkpoint_seconds
from hgcn.runs.folder import CONFIG, ENVIRONMENT, HISTORY, METRICS, MODEL
from hgcn.runs.trees import read_tree, write_tree

EDGES = "source,target\n" + "".join(
    f"{i},{(7 * i + 1) % 40}\n{i},{(i + 1) % 40}\n" for i in range(40)
)
NODES = "id,age,kind,city,born\n" + "".join(
    f"{i},{3 * i % 11},{'ab'[i % 2]},{'xyz'[i % 3]},2020-01-{i % 28 + 1:02}\n" for i in range(40)
)
JUNK = [None, 5, -1, 10**30, 1e308, True, "x", [], [1], {}, {"a": 1}, float("nan"), [[[]]]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run of classes."""
    folder = tmp_path_factory.mktemp("forged")
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hgcn.runs.fit._draw", lambda run, folder: None)
            fit(
                "edges.csv", features="nodes.csv", labels="kind", out="run",
                model="gcn", epochs=2, eval_every=1, dim=4, layers=1,
            )  # fmt: skip
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    """A copy of the run, to be forged."""
    shutil.copytree(trained, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy" / "run"


def seal(run):
    """Note the checksums of the files as they are."""
    about = json.loads((run / ENVIRONMENT).read_text())
    about["files"] = {name: files.checksum(run / name) for name in run_folder.SEALED}
    (run / ENVIRONMENT).write_text(json.dumps(about))


def change(run, name, *keys_and_value):
    """Set a value deep in a JSON file or in the tree of model.safetensors."""
    *keys, last, value = keys_and_value
    tree = read_tree(run / name) if name == MODEL else json.loads((run / name).read_text())
    inner = tree
    for key in keys:
        inner = inner[key]
    inner[last] = value
    if name == MODEL:
        write_tree(run / name, tree)
    else:
        (run / name).write_text(json.dumps(tree))


COMMANDS = {
    "evaluate": [],
    "embed": ["-o", "z.csv"],
    "predict": ["-o", "p.csv"],
    "compare": [],
    "view": ["--no-open", "-o", "v.html"],
}


def check(run, capsys):
    """Every command works or is refused in one line; a refused run is refused by all."""
    seal(run)
    start = time.monotonic()
    try:
        load_run(run)
        loads = True
    except (RunError, ConfigError):
        loads = False
    for command, words in COMMANDS.items() if loads else [("compare", [])]:
        code = main([command, str(run), *words])
        said = capsys.readouterr().err
        assert code in ((0, 2) if loads else (2,)), said
        assert "Traceback" not in said
        assert code == 0 or len(said.splitlines()) <= 2, said
    assert time.monotonic() - start < 20
    return loads


def test_the_run_itself_is_good(run, capsys):
    assert check(run, capsys)


METRIC_KEYS = ["test", "best_epoch", "seconds", "curvatures", "select", "source", "radius", "auto"]
FORGED = [
    *((METRICS, (key,)) for key in METRIC_KEYS),
    (METRICS, ("test", "accuracy")),
    (ENVIRONMENT, ("num_classes",)),
    (ENVIRONMENT, ("data_sha256",)),
    *((MODEL, ("about", key)) for key in ("in_channels", "num_nodes", "class_names", "features")),
    *((MODEL, ("about", "features", key)) for key in ("normalise", "num_raw", "mean", "scale")),
    (MODEL, ("about", "features", "encoding")),
    *((MODEL, ("about", "features", "encoding", key)) for key in ("label", "columns")),
    *(
        (MODEL, ("about", "features", "encoding", "columns", at, key))
        for at, keys in enumerate((("mean", "marked"), ("name", "categories"), ("parts",)))
        for key in keys
    ),
    (MODEL, ("weights",)),
]


@pytest.mark.parametrize(("name", "keys"), FORGED)
def test_values_of_other_kinds(name, keys, run, capsys):
    original = (run / name).read_bytes()
    refused = 0
    for value in JUNK:
        (run / name).write_bytes(original)
        change(run, name, *keys, value)
        refused += not check(run, capsys)
    assert refused or keys[-1] in ("data_sha256",)


@pytest.mark.parametrize("value", JUNK)
def test_metrics_and_history_of_other_kinds(value, run, capsys):
    (run / METRICS).write_text(json.dumps(value))
    assert not check(run, capsys)


TEXTS = {
    "deep": b"[" * 100_000, "long number": b"9" * 100_000, "bytes": b"\xff\xfe\0" * 10,
    "zeros": b"\0" * 100, "long field": b"epoch\n" + b"1" * 200_000, "rows": b"epoch,a\n1,2,3\n1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", [METRICS, HISTORY, CONFIG, MODEL])
@pytest.mark.parametrize("text", TEXTS)
def test_files_of_nonsense(name, text, run, capsys):
    (run / name).write_bytes(TEXTS[text])
    assert not check(run, capsys)


@pytest.mark.parametrize("text", TEXTS)
def test_an_environment_of_nonsense(text, run):
    (run / ENVIRONMENT).write_bytes(TEXTS[text])
    with pytest.raises(RunError, match=r"environment\.json"):
        load_run(run)


@pytest.mark.parametrize("name", [METRICS, HISTORY, CONFIG, MODEL])
def test_a_pipe_is_not_waited_for(name, run):
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(RunError, match=f"got a pipe .*{name}"):
        load_run(run)


SETTINGS = {
    "dim": "1000000000", "layers": "1000000", "model": '"euc"', "task": '"x"', "lr": "1e300",
    "source": '"/dev/zero"', "features": '"/dev/zero"', "device": '"meta"', "select": '"nonsense"',
    "seed": "9" * 5000,
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_another_run(name, run, capsys):
    lines = (run / CONFIG).read_text().splitlines()
    kept = [line for line in lines if not line.startswith((f"{name} =", f"# {name} ="))]
    (run / CONFIG).write_text("\n".join([*kept, f"{name} = {SETTINGS[name]}"]) + "\n")
    loads = check(run, capsys)
    assert loads == (name in ("source", "features", "device", "select"))
    if name in ("source", "features"):
        assert main(["evaluate", str(run)]) == 2
        assert "/dev/zero" in capsys.readouterr().err


def with_header(run, edit):
    """Edit the header of model.safetensors, and keep its numbers."""
    raw = (run / MODEL).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    edit(header)
    text = json.dumps(header).encode()
    (run / MODEL).write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])


@pytest.mark.parametrize(
    "shape", [[10**18], [-1], [2**63], [0] * 1000, "x", [1e9], [10**9, 10**9, 0], None]
)
def test_shapes_that_no_tensor_has(shape, run, capsys):
    name = next(iter(read_tree(run / MODEL)["weights"]))
    with_header(run, lambda header: header[f"/weights/{name}"].update(shape=shape))
    assert not check(run, capsys)


@pytest.mark.parametrize(
    "outline",
    ["[" * 50_000, '{"dict":' * 3000, '{"dict":[["a",{"dict":1}]]}', '{"value":1}', "5",
     '{"dict":[[["a"],{"value":1}]]}', '{"list":5}', '{"tensor":[]}', "9" * 5000],
)  # fmt: skip
def test_outlines_that_hgcn_does_not_write(outline, run, capsys):
    with_header(run, lambda header: header["__metadata__"].update(tree=outline))
    assert not check(run, capsys)


@pytest.mark.parametrize("key", ["num_nodes", "in_channels"])
def test_numbers_that_ask_for_much_memory(key, run, capsys):
    change(run, MODEL, "about", key, 10**15)
    assert not check(run, capsys)


@pytest.mark.parametrize(
    "value", [torch.full((1,), torch.nan), torch.zeros(10**6), torch.zeros(4, 5, dtype=torch.int64)]
)
def test_tensors_of_other_kinds(value, run, capsys):
    original = (run / MODEL).read_bytes()
    weights = read_tree(run / MODEL)["weights"]
    name = next(iter(weights))
    broken = torch.full_like(weights[name], torch.nan) if value.isnan().any() else value
    for keys, new in ((("weights", name), broken), (("about", "features", "scale"), value)):
        (run / MODEL).write_bytes(original)
        change(run, MODEL, *keys, new)
        assert not check(run, capsys)


# How often the state is stored.


@pytest.mark.parametrize("text", ["abc", "nan", "-1", "inf", "", "1e999", "0x1"])
def test_a_time_between_checkpoints_that_is_none(text, monkeypatch):
    monkeypatch.setenv("HGCN_CHECKPOINT_SECONDS", text)
    with pytest.raises(ConfigError, match="HGCN_CHECKPOINT_SECONDS to be a number of seconds"):
        checkpoint_seconds()


def test_a_time_between_checkpoints(monkeypatch):
    monkeypatch.delenv("HGCN_CHECKPOINT_SECONDS", raising=False)
    assert checkpoint_seconds() == CHECKPOINT_SECONDS
    monkeypatch.setenv("HGCN_CHECKPOINT_SECONDS", "2.5")
    assert checkpoint_seconds() == 2.5


def test_a_structural_term_of_an_older_version_is_refused_with_a_way_out(run):
    tree = read_tree(run / MODEL)
    tree["weights"]["structure.hidden.weight"] = torch.zeros(32, 24)
    write_tree(run / MODEL, tree)
    seal(run)
    with pytest.raises(RunError, match=r"got one of 24: .* older version.* hgcn train --config"):
        load_run(run)
