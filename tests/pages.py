"""Runs the code of a Markdown page or a notebook as a reader would, from top to bottom.

Blocks of one page share their names and an empty folder. Commands run in this process, without a
new Python for each. A comment before a block says what is different in a test, and why:

    <!-- test: given friends.csv=edges.csv people.csv -->    files of tests/page_files, by name
    <!-- test: write space.toml -->                          the block is this file
    <!-- test: replace OLD => NEW, REASON -->                in the next block; may be repeated
    <!-- test: skip, REASON -->                              the next block is not run

Of a block that is not run, `check_words` still finds what is not there: targets, scripts, flags.
"""

import argparse
import ast
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from torch.distributed.run import get_args_parser

from hgcn.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
FILES = Path(__file__).parent / "page_files"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])
NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- test: (\w+),? ?(.*?) -->\n")
SMALL = (
    (r" --seeds \d+", ""),  # each is a process of its own
    (r" --trials \d+", " --trials 2 --processes 1"),
    (r" --auto \d+", " --auto 0.1"),
    (r"(hgcn reproduce \w+).*", r"\1 --show --store results.jsonl"),  # hours of training
    (r"(hgcn view .*)--serve", r"\1"),  # would wait for ever
)
"""What makes the commands of all pages small."""


@dataclass
class Block:
    """A block of code, the line it begins at, and what a test does with it."""

    language: str
    code: str
    line: int
    marks: list[tuple[str, str]] = field(default_factory=list)

    @property
    def skipped(self) -> bool:
        return any(mark == "skip" for mark, _ in self.marks)


def blocks(path: Path) -> Iterator[Block]:
    """The blocks of a page or notebook, in order."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(text)["cells"]):
            if cell["cell_type"] == "code":
                yield Block("python", "".join(cell["source"]), number)
        return
    last = 0
    for match in FENCE.finditer(text):
        marks = MARK.findall(text[last : match.start()])
        last = match.end()
        for mark, words in marks:
            assert mark in ("given", "write", "replace", "skip"), f"{path}: {mark}"
            assert mark not in ("replace", "skip") or re.search(r"\w+ \w+", words), "no reason"
        yield Block(match[1], match[2], text[: match.start()].count("\n") + 1, marks)


CODE = [page for page in PAGES if any(True for _ in blocks(page))]
"""Pages with code."""


def run_page(path: Path) -> int:
    """Run the blocks of a page in the present folder; returns how many."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks(path):
        code, target = _prepared(block)
        if block.skipped:
            continue
        if target is not None:
            Path(target).write_text(code, encoding="utf-8")
        elif block.language == "python":
            where = f"{path.name}, line {block.line}"
            _run_python(code, where, names)
        elif block.language == "sh":
            for words in commands(code):
                _run_command(words, f"{path.name}, line {block.line}")
        else:
            known = ("", "text", "{toctree}")
            assert block.language in known, f"{path}, line {block.line}: {block.language}"
            continue
        count += 1
    return count


def _prepared(block: Block) -> tuple[str, str | None]:
    """The code as a test runs it, and the file that it is, if it is one."""
    code, target = block.code, None
    for mark, words in block.marks:
        if mark == "given":
            for name in words.split():
                new, _, old = name.partition("=")
                Path(new).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(FILES / (old or new), new)
        elif mark == "write":
            target = words
        elif mark == "replace":
            old, new = re.split(r" => ?", words.rpartition(", ")[0])
            assert old in code, f"line {block.line} has no {old!r} to replace"
            code = code.replace(old, new)
    if block.language == "sh":
        for old, new in SMALL:
            code = re.sub(old, new, code)
    return code, target


def commands(code: str) -> Iterator[list[str]]:
    """The commands of a shell block, without comments."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def _run_python(code: str, where: str, names: dict[str, Any]) -> None:
    """Run statements as a notebook does: values that stand alone are evaluated and shown."""
    for statement in ast.parse(code, where).body:
        if isinstance(statement, ast.Expr):
            repr(eval(compile(ast.Expression(statement.value), where, "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), where, "exec"), names)


def check_words(words: list[str], where: str) -> None:
    """What can be told of a command without running it: that all that it names is there."""
    while re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    program, *rest = words
    if program == "hgcn":
        assert rest[0] in COMMANDS, f"{where}: {rest[0]}"
        parser = argparse.ArgumentParser(exit_on_error=False)
        import_module(f"hgcn.commands.{rest[0]}").configure(parser)
        _, unknown = parser.parse_known_args(rest[1:])
        assert not unknown, f"{where}: {unknown}"
    elif program == "torchrun":
        known = get_args_parser().parse_args(rest)
        assert (known.module, known.training_script) == (True, "hgcn"), where
        check_words(["hgcn", *known.training_script_args], where)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert {word for word in rest if "=" not in word} <= set(targets), f"{where}: {rest}"
    elif program.endswith("python"):
        assert (ROOT / rest[0]).is_file(), f"{where}: {rest[0]}"
    else:
        assert program in ("cd", "git", "pip"), f"{where}: nothing is known of {program}"


def _run_command(words: list[str], where: str) -> None:
    if words[0] == "torchrun":  # one process in place of several
        check_words(words, where)
        words = ["hgcn", *get_args_parser().parse_args(words[1:]).training_script_args]
    assert words[0] == "hgcn", f"{where}: {words[0]} cannot be run by a test"
    try:
        code = main(words[1:])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 0, f"{where}: {' '.join(words)}"
