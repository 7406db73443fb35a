"""Every code block and command of documents and notebooks runs, in order, in an empty folder."""

import os
import re
import webbrowser
from pathlib import Path

import pytest

import hgcn
from hgcn.data import DATASETS, Dataset, disease_spread, read
from hgcn.training import loop
from pages import CODE, FILES, NOTEBOOKS, PAGES, ROOT, blocks, check_words, commands, run_page


def people() -> hgcn.Graph:
    return read(
        FILES / "edges.csv", features=FILES / "people.csv", labels="role", drop=["name", "joined"]
    )


def mammals() -> hgcn.Graph:
    """A taxonomy, from child to parent."""
    rows = (FILES / "mammals.csv").read_text().split()[1:]
    return read(FILES / "mammals.csv", directed=True, name=f"{len(rows)} edges")


STAND_INS = {
    "airport": people,
    "cora": lambda: people().replace(ids=None),
    "disease": lambda: disease_spread(120, features=20),
    "disease_lp": lambda: disease_spread(120, features=20, seed=1),
    "pubmed": people,
    "wordnet_mammal": mammals,
}
"""Small graphs for data sets by name: downloads, and large graphs, are no matter of these tests."""


@pytest.fixture(autouse=True)
def _small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, small data, one validation for a training, no browser."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(webbrowser, "open", lambda *_: True)
    entries = dict(DATASETS._entries)
    for name, load in STAND_INS.items():
        entries[name] = Dataset(name, "a stand-in", load=load, presets=DATASETS[name].presets)
    monkeypatch.setattr(DATASETS, "_entries", entries)

    def is_over(state: loop.State, config: hgcn.Config) -> bool:
        if state.best.epoch or state.epoch >= config.epochs:
            state.stopped = "epochs"
        return bool(state.stopped)

    monkeypatch.setattr(loop, "_is_over", is_over)


@pytest.mark.parametrize("page", CODE, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_the_code_of_a_page_runs(page: Path) -> None:
    run_page(page)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    assert run_page(notebook) >= 5
    stored = notebook.read_text(encoding="utf-8")
    assert '"outputs": []' in stored
    assert not re.search(r'"outputs": \[\n', stored), "outputs are not stored: they get out of date"


def test_little_is_skipped() -> None:
    """Most blocks run; what does not has a reason, and what its commands name is there."""
    found = [(page.name, block) for page in CODE for block in blocks(page)]
    found = [(name, block) for name, block in found if block.language in ("sh", "python")]
    skipped = [(name, block) for name, block in found if block.skipped]
    assert len(skipped) <= len(found) / 8
    for name, block in skipped:
        if block.language == "sh":
            for words in commands(block.code):
                check_words(words, f"{name}, line {block.line}")


def test_no_page_is_of_one_machine() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert str(Path.home()) + os.sep not in text, page
        assert not re.search(r"/(home|Users|root)/\w", text), page


def test_the_runner_notices_a_fault(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text, match in (
        ("```python\nundefined\n```", "undefined"),
        ("```sh\nhgcn train nothing.csv\n```", "line 1: hgcn train nothing.csv"),
        ("```sh\nrm -r x\n```", "rm cannot be run"),
        ("<!-- test: skip -->\n```sh\nhgcn datasets\n```", "no reason"),
        ("<!-- test: replace cora => disease, it is small -->\n```sh\nhgcn x\n```", "no 'cora'"),
    ):
        page.write_text(text + "\n")
        with pytest.raises((AssertionError, NameError), match=match):
            run_page(page)
    for command, match in (
        ("make cake", "cake"),
        ("hgcn train x --epoch 3 --epocks 4", "epocks"),
        ("hgcn bake", "bake"),
        ("torchrun --nproc-per-node 2 -m other x", "line 1"),
        ("python benchmarks/none.py", "none.py"),
        ("curl x", "nothing is known of curl"),
    ):
        with pytest.raises(AssertionError, match=match):
            check_words(command.split(), "line 1")
    page.write_text("```python\na = 1\n```\n\n```python\nassert a == 1\nb = a\nb\n```\n")
    assert run_page(page) == 2
