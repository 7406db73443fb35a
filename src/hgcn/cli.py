"""The command ``hgcn``: a table of commands, each in a module that is imported when it is called.

A module of a command offers ``configure(parser)``, which adds arguments and examples, and
``run(arguments)``, which returns the exit code. It may raise :class:`hgcn.errors.HGCNError`: the
message goes to stderr, and the exit code is 2.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, Protocol, TextIO, cast

from hgcn import __version__
from hgcn.commands._interruption import INTERRUPTED, interruptible
from hgcn.errors import HGCNError, explain
from hgcn.text import near_miss

COMMANDS = {
    "datasets": "list the data sets, and which of them are here",
    "convert": "write a graph as a folder of arrays, which may be larger than memory",
    "hyperbolicity": "measure how tree-like a graph is",
    "train": "train a network and write a run folder",
    "search": "search for good settings on the validation part",
    "evaluate": "scores of a run, on its own test part or on another graph",
    "embed": "write the embeddings of a run, with ids, to a file",
    "predict": "classes, probabilities of links, or missing links",
    "explain": "what a prediction rests on: attention, features, common neighbours",
    "neighbours": "the nearest nodes of nodes, of a run or of any points",
    "path": "the nodes along the way from one node to another",
    "ancestors": "what is above nodes of a hierarchy",
    "place": "where new nodes belong in a hierarchy",
    "roots": "the nodes at the top of a hierarchy",
    "compare": "put runs side by side",
    "view": "the interactive page of a run",
    "report": "charts and tables about a run, as one page",
    "figures": "the paper's figures from your own runs",
    "reproduce": "the tables of the paper, from this code",
}
"""Name and help of each command; its module is ``hgcn.commands.NAME``."""

FAILED, BAD_INPUT = 1, 2
"""Exit codes. A command uses 1 for a negative answer."""


class Command(Protocol):
    """The two functions of a module in ``hgcn.commands``."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add arguments, a description and examples."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work and return the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; argparse may exit on its own."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Read when torch starts. Threads that wait by spinning make a busy machine many times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # A backtrace of compiled Rust takes memory: without any left, it waits for itself for ever.
    if not os.environ.get("HGCN_TRACEBACK"):
        os.environ["RUST_BACKTRACE"] = "0"
    if not _has_streams():
        return FAILED
    try:
        code = _try(words)
    except SystemExit:
        if not _flush():
            raise SystemExit(FAILED) from None
        raise
    return code if _flush() else code or FAILED


def _try(words: list[str]) -> int:
    try:
        with interruptible():
            return _run(words)
    except HGCNError as error:
        say_error(str(error))
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return 0  # the reader has enough, as in `hgcn datasets | head -1`
    except BaseException as error:
        # A panic of compiled Rust, such as that of polars without memory, is no Exception.
        panic = type(error).__name__ == "PanicException"
        if (not isinstance(error, Exception) and not panic) or os.environ.get("HGCN_TRACEBACK"):
            raise
        if not (isinstance(error, OSError) and not _flush()):  # else stdout was to blame
            say_error(explain(error))
        return FAILED


def _has_streams() -> bool:
    """Whether there is a stdout; what cannot be written to it is written somehow, or not at all."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        say_error("Expected to write to standard output, but it is closed. Try `> /dev/null`.")
        return False
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files may be no text, and some terminals have no ±.
        sys.stdout.reconfigure(
            errors="surrogateescape" if sys.stdout.encoding == "utf-8" else "replace"
        )
    return True


def _flush() -> bool:
    """Write what is left of stdout; returns whether all of it was written."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _give_up_stdout(error)
    return True


def _give_up_stdout(error: OSError) -> bool:
    """Say why stdout cannot be written to; returns whether its reader just has enough."""
    # Python would try and complain once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return True
    say_error(f"Expected to write to standard output, but: {error.strerror}.")
    return False


def say_error(message: str) -> None:
    """A line for each error on stderr, red on a terminal."""
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    text = "\n      ".join(lines)
    if (world := os.environ.get("WORLD_SIZE", "1")) != "1" and "RANK" in os.environ:
        text = f"rank {os.environ['RANK']} of {world}: {text}"
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(f"\033[31mhgcn: {text}\033[0m" if colour else f"hgcn: {text}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: --"):
            flag = message.split()[2].partition("=")[0]
            near = near_miss(flag, self._option_string_actions)
            message += f".{near}" * bool(near)
        end = "" if message.endswith((".", "?")) else "."
        say_error(f"{message}{end} Try `{self.prog} --help`.")
        raise SystemExit(BAD_INPUT)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; argparse's own keeps silent where a long one cannot be written."""
        try:
            (file or sys.stderr).write(message or "")
        except OSError as error:
            raise SystemExit(0 if _give_up_stdout(error) else FAILED) from None


def _run(words: list[str]) -> int:
    parser = _Parser(
        prog="hgcn",
        description="Hyperbolic graph learning: data, training and results.",
        epilog="commands:\n"
        + "\n".join(f"  {name:<16}{text}" for name, text in COMMANDS.items())
        + "\n\n`hgcn COMMAND --help` explains a command and has examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hgcn {__version__}")
    parser.add_argument("command", metavar="COMMAND", help="one of the commands below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")
    if not words:
        parser.print_help()
        return BAD_INPUT
    chosen = parser.parse_args(words)
    name = chosen.command
    if name not in COMMANDS:
        parser.error(f"unknown command {name!r}.{near_miss(name, COMMANDS)}")
    warnings.showwarning = _show_warning
    command = cast(Command, import_module(f"hgcn.commands.{name}"))
    own = _Parser(prog=f"hgcn {name}", formatter_class=argparse.RawDescriptionHelpFormatter)
    command.configure(own)
    given = own.parse_args(chosen.arguments)
    logging.getLogger("hgcn").setLevel(
        logging.ERROR if getattr(given, "quiet", False) else logging.WARNING
    )
    return command.run(given)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning without the line of code it comes from, which a user of the command never saw."""
    print(f"hgcn: warning: {message}", file=file or sys.stderr)
