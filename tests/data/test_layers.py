"""Which module of ``hgcn.data`` may import which, and what importing it must not load."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hgcn.data

ROOT = Path(hgcn.data.__file__).parent
OUTSIDE = {
    "registry",
    "names",
    "config",
    "errors",
    "text",
    "files",
    "locks",
    "compiled",
    "cores",
    "packages",
}
GRAPH = {
    "pairs", "clean", "sparse", "pyg", "table", "check", "neighbours", "mapped/arrays", "graph"
}  # fmt: skip
LOADED = {"mapped/columns", "mapped/load"}
READING = GRAPH | LOADED | {"columns", "encoding", "reading"}
WRITTEN = {f"mapped/{name}" for name in (
    "blocks", "build", "edges", "journal", "nodes", "numbering", "save", "sorting"
)}  # fmt: skip
"""What writes a mapped graph reads all kinds of sources; what loads one is for readers."""
ALLOWED = {
    "pairs": set(),
    "clean": {"pairs"},
    "sparse": set(),
    "pyg": {"pairs", "clean", "sparse"},
    "table": set(),
    "check": {"sparse", "graph"},
    "neighbours": {"pairs"},
    "mapped/arrays": set(),
    "graph": GRAPH,
    "columns": {"table"},
    "encoding": {"sparse", "table", "columns"},
    "mapped/columns": GRAPH,
    "mapped/load": GRAPH | LOADED,
    "reading": READING,
    "convert": READING,
    "bins": {"sparse"},
    "features": GRAPH | {"convert", "bins"},
    "splits": GRAPH | {"convert", "splits"},
    "gromov": GRAPH | {"convert", "gromov"},
    "datasets": READING | {"datasets", "mapped/blocks"},
    "loading": READING | {"datasets"},
} | dict.fromkeys(WRITTEN, READING | WRITTEN | {"datasets", "loading"})
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The modules of hgcn that a file imports, in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [str(node.module)]
            if node.module in ("hgcn", "hgcn.data.mapped"):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name for name in names if name.startswith("hgcn."))  # hgcn has the version


def place(*parts: str) -> str:
    """Where a module stands; of mapped graphs, each file has a place of its own."""
    return "/".join(parts[:2]) if parts[0] == "mapped" else parts[0]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_down(module: Path) -> None:
    own = place(*module.with_suffix("").parts)
    for name in imports(ROOT / module):
        parts = name.split(".")
        if parts[1:2] != ["data"]:
            assert parts[1] in OUTSIDE, f"{module} imports {name}"
        elif own != "__init__":
            assert place(*parts[2:]) in ALLOWED[own], f"{module} imports {name}"


@pytest.mark.parametrize("package", ["", ".reading", ".datasets", ".splits", ".gromov"])
def test_no_exported_name_is_that_of_a_submodule(package: str) -> None:
    module = importlib.import_module(f"hgcn.data{package}")
    submodules = {info.name for info in pkgutil.iter_modules(module.__path__)}
    assert not submodules & set(getattr(module, "__all__", ()))


def test_importing_the_package_loads_nothing_slow() -> None:
    check = (
        "import sys, torch; before = set(sys.modules); import hgcn.data\n"
        "slow = {'numba', 'polars', 'scipy', 'networkx', 'torch_geometric', 'rich'}\n"
        "found = slow & (set(sys.modules) - before); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", check], check=True)
