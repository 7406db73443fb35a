"""Searches of several machines through one SQL server: a real PostgreSQL, started for the test."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hgcn.tuning.search import search
from small_graphs import tree

SETTINGS = {"task": "link", "epochs": 20, "eval_every": 2, "dim": 2, "space": {"lr": [0.01, 0.05]}}

# What another machine does: the same search with the same storage.
MACHINE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from small_graphs import tree
from hgcn.tuning.search import search

def after(trials):
    print(trials.done, flush=True)

if __name__ == "__main__":
    search(tree(), trials=int(sys.argv[2]), storage=sys.argv[1], on_trial=after, **{SETTINGS!r})
"""


def programs() -> Path | None:
    """The folder with the programs of PostgreSQL, the newest one, if there is any."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(installed, key=lambda path: float(path.parts[4]), default=None)
    return newest.parent if newest else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a database in a server of our own."""
    pytest.importorskip("psycopg")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed.")
    other = []
    if os.getuid() == 0:  # the server refuses to run as root
        other = ["runuser", "-u", "nobody", "--"]
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser.")
    # Another user cannot look into the temporary folders of pytest.
    with tempfile.TemporaryDirectory(prefix="hgcn-postgres-") as place:
        data, port = f"{place}/data", free_port()
        if other:
            shutil.chown(place, "nobody")

        def call(program: str, *arguments: str) -> None:
            command = [*other, str(folder / program), *arguments]
            subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL, timeout=60)

        call("initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {place} -c fsync=off"
        call("pg_ctl", "-D", data, "-o", options, "-l", f"{place}/log", "-w", "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def machine(server: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MACHINE, server, "100"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_machines_share_a_search_and_may_die(server):
    machines = [machine(server) for _ in range(2)]
    try:
        for process in machines:
            assert process.stdout is not None
            assert process.stdout.readline()  # each has finished a trial
    finally:
        for process in machines:
            process.kill()
            process.communicate()
    begun = search(tree(), trials=1, storage=server, **SETTINGS).trials
    done = begun.filter(state="complete").height
    assert done >= 2
    # What the dead have finished is kept, what they had begun is not waited for.
    result = search(tree(), trials=done + 2, storage=server, **SETTINGS).trials
    assert result.filter(state="complete").height == done + 2
    alone = search(tree(), trials=1, **SETTINGS).trials
    assert result["value"][0] == pytest.approx(alone["value"][0], abs=1e-12)
