"""Locks: one holder at a time, also of a file that its holder removes."""

import os
from pathlib import Path

import pytest

from hgcn.locks import locked_or, share

BUSY = ValueError("busy")


def test_a_lock_has_one_holder(tmp_path):
    path = tmp_path / ".lock"
    with locked_or(path, BUSY):
        with pytest.raises(ValueError, match="busy"), locked_or(path, BUSY):
            pass
        path.unlink()
    with locked_or(path, BUSY):
        assert path.exists()


def test_the_lock_of_a_file_that_was_removed_excludes_nobody(tmp_path, monkeypatch):
    """Another process removes the file after it was opened here, and before it was locked."""
    path, opened = tmp_path / ".lock", []
    honest = Path.open

    def removed_once(self, *arguments, **options):
        file = honest(self, *arguments, **options)
        opened.append(file)
        if len(opened) == 1:
            self.unlink()
        return file

    monkeypatch.setattr(Path, "open", removed_once)
    with locked_or(path, BUSY):
        monkeypatch.undo()
        assert len(opened) == 2
        with pytest.raises(ValueError, match="busy"), locked_or(path, BUSY):
            pass


@pytest.mark.skipif(os.name == "nt", reason="there are no shared locks")
def test_who_shares_a_lock_knows_whether_it_is_the_first(tmp_path):
    handles = [os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(3)]
    assert share(handles[0])
    assert not share(handles[1])
    os.close(handles[0])
    assert not share(handles[2])
    os.close(handles[1])
    assert share(handles[2])
    os.close(handles[2])
