"""Every example in a docstring of the package runs, and shows what it says."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import hgcn

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
