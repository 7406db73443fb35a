"""The lists of runs, the store, and that every printed number has a run behind it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from hgcn.cli import main
from hgcn.commands.reproduce import fill
from hgcn.config import Config
from hgcn.data import DATASETS
from hgcn.errors import RunError
from hgcn.experiments import EXPERIMENTS, Cell, Store, paper
from hgcn.experiments.cells import INDUCTIVE, SHALLOW, VARIANTS
from hgcn.experiments.reproduce import longest, missing, reproduce, seconds_left
from hgcn.experiments.tables import (
    blocks,
    strangers_markdown,
    summary_markdown,
    table1_markdown,
    value,
)
from hgcn.names import MODELS
from hgcn.training.presets import STRUCTURE, preset

ROOT = Path(__file__).parents[2]
PRESETS = {
    (*file.stem.split("-"), model): settings
    for file in sorted((ROOT / "src/hgcn/data/datasets/presets").glob("*.toml"))
    for model, settings in tomllib.loads(file.read_text(encoding="utf-8")).items()
}


def record(cell: Cell, seed: int, score: float) -> dict[str, object]:
    return {
        "key": cell.key(seed),
        "config": cell.request(seed),
        "test": {"roc_auc": score, "f1": score},
        "distortion": {"average": 0.5, "worst": 2.0},
        "seconds": 10.0,
    }


def test_table_1_has_every_cell_of_the_paper_but_ppi_classes() -> None:
    ours = {(c.row, c.dataset, c.task) for c in EXPERIMENTS["table1"]()}
    theirs = {key for key in paper.TABLE1 if key[1:] != ("ppi", "node")}
    assert ours == theirs
    assert not any(c.row in SHALLOW and c.dataset in INDUCTIVE for c in EXPERIMENTS["table1"]())


def test_the_paper_has_eleven_methods_and_the_ablation_five_rows() -> None:
    assert {key[0] for key in paper.TABLE1} == set(paper.METHODS)
    assert set(MODELS) - set(paper.METHODS) == {"free"}  # of the task "hierarchy"
    assert {key[0] for key in paper.ABLATION} == set(VARIANTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_request_is_a_valid_configuration(name: str) -> None:
    for cell in EXPERIMENTS[name]():
        request = cell.request(seed=3)
        config = Config(**request)
        assert (config.seed, config.task, config.source) == (3, cell.task, cell.source)
        assert config.dim == 16 or name == "lowdim"


def test_there_are_presets_of_every_method() -> None:
    plain = [key for key in PRESETS if not key[2].endswith(STRUCTURE)]
    assert len(plain) == 110
    assert {model for _, _, model in plain} == set(paper.METHODS)


@pytest.mark.parametrize("key", PRESETS, ids="-".join)
def test_a_preset_is_a_configuration_that_leaves_the_protocol_alone(
    key: tuple[str, str, str],
) -> None:
    source, task, section = key
    settings = PRESETS[key]
    model = section.removesuffix(STRUCTURE)
    choice = {"task": task, "model": model, "structure": model != section}
    Config(**settings, **choice)
    assert source in DATASETS
    assert not set(settings) & {"split_seed", "val_share", "test_share", "device", "dtype", "seed"}
    found = {"task": task, "model": model}
    if model != section:
        found["structure"] = True
    assert preset(source, choice) == ("-".join(key), {**settings, **found})


def test_keys_differ_by_what_is_run_and_by_nothing_else() -> None:
    one = Cell("table1", "hgcn", "cora", "link", {"model": "hgcn"})
    same = Cell("ablation", "other name", "cora", "link", {"model": "hgcn"})
    other = Cell("table1", "hgcn", "cora", "link", {"model": "hgcn", "dropout": 0.123})
    assert one.key(0) == same.key(0)
    assert len({one.key(0), one.key(1), other.key(0)}) == 3


def test_the_store_keeps_lines_and_drops_one_cut_off(tmp_path: Path) -> None:
    cell = EXPERIMENTS["table1"]()[0]
    path = tmp_path / "deep" / "runs.jsonl"
    store = Store(path)
    store.add(record(cell, 0, 0.5))
    with path.open("a") as file:
        file.write('{"key": "cut')
    again = Store(path)
    assert set(again.records) == {cell.key(0)}
    again.add(record(cell, 1, 0.7))
    assert len(path.read_text().splitlines()) == 2
    result = value(Store(path), cell, seeds=2)
    assert result is not None
    assert str(result) == "60.0 ± 14.1"


def test_a_foreign_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": "a"}\nnonsense\n')
    with pytest.raises(RunError, match="line 2"):
        Store(path)


def test_what_is_in_the_store_is_not_run_again(tmp_path: Path) -> None:
    cells = EXPERIMENTS["ablation"]()
    store = Store(tmp_path / "runs.jsonl")
    assert len(missing(cells, 2, store)) == 20
    store.add(record(cells[0], 0, 0.9))
    jobs = missing(cells, 2, store)
    assert len(jobs) == 19
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)
    assert seconds_left(jobs[:1], Store(tmp_path / "none")) > 0


def test_the_longest_job_of_the_first_seed_comes_next(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.jsonl")
    cells = [Cell("table1", m, "cora", "link", {"model": m}) for m in ("hgcn", "gcn", "sage")]
    jobs = missing(cells, 2, store)
    assert longest(jobs, store) == jobs[0]  # nothing is known
    for cell, seconds in zip(cells, (1.0, 500.0, 2.0), strict=True):
        store.add({**record(cell, 9, 0.9), "seconds": seconds})
    assert longest(jobs, store) == jobs[1]
    assert longest([jobs[0], jobs[2], *jobs[3:]], store) == jobs[2]
    assert longest(jobs[3:], store).cell.row == "gcn"


def test_missing_cells_are_shown_as_missing(tmp_path: Path) -> None:
    table = table1_markdown(Store(tmp_path / "none.jsonl"), seeds=10)
    assert table.count("missing") == len(EXPERIMENTS["table1"]())


def test_a_column_that_is_hardly_begun_is_not_compared_with(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.jsonl")
    cells = {cell.row: cell for cell in EXPERIMENTS["strangers"]() if cell.dataset == "usair"}
    rows = {"HGCN": [0.9] * 4, "SAGE": [0.8, 0.8, 0.82, 0.82], "GAT": [0.95]}
    for row, scores in rows.items():
        for seed, score in enumerate(scores):
            beside = {"seed": seed, "untrained": {}, "hard": {}}
            store.add({**record(cells[row], seed, score), **beside})
    line = next(line for line in strangers_markdown(store, 4).splitlines() if "usair" in line)
    entries = [entry.strip() for entry in line.split("|")[2:-1]]
    assert entries == ["**90.0 ± 0.0**", "81.0 ± 1.2", "missing", "95.0 ± 0.0 (1)", "missing", "",
                       "+9.0 ± 0.6"]  # fmt: skip


def test_the_summary_has_what_was_run(tmp_path: Path) -> None:
    cells = {cell.name: cell for cell in EXPERIMENTS["table1"]()}
    store = Store(tmp_path / "runs.jsonl")
    for name, score in (("hgcn/cora/link", 0.9), ("gcn/cora/link", 0.8), ("gat/cora/node", 0.7)):
        for seed in range(2):
            store.add(record(cells[f"table1/{name}"], seed, score))
    assert summary_markdown(store, seeds=2).splitlines() == [
        "|  | Cora LP |",
        "| --- | --: |",
        "| GCN | 80.0 ± 0.0 |",
        "| GAT | missing |",
        "| HGCN | **90.0 ± 0.0** |",
        "| *HGCN in the paper* | *92.9* |",
    ]


@pytest.mark.parametrize(
    ("own", "rival", "bold", "difference"),
    [
        # Seeds differ by 20 points, the two methods on each of them by one: that is a difference.
        ([0.60, 0.80, 0.70], [0.59, 0.79, 0.69], "HGCN", "+1.0 ± 0.0 (SAGE)"),
        ([0.59, 0.79, 0.69], [0.60, 0.80, 0.70], "SAGE", "-1.0 ± 0.0 (SAGE)"),
        # The mean is ahead by as much, on one seed only: that is none.
        ([0.62, 0.80, 0.70], [0.59, 0.80, 0.70], "", "+1.0 ± 1.0 (SAGE)"),
    ],
)
def test_methods_are_compared_seed_by_seed(
    tmp_path: Path, own: list[float], rival: list[float], bold: str, difference: str
) -> None:
    store = Store(tmp_path / "runs.jsonl")
    cells = {(c.row, c.dataset): c for c in EXPERIMENTS["nodes"]()}
    for row, scores in (("hgcn", own), ("sage", rival)):
        for seed, score in enumerate(scores):
            store.add(record(cells[row, "debian"], seed, score))
    store.add(record(cells["gcn", "debian"], 0, 0.99))  # one seed is hardly begun
    header, *lines = (line.split(" | ") for line in blocks(store, 3)["nodes"].splitlines())
    (line,) = (line for line in lines if line[0] == "| Debian")
    assert line[-1] == f"{difference} |"
    assert [title for title, entry in zip(header, line, strict=True) if "**" in entry] == (
        [bold] if bold else []
    )


def test_cells_of_table_1_are_run_once_for_all_tables() -> None:
    known = {cell.key(0) for cell in EXPERIMENTS["table1"]()}
    same = [cell for cell in EXPERIMENTS["lowdim"]() if cell.row.endswith("-16")]
    assert {cell.key(0) for cell in same} <= known
    assert {cell.dataset for cell in EXPERIMENTS["nodes"]() if cell.key(0) not in known} == {
        "citeseer", "twitch", "debian",
    }  # fmt: skip
    others = [cell for cell in EXPERIMENTS["lowdim"]() if not cell.row.endswith("-16")]
    assert len({cell.key(0) for cell in others} - known) == len(others) == 96


def test_a_small_reproduction_runs_and_fills_its_cell(tmp_path: Path) -> None:
    tiny = {"model": "mlp", "epochs": 3, "eval_every": 1}
    cell = Cell("table1", "mlp", "disease", "node", tiny)
    store = Store(tmp_path / "runs.jsonl")
    assert reproduce([cell], seeds=1, store=store, processes=1) == []
    (line,) = (tmp_path / "runs.jsonl").read_text().splitlines()
    result = json.loads(line)
    assert result["config"]["epochs"] == 3
    assert 0 <= result["test"]["f1"] <= 1
    assert result["distortion"]["average"] > 0
    assert reproduce([cell], seeds=1, store=store, processes=1) == []
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 1


def test_tables_replace_what_is_between_markers() -> None:
    text = "a\n<!-- begin table1 -->\nold\n<!-- end table1 -->\nb\n"
    assert fill(text, {"table1": "new", "x": "y"}) == (
        "a\n<!-- begin table1 -->\n\nnew\n\n<!-- end table1 -->\nb\n"
    )


@pytest.mark.parametrize("name", ["docs/results.md", "README.md"])
def test_printed_tables_are_those_of_the_store(name: str) -> None:
    text = (ROOT / name).read_text()
    seeds = re.search(r"<!-- seeds (\d+) -->", text)
    assert seeds is not None, "the document says for how many seeds its tables are"
    tables = blocks(Store(ROOT / "results" / "runs.jsonl"), int(seeds[1]))
    assert fill(text, tables) == text


def test_show_runs_nothing_and_takes_no_cells(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--cells", "gcn/*/*"], ["--quick"]):
        assert main(["reproduce", "table1", "--show", *words]) == 2
        assert "`--show` runs nothing" in capsys.readouterr().err
