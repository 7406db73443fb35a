"""Displays in the terminal: progress while something runs, tables of results afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from hgcn.names import score_name

if TYPE_CHECKING:
    from hgcn.training.loop import Progress
    from hgcn.tuning.trial import Trials


class _Remaining(ProgressColumn):
    """The column of the time left until the last epoch; training may stop before."""

    def render(self, task: Task) -> Text:
        rate = task.completed / task.elapsed if task.elapsed and task.completed else None
        if rate is None or task.total is None:
            return Text("")
        return Text(f"at most {duration((task.total - task.completed) / rate)} more", style="dim")


def duration(seconds: float) -> str:
    """A duration in the unit that suits its length."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class LiveLine:
    """The progress of some work: a live line in a terminal, a line now and then in a pipe.

    Use it in a ``with`` statement.

    Args:
        columns: the columns of the line before its text.
        quiet: show nothing.
        every: seconds between two lines in a pipe.
    """

    def __init__(self, *columns: ProgressColumn, quiet: bool = False, every: float = 10.0) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self.every = every
        self.last = time.monotonic()
        self.bar = Bar(
            *columns,
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None, text="starting")

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def show(self, what: str, done: int, total: int, text: str) -> None:
        """Show how much of the work called ``what`` is done."""
        self.bar.update(self.task, completed=done, total=total, text=text)
        now = time.monotonic()
        if self.bar.disable and now - self.last >= self.every:
            self.console.print(f"{what} {done}/{total}  {text}", highlight=False)
            self.last = now


class TrainingDisplay(LiveLine):
    """The progress of training; give its :meth:`update` to :func:`hgcn.fit` as ``on_epoch``."""

    def __init__(self, quiet: bool = False, every: float = 10.0) -> None:
        super().__init__(
            TextColumn("epoch {task.completed}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            _Remaining(),
            quiet=quiet,
            every=every,
        )
        self.shown: dict[str, Any] = {"score": "", "c": ""}

    def update(self, progress: Progress) -> None:
        """Show the state of training after an epoch."""
        if progress.score is not None:
            self.shown["score"] = f"val {100 * progress.score:.2f}"
            curvatures = " ".join(f"{c:.2g}" for c in progress.curvatures)
            self.shown["c"] = f"c {curvatures}" if curvatures else ""
        best = progress.best
        words = [
            f"loss {progress.loss:.4f}",
            self.shown["score"],
            f"best {100 * best.score:.2f} at {best.epoch}" if best.epoch else "",
            f"patience {progress.patience_left}",
            self.shown["c"],
        ]
        self.show("epoch", progress.epoch, progress.epochs, "  ".join(filter(None, words)))


class SearchDisplay(LiveLine):
    """The progress of a search; give its :meth:`update` to :func:`hgcn.search` as ``on_trial``."""

    def __init__(self, quiet: bool = False, every: float = 10.0) -> None:
        super().__init__(
            TextColumn("trials {task.completed}/{task.total}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            quiet=quiet,
            every=every,
        )
        self.start = time.monotonic()
        self.first: int | None = None

    def update(self, trials: Trials) -> None:
        """Show the state of the search after a trial."""
        if self.first is None:
            # Trials of an earlier call took none of our time.
            self.first = trials.done - 1
        rate = (time.monotonic() - self.start) / (trials.done - self.first)
        best = "none yet" if trials.best is None else f"{100 * trials.best:.2f}"
        text = f"best {best}  about {duration(rate * (trials.total - trials.done))} more"
        self.show("trials", trials.done, trials.total, text)


def output() -> Console:
    """The console for results: as wide as the terminal, or in a pipe as wide as the table."""
    return Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)


def scores_table(metrics: Mapping[str, Any], title: str) -> Table:
    """Scores of a run on validation and test, in per cent; several seeds as mean ± deviation."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.min_width = len(title)  # rich would wrap a title that is wider than its table
    table.add_column("score")
    table.add_column("validation", justify="right")
    table.add_column("test", justify="right", style="bold")
    for name in metrics["test"]:
        mark = " *" if name == metrics["select"] else ""
        values = [percent(metrics[part][name]) for part in ("val", "test")]
        table.add_row(score_name(name) + mark, *values)
    return table


def percent(value: float | Mapping[str, float]) -> str:
    """A share in per cent, with its deviation where there is one."""
    if isinstance(value, Mapping):
        return f"{100 * value['mean']:.2f} ± {100 * value['std']:.2f}"
    return f"{100 * value:.2f}"


def rows_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """A table: first column to the left, the others to the right."""
    table = Table(title=title or None, title_justify="left", title_style="bold")
    table.min_width = len(title)  # rich would wrap a title that is wider than its table
    for index, name in enumerate(header):
        table.add_column(name, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table
