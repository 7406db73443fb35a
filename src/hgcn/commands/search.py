"""`hgcn search`: look for good settings by the validation score."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.commands._interruption import INTERRUPTED, explained
from hgcn.commands._loading import fetch, preload
from hgcn.commands._settings import (
    above_zero,
    add_settings,
    given_settings,
    source_and_settings,
)
from hgcn.cores import count_cores

if TYPE_CHECKING:
    from hgcn.tuning.search import SearchResult

EXAMPLES = """\
A setting that is given is fixed; the others of the search space vary. The test
part is never looked at. The same command goes on with a search that was
interrupted, and with a larger --trials makes it longer.

examples:
  hgcn search cora --task node            50 trials; the best settings as TOML
  hgcn train --config searches/cora-node-hgcn.toml --seeds 10
  hgcn search cora --model gcn --trials 50 --dim 16
  hgcn search disease --space space.toml --seeds 3
  hgcn search pubmed --storage postgresql://me@server/studies   on many machines
"""
SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.usage = "%(prog)s [SOURCE] [options]"
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="name of a data set, edge list or folder"
    )
    parser.add_argument("--trials", metavar="N", default="50", help="how many settings to try (50)")
    parser.add_argument("--seeds", metavar="N", default="1", help="seeds for each of them (1)")
    parser.add_argument(
        "--processes", metavar="N", help="trials at a time, one thread each (all cores)"
    )
    parser.add_argument("--space", metavar="FILE", help="TOML file that says what to vary")
    parser.add_argument(
        "--storage", metavar="FILE|URL", help="where trials are kept (journal.log in --out)"
    )
    parser.add_argument("--name", help="name of the search (SOURCE-TASK-MODEL)")
    parser.add_argument(
        "--out", metavar="FOLDER", default="searches", help="folder for results (searches)"
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file with fixed settings")
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="no progress, no table; only the file of the best settings",
    )
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search as asked."""
    given = given_settings(arguments)
    source, given = source_and_settings(arguments, given, "search")
    numbers: dict[str, Any] = {
        name: above_zero(f"--{name}", text)
        for name, text in (
            ("trials", arguments.trials),
            ("seeds", arguments.seeds),
            ("processes", arguments.processes or str(count_cores())),
        )
    }

    preload(arguments, "hgcn.tuning.search")
    from hgcn import files
    from hgcn.commands._display import SearchDisplay
    from hgcn.tuning.search import search

    folder = Path(arguments.out)
    files.make_folder(folder)
    fetch(source)
    with explained(lambda: "The same command goes on."), SearchDisplay(arguments.quiet) as display:
        result = search(
            source,
            **numbers,
            storage=arguments.storage or folder / "journal.log",
            space=arguments.space,
            name=arguments.name,
            on_trial=display.update,
            **given,
        )
    best = folder / f"{result.name}.toml"
    files.write_text(best, _header(result) + result.config.to_toml())
    files.write_table(folder / f"{result.name}.csv", result.trials)
    _show(result, best, arguments.quiet)
    return INTERRUPTED if result.interrupted else 0


def _header(result: SearchResult) -> str:
    count = len(result.trials)
    return (
        f"# Best of {count} trials: validation {result.score} {100 * result.value:.2f}.\n"
        f"# Train with: hgcn train --config THIS_FILE\n\n"
    )


def _show(result: SearchResult, best: Path, quiet: bool) -> None:
    if quiet:
        sys.stdout.write(f"{best}\n")
        return
    import polars as pl

    from hgcn.commands._display import output, rows_table
    from hgcn.names import score_name

    top = result.trials.filter(pl.col("state") == "complete")
    top = top.sort(["value", "number"], descending=[True, False]).head(SHOWN)
    names = result.trials.columns[result.trials.columns.index("error") + 1 :]
    names.sort(key=lambda name: -result.importance.get(name, 0.0))
    header = ["setting", *(f"trial {number}" for number in top["number"])]
    rows = [["validation", *(f"{100 * value:.2f}" for value in top["value"])]]
    rows += [[name, *(_brief(value) for value in top[name])] for name in names]
    if result.importance:
        header.insert(1, "importance")
        shares = [f"{100 * result.importance.get(name, 0.0):.0f} %" for name in names]
        for row, share in zip(rows, ["", *shares], strict=True):
            row.insert(1, share)
    console = output()
    console.print(rows_table(header, rows, f"{result.name}: {score_name(result.score)}"))
    counts = result.trials["state"].value_counts(sort=True).rows()
    told = ", ".join(f"{number} {state}" for state, number in counts)
    console.print(f"Trials: {told}.")
    if result.interrupted:
        console.print("Interrupted; the same command goes on.")
    console.print(f"Best settings: {best}", soft_wrap=True)
    console.print(f"Train with: hgcn train --config {best}", soft_wrap=True)


def _brief(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return f"{value:.3g}" if isinstance(value, float) else str(value)
