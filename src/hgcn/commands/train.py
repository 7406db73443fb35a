"""`hgcn train`: train a network and write a run folder."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hgcn.commands._settings import (
    above_zero,
    add_settings,
    given_settings,
    source_and_settings,
)
from hgcn.errors import ConfigError

EXAMPLES = """\
examples:
  hgcn train cora                         the preset of the data set: link prediction
  hgcn train cora --task node --seeds 10  ten seeds, mean and deviation
  hgcn train edges.csv --features nodes.csv --labels kind
  hgcn train disease --model gcn --dim 2 --out runs/flat
  hgcn train --config runs/flat/config.toml --seed 1
  hgcn train --resume runs/flat           go on after an interruption
"""

GUESS = 0.01
"""So much above guessing is luck."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", nargs="?", help="name of a data set, edge list or folder")
    parser.add_argument("--out", metavar="RUN", help="run folder (runs/NAME-TIME)")
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings")
    parser.add_argument("--resume", metavar="RUN", help="go on with an interrupted run")
    parser.add_argument("--seeds", metavar="N", help="train with N seeds, in parallel processes")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train as asked."""
    given = given_settings(arguments)
    if arguments.resume is not None:
        return _resume(arguments, given)
    source, given = source_and_settings(arguments, given, "train")
    folder = Path(arguments.out) if arguments.out else _new_folder(source)
    if arguments.seeds is not None:
        return _seeds(arguments, source, given, folder)

    from hgcn.commands._display import TrainingDisplay
    from hgcn.runs.fit import fit

    with TrainingDisplay(arguments.quiet) as display, _explained(folder):
        result = fit(source, out=folder, on_epoch=display.update, **given)
    _show(result.metrics, folder, arguments.quiet)
    return 0


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say what Ctrl-C left behind, if there is no table of results to say it."""
    try:
        yield
    except KeyboardInterrupt:
        if (folder / "environment.json").exists():
            left = f"The run in {folder} is complete, but for its page perhaps."
        elif (folder / "config.toml").exists():
            left = f"There is no result yet. Go on with: hgcn train --resume {folder}"
        else:
            left = "There is no result yet."
        sys.stderr.write(f"hgcn: interrupted. {left}\n")
        raise


def _new_folder(source: str) -> Path:
    name = re.sub(r"[^\w-]+", "-", Path(source).stem) or "graph"
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder = Path("runs") / stem
    count = 1
    while folder.exists():
        count += 1
        folder = Path("runs") / f"{stem}-{count}"
    return folder


def _resume(arguments: argparse.Namespace, given: dict[str, Any]) -> int:
    from hgcn.commands._display import TrainingDisplay
    from hgcn.runs.fit import resume

    if given or arguments.source or arguments.config or arguments.out or arguments.seeds:
        raise ConfigError(
            "Expected nothing beside --resume: a resumed run goes on with the settings it has."
        )
    with TrainingDisplay(arguments.quiet) as display, _explained(Path(arguments.resume)):
        result = resume(arguments.resume, on_epoch=display.update)
    _show(result.metrics, Path(arguments.resume), arguments.quiet)
    return 0


def _seeds(arguments: argparse.Namespace, source: str, given: dict[str, Any], folder: Path) -> int:
    from hgcn.runs.seeds import fit_seeds

    seeds = above_zero("--seeds", arguments.seeds)
    summary = fit_seeds(source, seeds, out=folder, **given)
    _show(summary, folder, arguments.quiet)
    return 0


def _show(metrics: dict[str, Any], folder: Path, quiet: bool) -> None:
    if quiet:
        sys.stdout.write(f"{folder}\n")
        return
    from hgcn.commands._display import duration, output, scores_table
    from hgcn.commands._scores import untrained_table, untrained_winner

    console = output()
    title = f"{metrics['source']}: {metrics['task']} prediction with {metrics['model']}"
    console.print(scores_table(metrics, title))
    notes = []
    if metrics["preset"]:
        notes.append(f"preset {metrics['preset']}")
    if "seeds" in metrics:
        notes.append(f"{len(metrics['seeds'])} seeds, mean ± standard deviation")
    else:
        notes.append(f"best epoch {metrics['best_epoch']} of {metrics['epochs']}")
        if metrics["curvatures"]:
            notes.append("curvature " + " ".join(f"-{c:.3g}" for c in metrics["curvatures"]))
        notes.append(duration(metrics["seconds"]))
    console.print("* picked the epoch.  " + "; ".join(notes) + ".", highlight=False)
    if (table := untrained_table(metrics)) is not None:
        console.print(table)
    for warning in (*_warnings(metrics), *filter(None, [untrained_winner(metrics)])):
        console.print(warning, style="yellow", highlight=False, soft_wrap=True)
    console.print(f"Run folder: {folder}", highlight=False, soft_wrap=True)


def _warnings(metrics: dict[str, Any]) -> Iterator[str]:
    """What a reader of the table must know: how training ended, and that nothing was learnt."""
    stopped = metrics.get("stopped", "patience")
    if stopped == "interrupted":
        yield f"Interrupted after epoch {metrics['epochs']}; scores are those of the best epoch."
    elif stopped not in ("patience", "epochs"):
        yield (
            f"Training diverged: {stopped} These are the scores of the best epoch before. Try a "
            "smaller --lr."
        )
    select, guessing = metrics["select"], metrics.get("guessing", {}).get("val")
    if guessing is not None and metrics["val"][select] <= guessing[select] + GUESS:
        yield (
            f"No better than guessing: a prediction that is the same for everything has a "
            f"validation score of {100 * guessing[select]:.2f}. Try other features, another "
            "--model, or a smaller --lr."
        )
