"""Trains the runs that come with a release, and packs each with its card, page and report.

``make runs`` leaves a zip file and its checksum for each in ``dist/runs``; put them where everybody
can download them. `hgcn.load_run` then takes their address.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hgcn

RUNS: dict[str, dict[str, Any]] = {
    "airport": {"task": "link"},
    "wordnet_noun": {
        "task": "hierarchy",
        "dim": 10,
        "epochs": 150,
        "eval_every": 10,
        "hold_out": "nothing",
    },
    "debian": {"task": "link"},
}
"""The data set of each run, and its settings beside the defaults."""


def make_run(source: str, settings: Mapping[str, Any], folder: Path) -> str:
    """Train a run and pack it; returns the end of its address, with the checksum."""
    trained = folder / source
    shutil.rmtree(trained, ignore_errors=True)
    run = hgcn.fit(source, out=trained, **settings)
    # Of a large graph, neither is drawn after training.
    run.view(open=False)
    run.report()
    packed = folder / f"{source}.zip"
    packed.unlink(missing_ok=True)
    run.push(packed)
    checksum = Path(f"{packed}.sha256").read_text(encoding="utf-8").split()[0]
    return f"{packed.name}#sha256={checksum}"


def main(words: list[str] | None = None) -> None:
    """Make all runs, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(RUNS), metavar="NAME")
    parser.add_argument("--out", default="dist/runs", metavar="FOLDER")
    arguments = parser.parse_args(words)
    for name in arguments.names:
        if name not in RUNS:
            parser.error(f"Expected one of {', '.join(RUNS)}, got {name!r}.")
    for name in arguments.names:
        sys.stdout.write(f"{make_run(name, RUNS[name], Path(arguments.out))}\n")


if __name__ == "__main__":
    main()
