"""`hgcn train`: train a network and write a run folder."""

from __future__ import annotations

import argparse
import contextlib
import logging
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import simplefilter

from hgcn.commands._interruption import INTERRUPTED, explained
from hgcn.commands._loading import fetch, preload
from hgcn.commands._settings import (
    above_zero,
    add_settings,
    given_settings,
    new_folder,
    source_and_settings,
)
from hgcn.errors import ConfigError, RunError
from hgcn.names import LOGGERS, PLAIN_SCORES, score_name
from hgcn.ranks import job_name, started
from hgcn.text import count

if TYPE_CHECKING:
    from hgcn.commands._display import LiveDisplay
    from hgcn.runs.run import Run
    from hgcn.runs.seeds import Seeds

EXAMPLES = """\
examples:
  hgcn train cora                         with the preset of the data set
  hgcn train cora --task node --seeds 10  ten seeds, mean and deviation
  hgcn train edges.csv --auto 60          choose settings on validation for 60 s
  hgcn train edges.csv --features nodes.csv --labels kind
  hgcn train disease --model gcn --dim 2 --out runs/flat
  hgcn train --config runs/flat/config.toml --seed 1
  hgcn train edges.csv --batch-size 1024 --fanout 15,10   in mini-batches
  hgcn train --resume runs/flat           go on after an interruption
  torchrun --nproc-per-node 2 -m hgcn train cora --batch-size 512 --out runs/two
                                          two processes, half a batch each

Ctrl-C ends training as patience would: the best weights so far are kept. The
exit code is 130. Several seeds are kept as they are, to go on with.
"""

GUESS = 0.01
"""So much above guessing is luck."""
FAILED = 1
"""The exit code if some seeds have no result."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.usage = "%(prog)s [SOURCE] [options]"
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="name of a data set, edge list or folder"
    )
    parser.add_argument("--out", metavar="RUN", help="run folder (runs/NAME-TIME)")
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings")
    parser.add_argument(
        "--resume", metavar="RUN", help="go on with an interrupted run, or with several seeds"
    )
    parser.add_argument("--seeds", metavar="N", help="train with N seeds, in parallel processes")
    parser.add_argument(
        "--auto", metavar="SECONDS", help="first try a few settings on validation for so long"
    )
    parser.add_argument(
        "--log", metavar="NAME", help=f"tell of each epoch: {', '.join(LOGGERS)} (docs/logging.md)"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no progress, no table; only the run folder"
    )
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train as asked."""
    if not started().first:
        _hush(arguments)
    given = given_settings(arguments)
    if arguments.resume is not None:
        return _resume(arguments, given)
    source, given = source_and_settings(arguments, given, "train")
    seeds = None if arguments.seeds is None else above_zero("--seeds", arguments.seeds)
    if seeds is not None:
        _refuse_log(arguments)
    if source == "-" and (seeds is not None or started().world > 1):
        raise ConfigError(
            "Expected a file for several processes: standard input can be read only once."
        )
    given |= {} if arguments.auto is None else {"auto": _seconds(arguments.auto)}
    folder = Path(arguments.out) if arguments.out else new_folder(source, job=job_name())
    preload(arguments, "hgcn.runs.seeds")
    from hgcn.runs.fit import fit
    from hgcn.runs.seeds import fit_seeds, holds_seeds

    fetch(source)
    if seeds is not None:
        return _train_seeds(
            arguments, folder, lambda **more: fit_seeds(source, seeds, out=folder, **given, **more)
        )
    if holds_seeds(folder):
        raise RunError(f"Expected --seeds, or another folder: {folder} holds several seeds.")
    return _train(arguments, folder, lambda **more: fit(source, out=folder, **given, **more))


def _refuse_log(arguments: argparse.Namespace) -> None:
    if arguments.log is not None:
        raise ConfigError("Expected --log with one seed, got several: their curves would mix.")


def _hush(arguments: argparse.Namespace) -> None:
    """Say nothing but errors: the first of several processes tells the rest."""
    arguments.quiet = True
    logging.getLogger("hgcn").setLevel(logging.ERROR)
    simplefilter("ignore")


def _resume(arguments: argparse.Namespace, given: dict[str, Any]) -> int:
    others = ("source", "config", "out", "seeds", "auto")
    if given or any(getattr(arguments, name) for name in others):
        raise ConfigError(
            "Expected nothing beside --resume: a resumed run goes on with the settings it has."
        )
    folder = Path(arguments.resume)
    preload(arguments, "hgcn.runs.seeds")
    from hgcn.runs.fit import resume
    from hgcn.runs.seeds import holds_seeds, resume_seeds

    if holds_seeds(folder):
        _refuse_log(arguments)
        return _train_seeds(arguments, folder, lambda **more: resume_seeds(folder, **more))
    return _train(arguments, folder, lambda **more: resume(folder, **more))


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(
            f"Expected --auto to be a number of seconds above 0, got {text!r}."
        ) from None


def _train(arguments: argparse.Namespace, folder: Path, train: Callable[..., Any]) -> int:
    """Train one run and show its scores."""
    from hgcn.commands._display import TrainingDisplay

    first = started().first
    telling = explained(lambda: _left(folder)) if first else contextlib.nullcontext()
    with telling, TrainingDisplay(arguments.quiet) as display:
        told = {"on_epoch": display.update, "log": arguments.log}
        run: Run = train(**told, **_telling(arguments, display))
    metrics = run.metrics
    if first:
        notes, warnings = _notes(metrics), list(_warnings(metrics))
        _show(metrics, folder, arguments.quiet, notes, warnings, _curve(run))
    return INTERRUPTED if metrics["stopped"] == "interrupted" else 0


def _telling(arguments: argparse.Namespace, display: LiveDisplay) -> dict[str, Any]:
    """The keyword that shows the choice of settings, where there is one."""
    return {} if arguments.auto is None else {"on_auto": display.choosing}


def _train_seeds(arguments: argparse.Namespace, folder: Path, train: Callable[..., Any]) -> int:
    """Train several seeds and show what is finished of them."""
    from hgcn.commands._display import SeedsDisplay

    with explained(lambda: _left(folder)), SeedsDisplay(arguments.quiet) as display:
        seeds: Seeds = train(on_change=display.update, **_telling(arguments, display))
    if not seeds.finished and seeds.failed and not seeds.interrupted:
        raise RunError(f"None of {count(len(seeds.asked), 'seed')} has a result.")
    if seeds.finished:
        summary = seeds.summary()
        kept = count(len(seeds.finished), "seed")
        if seeds.missing:
            kept = f"{len(seeds.finished)} of {count(len(seeds.asked), 'seed')}"
        notes = [f"{kept}, mean ± standard deviation"]
        if summary["preset"]:
            notes.insert(0, f"preset {summary['preset']}")
        warnings = [
            f"Seed {seed}: {warning}"
            for seed, metrics in sorted(seeds.finished.items())
            for warning in _warnings(metrics)
        ]
        _show(summary, folder, arguments.quiet, notes, warnings)
    if seeds.missing:
        _say_missing(seeds)
    return INTERRUPTED if seeds.interrupted else FAILED if seeds.missing else 0


def _say_missing(seeds: Seeds) -> None:
    done = f"{len(seeds.finished)} of {count(len(seeds.asked), 'seed')}"
    word, how = ("interrupted", "Go on") if seeds.interrupted else ("incomplete", "Try again")
    sys.stderr.write(
        f"hgcn: {word}. {done} finished, kept in {seeds.folder}. {how} with: "
        f"{_command(seeds.folder)}\n"
    )


def _command(folder: Path) -> str:
    return f"hgcn train --resume {shlex.quote(str(folder))}"


def _left(folder: Path) -> str:
    """What an interrupted training left behind, if there is no table of results to say it."""
    if (folder / "environment.json").exists():
        return f"The run in {folder} is complete, but for its page perhaps."
    if (folder / "seeds.json").exists():
        return f"Finished seeds are kept. Go on with: {_command(folder)}"
    if (folder / "config.toml").exists():
        return f"There is no result yet. Go on with: {_command(folder)}"
    return "There is no result yet."


def _show(
    metrics: dict[str, Any],
    folder: Path,
    quiet: bool,
    notes: list[str],
    warnings: list[str],
    curve: str = "",
) -> None:
    """The scores on stdout; with --quiet only the folder, and warnings on stderr."""
    warnings = [*filter(None, [metrics.get("auto", {}).get("note")]), *warnings]
    if quiet:
        sys.stdout.write(f"{folder}\n")
        sys.stderr.writelines(f"hgcn: warning: {warning}\n" for warning in warnings)
        return
    from hgcn.commands._display import auto_table, output, scores_table
    from hgcn.commands._scores import advice, untrained_table

    console = output()
    if "auto" in metrics:
        console.print(auto_table(metrics["auto"]), width=min(console.width, 80))
    title = f"{metrics['source']}: {metrics['task']} prediction with {metrics['model']}"
    console.print(scores_table(metrics, title))
    console.print("* picked the epoch.  " + "; ".join(notes) + ".")
    if curve:
        console.print(curve)
    if (table := untrained_table(metrics)) is not None:
        console.print(table)
    for warning in (*warnings, *filter(None, [advice(metrics)])):
        console.print(warning, style="yellow")
    console.print(f"Run folder: {folder}", soft_wrap=True)
    for name, what in (("disk.html", "embedding"), ("report.html", "report")):
        if (folder / name).exists():
            console.print(f"Page of the {what}: {folder / name}", soft_wrap=True)


def _curve(run: Run) -> str:
    """The validation scores of training in one line; empty if that shows nothing."""
    from hgcn.commands._display import can_draw, sparkline

    name = run.metrics["select"]
    values = [row[name] for row in run.history]
    if len(values) < 2 or not can_draw():
        return ""
    unit = 1 if name in PLAIN_SCORES else 100
    low, high = unit * min(values), unit * max(values)
    return f"{score_name(name)} on validation {sparkline(values)} {low:.2f} to {high:.2f}"


def _notes(metrics: dict[str, Any]) -> list[str]:
    """Facts about a run for the line below its table."""
    from hgcn.commands._display import duration

    notes = [f"preset {metrics['preset']}"] if metrics["preset"] else []
    notes.append(f"best epoch {metrics['best_epoch']} of {metrics['epochs']}")
    if metrics["curvatures"]:
        notes.append("curvature " + " ".join(f"-{c:.3g}" for c in metrics["curvatures"]))
    notes.append(duration(metrics["seconds"]))
    return notes


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
