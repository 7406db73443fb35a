"""Examples in docstrings run and show what they say; references lead somewhere."""

import ast
import doctest
import inspect
import re
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import hgcn
from hgcn.cli import COMMANDS
from pages import CODE, NOTEBOOKS, blocks

SOURCE = Path(hgcn.__file__).parents[1]


def examples() -> dict[str, int]:
    """How many examples each module has, by reading it: importing all takes long and may fail."""
    counts = {}
    for path in sorted(SOURCE.glob("hgcn/**/*.py")):
        count = len(re.findall(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))
        if count:
            parts = path.relative_to(SOURCE).with_suffix("").parts
            counts[".".join(parts).removesuffix(".__init__")] = count
    return counts


EXAMPLES = examples()


def test_there_are_examples() -> None:
    assert {"hgcn", "hgcn.estimators", "hgcn.geometry.ball"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # Some of them write a file.
    monkeypatch.setenv("MPLBACKEND", "agg")
    report: list[str] = []
    runner = doctest.DocTestRunner()
    for found in doctest.DocTestFinder().find(import_module(name)):
        runner.run(found, out=report.append)
    if report:
        pytest.fail("".join(report), pytrace=False)
    # Fewer would run if a decorator hid a docstring, or if an example asked to be skipped.
    assert runner.tries == EXAMPLES[name]


def exists(name: str) -> bool:
    """Whether a dotted name is that of a module, or of something in one."""
    words = name.split(".")
    for count in range(len(words), 0, -1):
        try:
            found = import_module(".".join(words[:count]))
        except ImportError:
            continue
        for word in words[count:]:
            if not hasattr(found, word):
                return False
            found = getattr(found, word)
        return True
    return False


def names_in(source: str) -> set[str]:
    """All names that a file defines, assigns or imports, those in classes included."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_references_lead_somewhere() -> None:
    """A name in :func:`...` and the like is whole, or in its file, or inherited there."""
    lost = []
    for path in sorted(SOURCE.glob("hgcn/**/*.py")):
        source = path.read_text(encoding="utf-8")
        found = set(re.findall(r":(?:func|class|mod|meth|data):`~?([^`]+)`", source))
        own = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for name in sorted(found - names_in(source)):
            if "." in name:
                good = exists(own.rpartition(".")[0] + name if name.startswith(".") else name)
            else:
                values = vars(import_module(own)).values()
                good = any(hasattr(value, name) for value in values if isinstance(value, type))
            if not good:
                lost.append(f"{path}: {name}")
    assert not lost


def reference() -> Any:
    """The module that makes the reference of the site: it says which names are public."""
    path = SOURCE.parent / "docs" / "reference.py"
    spec = spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = reference()
PUBLIC = [(module, name) for module in REFERENCE.MODULES for name in REFERENCE.public_names(module)]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=str)
def test_a_public_name_has_a_docstring_and_an_example(module: str, name: str) -> None:
    """Of a class that is a result, and where "See" says so, the example is another function's."""
    value = getattr(import_module(module), name)
    text = inspect.getdoc(value) or ""
    assert len(text) > 20
    if isinstance(value, type) and issubclass(value, BaseException):
        return  # it says when it is raised
    word = "" if isinstance(value, type) else "See "
    others = re.findall(word + r":func:`~?([\w.]+)`", text)
    homes = (inspect.getmodule(value), import_module(module))
    for other in others:
        place, _, last = other.rpartition(".")
        for home in (import_module(place),) if place else homes:
            text += inspect.getdoc(getattr(home, last, None)) or ""
    assert ">>> " in text


def test_the_reference_has_all_commands_and_flags() -> None:
    page = REFERENCE.commands_page()
    for command in COMMANDS:
        assert f"## hgcn {command}\n" in page
    for flag in ("--aggregation", "--log", "--top-k", "--coordinates", "--baselines"):
        assert flag in page


def test_the_list_of_public_names_is_the_list_of_public_names() -> None:
    """If not: `python docs/reference.py` writes it anew."""
    assert REFERENCE.public_table() in (SOURCE.parent / "docs" / "stability.md").read_text()


def test_pages_and_examples_use_public_names_alone() -> None:
    """The names of stability.md: the table, and what its list names for plugins."""
    named = {("hgcn", "kernels"), ("hgcn.names", "AGGREGATIONS"), ("hgcn.names", "MODELS")}
    named |= {(m, name) for m in REFERENCE.MODULES for name in import_module(m).__all__}
    root = SOURCE.parent
    code = {page: [b.code for b in blocks(page) if b.language == "python"] for page in CODE}
    code |= {page: [b.code for b in blocks(page)] for page in NOTEBOOKS}
    code |= {path: [path.read_text("utf-8")] for path in root.glob("examples/**/*.py")}
    for path, texts in code.items():
        for node in ast.walk(ast.parse("\n".join(texts))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hgcn"):
                for alias in node.names:
                    assert (node.module, alias.name) in named, path


def test_every_page_is_on_the_site() -> None:
    docs = SOURCE.parent / "docs"
    index = (docs / "index.md").read_text()
    listed = re.findall(r"^([\w/]+)$", index, re.MULTILINE)
    assert sorted(set(listed)) == sorted(listed)
    made = {"reference/api", "reference/commands"}
    assert set(listed) - made == {path.stem for path in docs.glob("*.md")} - {"index"}
    assert not set(listed) & {"search", "genindex"}, "Sphinx writes pages of these names itself"
