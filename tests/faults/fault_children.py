"""Commands of hgcn in processes of their own, which may die at any moment."""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate"}
"""What counts as an operation on a file."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    code: int
    said: str
    seconds: float
    operations: int

    def told(self):
        """Its exit code, which no traceback may come with."""
        assert "Traceback" not in self.said, self.said[-2000:]
        assert "A fault of hgcn" not in self.said, self.said[-2000:]
        return self.code


def run(context, folder, words, *, seconds=None, operation=None, signum=signal.SIGKILL, before=None):
    """Run a command in a folder; kill it after some seconds, or before one of its operations.

    Args:
        context: the context of ``multiprocessing``.
        folder: where it runs.
        words: the command, or several of them, one after the other.
        seconds: when to send the signal.
        operation: the number of the operation on a file before which the process kills itself.
        signum: the signal.
        before: called in the process before the command.
    """
    log = folder.parent / f"{folder.name}.log"
    log.unlink(missing_ok=True)
    begin = time.monotonic()
    process = context.Process(target=_child, args=(folder, words, log, operation, before))
    process.start()
    if seconds is not None:
        process.join(seconds)
        if process.is_alive():
            os.kill(process.pid, signum)
    process.join(120)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError(f"Still running after two minutes: {words}")
    took = time.monotonic() - begin
    count = folder.parent / f"{folder.name}.count"
    operations = json.loads(count.read_text()) if count.exists() else 0
    count.unlink(missing_ok=True)
    said = log.read_text(errors="replace") if log.exists() else ""
    return Ended(process.exitcode, said, took, operations)


def _child(folder, words, log, operation, before):
    """Be the command: in its folder, in a session of its own, with its output in a file."""
    os.setsid()
    os.chdir(folder)
    os.environ["HGCN_CHECKPOINT_SECONDS"] = "0"
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(handle, stream)
    # The test runner's own, if there are any, are those of another process.
    sys.stdout = open(1, "w", closefd=False, buffering=1)  # noqa: SIM115, PTH123
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115, PTH123
    from hgcn.cli import main
    from hgcn.runs import checkpoint

    checkpoint.CHECKPOINT_SECONDS = 0.0
    watch = Watch(folder, operation)
    sys.addaudithook(watch)
    code = 0
    try:
        if before is not None:
            before()
        code = main([str(word) for word in words])
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        watch.at = None
        sys.stdout.flush()
        Path(f"{folder}.count").write_text(json.dumps(watch.count))
    os._exit(code)


class Watch:
    """Counts the operations on files below a folder, and kills the process before one of them."""

    def __init__(self, folder, at):
        self.folder, self.at, self.count = f"{folder}{os.sep}", at, 0

    def __call__(self, event, arguments):
        if event not in EVENTS or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.fspath(arguments[0])
        if not isinstance(path, str) or (os.path.isabs(path) and not path.startswith(self.folder)):
            return
        if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def contents(folder):
    """The bytes of every file, without what no two runs have in common: times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = _timeless(path)
    return found


def _timeless(path):
    if path.name in ("metrics.json", "environment.json"):
        content = json.loads(path.read_text())
        content.pop("seconds", None)
        if "files" in content:
            content["files"].pop("metrics.json")
        return json.dumps(content)
    if path.name == "journal.log":
        return "a journal has times in every line"
    if path.suffix == ".csv":
        rows = [line.split(",") for line in path.read_text().splitlines()]
        at = rows[0].index("seconds") if "seconds" in rows[0] else None
        return [[cell for k, cell in enumerate(row) if k != at] for row in rows]
    return path.read_bytes()


def left_alive(session, seconds=10.0):
    """The processes of a session that are still there after a while."""
    limit = time.monotonic() + seconds
    while alive := [pid for pid in map(int, _processes()) if _session(pid) == session]:
        if time.monotonic() > limit:
            return alive
        time.sleep(0.1)
    return []


def _processes():
    return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _session(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, _, _, session = status.rpartition(")")[2].split()[:4]
    return None if state == "Z" else int(session)
