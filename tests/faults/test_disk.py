"""A disk that is full or read-only, and too little memory: it is told, and nothing is lost."""

import ctypes
import os
import resource
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from fault_children import COMMANDS, PAGE, again, contents, hgcn, room, run
from hgcn.runs.trees import read_tree, write_tree

NEW_MOUNTS, PRIVATE, READ_ONLY, REMOUNT = 0x00020000, 0x44000, 0x1, 0x20
ROOM = 64 << 20
"""What is enough for any command here."""


def _mount(folder, flags, options=""):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", os.fsencode(folder), b"tmpfs", flags, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")


def own_disk(folder):
    """Give this process a disk of its own at a folder, with what is in the folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    _mount("/", PRIVATE)
    there = {path.relative_to(folder): path.read_bytes() for path in _files(folder)}
    _mount(folder, 0, f"size={ROOM}")
    for path, content in there.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    os.chdir(folder)


def _files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def on_a_bad_disk(folder, words, free):
    """Run a command on a disk with so much room, or on one that is read-only; then on a good one.

    What is there in the end is copied beside the folder.
    """
    own_disk(folder)
    if free is None:
        _mount(folder, REMOUNT | READ_ONLY, f"size={ROOM}")
    else:
        _mount(folder, REMOUNT, f"size={room(folder) + free}")
    code = hgcn(words)
    _mount(folder, REMOUNT, f"size={ROOM}")
    names = {path.name for path in _files(folder)}
    sys.stdout.write(f"first: {code}, temporary: {[n for n in names if n.endswith('.tmp')]}\n")
    code = hgcn(again(folder, words))
    shutil.copytree(folder, folder.with_name(f"{folder.name}.saved"))
    return code


@pytest.fixture(scope="module")
def _own_disks(children, tmp_path_factory):
    """Skips where a process cannot have a disk of its own."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux gives a process mounts of its own")
    folder = tmp_path_factory.mktemp("probe") / "disk"
    folder.mkdir()
    ended = run(children, folder, partial(own_disk, folder))
    if "Error" in ended.said or ended.code:
        pytest.skip("this user may not mount a disk of its own")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("_own_disks")
def test_a_disk_that_is_full_or_read_only(name, case, children, tally):
    words, need = case(name).words, case(name).need
    full = tally(f"disk full: {name}", short=1, full=25)
    closed = tally(f"disk read-only: {name}", short=1, full=2)
    for count in (full, closed):
        for number, draw in count:
            free = draw.randrange(0, 2 * need, PAGE) if count is full else None
            folder = case(name).fresh()
            with count.attempt(f"try {number}, room for {free} of {need} bytes"):
                ended = run(children, folder, partial(on_a_bad_disk, folder, words, free))
                assert ended.told() == 0 or "nothing to resume" in ended.said, ended.said
                assert "temporary: []" in ended.said
                if "first: 0" not in ended.said:
                    assert "No space left" in ended.said or "Read-only" in ended.said
                case(name).check(folder.with_name(f"{folder.name}.saved"))


def limit_memory(more):
    """Let this process have only so much memory more."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.RLIM_INFINITY))


def with_little_memory(words, more):
    """Run a command in a process that may have only so much memory more."""
    # With it, code in Rust may wait without end for a lock that it holds.
    os.environ["RUST_BACKTRACE"] = "1"
    limit_memory(more)
    return hgcn(words)


def store_with_little_memory():
    """Store far more than what the process may have beside it, and read it again."""
    os.environ["RUST_BACKTRACE"] = "1"
    tree = {"x": torch.arange(24 << 20, dtype=torch.int32)}
    limit_memory(32 << 20)
    write_tree(Path("tree"), tree, sealed=True)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return int(not torch.equal(read_tree(Path("tree"), sealed=True)["x"], tree["x"]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_checkpoint_takes_no_memory_of_its_own(children, tmp_path):
    ended = run(children, tmp_path, store_with_little_memory)
    assert ended.told() == 0, ended.said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_too_little_memory(case, children, tally):
    link = case("train, links")
    count = tally("memory limit", short=2, full=36)
    aborted = 0
    for number, draw in count:
        # Spread evenly: some end at once, some in training, and some have enough.
        share = (number + draw.random()) / count.wanted
        # Where there is not enough for polars, nothing begins.
        more = int(2 ** (draw.uniform(28, 30) if number % 4 else draw.uniform(20, 28)))
        dim, negatives = int(2 ** draw.uniform(1, 16)), 10 ** (6 * share)
        words = [*link.words, "--dim", dim, "--negatives", negatives, "--epochs", 2]
        folder = link.fresh()
        with count.attempt(f"try {number}, {more >> 20} MB, {dim=}, {negatives=}"):
            ended = run(children, folder, partial(with_little_memory, words, more))
            # Compiled code of other packages may abort when it gets none: like kill -9.
            aborted += ended.code < 0
            count.note = f"{aborted} aborted"
            if ended.code > 0:
                ended.told()
                assert "memory" in ended.said, ended.said
            if ended.code == 0:
                found = set(contents(folder))
                assert found | {"run/disk.html", "run/report.html"} == set(link.expected)
                for page in ("disk.html", "report.html"):
                    drawn = f"run/{page}" in found
                    assert drawn or f"{page} cannot be drawn" in ended.said, ended.said
        shutil.rmtree(folder)
