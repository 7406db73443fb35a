"""kill -9, at any moment: the same command ends as if nothing had happened, and leaves no rubbish."""

import shutil
import signal

import pytest

from fault_children import contents, run
from hgcn.cli import BAD_INPUT
from small_graphs import tree, write_files

TRAIN = ["train", "edges.csv", "--features", "nodes.csv", "--labels", "side", "--task", "node",
         "--epochs", "8", "--eval-every", "2", "--dim", "3", "--out", "run", "--quiet"]  # fmt: skip
LINK = [*TRAIN[:7], "link", *TRAIN[8:]]
SEARCH = ["search", "edges.csv", "--trials", "5", "--epochs", "4", "--eval-every", "2", "--dim",
          "2", "--processes", "1", "--out", "found", "--quiet"]  # fmt: skip
COMMANDS = {
    "train, links": LINK,
    "train, nodes": TRAIN,
    "search": SEARCH,
    "embed": ["embed", "run", "-o", "out.csv"],
    "predict": ["predict", "run", "--top-k", "9", "-o", "out.csv"],
    "view": ["view", "run", "-o", "page.html", "--no-open"],
}


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A folder with the files of a graph."""
    folder = tmp_path_factory.mktemp("start") / "files"
    folder.mkdir()
    write_files(folder, tree(60))
    return folder


@pytest.fixture(scope="module")
def trained(start, children):
    """The same with a finished run."""
    folder = start.with_name("trained")
    shutil.copytree(start, folder)
    assert run(children, folder, LINK).told() == 0
    return folder


def again(folder, words):
    """The command that goes on after a command was killed."""
    if words[0] == "train" and (folder / "run" / "config.toml").exists():
        return ["train", "--resume", "run", "--quiet"]
    return words


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_any_moment(name, children, start, trained, tally, tmp_path):
    words = COMMANDS[name]
    base = start if words[0] in ("train", "search") else trained

    def fresh(label):
        shutil.copytree(base, tmp_path / label)
        return tmp_path / label

    whole = fresh("whole")
    calm = run(children, whole, words)
    assert calm.told() == 0
    expected = contents(whole)
    count = tally(f"kill -9 {name}", short=4, full=100 if "train" not in name else 50)
    for number, draw in count:
        moment = (
            {"operation": draw.randint(1, calm.operations)}
            if number % 2
            else {"seconds": draw.uniform(0.0, calm.seconds)}
        )
        folder = fresh(f"try{number}")
        with count.attempt(f"try {number}, {moment}"):
            killed = run(children, folder, words, **moment)
            killed.told()
            assert killed.code in (-signal.SIGKILL, 0)
            end = run(children, folder, again(folder, words))
            if end.told() == BAD_INPUT:
                assert "nothing to resume" in end.said
            else:
                assert end.code == 0, end.said
            found = contents(folder)
            assert sorted(found) == sorted(expected)
            assert [path for path in found if found[path] != expected[path]] == []
        shutil.rmtree(folder)
