"""The state of an unfinished training, stored from time to time and restored."""

from __future__ import annotations

import hashlib
import io
import time
from pathlib import Path

import torch

from hgcn import files
from hgcn.cores import seconds_from
from hgcn.errors import RunError
from hgcn.ranks import Ranks
from hgcn.runs import folder, layout
from hgcn.runs.trees import read_tree, write_tree
from hgcn.training.loop import State
from hgcn.training.problem import Problem

CHECKPOINT_SECONDS = 10.0
"""Time between two writings of the state that an interrupted training resumes from."""


def checkpoint_seconds() -> float:
    """The time that ``HGCN_CHECKPOINT_SECONDS`` says, else ``CHECKPOINT_SECONDS``."""
    return seconds_from("HGCN_CHECKPOINT_SECONDS", CHECKPOINT_SECONDS)


class Checkpoint:
    """The state of a training in its run folder.

    Args:
        path: the run folder, which need not be there yet.
        problem: the problem that is trained on.
    """

    def __init__(self, path: Path, problem: Problem) -> None:
        self.history = path / layout.HISTORY
        self.file = path / layout.RESUME
        self.about = {
            "data": problem.graph.fingerprint(),
            "settings": problem.config.replace(device="cpu").to_toml(),  # it may go on elsewhere
        }
        if (path / layout.AUTO).exists():
            self.about["candidates"] = files.checksum(path / layout.AUTO)
        self.seconds = checkpoint_seconds()
        self.last = time.monotonic()

    def store(self, state: State) -> None:
        """Write the state, if it is time for that."""
        if time.monotonic() - self.last >= self.seconds:
            self._write(state)

    def _write(self, state: State) -> None:
        # The history first: rows after the stored epoch are dropped when it is read again.
        history = folder.history_csv(state.history)
        if state.history:
            files.write_text(self.history, history)
        tree = {**self.about, "state": state.to_tree(), "history": _digest(history)}
        write_tree(self.file, tree, sealed=True)
        self.last = time.monotonic()

    def restore(self, state: State) -> None:
        """Set the state to the one that is stored; store it, if there is none.

        So settings and data that are changed before the first epoch is over are noticed, too.
        """
        if not self.file.exists():
            self._write(state)
            return
        tree = read_tree(self.file, sealed=True)
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
        began = tree["history"] != _digest(folder.history_csv([]))
        rows = folder.read_history(self.history) if began else []
        state.history = [row for row in rows if row.get("epoch", 0) <= state.epoch]
        if _digest(folder.history_csv(state.history)) != tree["history"]:
            raise RunError(
                f"Expected {self.history} as the run left it, but it was changed or truncated "
                "since. Start a new run."
            )


def restore_all(ranks: Ranks, checkpoint: Checkpoint | None, state: State) -> None:
    """Set the state to the stored one, if there is one, and that of every rank to that of rank 0.

    The other ranks may be on machines that do not have the folder.
    """

    def stored() -> bytes:
        if checkpoint is not None:
            checkpoint.restore(state)
        content = io.BytesIO()
        if ranks.world > 1:
            torch.save((state.to_tree(), state.history), content)
        return content.getvalue()

    content = ranks.on_first(stored)
    if not ranks.first:
        kept = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        state.load_tree(kept[0])
        state.history = kept[1]


def remove_checkpoint(path: Path) -> None:
    """Remove the stored state of a run folder, and temporary files of a process that was killed."""
    (path / layout.RESUME).unlink(missing_ok=True)
    others = (
        layout.RESUME,
        layout.AUTO,
        layout.EMBEDDINGS,
        layout.ENVIRONMENT,
        layout.PAGE,
        layout.REPORT,
        layout.CARD,
    )
    for name in (*others, *layout.SEALED):
        files.remove_leftovers(path / name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
