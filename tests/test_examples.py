"""The examples run; those that train do so for two epochs."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert not capsys.readouterr().out  # only `main` does anything
    monkeypatch.chdir(tmp_path)
    if hasattr(example, "EPOCHS"):
        monkeypatch.setattr(example, "EPOCHS", 2)
    example.main()
    assert capsys.readouterr().out.strip()
