"""The journal of a search survives what happens to the processes that write it."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from hgcn.errors import RunError
from hgcn.tuning.journal import Journal
from hgcn.tuning.search import search
from small_graphs import tree

HOLD = """if True:
    import sys, time
    from hgcn.tuning.journal import Journal
    journal = Journal(sys.argv[1])
    journal._lock.acquire()
    print("held", flush=True)
    time.sleep(60)
"""


def entries(path):
    return list(Journal(path).read_logs(0))


def test_entries_come_back(tmp_path):
    journal = Journal(tmp_path / "journal.log")
    journal.append_logs([{"a": 1}, {"b": "ü"}])
    Journal(tmp_path / "journal.log").append_logs([{"c": None}])
    assert entries(tmp_path / "journal.log") == [{"a": 1}, {"b": "ü"}, {"c": None}]


def test_a_killed_process_gives_the_lock_back(tmp_path, monkeypatch):
    """In a relative folder, where Optuna's own lock would dangle and be waited for without end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "searches").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, "searches/journal.log"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        process.send_signal(signal.SIGKILL)
    start = time.monotonic()
    Journal("searches/journal.log").append_logs([{"a": 1}])
    assert time.monotonic() - start < 5
    assert entries("searches/journal.log") == [{"a": 1}]


@pytest.mark.parametrize("cut", ['{"a":1', "{", '{"a": "' + 200_000 * "x"])
def test_a_line_that_was_cut_off_is_dropped(tmp_path, cut):
    path = tmp_path / "journal.log"
    for whole in ("", '{"b":2}\n'):
        path.write_text(whole + cut)
        journal = Journal(path)
        journal.append_logs([{"c": 3}])
        assert entries(path)[-1] == {"c": 3}
        assert len(entries(path)) == 1 + bool(whole)


def test_a_full_disk_loses_no_trial(tmp_path, monkeypatch):
    path = tmp_path / "journal.log"
    journal = Journal(path)
    journal.append_logs([{"a": 1}])

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunError, match="No space left on device"):
            journal.append_logs([{"b": 2}])
    assert path.read_text() == '{"a":1}\n'
    journal.append_logs([{"c": 3}])
    assert entries(path) == [{"a": 1}, {"c": 3}]


@pytest.mark.parametrize("text", ["these are\nnot trials\n", "[" * 100_000 + "\n"])
def test_a_file_that_is_no_journal_is_named(tmp_path, text):
    path = tmp_path / "journal.log"
    path.write_text(text)
    with pytest.raises(RunError, match=r"journal\.log to be the journal of a search"):
        entries(path)


@pytest.mark.skipif(os.name == "nt", reason="has no limit for files")
def test_a_line_that_has_no_room_leaves_no_part_of_it(tmp_path):
    """The system takes some bytes of it, and says only then that there is no room."""
    import resource

    path = tmp_path / "journal.log"
    journal = Journal(path)
    journal.append_logs([{"a": 1}])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, before[1]))
    try:
        with pytest.raises(RunError, match="The trials before are kept"):
            journal.append_logs([{"b": 20 * "x"}])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == '{"a":1}\n'


def test_a_journal_knows_whether_another_process_uses_it(tmp_path):
    first = Journal(tmp_path / "journal.log")
    assert first.alone
    assert not Journal(tmp_path / "journal.log").alone
    del first
    assert Journal(tmp_path / "journal.log").alone


@pytest.mark.parametrize("changed", ["study_ix", "op_cope", "user_attx"])
def test_a_changed_journal_is_refused(changed, tmp_path):
    """A line may still be JSON, and yet lack what Optuna looks for."""
    path = tmp_path / "journal.log"
    quick = {"task": "node", "trials": 1, "epochs": 2, "dim": 2, "space": {"lr": [0.01, 0.02]}}
    search(tree(30), storage=path, **quick)
    whole = path.read_text()
    right = {"study_ix": "study_id", "op_cope": "op_code", "user_attx": "user_attr"}[changed]
    assert right in whole
    path.write_text(whole.replace(f'"{right}"', f'"{changed}"'))
    with pytest.raises(RunError, match=r"journal\.log.* damaged or foreign"):
        search(tree(30), storage=path, **quick)
