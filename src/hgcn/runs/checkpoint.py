"""The state of an unfinished training, stored from time to time and restored."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hgcn import files
from hgcn.errors import RunError
from hgcn.runs import folder
from hgcn.runs.trees import read_tree, write_tree
from hgcn.training.loop import State
from hgcn.training.problem import Problem

CHECKPOINT_SECONDS = float(os.environ.get("HGCN_CHECKPOINT_SECONDS", "10"))
"""Time between two writings of the state that an interrupted training resumes from."""


class Checkpoint:
    """The state of a training in its run folder.

    Args:
        path: the run folder. It is made here, not before: settings that no network can be built
            from leave no folder behind.
        problem: the problem that is trained on.
    """

    def __init__(self, path: Path, problem: Problem) -> None:
        self.history = path / folder.HISTORY
        self.file = path / folder.RESUME
        self.about = {
            "data": problem.graph.fingerprint(),
            "settings": problem.config.to_toml(),
        }
        self.last = time.monotonic()
        folder.begin(path, problem.config)

    def store(self, state: State) -> None:
        """Write the state, if it is time for that."""
        if time.monotonic() - self.last < CHECKPOINT_SECONDS:
            return
        # The history first: rows after the stored epoch are dropped when it is read again.
        files.write_text(self.history, folder.history_csv(state.history))
        write_tree(self.file, {**self.about, "state": state.to_tree()})
        self.last = time.monotonic()

    def restore(self, state: State) -> None:
        """Set the state to the one that is stored, if there is one."""
        if not self.file.exists():
            return
        tree = read_tree(self.file)
        for name, value in self.about.items():
            if not isinstance(tree, dict) or tree.get(name) != value:
                raise RunError(
                    f"Expected the {name} that {self.file.parent} was started with, but they have "
                    "changed since. Start a new run."
                )
        try:
            state.load_tree(tree["state"])
        except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
            raise RunError(
                f"Expected {self.file} to hold the state of this training, got: {error}."
            ) from error
        rows = folder.read_history(self.history)
        state.history = [row for row in rows if row["epoch"] <= state.epoch]

    def remove(self) -> None:
        """Remove the stored state, and half-written files that a killed process may have left."""
        self.file.unlink(missing_ok=True)
        for file in (self.file, self.history):
            for half_written in file.parent.glob(f".{file.name}.*"):
                half_written.unlink(missing_ok=True)
