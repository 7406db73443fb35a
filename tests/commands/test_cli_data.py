"""The command line, driven as a user drives it: in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

import hgcn
from hgcn.cli import COMMANDS

RING = "source,target\n" + "".join(f"{i},{(i + 1) % 12}\n" for i in range(12))


def call(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hgcn", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def failed(*words: str | Path, code: int = 2) -> str:
    """The message of a command that has to fail: one line, and nothing on stdout."""
    result = call(*words)
    assert result.returncode == code
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("hgcn: ")
    assert "\033" not in line
    return line


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.csv"
    path.write_text(RING)
    return path


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    check = (
        "import sys, hgcn.cli\n"
        "try:\n    hgcn.cli.main(['--help'])\n"
        "except SystemExit as stop:\n    assert stop.code == 0\n"
        "heavy = {'torch', 'numpy', 'numba', 'polars', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    for name, text in COMMANDS.items():
        assert f"  {name}" in result.stdout
        assert text in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_module(name: str) -> None:
    module = import_module(f"hgcn.commands.{name}")
    assert callable(module.configure)
    assert callable(module.run)


@pytest.mark.parametrize("name", ["datasets", "hyperbolicity"])
def test_help_of_a_command_has_examples(name: str) -> None:
    result = call(name, "--help")
    assert result.returncode == 0
    assert f"usage: hgcn {name}" in result.stdout
    assert f"examples:\n  hgcn {name}" in result.stdout


def test_version() -> None:
    assert call("--version").stdout == f"hgcn {hgcn.__version__}\n"


def test_without_a_command_the_help_is_shown() -> None:
    result = call()
    assert result.returncode == 2
    assert "commands:" in result.stdout


def test_near_misses_are_suggested() -> None:
    line = failed("hyperbolcity", "cora")
    assert "unknown command 'hyperbolcity'. Did you mean 'hyperbolicity'?" in line
    assert "Did you mean 'cora'?" in failed("hyperbolicity", "corra")
    assert "Did you mean 'pubmed'?" in failed("datasets", "pubmet")


def test_bad_arguments() -> None:
    assert "required: SOURCE. Try `hgcn hyperbolicity --help`." in failed("hyperbolicity")
    assert "invalid int value: 'many'" in failed("hyperbolicity", "cora", "--samples", "many")
    assert "not allowed with" in failed("hyperbolicity", "cora", "--exact", "--sampled")


def test_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("")
    assert "empty.csv" in failed("hyperbolicity", path)


def test_hyperbolicity_of_a_file(ring: Path) -> None:
    call("hyperbolicity", ring)  # compiles, and says so, where nobody has done it before
    result = call("hyperbolicity", ring)
    assert result.returncode == 0
    assert result.stderr == ""
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["delta", "3", "exact"] in lines
    assert ["diameter", "6"] in lines
    assert "do not expect hyperbolic geometry to help" in result.stdout


def test_hyperbolicity_as_json(ring: Path) -> None:
    words = ("hyperbolicity", ring, "--json", "--samples", "400", "--sampled")
    first, other = (call(*words, "--seed", seed).stdout for seed in ("1", "2"))
    result = json.loads(first)
    assert result["exact"] is False
    assert result["samples"] == sum(result["counts"].values()) == 400
    assert result["relative"] == pytest.approx(2 * result["delta"] / 6)
    assert json.loads(other)["counts"] != result["counts"]


def test_datasets_in_a_pipe_are_whole_lines(tmp_path: Path) -> None:
    # A narrow terminal does not matter in a pipe.
    result = call("datasets", COLUMNS="40", HGCN_CACHE=str(tmp_path))
    assert result.returncode == 0
    assert "\033" not in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if line.split()[:1] == ["cora"]]
    assert line.split()[1:6] == ["2,708", "5,278", "1,433", "7", "1"]
    assert "citations among papers on machine learning" in line


def test_datasets_as_json_tell_what_is_here(tmp_path: Path) -> None:
    result = call("datasets", "cora", "disease", "--json", HGCN_DATA="", HGCN_CACHE=str(tmp_path))
    cora, disease = json.loads(result.stdout)
    assert (cora["name"], cora["present"]) == ("cora", False)
    assert (disease["nodes"], disease["present"]) == (1044, True)


def test_broken_pipe_is_quiet() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hgcn", "datasets", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    # A pipe without a writer keeps the command waiting until it is interrupted.
    source = tmp_path / "edges.csv"
    os.mkfifo(source)
    waiting = (
        "import sys, hgcn.cli, hgcn.commands.hyperbolicity as command\n"
        "def run(arguments):\n"
        "    print('ready', flush=True)\n"
        "    open(arguments.source)\n"
        "command.run = run\n"
        "sys.exit(hgcn.cli.main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", waiting, "hyperbolicity", str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (130, "", "")
