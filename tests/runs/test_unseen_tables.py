"""What a run learnt about columns stays what it is, whatever table comes later."""

import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
import torch

import hgcn
from hgcn.cli import main
from hgcn.errors import DataError, GraphError
from hgcn.runs.run import Run

QUICK = {"epochs": 4, "eval_every": 2, "dim": 3, "normalise": "standard"}
NODES = 60


def people(extra: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, NODES)
    known = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(NODES)],
            "age": age,
            "city": rng.choice(["Rome", "Bern"], NODES),
            "role": np.where(age > 50, "lead", "staff"),
        }
    )
    new = pl.DataFrame(
        {
            "id": [f"new{i}" for i in range(extra)],
            "age": np.full(extra, 9000),
            "city": ["Oslo"] * extra,
            "role": ["lead"] * extra,
        }
    )
    return pl.concat([known, new])


def edges() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    parent = [int(rng.integers(0, i)) for i in range(1, NODES)]
    return pl.DataFrame(
        {"source": [f"p{i}" for i in range(1, NODES)], "target": [f"p{i}" for i in parent]}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    edges().write_csv(folder / "edges.csv")
    people().write_csv(folder / "people.csv")
    people(1).write_csv(folder / "more.csv")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return hgcn.fit(
        folder / "edges.csv",
        features=folder / "people.csv",
        labels="role",
        out=folder / "run",
        **QUICK,
    )


def test_one_odd_node_moves_nobody_else(run: Run, folder: Path) -> None:
    loaded = hgcn.load_run(folder / "run")
    with pytest.warns(UserWarning, match="1 value of 'city' not seen in training, such as 'Oslo'"):
        bigger = loaded.resolve(folder / "edges.csv", features=folder / "more.csv")
    assert bigger.num_nodes == NODES + 1
    torch.testing.assert_close(
        loaded.embeddings(bigger)[:NODES], run.embeddings(), atol=1e-6, rtol=0
    )
    assert loaded.class_table(bigger)["class"][:NODES].equals(run.class_table()["class"])


def test_a_small_graph_without_some_categories(run: Run) -> None:
    few = people().filter(pl.col("city") == "Rome").head(3).select("city", "id", "age")
    small = nx.path_graph(few["id"].to_list())
    for row in few.iter_rows(named=True):
        small.nodes[row["id"]].update(age=row["age"], city=row["city"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = run.class_table(small)
    assert table["id"].to_list() == few["id"].to_list()


def test_labels_are_found_by_their_old_name(run: Run, folder: Path) -> None:
    other = run.resolve(folder / "edges.csv", features=folder / "people.csv")
    assert other.y is not None
    assert run.evaluate(other)["accuracy"] >= 0
    unlabelled = run.resolve(edges(), features=people().drop("role"))
    assert unlabelled.y is None
    assert run.predict_nodes(unlabelled).shape == (NODES, 2)
    with pytest.raises(GraphError, match="Expected a graph with labels"):
        run.evaluate(unlabelled)


def test_missing_columns_and_tables_are_named(run: Run) -> None:
    with pytest.raises(DataError, match="'city'"):
        run.embeddings(hgcn.load(edges(), features=people().drop("city"), labels="role"))
    with pytest.raises(DataError, match=r"'age'.*trained on these columns"):
        run.resolve(edges(), features=people().drop("age"))
    with pytest.raises((DataError, GraphError), match="age, city"):
        run.embeddings(edges())
    with pytest.raises(GraphError, match=r"age, city.*array"):
        run.embeddings(hgcn.load(edges()).replace(x=torch.ones(NODES, 3)))


def test_statistics_are_those_of_training_nodes(folder: Path) -> None:
    part = ["train"] * 20 + ["val"] * 20 + ["test"] * 20
    table = people().with_columns(part=pl.Series(part))
    run = hgcn.fit(edges(), features=table, labels="role", split="part", **QUICK)
    encoding = run.features.encoding
    assert encoding is not None
    assert encoding.columns[0].mean == pytest.approx(table["age"][:20].mean())  # type: ignore[attr-defined]
    torch.testing.assert_close(
        run.features.mean[0].item(),  # type: ignore[index]
        float(table["age"][:20].mean()),  # type: ignore[arg-type]
        atol=1e-5,
        rtol=1e-6,
    )
    assert "part" not in " ".join(encoding.names)


def test_columns_are_chosen(folder: Path) -> None:
    graph = hgcn.load(edges(), features=people(), feature_columns="age", labels="role")
    assert graph.feature_names == ("age",)
    assert "city" in graph.columns
    graph = hgcn.load(edges(), features=people(), drop=["city"], labels="role")
    assert graph.feature_names == ("age",)
    with pytest.raises(DataError, match=r"'citty'.*Did you mean 'city'"):
        hgcn.load(edges(), features=people(), drop="citty")
    with pytest.raises(DataError, match="'role' as both"):
        hgcn.load(edges(), features=people(), feature_columns="age,role", labels="role")


@pytest.mark.filterwarnings("default")
def test_only_new_nodes_are_written(folder: Path, run: Run, capfd: pytest.CaptureFixture) -> None:
    arguments = ["--graph", str(folder / "edges.csv"), "--features", str(folder / "more.csv")]
    out = folder / "new.csv"
    words = ["embed", str(folder / "run"), *arguments, "--only-new", "-o", str(out)]
    assert main(words) == 0
    assert pl.read_csv(out)["id"].to_list() == ["new0"]
    assert capfd.readouterr().err.count("Oslo") == 1
    assert main(["predict", str(folder / "run"), *arguments, "--only-new"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 2
    assert main(["embed", str(folder / "run"), "--only-new", "-o", str(out)]) == 2
    assert "--graph" in capfd.readouterr().err


def test_flags_choose_columns(folder: Path) -> None:
    out = folder / "flags"
    words = ["train", str(folder / "edges.csv"), "--features", str(folder / "people.csv")]
    words += ["--labels", "role", "--feature-columns", "age", "--epochs", "2", "--out", str(out)]
    assert main([*words, "--quiet"]) == 0
    loaded = hgcn.load_run(out)
    assert loaded.config.feature_columns == "age"
    assert loaded.features.names == ("age",)
    torch.testing.assert_close(
        loaded.embeddings(), torch.from_numpy(
            pl.read_parquet(out / "embeddings.parquet").drop("id").to_numpy()
        )
    )  # fmt: skip


def test_many_graphs_from_tables_with_different_categories(run: Run) -> None:
    rome = people().filter(pl.col("city") == "Rome")
    bern = people().filter(pl.col("city") == "Bern")
    graphs = []
    for table in (rome, bern):
        inside = edges().filter(
            pl.col("source").is_in(table["id"].implode())
            & pl.col("target").is_in(table["id"].implode())
        )
        graphs.append(hgcn.load(inside, features=table, labels="role"))
    both = hgcn.load(graphs)
    assert both.feature_names == ("age", "city = Bern", "city = Rome")
    assert run.predict_nodes(both).shape == (NODES, 2)
