"""Attacks on hgcn, counted: a few tries of each in every test run, many with `make faults`."""

import functools
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from fault_children import COMMANDS, HIERARCHY, LINK, Case, run
from fault_tally import FULL, SEED, Tally, table
from small_graphs import tree, write_files


@pytest.fixture
def tally(request):
    """Begins the count of an attack; at the end every try must have held."""
    begun = []

    def begin(attack, *, short, full):
        begun.append(Tally(attack, full if FULL else short))
        return begun[-1]

    yield begin
    for count in begun:
        request.node.user_properties.append(("attack", count.row()))
    faults = [fault for count in begun for fault in count.faults]
    assert not faults, f"with HGCN_FAULTS_SEED={SEED}:\n" + "\n".join(faults[:10])


@pytest.fixture(scope="session")
def children():
    """The context of `multiprocessing` whose processes have imported and compiled everything."""
    helpers = Path(__file__).parent
    path = [str(helpers), str(helpers.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path))
        patch.setenv("OMP_NUM_THREADS", "1")
        # The only threads of Numba that survive a fork.
        patch.setenv("NUMBA_THREADING_LAYER", "workqueue")
        patch.setenv("NUMBA_NUM_THREADS", "1")
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["pytest", "fault_warm"])
        process = context.Process(target=int)  # the server starts with the first of its children
        process.start()
        process.join()
    return context


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """A folder with the files of a graph."""
    folder = tmp_path_factory.mktemp("start") / "files"
    folder.mkdir()
    write_files(folder, tree(60))
    return folder


@pytest.fixture(scope="session")
def trained(start, children):
    """The same with a finished run, and one of a hierarchy."""
    folder = start.with_name("trained")
    shutil.copytree(start, folder)
    for words in (LINK, HIERARCHY):
        assert run(children, folder, words).told() == 0
    return folder


@pytest.fixture(scope="session")
def case(start, trained, children, tmp_path_factory):
    """Makes the case of a command, once."""

    @functools.cache
    def make(name):
        words = COMMANDS[name]
        base = start if words[0] in ("train", "search", "convert") else trained
        return Case(children, words, base, tmp_path_factory.mktemp("case"))

    return make


def pytest_terminal_summary(terminalreporter):
    rows = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "attack" and report.when == "teardown"
    ]
    if rows:
        terminalreporter.section(f"attacks, HGCN_FAULTS_SEED={SEED}")
        terminalreporter.write_line(table(rows))
