"""Killed at any moment: the same command ends as if nothing had happened, and leaves no rubbish."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from fault_children import COMMANDS, SEARCH, contents, later, left_alive, run, try_all
from hgcn.commands._interruption import interruptible
from hgcn.config import Config
from hgcn.training.problem import Problem, choose
from small_graphs import tree


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_any_moment(name, case, tally):
    calm = case(name).calm
    count = tally(f"kill -9 {name}", short=2, full=50 if "train" in name else 100)
    for number, draw in count:
        moment = (
            {"operation": draw.randint(1, calm.operations)}
            if number % 2
            else {"seconds": draw.uniform(0.0, calm.seconds)}
        )
        folder = case(name).fresh()
        with count.attempt(f"try {number}, {moment}"):
            killed = case(name).attack(folder, **moment)
            killed.told()
            assert killed.code in (-signal.SIGKILL, 0)
            case(name).go_on(folder)
            case(name).check(folder)
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_terminated_at_any_moment(name, case, tally):
    """SIGTERM may end a training as Ctrl-C does, with the best so far, or as kill -9 does."""
    count = tally(f"SIGTERM {name}", short=1, full=10)
    for number, draw in count:
        seconds = draw.uniform(0.0, case(name).calm.seconds)
        folder = case(name).fresh()
        with count.attempt(f"try {number}, after {seconds} s"):
            case(name).attack(folder, seconds=seconds, signum=signal.SIGTERM).told()
            metrics = folder / "run" / "metrics.json"
            if "train" in name and metrics.exists() and '"interrupted"' in metrics.read_text():
                case(name).go_on(folder)
                assert sorted(contents(folder)) == sorted(case(name).expected)
                assert run(case(name).context, folder, ["evaluate", "run"]).told() == 0
            else:
                case(name).go_on(folder)
                case(name).check(folder)
        shutil.rmtree(folder)


def build_until_terminated(seconds):
    """Build networks until SIGTERM comes, after so many seconds; then one more, which is whole."""
    graph = tree(30)
    problem = Problem(graph, choose(graph, Config(task="link", dim=2)))
    problem.predictor()
    sender = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
    with pytest.raises(KeyboardInterrupt), interruptible():
        sender.start()
        while True:
            problem.predictor()
    assert {weight.device.type for weight in problem.predictor().parameters()} == {"cpu"}


def test_terminated_while_networks_are_built(children, tally, tmp_path):
    """Their shapes are counted on a device of torch that has no memory, which must not stay."""
    count = tally("SIGTERM while building", short=10, full=500)
    moments = [draw.uniform(0.0, 0.02) for _, draw in count]
    try_all(children, tmp_path / "work", count, build_until_terminated, moments)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM], ids=["kill -9", "SIGTERM"])
def test_processes_of_a_search_end_with_it(signum, start, tally, tmp_path):
    words = [sys.executable, "-m", "hgcn", *SEARCH, "--processes", "2", "--trials", "1000"]
    count = tally(f"orphans of a search, {signum.name}", short=1, full=3)
    slowest = 0.0
    for number, draw in count:
        folder = tmp_path / f"try{number}"
        shutil.copytree(start, folder)
        process = subprocess.Popen(
            words, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        journal, limit = folder / "found" / "journal.log", time.monotonic() + 120
        # The first lines are of the study, the others of its processes.
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 9):
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.05)
        time.sleep(draw.uniform(0.0, 1.0))
        with count.attempt(f"try {number}"):
            os.kill(process.pid, signum)
            begin = time.monotonic()
            process.wait(20)
            slowest = max(slowest, time.monotonic() - begin)
            count.note = f"ended within {slowest:.1f} s"
            left = left_alive(process.pid)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            assert not left


def test_two_processes_in_one_folder(case, children, tally):
    """They have different seeds: the one that comes first is the only one, or each is refused."""
    link = case("train, links")
    other = [*link.words, "--seed", "1"]
    folder = link.fresh()
    assert run(children, folder, other).told() == 0
    both = [link.expected, contents(folder)]
    count = tally("two processes in one folder", short=2, full=30)
    for number, draw in count:
        folder = link.fresh()
        with ThreadPoolExecutor(1) as threads, count.attempt(f"try {number}"):
            job = partial(later, draw.uniform(0.0, 1.2 * link.calm.seconds), other)
            second = threads.submit(run, children, folder, job)
            codes = {run(children, folder, link.words).told(), second.result().told()}
            assert codes == {0, 2}
            assert contents(folder) in both
        shutil.rmtree(folder)
