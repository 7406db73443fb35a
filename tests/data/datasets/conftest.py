"""What tests of data sets share."""

from pathlib import Path

import pytest


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder and an empty cache, which is returned."""
    monkeypatch.delenv("HGCN_DATA", raising=False)
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
