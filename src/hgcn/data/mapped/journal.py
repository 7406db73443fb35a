"""What is done of a long piece of work, so that the same command goes on after it was killed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hgcn.data.mapped.arrays import told
from hgcn.files import parse_json

FILE = "journal.json"


class Journal:
    """The steps that were done in a folder, with their results.

    A step that was not finished is done again from its beginning. So a step must not depend on what
    is left of an earlier try, and its results are lists, numbers and text.

    Args:
        folder: the folder of the work; what another piece of work has left there is removed.
        of: what the work is, and from what.
        tell: a function that is called with the name of each step before it is done.
    """

    def __init__(self, folder: Path, of: str, tell: Callable[[str], None] | None = None) -> None:
        self.folder, self._tell = folder, tell
        with told(folder):
            self._results = self._read(of)
            if self._results is None:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True, exist_ok=True)
                self._results = {"of": of}
                self._write()

    def _read(self, of: str) -> dict[str, Any] | None:
        try:
            results = parse_json((self.folder / FILE).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return results if isinstance(results, dict) and results.get("of") == of else None

    def _write(self) -> None:
        new = self.folder / f"{FILE}.new"
        new.write_text(json.dumps(self._results), encoding="utf-8")
        new.replace(self.folder / FILE)

    def step(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a step, which is done unless it was before."""
        results = self._results or {}
        if name not in results:
            if self._tell is not None:
                self._tell(name)
            with told(self.folder):
                results[name] = work(*arguments)
                self._write()
        return results[name]
