"""The file of results: one line of JSON for each finished run."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from hgcn.errors import RunError
from hgcn.experiments.cells import Cell


class Store:
    """Results of runs, appended to a file as they come.

    Args:
        path: a file of JSON lines; it need not exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.records: dict[str, dict[str, Any]] = {}
        self.reload()

    def reload(self) -> None:
        """Read the file again."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith("\n"):
                    continue  # the run was killed while it wrote
                try:
                    record = json.loads(line)
                    self.records[record["key"]] = record
                except (ValueError, KeyError, TypeError) as error:
                    raise RunError(
                        f"Expected a result on each line, got something else ({self.path}, line "
                        f"{number}): {error}."
                    ) from error

    def add(self, record: dict[str, Any]) -> None:
        """Append one result, after the last whole line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, sort_keys=True) + "\n"
        with self.path.open("a+b") as file:
            file.seek(0)
            # A line that a crash cut off is dropped.
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(line.encode())
        self.records[record["key"]] = record

    def of(self, cell: Cell, seeds: int) -> list[dict[str, Any]]:
        """The results of a cell for the seeds 0, 1, ..."""
        return list(self.by_seed(cell, seeds).values())

    def by_seed(self, cell: Cell, seeds: int) -> dict[int, dict[str, Any]]:
        """The same by seed."""
        keys = {seed: cell.key(seed) for seed in range(seeds)}
        return {seed: self.records[key] for seed, key in keys.items() if key in self.records}

    def seconds(self) -> dict[tuple[str, str, str], float]:
        """Median time of a run by source, task and model."""
        times = defaultdict(list)
        for record in self.records.values():
            config = record["config"]
            times[config["source"], config["task"], config["model"]].append(record["seconds"])
        return {key: statistics.median(values) for key, values in times.items()}
