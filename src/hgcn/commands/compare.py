"""`hgcn compare`: runs side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hgcn.errors import RunError

EXAMPLES = """\
examples:
  hgcn compare runs/*
  hgcn compare runs/flat runs/curved

A run of several seeds (`hgcn train --seeds`) is one column, with mean and deviation.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.epilog = EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    """Show the settings that differ, the scores and the times."""
    from hgcn.commands._display import output, rows_table

    columns = [_read(Path(name)) for name in arguments.runs]
    rows = [*_settings(columns), *_scores(columns), *_facts(columns)]
    names = _short([Path(column.name) for column in columns])
    output().print(rows_table(["", *names], rows, "Test scores in per cent"))
    return 0


@dataclass(frozen=True)
class _Column:
    name: str
    settings: dict[str, Any]
    metrics: dict[str, Any]
    runs: Sequence[dict[str, Any]]
    """Metrics of each of its runs: one, or one for each seed."""


def _read(folder: Path) -> _Column:
    """The column of one run, or of a folder with the runs of several seeds."""
    from hgcn.runs.folder import load_run

    seeds = sorted(folder.glob("seed-*"), key=lambda path: (len(path.name), path.name))
    if (folder / "environment.json").exists() or not seeds:
        trained = load_run(folder)
        return _Column(str(folder), trained.config.to_dict(), trained.metrics, [trained.metrics])
    if not (folder / "metrics.json").is_file():
        raise RunError(f"Expected all seeds of {folder} to be finished, got no metrics.json.")
    from hgcn.runs.seeds import summarise

    trained_seeds = [load_run(path) for path in seeds]
    metrics = [one.metrics for one in trained_seeds]
    settings = trained_seeds[0].config.to_dict()
    for name in ("seed", "split_seed"):
        values = [getattr(one.config, name) for one in trained_seeds]
        settings[name] = values[0] if len(set(values)) == 1 else f"{min(values)}..{max(values)}"
    return _Column(str(folder), settings, summarise(metrics), metrics)


def _short(paths: Sequence[Path]) -> list[str]:
    """Names of the folders, or whole paths where names are the same."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _settings(columns: Sequence[_Column]) -> Iterable[list[str]]:
    for name in columns[0].settings:
        values = [_text(column.settings[name]) for column in columns]
        if len(set(values)) > 1 or name in ("task", "model"):
            yield [name, *values]


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scores(columns: Sequence[_Column]) -> Iterable[list[str]]:
    from hgcn.commands._display import percent
    from hgcn.names import score_name

    names = dict.fromkeys(name for column in columns for name in column.metrics["test"])
    for name in names:
        values = [column.metrics["test"].get(name) for column in columns]
        best = max((_mean(value) for value in values if value is not None), default=0.0)
        cells = ["-" if value is None else percent(value) for value in values]
        if len(columns) > 1:
            cells = [
                f"[bold]{cell}[/bold]" if value is not None and _mean(value) == best else cell
                for cell, value in zip(cells, values, strict=True)
            ]
        yield [score_name(name), *cells]


def _mean(value: float | Mapping[str, float]) -> float:
    return value["mean"] if isinstance(value, Mapping) else value


def _facts(columns: Sequence[_Column]) -> Iterable[list[str]]:
    for name in ("best_epoch", "epochs", "parameters", "seconds"):
        means = [sum(one[name] for one in c.runs) / len(c.runs) for c in columns]
        digits = 1 if name == "seconds" else 0
        yield [name.replace("_", " "), *(f"{mean:,.{digits}f}" for mean in means)]
    counts = [len(column.runs) for column in columns]
    if max(counts) > 1:
        yield ["seeds", *map(str, counts)]
