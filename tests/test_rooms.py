"""The house keeps its order: the table of docs/architecture.md is what the imports obey."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages

import pytest

import hgcn

ROOT = Path(hgcn.__file__).parent
REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "architecture.md"
PAGES = sorted([*REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("*.md")])
FILES = sorted(ROOT.rglob("*.py"))


def rooms() -> dict[str, int]:
    """The row of each room in the table: the first column has their names."""
    text = PAGE.read_text(encoding="utf-8").split("## Rooms")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ((?:`[^`|]+`(?:, )?)+) \|", text, re.M)
    found = [
        (re.sub(r"(\.py|/)$", "", n), k) for k, r in enumerate(rows) for n in r.split("`")[1::2]
    ]
    assert len(found) == len(dict(found)), "a room stands in the table once"
    return dict(found)


def imported(path: Path) -> Iterator[str]:
    """Rooms that a file imports, at its top, in a function or for types alone."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            whole = node.module == "hgcn"
            names = [f"hgcn.{n.name}" for n in node.names] if whole else [node.module or ""]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hgcn":
            names = [f"hgcn.{node.attr}"]  # the package itself leads to every room
        yield from (name.split(".")[1] for name in names if name.startswith("hgcn."))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_file_is_in_a_room() -> None:
    assert {room_of(path) for path in FILES} - {"__init__", "__main__"} == set(rooms())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_the_table(path: Path) -> None:
    level, own = rooms(), room_of(path)
    if own in ("__init__", "__main__"):
        return
    for other in set(imported(path)) - {own, "__version__"}:
        assert level[own] <= level[other], f"{own} is below {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_hides_a_missing_seam(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_name_is_both_a_module_and_something_else() -> None:
    for info in walk_packages(hgcn.__path__, "hgcn."):
        if info.ispkg:
            package = import_module(info.name)
            modules = {module.name for module in iter_modules(package.__path__)}
            both = modules & set(getattr(package, "__all__", ()))
            assert not {
                name
                for name in both
                if not hasattr(getattr(package, name), "__path__")
                and not hasattr(getattr(package, name), "__spec__")
            }, info.name


def links(page: Path) -> list[tuple[str, Path]]:
    """Text and file of each link of a page to another file."""
    found = re.findall(r"\[([^\]]*)\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    return [(text, page.parent / link) for text, link in found if "://" not in link]


def defined(path: Path) -> set[str]:
    """The names that a file defines at its top level."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    """A linked file exists, and it defines the name or has the path that the link shows."""
    for text, file in links(page):
        assert file.exists(), f"[{text}]({file})"
        shown = re.fullmatch(r"`([\w./]+)`", text)
        if shown and file.suffix == ".py":
            name = shown[1]
            fits = (
                str(file).endswith(f"/{name}")
                if name.endswith(".py")
                else name.endswith("/") or name.split(".")[-1] in defined(file)
            )
            assert fits, f"{name} is not in {file}"


def test_the_equations_have_links() -> None:
    """Otherwise the test above would have nothing to check."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.split("## The paper's equations")[1].split("\n## ")[0]
    assert len(re.findall(r"\]\(\.\./src/hgcn/\S+\.py\)", table)) >= 30


def test_a_word_stands_in_the_glossary_once() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Words")[1]
    words = re.findall(r"^\| ([^*|]+?) \| [^|]", text, re.M)[1:]
    assert len(words) > 40
    assert sorted(set(words)) == sorted(words)
