"""Commands of hgcn in processes of their own, which may die at any moment."""

import itertools
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path

TRAIN = ["train", "edges.csv", "--features", "nodes.csv", "--labels", "side", "--task", "node",
         "--epochs", "6", "--eval-every", "2", "--dim", "2", "--out", "run", "--quiet"]  # fmt: skip
LINK = [*TRAIN[:7], "link", *TRAIN[8:]]
SEARCH = ["search", "edges.csv", "--trials", "4", "--epochs", "2", "--eval-every", "1", "--dim",
          "2", "--processes", "1", "--out", "found", "--quiet"]  # fmt: skip
HIERARCHY = ["train", "edges.csv", "--task", "hierarchy", "--model", "free", "--dim", "3",
             "--epochs", "4", "--eval-every", "2", "--out", "above", "--quiet"]  # fmt: skip
COMMANDS = {
    "train, links": LINK,
    "train, nodes": TRAIN,
    "search": SEARCH,
    "convert": [
        "convert",
        "edges.csv",
        "--features",
        "nodes.csv",
        "--labels",
        "side",
        "-o",
        "graph",
        "--quiet",
    ],
    "embed": ["embed", "run", "-o", "out.csv"],
    "predict": ["predict", "run", "--top-k", "9", "-o", "out.csv"],
    "view": ["view", "run", "-o", "page.html", "--no-open"],
    "neighbours": ["neighbours", "run", "-k", "3", "-o", "near.parquet"],
    "ancestors": ["ancestors", "above", "n5", "n9", "-k", "3", "-o", "above.csv"],
}
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate"}
"""What counts as an operation on a file."""
LIMIT = 600
"""Seconds after which a process hangs."""
_numbers = itertools.count()


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


def run(context, folder, job, *, seconds=None, operation=None, signum=signal.SIGKILL):
    """Run a job in a folder; kill it after some seconds, or before one of its operations.

    Args:
        context: the context of ``multiprocessing``.
        folder: where it runs.
        job: the words of a command of hgcn, or a function that returns an exit code.
        seconds: when to send the signal.
        operation: the number of the operation on a file before which the process kills itself.
        signum: the signal.
    """
    label = f"{folder}.{next(_numbers)}"
    log, count = Path(f"{label}.log"), Path(f"{label}.count")
    begin = time.monotonic()
    process = context.Process(target=_child, args=(folder, job, label, operation))
    process.start()
    if seconds is not None:
        process.join(seconds)
        if process.is_alive():
            os.kill(process.pid, signum)
    process.join(LIMIT)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError(f"Still running after {LIMIT} seconds: {job}")
    took = time.monotonic() - begin
    # A child that was killed while it wrote the number leaves an empty file.
    operations = int(count.read_text() or 0) if count.exists() else 0
    said = log.read_text(errors="replace") if log.exists() else ""
    for path in (log, count):
        path.unlink(missing_ok=True)
    return Ended(process.exitcode, said, took, operations)


def _child(folder, job, label, operation):
    """Do the job: in its folder, in a session of its own, with its output in a file."""
    os.setsid()
    os.chdir(folder)
    os.environ["HGCN_CHECKPOINT_SECONDS"] = "0"
    handle = os.open(f"{label}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(handle, stream)
    # The test runner's own, if there are any, are those of another process.
    sys.stdout = open(1, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
    from numba.np.ufunc import parallel

    from hgcn.data.mapped import blocks, edges, nodes, sorting
    from hgcn.runs import checkpoint

    # Numba shares a lock among forked processes; one that is killed would never give it back.
    parallel._backend_init_process_lock = threading.RLock()
    checkpoint.CHECKPOINT_SECONDS = 0.0
    # So small that even a small graph is converted in many steps.
    blocks.BLOCK_BYTES, sorting.RANGE, edges.RANGE, nodes.ROWS = 256, 40, 40, 1
    watch = Watch(folder, operation)
    sys.addaudithook(watch)
    code = 0
    try:
        code = job() if callable(job) else hgcn(job)
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        watch.at = None
        sys.stdout.flush()
        Path(f"{label}.count").write_text(str(watch.count))
    os._exit(code or 0)


def hgcn(words):
    """Run a command of hgcn in this process."""
    from hgcn.cli import main

    return main([str(word) for word in words])


def later(seconds, words):
    """Run a command of hgcn after some seconds."""
    time.sleep(seconds)
    return hgcn(words)


class Watch:
    """Counts the operations on files below a folder, and kills the process before one of them."""

    def __init__(self, folder, at):
        self.folder, self.at, self.count = f"{folder}{os.sep}", at, 0

    def _inside(self, path):
        return not path.startswith(os.sep) or path.startswith(self.folder)

    def __call__(self, event, arguments):
        if event not in EVENTS or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.fspath(arguments[0])
        if not isinstance(path, str) or not self._inside(path):
            return
        if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def try_all(context, folder, count, job, items):
    """Try a job on each of some items, in one process as long as it lives; the tally counts.

    The job raises an error for an item that does not hold.
    """
    folder.mkdir(exist_ok=True)
    at = 0
    while at < len(items):
        ended = run(context, folder, partial(_each, job, items[at:], at))
        faults = dict(
            line.removeprefix(MARK).split(" ", 1)
            for line in ended.said.splitlines()
            if line.startswith(MARK)
        )
        if ended.code:
            faults[max(faults, key=int)] = f"exit code {ended.code}: {ended.said[-500:]}"
        for number, fault in faults.items():
            with count.attempt(f"try {number}"):
                assert fault == "held", fault.encode().decode("unicode_escape")
        at += len(faults)


MARK = "== try "


def _each(job, items, begin):
    for number, item in enumerate(items, begin):
        print(f"{MARK}{number} begun", flush=True)
        try:
            job(item)
            said = "held"
        except Exception as error:
            told = f"{repr(item)[:600]}: {error!r}\n{traceback.format_exc()[-1500:]}"
            said = told.encode("unicode_escape").decode()
        print(f"{MARK}{number} {said}", flush=True)
    return 0


def check_reason(error):
    """A refusal says in a sentence what is wrong."""
    assert re.match(
        "(Expected|There is|In |The |Training diverged).{10,}", str(error), re.DOTALL
    ), str(error)


class Case:
    """A command, and what it leaves in its folder when nothing disturbs it."""

    def __init__(self, context, words, base, scratch):
        self.context, self.words, self.base, self.scratch = context, words, base, scratch
        self.count = 0
        folder = self.fresh()
        self.calm = run(context, folder, words)
        assert self.calm.told() == 0, self.calm.said
        self.expected = contents(folder)
        self.need = room(folder) - room(base)

    def fresh(self):
        """A new folder with all that the command needs."""
        self.count += 1
        folder = self.scratch / f"{self.words[0]}{self.count}"
        shutil.copytree(self.base, folder)
        return folder

    def attack(self, folder, **how):
        """Run the command and disturb it."""
        return run(self.context, folder, self.words, **how)

    def go_on(self, folder):
        """Run the same command, or that which resumes, to its end."""
        ended = run(self.context, folder, again(folder, self.words))
        assert ended.told() == 0 or "nothing to resume" in ended.said, ended.said

    def check(self, folder):
        """Everything is there as if undisturbed, to the last byte, and nothing else."""
        found = contents(folder)
        assert sorted(found) == sorted(self.expected)
        assert [path for path in found if found[path] != self.expected[path]] == []


def again(folder, words):
    """The command that goes on after a command was killed."""
    if words[0] == "train" and (folder / "run" / "config.toml").exists():
        return ["train", "--resume", "run", "--quiet"]
    return words


def room(folder):
    """The room on a disk that the files of a folder take."""
    sizes = (path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return sum(-(-size // PAGE) * PAGE for size in sizes)


PAGE = 4096


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
