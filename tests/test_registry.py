"""Open tables of choices, and packages that add to them."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hgcn import names, registry
from hgcn.config import Config
from hgcn.errors import ConfigError
from hgcn.registry import Registry
from hgcn.training.problem import Problem, choose
from small_graphs import tree

TABLES = [table for table in vars(names).values() if isinstance(table, Registry)]
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PLUGIN = Path(__file__).parents[1] / "examples" / "plugin"


def test_choices_are_kept_in_order_and_found() -> None:
    table: Registry[Any] = Registry("thing", {"one": "math:pi"})
    table.register("two", 2)
    assert list(table) == ["one", "two"]
    assert (table["one"], table["two"], len(table)) == (pytest.approx(3.14159, abs=1e-5), 2, 2)
    assert "three" not in table
    with pytest.raises(KeyError):
        table["three"]
    with pytest.raises(ConfigError, match=r"Expected `thing` to be one of 'one', 'two', got 'tow'"):
        table.find("tow")


@pytest.mark.parametrize("name", ["one", "Two", "", "a b", 3])
def test_a_name_that_is_taken_or_none_is_refused(name: Any) -> None:
    table: Registry[Any] = Registry("thing", {"one": "math:pi"})
    with pytest.raises(ConfigError, match="name"):
        table.register(name, 1)
    assert list(table) == ["one"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.what)
def test_every_address_leads_somewhere(table: Registry[Any]) -> None:
    assert len(table) > 1
    for name in table:
        assert callable(table[name]) or hasattr(table[name], "apply")


def test_what_is_registered_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="`model` to be one of"):
        Config(model="mine")
    monkeypatch.setitem(names.MODELS._entries, "mine", object)
    assert Config(model="mine").model == "mine"


def test_a_plugin_that_fails_is_named_and_the_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry_points(group: str) -> list[Any]:
        def fine() -> None:
            called.append(group)

        def broken() -> None:
            raise ImportError("no module named numbers_of_mine")

        return [
            SimpleNamespace(name="bad", value="bad:register", load=lambda: broken),
            SimpleNamespace(name="good", value="good:register", load=lambda: fine),
        ]

    called: list[str] = []
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    with pytest.warns(UserWarning, match=r"plugin 'bad' \(bad:register\) .*numbers_of_mine"):
        assert "hgcn" in list(names.MODELS)
    assert called == ["hgcn.plugins"]
    assert "nothing" not in names.MODELS
    assert called == ["hgcn.plugins"]  # once in a process


def test_the_plugin_of_the_documents_works(tmp_path: Path) -> None:
    """Built and unpacked as pip would: a module, and metadata with an entry point."""
    pytest.importorskip("hatchling", reason="hatchling builds the package")
    code = PAGE.read_text(encoding="utf-8").split("<!-- begin plugin -->")[1].split("```")[1]
    code = code.removeprefix("python\n")
    assert len(code.strip().splitlines()) < 40
    assert code == (PLUGIN / "my_graphs.py").read_text(encoding="utf-8")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=PLUGIN, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    def hgcn(*commands: str) -> str:
        """What some commands print, one after the other in a new process."""
        script = (
            "import sys\nfrom hgcn.cli import main\n"
            "for words in sys.argv[1:]:\n    assert main(words.split()) == 0, words\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, *commands], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "plugin" not in done.stderr
        return done.stdout

    quick = "--epochs 4 --dim 2 --quiet --out"
    hgcn(
        f"train ring --model degrees {quick} model",
        f"train ring --aggregation plain {quick} aggregation",
    )
    assert "ring" in hgcn("evaluate model", "evaluate aggregation", "datasets")
    assert "degrees" in hgcn("train --help")


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (setting, name)
        for setting, table in {
            "act": names.ACTIVATIONS,
            "last_act": names.ACTIVATIONS,
            "aggregation": names.AGGREGATIONS,
            "classifier": names.CLASSIFIERS,
            "normalise": names.NORMALISATIONS,
        }.items()
        for name in table
    ],
)
def test_every_choice_that_settings_take_makes_a_network(setting: str, name: str) -> None:
    """What the configuration accepts is never refused when the network is built."""
    graph = tree(30)
    config = choose(graph, Config(task="node", dim=2, **{setting: name}))
    problem = Problem(graph, config)
    assert bool(problem.task(problem.predictor()).outputs("val")[0].isfinite().all())
