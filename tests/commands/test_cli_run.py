"""The commands on real files, as a user types and reads them.

A process takes seconds to start, so only what needs a process of its own has one: exit codes,
signals, pipes. The other tests call the same entry point in this process.
"""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module

import polars as pl
import pytest
import torch

from hgcn.cli import main
from hgcn.runs import checkpoint, seeds
from hgcn.runs.folder import load_run
from hgcn.runs.workers import Event
from small_graphs import same_weights, touch_pages, tree, write_files

# The package has a function of that name.
fit_module = import_module("hgcn.runs.fit")

TRAIN = ["--epochs", "6", "--eval-every", "2", "--dim", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Edges, nodes, another graph in `new`, and two runs: `links` and `classes`."""
    path = tmp_path_factory.mktemp("cli")
    write_files(path, tree())
    (path / "new").mkdir()
    write_files(path / "new", tree(50, seed=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setattr(fit_module, "_draw", lambda run, folder: None)
        node_flags = ["--features", "nodes.csv", "--labels", "side"]
        for task, out in (("link", "links"), ("node", "classes")):
            words = ["train", "edges.csv", *node_flags, *TRAIN, "--task", task, "--out", out]
            assert main([*words, "--quiet"]) == 0
            touch_pages(None, path / out)
    return path


@pytest.fixture
def hgcn(folder, monkeypatch, capsys):
    """Run a command in the folder; exit code, stdout and stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(fit_module, "_draw", lambda run, folder: None)

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def process(*words, cwd, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "hgcn", *words], cwd=cwd, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def test_train_evaluate_and_predict_in_processes_of_their_own(folder):
    words = ["train", "edges.csv", "--features", "nodes.csv", *TRAIN, "--out", "own", "--labels"]
    done = process(*words, "side", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    assert "edges.csv: node prediction with hgcn" in out
    assert re.search(r"F1 \* .*\d\d\.\d\d", out)
    assert "Run folder: own" in out
    assert same_weights(load_run(folder / "own"), load_run(folder / "classes"))
    done = process("predict", "own", "--graph", "new/edges.csv", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert (done.returncode, out) == (2, "")
    assert err == (
        "hgcn: Expected a table of nodes with the columns f0, f1, f2, f3, got none. Give one with "
        "`features`.\n"
    )


def test_seeds_are_trained_in_processes_of_their_own(folder):
    words = ["train", "edges.csv", "--features", "nodes.csv", "--labels", "side", *TRAIN]
    done = process(*words, "--task", "link", "--seeds", "2", "--out", "seeds", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    assert re.search(r"ROC AUC \*? .*\d\d\.\d\d ± \d+\.\d\d", out)
    runs = [load_run(folder / "seeds" / f"seed-{seed}") for seed in (0, 1)]
    for name in ("model.safetensors", "history.csv", "config.toml"):
        single = (folder / "links" / name).read_bytes()
        assert (folder / "seeds" / "seed-0" / name).read_bytes() == single
    assert not same_weights(*runs)


def wait_for(condition, running):
    limit = time.monotonic() + 200
    while not condition() and running.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_finishes_the_folder_with_the_best_so_far(folder, number):
    name = f"stopped-{number}"
    words = ["train", "edges.csv", "--epochs", "1000000", "--patience", "1000000", "--eval-every"]
    running = process(*words, "1", "--out", name, cwd=folder,
                      env={"HGCN_CHECKPOINT_SECONDS": "0"})  # fmt: skip
    wait_for((folder / name / "history.csv").exists, running)
    running.send_signal(number)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "best epoch" in out
    assert "Interrupted after epoch" in out
    run = load_run(folder / name)
    assert run.metrics["stopped"] == "interrupted"
    assert run.metrics["best_epoch"] >= 1
    assert run.evaluate(tree(50, x=None))["roc_auc"] > 0
    assert not (folder / name / "resume.safetensors").exists()


def test_ctrl_c_before_the_first_validation_says_so(folder):
    words = ["train", "edges.csv", "--epochs", "1000000", "--eval-every", "1000000"]
    running = process(*words, "--out", "early", cwd=folder, env={"HGCN_CHECKPOINT_SECONDS": "0"})
    wait_for((folder / "early" / "resume.safetensors").exists, running)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert (running.returncode, out) == (130, "")
    assert err.strip().splitlines()[-1] == (
        "hgcn: interrupted. There is no result yet. Go on with: hgcn train --resume early"
    )


def test_a_config_file_repeats_a_run(hgcn, folder):
    code, out, _ = hgcn("train", "--config", "links/config.toml", "--out", "again", "--quiet")
    assert (code, out) == (0, "again\n")
    assert same_weights(load_run(folder / "again"), load_run(folder / "links"))


def test_wrong_settings_are_all_told(hgcn, folder):
    code, out, err = hgcn("train", "edges.csv", "--dim", "x", "--lr", "-1", "--model", "hgnc")
    assert (code, out) == (2, "")
    for part in ("Did you mean 'hgcn'?", "`dim` to be a whole number", "`lr` to be above 0"):
        assert part in err
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train"], "Expected the name of a data set, a file or a folder to train on"),
        (["train", "edges.csv", "--out", "links"], "links holds a run already"),
        (["train", "edges.csv", "--task", "node"], "Expected labels for the task 'node'"),
        (["train", "edges.csv", "--out", "edges.csv/run"], "create the folder edges.csv/run"),
        (["train", "edges.csv", "--seeds", "few"], "--seeds to be a whole number above 0"),
        (["train", "edges.csv", "--seeds", "0"], "--seeds to be a whole number above 0, got '0'"),
        (["train", "edges.csv", "--seeds", "99999"], "`seeds` to be in 1..10000, got 99999"),
        (["train", "edges.csv", "--out", "nodes.csv"], "create the folder nodes.csv, but: File e"),
        (["train", "edges.csv", "--out", "x" * 300, "--seeds", "2"], "File name too long"),
        (["train", "edges.csv", "--out", "x" * 300], "File name too long"),
        (["train", "--resume", "x" * 300], "has no config.toml"),
        (["evaluate", "x" * 300], "Expected a run folder, but there is none at xxx"),
        (["compare", "x" * 300], "Expected a run folder, but there is none at xxx"),
        (["train", "edges.csv", "--lr", "1e300"], "Expected `lr` to be between -1e+30 and 1e+30"),
        (["train", "edges.csv", "--dim", "9" * 20], "Expected `dim` to be between -1000000000000 "),
        (["train", "edges.csv", "--seed", "4294967296"], "at least 0 and at most 4294967295, got"),
        (["train", "edges.csv", "--negatives", "1e9"], "`negatives` to be above 0 and at most 1e"),
        (["hyperbolicity", "edges.csv", "--samples", "9" * 20], "--samples to be in 0..1,000,000"),
        (["hyperbolicity", "edges.csv", "--seed", "-1"], "Expected --seed to be 0 or more, got -1"),
        (["view", "links", "--port", "70000"], "--port to be a number in 0..65535, got '70000'"),
        (["reproduce", "table1", "--seeds", "0"], "--seeds to be a whole number above 0, got '0'"),
        (["reproduce", "table1", "--processes", "x"], "--processes to be a whole number above 0"),
        (["train", "--resume", "links"], "is finished: there is nothing to resume"),
        (["train", "--resume", "new"], "new has no config.toml"),
        (["train", "--resume", "links", "--dim", "3"], "Expected nothing beside --resume"),
        (["train", "--resume", "links", "--auto", "3"], "Expected nothing beside --resume"),
        (["train", "edges.csv", "--auto", "soon"], "Expected --auto to be a number of seconds"),
        (
            ["train", "edges.csv", "--auto", "0"],
            "Expected `auto` to be a number of seconds above 0",
        ),
        (["compare"], "Expected run folders, or --baselines SOURCE"),
        (["compare", "links", "--dim", "3"], "Expected --baselines SOURCE beside settings"),
        (["compare", "links", "--baselines", "edges.csv"], "SOURCE, got both"),
        (["compare", "--baselines", "edges.csv", "--model", "gcn"], "Expected no `model` with"),
        (["compare", "--baselines", "-"], "Expected a file with --baselines"),
        (["train", "edgs.csv"], "got 'edgs.csv'. Did you mean 'edges.csv'? `hgcn datasets` lists"),
        (["train", "corra"], "got 'corra'. Did you mean 'cora'?"),
        (["train", "no/such/folder"], "to be the path of an existing file or folder, or the name"),
        (["evaluate", "nothing"], "there is none at nothing"),
        (["evaluate", "new"], "got no environment.json"),
        (["evaluate", "links", "--labels", "side"], "Expected --graph beside --labels"),
        (
            ["evaluate", "classes", "--graph", "new/edges.csv"],
            "with the columns f0, f1, f2, f3, got",
        ),
        (["evaluate", "links", "--graph", "new/edges.csv"], "with the columns f0, f1, f2, f3, got"),
        (["embed", "links", "-o", "z.txt"], "one of '.parquet', '.csv', got '.txt'"),
        (["embed", "links", "-o", "no/z.csv"], "Expected the folder no to write z.csv to"),
        (["embed", "links", "-o", "z.csv", "--coordinates", "bal"], "Did you mean 'ball'?"),
        (["predict", "links"], "Expected --pairs FILE or --top-k K"),
        (["predict", "links", "--top-k", "0"], "--top-k to be a whole number above 0, got '0'"),
        (["predict", "links", "--per-node"], "Expected --top-k K beside --per-node"),
        (["predict", "links", "--top-k", "3", "--pairs", "x"], "--pairs or --top-k, got both"),
        (["predict", "links", "--pairs", "x.csv"], "Expected a file, got none (x.csv)"),
        (["compare", "links", "new"], "got no environment.json"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(words, said, hgcn):
    code, out, err = hgcn(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_evaluate_repeats_the_scores_of_training(hgcn, folder):
    code, out, _ = hgcn("evaluate", "links")
    assert code == 0
    expected = f"{100 * load_run(folder / 'links').metrics['test']['roc_auc']:.2f}"
    assert re.search(rf"ROC AUC +│ +{re.escape(expected)} ", out)
    assert "on its own test part" in out


def test_evaluate_against_hard_negatives(hgcn, folder):
    code, out, _ = hgcn("evaluate", "links", "--negatives", "hard")
    assert code == 0
    assert "hard negatives" in out
    scores = load_run(folder / "links").evaluate(negatives="hard")
    assert re.search(rf"MRR +│ +{100 * scores['mrr']:.2f} ", out)
    code, _, err = hgcn("evaluate", "links", "--negatives", "hart")
    assert code == 2
    assert "Did you mean 'hard'?" in err


def test_evaluate_takes_another_graph(hgcn, folder):
    new = ["--graph", "new/edges.csv", "--features", "new/nodes.csv", "--labels", "side"]
    for name in ("links", "classes"):
        code, out, _ = hgcn("evaluate", name, *new)
        assert code == 0
        assert "on new/edges.csv" in out
    run = load_run(folder / "classes")
    from hgcn.data import load

    graph = load(str(folder / "new/edges.csv"), features=str(folder / "new/nodes.csv"),
                 labels="side")  # fmt: skip
    assert f"{100 * run.evaluate(graph)['accuracy']:.2f}" in out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("coordinates", ["normal", "hyperboloid", "ball"])
def test_embed_writes_what_the_run_embeds(ending, coordinates, hgcn, folder):
    file = folder / f"z.{ending}"
    code, out, err = hgcn("embed", "links", "-o", file, "--coordinates", coordinates)
    assert (code, out) == (0, "")
    assert err == f"{file}: 90 rows\n"
    table = pl.read_csv(file) if ending == "csv" else pl.read_parquet(file)
    run = load_run(folder / "links")
    assert table["id"].to_list() == run.graph.ids.tolist()
    z = torch.from_numpy(table.drop("id").to_numpy(writable=True))
    torch.testing.assert_close(z, run.embeddings(coordinates=coordinates).to(z.dtype))


def test_predict_classes_in_a_pipe_is_csv(hgcn, folder):
    code, out, _ = hgcn("predict", "classes")
    assert code == 0
    table = pl.read_csv(out.encode())
    assert table.columns == ["id", "class", "probability", "p(side0)", "p(side1)"]
    assert table["class"].to_list() == load_run(folder / "classes").class_table()["class"].to_list()


def test_predict_in_a_terminal_is_a_table(hgcn, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = hgcn("predict", "classes")
    assert code == 0
    assert "probability" in out
    assert out.count("side") >= 20
    assert "70 more rows; -o FILE writes all." in out


def test_predict_pairs_takes_the_names_of_nodes(hgcn, folder):
    (folder / "pairs.csv").write_text("from,to\nn3,n70\nn0,n1\n")
    code, out, _ = hgcn("predict", "links", "--pairs", "pairs.csv")
    assert code == 0
    table = pl.read_csv(out.encode())
    assert table.select("source", "target").rows() == [("n3", "n70"), ("n0", "n1")]
    run = load_run(folder / "links")
    place = {name: k for k, name in enumerate(run.graph.ids.tolist())}
    pairs = [[place["n3"], place["n0"]], [place["n70"], place["n1"]]]
    assert table["probability"].to_list() == pytest.approx(run.predict_links(pairs).tolist())
    (folder / "pairs.csv").write_text("from,to\nn3,n70\nn0,n100\n")
    code, out, err = hgcn("predict", "links", "--pairs", "pairs.csv")
    assert (code, out) == (2, "")
    assert "ids of nodes of the graph, got 'n100' (pairs.csv, line 3)" in err


def test_predict_missing_links(hgcn, folder):
    code, _, _ = hgcn("predict", "links", "--top-k", "7", "-o", "top.parquet")
    assert code == 0
    table = pl.read_parquet(folder / "top.parquet")
    run = load_run(folder / "links")
    pairs, probability = run.top_links(7)
    ids = run.graph.ids
    assert table.select("source", "target").rows() == [
        (ids[i], ids[j]) for i, j in pairs.T.tolist()
    ]
    assert table["probability"].to_list() == pytest.approx(probability.tolist())
    code, out, _ = hgcn("predict", "links", "--top-k", "2", "--per-node")
    assert pl.read_csv(out.encode())["source"].to_list() == [name for name in ids for _ in "ab"]


def test_compare_shows_what_differs(hgcn, folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 1e9)
    for seed in (0, 1):
        words = ["train", "edges.csv", *TRAIN, "--model", "gcn", "--seed", seed, "--quiet"]
        assert hgcn(*words, "--out", f"many/seed-{seed}")[0] == 0
    metrics = [load_run(folder / "many" / f"seed-{seed}").metrics for seed in (0, 1)]
    code, out, _ = hgcn("compare", "links", "many")
    assert code == 0
    cells = table_cells(out)
    assert cells["model"] == ["hgcn", "gcn"]
    assert cells["seed"] == ["0", "0..1"]
    assert cells["features"] == ["nodes.csv", "-"]
    assert "dim" not in cells
    values = torch.tensor([one["test"]["roc_auc"] for one in metrics], dtype=torch.float64)
    mean, std = 100 * values.mean(), 100 * values.std()
    assert cells["ROC AUC"][1] == f"{mean:.2f} ± {std:.2f}"
    assert cells["seeds"] == ["1", "2"]
    assert re.search(r"many .*[•2]", out)
    assert "±" not in cells["many"][-1]  # the features differ, but one split in common is too few
    # A seed that is not finished is counted, but not read.
    (folder / "many" / "seed-1" / "environment.json").rename(folder / "kept.json")
    code, out, _ = hgcn("compare", "links", "many")
    assert code == 0
    cells = table_cells(out)
    assert cells["seeds"] == ["1", "1 of 2"]
    assert cells["ROC AUC"][1] == f"{100 * values[0]:.2f} ± 0.00"


@pytest.fixture
def here(monkeypatch):
    """Seeds are trained in this process; models of the list are interrupted."""
    stop = []

    def work(jobs, processes):
        for job in jobs:
            yield Event(job.key, "started")
            if job.arguments[2]["model"] in stop:
                raise KeyboardInterrupt
            yield Event(job.key, "done", job.function(None, *job.arguments))

    monkeypatch.setattr(seeds, "work", work)
    monkeypatch.setattr(fit_module, "_draw", touch_pages)
    return stop


def test_baselines_are_trained_and_compared(hgcn, folder, here):
    words = ["compare", "--baselines", "edges.csv", *TRAIN, "--out", "base", "--attention"]
    here.append("sage")
    code, out, err = hgcn(*words)
    assert (code, out) == (130, "")
    assert "The same command with --out base goes on." in err
    here.clear()
    before = (folder / "base" / "gcn" / "seed-0" / "environment.json").stat().st_mtime_ns
    code, out, _ = hgcn(*words)
    assert code == 0
    assert (folder / "base" / "gcn" / "seed-0" / "environment.json").stat().st_mtime_ns == before
    cells = table_cells(out)
    models = ["hgcn", "gcn", "gat", "sage", "mlp", "euc", "hyp"]
    assert cells["model"] == models
    runs = [load_run(folder / "base" / name / "seed-0") for name in models]
    scores = [f"{100 * run.metrics['test']['roc_auc']:.2f}" for run in runs]
    assert cells["ROC AUC"] == scores
    assert {run.config.dim for run in runs} == {3}
    assert runs[0].config.attention  # which only hgcn has
    assert runs[1].config.attention is None
    for run in runs[1:]:
        torch.testing.assert_close(
            run.link_task().parts.test.positives, runs[0].link_task().parts.test.positives
        )
    assert (
        cells["Adamic-Adar"][1]
        == f"{100 * runs[0].metrics['untrained']['test']['adamic_adar']['roc_auc']:.2f}"
    )
    code, out, _ = hgcn("compare", "--baselines", "edges.csv", *TRAIN, "--features", "nodes.csv",
                        "--labels", "side", "--out", "based", "--seeds", 2)  # fmt: skip
    assert code == 0
    assert table_cells(out)["model"] == models[:5]  # of classes
    assert table_cells(out)["seeds"] == ["2"] * 5
    assert "±" in table_cells(out)["F1"][0]
    assert "Adamic-Adar" not in out
    pairs = [
        [
            load_run(folder / "based" / name / f"seed-{seed}").metrics["test"]["f1"]
            for seed in (0, 1)
        ]
        for name in ("gcn", "hgcn")
    ]
    gains = [100 * (one - other) for one, other in zip(*pairs, strict=True)]
    told = f"{sum(gains) / 2:+.2f} ± {abs(gains[0] - gains[1]) / 2:.2f}"
    assert table_cells(out)["gcn"][-1] == told


def test_auto_says_what_was_tried(hgcn, folder):
    words = ["train", "edges.csv", *TRAIN, "--no-structure", "--out", "auto", "--auto", "0.5"]
    code, out, _ = hgcn(*words)
    assert code == 0
    record = load_run(folder / "auto").metrics["auto"]
    assert len(record["candidates"]) == 8
    cells = table_cells(out)
    assert set(cells) >= {"defaults", "lr 0.04, weight_decay 0.001", "model sage"}
    assert [name for name, row in cells.items() if row[-1] == "chosen"] != []
    code, out, err = hgcn(*words[:-3], "short", "--auto", "1e-9", "--quiet")
    assert (code, out) == (0, "short\n")
    assert "hgcn: warning: The time did not suffice to validate every candidate" in err
    config = load_run(folder / "short").config
    assert (config.lr, config.model, config.layers) == (0.01, "hgcn", 2)


def table_cells(out):
    rows = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def test_an_unknown_flag_has_its_near_miss(capsys):
    for flag, said in (("--droput", "Did you mean '--dropout'?"), ("--zzz", "--zzz 3. Try")):
        with pytest.raises(SystemExit) as caught:
            main(["train", "edges.csv", flag, "3"])
        assert caught.value.code == 2
        assert said in capsys.readouterr().err


def test_every_command_has_help_with_examples(capsys):
    for name in ("train", "evaluate", "embed", "predict", "compare"):
        with pytest.raises(SystemExit) as caught:
            main([name, "--help"])
        assert caught.value.code == 0
        assert "examples:" in capsys.readouterr().out
