"""`hgcn compare`: runs side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.commands._loading import preload
from hgcn.commands._settings import add_settings, given_settings
from hgcn.errors import ConfigError

if TYPE_CHECKING:
    from rich.text import Text

EXAMPLES = """\
examples:
  hgcn compare runs/*
  hgcn compare runs/flat runs/curved
  hgcn compare --baselines edges.csv --seeds 5

--baselines trains hgcn and the Euclidean models gcn, gat, sage and mlp, for
links also the shallow euc and hyp, with the same settings, split and seeds, and
compares them. The same command with the same --out goes on after an
interruption.

A folder of several seeds (`hgcn train --seeds`) is one column, with the mean
and deviation of those that are finished.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "%(prog)s RUN ...\n       %(prog)s --baselines SOURCE [options]"
    parser.add_argument("runs", nargs="*", metavar="RUN", help="run folders")
    parser.epilog = EXAMPLES
    group = parser.add_argument_group("train and compare")
    group.add_argument("--baselines", metavar="SOURCE", help="data set, edge list or folder")
    group.add_argument("--seeds", metavar="N", help="seeds for each model (1)")
    group.add_argument(
        "--out", metavar="FOLDER", help="folder of the runs (runs/NAME-baselines-TIME)"
    )
    group.add_argument("--config", metavar="FILE", help="TOML file with settings")
    group.add_argument("--quiet", action="store_true", help="no progress")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the settings that differ, the scores and the times."""
    if arguments.baselines is not None:
        return _compare_baselines(arguments)
    others = [arguments.seeds, arguments.out, arguments.config, given_settings(arguments)]
    if any(others):
        raise ConfigError("Expected --baselines SOURCE beside settings: runs have their own.")
    if not arguments.runs:
        raise ConfigError("Expected run folders, or --baselines SOURCE.")
    preload(arguments, "hgcn.runs.seeds")
    columns = [_read(name) for name in arguments.runs]
    _show(columns)
    return 0


def _compare_baselines(arguments: argparse.Namespace) -> int:
    """Train the models that hgcn is to be compared with, and show all of them."""
    from hgcn.commands._baselines import train_baselines

    if arguments.runs:
        raise ConfigError("Expected run folders or --baselines SOURCE, got both.")
    folders, code = train_baselines(arguments)
    from hgcn.commands._display import output
    from hgcn.commands._scores import untrained_table

    columns = [_read(folder) for folder in folders]
    if columns:
        _show(columns)
        if (table := untrained_table(columns[0].metrics)) is not None:
            output().print(table)
        output().print(f"Run folders: {folders[0].parent}", soft_wrap=True)
    return code


def _show(columns: Sequence[_Column]) -> None:
    from hgcn.commands._display import output, rows_table

    rows: list[Sequence[str | Text]] = [*_settings(columns), *_scores(columns), *_facts(columns)]
    names = _short([Path(column.name) for column in columns])
    output().print(rows_table(["", *names], rows, "Test scores in per cent"))
    if len(columns) > 1 and any(len(column.runs) > 1 for column in columns):
        _show_seeds(columns, names)


def _show_seeds(columns: Sequence[_Column], names: Sequence[str]) -> None:
    """Each seed as a dot, and the differences to the first column over the splits of both."""
    from hgcn.commands._display import can_draw, dots, output, rows_table
    from hgcn.experiments.scores import gain_of
    from hgcn.names import PLAIN_SCORES, score_name
    from hgcn.runs.comparable import same_split

    select = columns[0].metrics["select"]
    if any(select not in column.metrics["test"] for column in columns):
        return
    unit = 1 if select in PLAIN_SCORES else 100
    scores = [column.by_seed(select, unit) for column in columns]
    every = [score for one in scores for score in one.values()]
    low, high = min(every), max(every)
    # A line of dots that is broken says nothing: it has the room that names and differences leave.
    width = min(40, output().width - 31 - max(map(len, [*names, score_name(select)])))
    draws = can_draw() and width >= 12
    header, rows = [score_name(select)], []
    if draws:
        header.append(f"{low:.2f}{f'{high:.2f}':>{width - len(f'{low:.2f}')}}")
    header.append("minus the first")
    for number, (name, one) in enumerate(zip(names, scores, strict=True)):
        pairable = number and same_split(columns[0].settings, columns[number].settings)
        gain = gain_of(one, scores[0]) if pairable else None
        told = "" if gain is None else f"{gain.mean:+.2f} ± {gain.error:.2f}"
        drawn = [dots([*one.values()], low, high, width)] if draws else []
        rows.append([name, *drawn, told])
    title = "Each seed, and mean difference on the same splits ± its standard error"
    output().print(rows_table(header, rows, title))


@dataclass(frozen=True)
class _Column:
    name: str
    settings: dict[str, Any]
    metrics: dict[str, Any]
    runs: Sequence[dict[str, Any]]
    """Metrics of each of its runs: one, or one for each finished seed."""
    seeds: int
    """How many of them there are to be."""
    splits: Sequence[int]
    """The seed of the split of each run."""

    def by_seed(self, name: str, unit: float) -> dict[tuple[int, int], float]:
        """A test score of each run, by the seed of its split and its own."""
        pairs = zip(self.splits, self.runs, strict=True)
        return {(split, one["seed"]): unit * one["test"][name] for split, one in pairs}


def _read(source: str | Path) -> _Column:
    """The column of one run, or of a folder with the runs of several seeds."""
    from hgcn import files
    from hgcn.runs.folder import load_run, seed_folders
    from hgcn.runs.layout import ENVIRONMENT, is_packed, name_of_packed
    from hgcn.runs.seeds import finished_seeds, holds_seeds, summarise

    folder, packed = Path(source), is_packed(source)
    several = not packed and (holds_seeds(folder) or seed_folders(folder))
    if not several or files.exists(folder / ENVIRONMENT):
        runs, total = [load_run(source)], 1
    else:
        runs, total = finished_seeds(folder)
    settings, metrics = runs[0].config.to_dict(), [one.metrics for one in runs]
    for name in ("seed", "split_seed"):
        values = [getattr(one.config, name) for one in runs]
        settings[name] = values[0] if len(set(values)) == 1 else f"{min(values)}..{max(values)}"
    shown = metrics[0] if total == 1 else summarise(metrics)
    splits = [one.config.seed_of_split for one in runs]
    called = name_of_packed(source) if packed else folder
    return _Column(str(called), settings, shown, metrics, total, splits)


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


def _scores(columns: Sequence[_Column]) -> Iterable[list[str | Text]]:
    from rich.text import Text

    from hgcn.commands._display import percent, plain
    from hgcn.names import PLAIN_SCORES, score_name

    names = dict.fromkeys(name for column in columns for name in column.metrics["test"])
    for name in names:
        values = [column.metrics["test"].get(name) for column in columns]
        means = [_mean(value) for value in values if value is not None]
        show, choose = (plain, min) if name in PLAIN_SCORES else (percent, max)
        best = choose(means, default=0.0)
        cells = [
            "-" if value is None
            else Text(show(value), "bold" * (len(columns) > 1 and _mean(value) == best))
            for value in values
        ]  # fmt: skip
        yield [score_name(name), *cells]


def _mean(value: float | Mapping[str, float]) -> float:
    return value["mean"] if isinstance(value, Mapping) else value


def _facts(columns: Sequence[_Column]) -> Iterable[list[str]]:
    for name in ("best_epoch", "epochs", "parameters", "seconds"):
        means = [sum(one[name] for one in c.runs) / len(c.runs) for c in columns]
        digits = 1 if name == "seconds" else 0
        yield [name.replace("_", " "), *(f"{mean:,.{digits}f}" for mean in means)]
    if any(column.seeds > 1 for column in columns):
        yield ["seeds", *map(_count, columns)]


def _count(column: _Column) -> str:
    done = len(column.runs)
    return str(done) if done == column.seeds else f"{done} of {column.seeds}"
