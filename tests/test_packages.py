"""What only a part of hgcn needs is an extra, and its absence is a line with the command."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import hgcn
from hgcn import packages
from hgcn.cli import BAD_INPUT, main
from hgcn.errors import HGCNError, PackageError
from hgcn.training.problem import choose

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
GRAPHML = '<graphml><graph edgedefault="undirected"><node id="a"/></graph></graphml>'


def names(lines: list[str]) -> set[str]:
    return {re.split(r"[\[<>=]", line)[0].replace("-skinny", "") for line in lines}


@pytest.mark.parametrize(("package", "extra"), packages.EXTRAS.items())
def test_an_extra_brings_what_its_name_is_given_for(package: str, extra: str) -> None:
    assert package in names(EXTRAS[extra])
    assert package not in names(PROJECT["dependencies"])


def hide(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every import of a package fail, as if it were not installed."""
    for name in [package, *sys.modules]:
        if name.partition(".")[0] == package or name.startswith("hgcn.tuning"):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "hgcn.tuning", raising=False)
    for name in [name for name in sys.modules if name.startswith("hgcn.tuning.")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("optuna", "search disease --trials 1"),
        ("matplotlib", "figures geometry"),
        ("matplotlib", "figures curvature"),
        ("torch_geometric", "train disease --model gcn --epochs 1"),
        ("torch_geometric", "compare --baselines disease"),
        ("geoopt", "train disease --task link --model hyp --epochs 1"),
        ("networkx", "hyperbolicity ring.csv"),
        ("networkx", "train graph.graphml"),
    ],
)
def test_a_missing_package_is_a_line_that_names_the_command(
    package: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph.graphml").write_text(GRAPHML)
    # A tree needs no blocks, by which delta is found.
    Path("ring.csv").write_text("".join(f"{i},{(i + 1) % 20}\n" for i in range(20)))
    hide(package, monkeypatch)
    assert main([*command.split(), *["--quiet"] * (not command.startswith("hyper"))]) == BAD_INPUT
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    assert f"the package {package}" in err
    assert f"pip install 'hgcn[{packages.EXTRAS[package]}]'" in err
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        ["graph.graphml", "ring.csv"], ["graph.graphml", "ring.csv", "searches"],
    )  # fmt: skip


def test_a_missing_package_is_told_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compiling kernels and splitting a large graph take minutes."""
    hide("geoopt", monkeypatch)
    graph = hgcn.data.tree_with_features(0.8, depth=2)
    for model in ("hyp", "hyp-mixed"):
        with pytest.raises(PackageError, match="the model Hyp"):
            choose(graph, hgcn.Config(task="link", model=model))
    assert choose(graph, hgcn.Config(task="link", model="euc")).model == "euc"


def test_a_package_that_is_broken_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("geoopt", monkeypatch)
    monkeypatch.delitem(sys.modules, "geoopt")
    (tmp_path / "geoopt.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PackageError, match=r"cannot be imported \(No module named 'no_such_mod"):
        packages.require("geoopt", "this test")


def test_the_error_is_one_of_ours_and_an_import_error() -> None:
    assert issubclass(PackageError, HGCNError)
    assert issubclass(PackageError, ImportError)


def test_importing_hgcn_is_silent_and_loads_nothing_heavy() -> None:
    """So it takes a hundredth of a second; the time itself is no fact that a test can rely on."""
    heavy = {"torch", "numpy", "numba", "polars", "scipy", "sklearn", "rich", *packages.EXTRAS}
    check = f"import hgcn, sys; sys.exit(bool({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", check], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_lower_bounds_are_below_the_tested_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[1]
    monkeypatch.syspath_prepend(root / ".ci")
    bounds = import_module("lowest").bounds((root / "pyproject.toml").read_text())
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (root / "constraints.txt").read_text(), re.M))
    assert {"torch", "numba", "optuna", "geoopt"} <= set(bounds)
    # The workflow asks for the oldest torch; the Makefile takes a newer one by itself.
    workflow = (root / ".github" / "workflows" / "ci.yml").read_text()
    assert f"make test-lowest TORCH={bounds['torch']}.0\n" in workflow
    for name in set(bounds) & set(tested):
        low, high = ([int(n) for n in v.split(".")] for v in (bounds[name], tested[name]))
        assert low <= high, name
