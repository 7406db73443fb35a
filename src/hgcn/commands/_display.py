"""Displays in the terminal: progress while something runs, tables of results afterwards."""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hgcn.names import PLAIN_SCORES, score_name

if TYPE_CHECKING:
    import polars as pl

    from hgcn.experiments.reproduce import Status
    from hgcn.runs.auto import Choosing
    from hgcn.runs.seeds import Seeds
    from hgcn.training.loop import Progress
    from hgcn.tuning.trial import Trials

BAR, LEAST_BAR = 24, 6
"""Width of a bar, and what it may shrink to where there is little room."""
MOST_LINES = 8
"""So many seeds have a line of their own."""
STEPS, DOT, AXIS = "▁▂▃▄▅▆▇█", "•", "─"
"""Signs of small drawings."""


def duration(seconds: float) -> str:
    """A duration in the unit that suits its length."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Line:
    """One line of a live display, which never wraps: where there is little room it says less.

    Args:
        start: what the line begins with; always shown.
        facts: the others with their ranks; where room is short, those of the highest rank go first.
        share: how much is done, for a bar after the start; without, there is no bar.
    """

    BAR_RANK = 4

    def __init__(
        self, start: str, facts: Sequence[tuple[int, str]] = (), share: float | None = None
    ) -> None:
        self.start, self.share = start, share
        self.facts = [(rank, text) for rank, text in facts if text]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # A terminal writes ^C after the line, and must not wrap it.
        yield self.text(options.max_width - 2, "-" if options.ascii_only else "━")

    def text(self, width: int, mark: str = "━") -> Text:
        """The line as it is shown in a terminal of some width."""
        parts = [*self.facts]
        if self.share is not None:
            parts.insert(0, (self.BAR_RANK, mark * LEAST_BAR))
        while parts and self._length(parts, 1) > width:
            highest = max(rank for rank, _ in parts)
            parts = [(rank, text) for rank, text in parts if rank < highest]
        gap = 2 if self._length(parts, 2) <= width else 1
        room = width - self._length(parts, gap)
        line = Text(self.start, no_wrap=True, overflow="crop")
        for rank, text in parts:
            line.append(" " * gap)
            if rank == self.BAR_RANK:
                size = min(BAR, LEAST_BAR + room)
                done = round(size * min(1.0, self.share or 0.0))
                line.append(mark * done, "green").append(mark * (size - done), "bright_black")
            else:
                line.append(text)
        return line

    def _length(self, parts: Sequence[tuple[int, str]], gap: int) -> int:
        return len(self.start) + sum(gap + len(text) for _, text in parts)

    def __str__(self) -> str:
        return "  ".join([self.start, *(text for _, text in self.facts)])


class LiveDisplay:
    """The progress of some work: live lines in a terminal, a line now and then in a pipe.

    Use it in a ``with`` statement.

    Args:
        quiet: show nothing.
        every: seconds between two lines in a pipe.
    """

    def __init__(self, quiet: bool = False, every: float = 10.0) -> None:
        self.quiet, self.every = quiet, every
        self.console = Console(stderr=True, markup=False)
        self.last = time.monotonic()
        can_move = self.console.is_terminal and not self.console.is_dumb_terminal
        self.live: Live | None = None
        if can_move and not quiet:
            self.live = Live(Line("starting"), console=self.console, transient=True)

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, *lines: Line) -> None:
        """Show these lines; in a pipe only the first of them, if it is time for that."""
        if self.live is not None:
            self.live.update(Group(*lines))
            return
        now = time.monotonic()
        if not self.quiet and now - self.last >= self.every:
            self.console.print(str(lines[0]), highlight=False, soft_wrap=True)
            self.last = now

    def choosing(self, state: Choosing) -> None:
        """Show how far the choice of settings is, before training."""
        best = "" if state.best is None else f"best {100 * state.best:.2f}"
        facts = [(1, f"rung {state.rung}"), (0, best), (0, f"{duration(state.seconds_left)} left")]
        self.show(Line(f"choosing: candidate {state.candidate} of {state.candidates}", facts))


def counted(
    blocks: Iterable[pl.DataFrame], what: str, total: int, a_row: int = 1
) -> Iterator[pl.DataFrame]:
    """Pass on blocks of a table, and show how much of it is there.

    Args:
        blocks: tables.
        what: what is counted.
        total: how many of them there are.
        a_row: rows of the table for each of them.
    """
    done, begin = 0, time.monotonic()
    with LiveDisplay() as display:
        for block in blocks:
            done += block.height // a_row
            left = (time.monotonic() - begin) * (total - done) / max(1, done)
            facts = [(0, f"about {duration(left)} more" if done < total else "")]
            display.show(Line(f"{what} {done:,}/{total:,}", facts, done / total))
            yield block


class TrainingDisplay(LiveDisplay):
    """The progress of training; give its :meth:`update` to :func:`hgcn.fit` as ``on_epoch``."""

    def __init__(self, quiet: bool = False, every: float = 10.0) -> None:
        super().__init__(quiet, every)
        self.first: tuple[int, float] | None = None
        self.score = self.curvatures = ""

    def update(self, progress: Progress) -> None:
        """Show the state of training after an epoch."""
        if self.first is None:  # it may have compiled kernels, which no other epoch does
            self.first = progress.epoch, progress.seconds
        if progress.score is not None:
            self.score = f"val {100 * progress.score:.2f}"
            self.curvatures = " ".join(f"{c:.2g}" for c in progress.curvatures)
        epochs, seconds = progress.epoch - self.first[0], progress.seconds - self.first[1]
        most = seconds / epochs * (progress.epochs - progress.epoch) if epochs else None
        facts = [
            (5, f"loss {progress.loss:.4f}"),
            (0, self.score),
            (1, _best(progress)),
            (2, f"patience {progress.patience_left}"),
            # Training may stop before the last epoch.
            (3, "" if most is None else f"at most {duration(most)}"),
            (6, f"c {self.curvatures}" if self.curvatures else ""),
        ]
        self.show(Line(_epoch(progress), facts, progress.epoch / progress.epochs))


def _epoch(progress: Progress) -> str:
    return f"epoch {progress.epoch:>{len(str(progress.epochs))}}/{progress.epochs}"


def _best(progress: Progress) -> str:
    return f"best {100 * progress.best.score:.2f}" if progress.best.epoch else ""


class SeedsDisplay(LiveDisplay):
    """The progress of several seeds: a line for all of them, and one for each that is running."""

    def __init__(self, quiet: bool = False, every: float = 10.0) -> None:
        super().__init__(quiet, every)
        self.start = time.monotonic()
        self.first: int | None = None

    def update(self, seeds: Seeds) -> None:
        """Show the state after something has changed."""
        from hgcn.runs.seeds import mean_and_deviation

        done, total = len(seeds.finished) + len(seeds.failed), len(seeds.asked)
        if self.first is None and seeds.running:
            self.first = done  # seeds of an earlier call took none of our time
        scores = [one["val"][one["select"]] for one in seeds.finished.values()]
        facts = [
            (0, f"val {percent(mean_and_deviation(scores))}" if scores else ""),
            (1, f"{len(seeds.failed)} failed" if seeds.failed else ""),
            (2, f"{len(seeds.running)} running" if seeds.running else ""),
        ]
        if self.first is not None and done > self.first:
            rate = (time.monotonic() - self.start) / (done - self.first)
            facts.append((3, f"about {duration(rate * (total - done))} more"))
        parts = [one.epoch / one.epochs for one in seeds.running.values() if one]
        running = sorted(seeds.running.items())
        lines = [_seed_line(seed, progress) for seed, progress in running[:MOST_LINES]]
        if len(running) > MOST_LINES:
            lines.append(Line(f"  and {len(running) - MOST_LINES} more"))
        self.show(Line(f"seeds {done}/{total}", facts, (done + sum(parts)) / total), *lines)


class BaselinesDisplay(SeedsDisplay):
    """The progress of several models, one after the other."""

    label = ""

    def begin(self, label: str) -> None:
        """Go on to another model."""
        self.label, self.start, self.first = label, time.monotonic(), None

    def show(self, *lines: Line) -> None:
        """Show the lines of the seeds, with the model in the first of them."""
        lines[0].start = f"{self.label}: {lines[0].start}"
        super().show(*lines)


def _seed_line(seed: int, progress: Progress | None) -> Line:
    if progress is None:
        return Line(f"  seed {seed}", [(0, "starting")])
    facts = [
        (1, _epoch(progress)),
        (0, _best(progress)),
        (2, f"patience {progress.patience_left}"),
    ]
    return Line(f"  seed {seed}", facts, progress.epoch / progress.epochs)


class SearchDisplay(LiveDisplay):
    """The progress of a search; give its :meth:`update` to :func:`hgcn.search` as ``on_trial``."""

    def __init__(self, quiet: bool = False, every: float = 10.0) -> None:
        super().__init__(quiet, every)
        self.start = time.monotonic()
        self.first: int | None = None

    def update(self, trials: Trials) -> None:
        """Show the state of the search after a trial."""
        if self.first is None:
            self.first = trials.done - 1  # trials of an earlier call took none of our time
        rate = (time.monotonic() - self.start) / (trials.done - self.first)
        best = "none yet" if trials.best is None else f"{100 * trials.best:.2f}"
        left = duration(rate * (trials.total - trials.done))
        facts = [(0, f"best {best}"), (1, f"about {left} more")]
        share = trials.done / trials.total
        self.show(Line(f"trials {trials.done}/{trials.total}", facts, share))


class ReproductionDisplay(LiveDisplay):
    """The progress of a reproduction; its :meth:`update` takes the status after each run."""

    def update(self, status: Status) -> None:
        """Show the state after a run."""
        facts = [
            (0, f"{status.failed} failed" if status.failed else ""),
            (1, f"about {duration(status.seconds_left)} left"),
            (2, f"last: {status.last}"),
        ]
        self.show(Line(f"runs {status.done}/{status.total}", facts, status.done / status.total))


def output() -> Console:
    """The console for results: as wide as the terminal, or in a pipe as wide as the table."""
    # Names of files and nodes may have brackets, which are no markup.
    width = None if sys.stdout.isatty() else 10_000
    return Console(width=width, highlight=False, markup=False)


def scores_table(metrics: Mapping[str, Any], title: str) -> Table:
    """Scores of a run on validation and test, in per cent; several seeds as mean ± deviation."""
    table = _table(title)
    table.add_column("score")
    table.add_column("validation", justify="right")
    table.add_column("test", justify="right", style="bold")
    for name in metrics["test"]:
        mark = " *" if name == metrics["select"] else ""
        show = plain if name in PLAIN_SCORES else percent
        values = [show(metrics[part][name]) for part in ("val", "test")]
        table.add_row(score_name(name) + mark, *values)
    return table


def auto_table(record: Mapping[str, Any]) -> Table:
    """The settings that were tried before training, and how far each of them came."""
    rows = []
    for number, one in enumerate(record["candidates"]):
        score = "-" if one["val"] is None else percent(one["val"])
        end = "chosen" if number == record["chosen"] else one["error"]
        if not end:
            end = "" if one["dropped"] is None else f"out after rung {one['dropped']}"
        rows.append([_settings(one), score, str(one["epochs"]), end])
    title = f"Tried for {duration(record['spent'])}: {score_name(record['select'])} on validation"
    return rows_table(["settings", "score", "epochs", ""], rows, title)


def _settings(candidate: Mapping[str, Any]) -> str:
    if candidate["preset"]:
        return f"preset {candidate['preset']}"
    shown = {True: "on", False: "off"}
    pairs = candidate["settings"].items()
    text = ", ".join(
        f"{k} {shown[v] if isinstance(v, bool) else v}" for k, v in pairs if v is not None
    )
    return text or "defaults"


def percent(value: float | Mapping[str, float]) -> str:
    """A share in per cent, with its deviation where there is one."""
    if isinstance(value, Mapping):
        return f"{100 * value['mean']:.2f} ± {100 * value['std']:.2f}"
    return f"{100 * value:.2f}"


def plain(value: float | Mapping[str, float]) -> str:
    """A number that is no share, with its deviation where there is one."""
    if isinstance(value, Mapping):
        return f"{value['mean']:.2f} ± {value['std']:.2f}"
    return f"{value:.2f}"


def rows_table(
    header: Sequence[str], rows: Sequence[Sequence[str | Text]], title: str = ""
) -> Table:
    """A table: first column to the left, the others to the right."""
    table = _table(title)
    for index, name in enumerate(header):
        # Where room is short, ids and numbers are broken, never cut.
        table.add_column(name, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def can_draw() -> bool:
    """Whether the terminal, or the file that a pipe leads to, takes more signs than ASCII."""
    try:
        (STEPS + DOT + AXIS).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Numbers over time as a row of bars, the lowest and the highest from end to end.

    Of more numbers than there is room for, each bar is the mean of some.
    """
    count = min(width, len(values))
    ends = [round(k * len(values) / count) for k in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(ends)]
    low, high = min(means), max(means)
    unit = (len(STEPS) - 1) / (high - low) if high > low else 0.0
    return "".join(STEPS[round((mean - low) * unit)] for mean in means)


def dots(values: Sequence[float], low: float, high: float, width: int = 40) -> str:
    """Numbers as dots on a line from ``low`` to ``high``; of several in one place, how many."""
    unit = (width - 1) / (high - low) if high > low else 0.0
    places = Counter(round((value - low) * unit) for value in values)
    marks = {at: DOT if number == 1 else str(min(number, 9)) for at, number in places.items()}
    return "".join(marks.get(at, AXIS) for at in range(width))


def _table(title: str) -> Table:
    table = Table(title=title or None, title_justify="left", title_style="bold")
    # rich would wrap a title that is wider than its table.
    table.min_width = min(len(title), output().width)
    return table
