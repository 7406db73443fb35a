"""The report of a run: how training went, what the scores hide, and what the embedding looks like.

It is one page of charts and tables beside ``disk.html``, made of what the run folder and the graph
hold; nothing is trained for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hgcn.errors import ConfigError
from hgcn.inference.trained import embeddings
from hgcn.names import PLAIN_SCORES, VAL_LOSS, score_name, untrained_name
from hgcn.reports.charts import Axis, Series, chart, histogram
from hgcn.reports.page import Panel, Section, facts_list, table, write_report
from hgcn.runs.comparable import same_split
from hgcn.runs.layout import REPORT
from hgcn.runs.pictures import MOST_NODES_AT_ONCE
from hgcn.runs.run import Run
from hgcn.scenes.columns import depth
from hgcn.scenes.of_network import curvature_names, title
from hgcn.training.curves import average_precision_curve, link_reliability, reliability, roc_curve
from hgcn.training.problem import Problem

ENVIRONMENT = ("hgcn", "python", "machine", "threads", "ranks", "data_sha256")


def report(
    run: Run, path: str | Path | None = None, *, beside: Sequence[Run] = (), delta: bool = True
) -> Path:
    """Write the report of a run.

    Args:
        run: a trained run.
        path: file to write; by default ``report.html`` in the run folder.
        beside: other runs on the same split, such as Euclidean models; their scores are shown too.
        delta: whether to measure how tree-like the graph is, which may take a minute.
    """
    _check_beside(run, beside)
    if path is None and run.path is None:
        raise ConfigError("Expected `path`, a file for the report: this run has no folder.")
    # A run that was just trained has its task still, with the outputs that were scored.
    task = run._kept.get("task") or Problem(run.graph, run.config).task(run.predictor)
    sections = [
        Section("Scores", list(_scores(run, beside))),
        Section("Training", list(_training(run))),
        Section("Predictions on the test part", list(_predictions(run, task))),
        Section("Embedding and graph", list(_embedding(run, delta=delta))),
        Section("Settings and environment", list(_settings(run))),
    ]
    metrics = run.metrics
    facts = (
        f"{metrics['task']} prediction, best epoch {metrics['best_epoch']} of "
        f"{metrics['epochs']}, seed {metrics['seed']}, {metrics['parameters']:,} weights"
    )
    return write_report(
        path or Path(str(run.path)) / REPORT, title(run, run.graph), facts, sections
    )


def write_run_report(path: str | Path, run: Run) -> Path | None:
    """Write the report of a run that was just trained, unless a large graph would take long."""
    if run.num_nodes > MOST_NODES_AT_ONCE:
        return None
    return report(run, path, delta=False)


def _check_beside(run: Run, beside: Sequence[Run]) -> None:
    """Refuse runs whose scores say nothing beside those of a run."""
    own = run.config
    for other in beside:
        same = same_split(own.to_dict(), other.config.to_dict())
        if not same or own.seed_of_split != other.config.seed_of_split:
            raise ConfigError(
                f"Expected runs on the same split as {run.path or 'the run'}, got "
                f"{other.path or 'another'}: data, task, split and its seed must agree."
            )


def _scores(run: Run, beside: Sequence[Run]) -> Iterator[Panel]:
    metrics = run.metrics
    names = list(metrics["val"])
    rows = [
        [label, *_score_cells(one, names, "val"), *_score_cells(one, names, "test")]
        for label, one in [
            (f"this run, {metrics['model']}", metrics),
            *((str(other.metrics["model"]), other.metrics) for other in beside),
        ]
    ]
    for name in metrics.get("untrained", {}).get("val") or {}:
        cells = [
            _score(metrics["untrained"].get(part, {}).get(name, {}).get(score), score)
            for part in ("val", "test")
            for score in names
        ]
        rows.append([untrained_name(name), *cells])
    heads = ["", *2 * [score_name(name) for name in names]]
    groups = [("", 1), ("validation", len(names)), ("test", len(names))]
    note = f"The epoch was picked by {score_name(metrics['select'])} on validation."
    if not beside:
        note += (
            f" Euclidean networks on the same split: hgcn compare --baselines {metrics['source']} "
            f"--task {metrics['task']}, then hgcn report RUN --beside OTHER ..."
        )
    yield Panel(
        "Scores, and what needs no training", table(heads, rows, groups=groups), note, wide=True
    )


def _score_cells(metrics: Mapping[str, Any], names: Sequence[str], part: str) -> list[str]:
    return [_score(metrics.get(part, {}).get(name), name) for name in names]


def _score(value: float | None, name: str) -> str:
    unit = 1 if name in PLAIN_SCORES else 100
    return "–" if value is None else f"{unit * value:.2f}"


def _training(run: Run) -> Iterator[Panel]:
    if not run.history:
        return
    select, best = run.metrics["select"], run.metrics["best_epoch"]
    epochs = [row["epoch"] for row in run.history]

    shown = [("loss", "training"), (VAL_LOSS, "validation")]
    losses = [
        Series(label, epochs, [row[name] for row in run.history])
        for name, label in shown
        if name in run.history[0]
    ]
    yield Panel("Loss", chart(losses, Axis("epoch"), Axis("loss"), mark=best),
                "The dashed line is the epoch kept.")  # fmt: skip
    unit = 1 if select in PLAIN_SCORES else 100
    scores = [Series("", epochs, [unit * row[select] for row in run.history])]
    yield Panel(f"Validation {score_name(select)}",
                chart(scores, Axis("epoch"), Axis(score_name(select)), mark=best))  # fmt: skip
    spaces = [name for name in run.history[0] if name not in ("epoch", "loss", VAL_LOSS, select)]
    if spaces:
        series = [
            Series(label, epochs, [row[name] for row in run.history])
            for label, name in zip(curvature_names(run), spaces, strict=True)
        ]
        yield Panel("c of each space", chart(series, Axis("epoch"), Axis("c", low=0), mark=best),
                    "The curvature is −c.")  # fmt: skip


@torch.no_grad()
def _predictions(run: Run, task: Any) -> Iterator[Panel]:
    if run.config.task == "link":
        yield from _links(run, task)
    elif run.config.task == "node":
        yield from _classes(run, task)


def _links(run: Run, task: Any) -> Iterator[Panel]:
    first, second = (logits.double().cpu() for logits in task.outputs("test"))
    if not len(first) or not len(second):
        return
    chance = [Series("", [0, 1], [0, 1], "guide")]
    x, y = Axis("false positive rate", 0, 1), Axis("true positive rate", 0, 1)
    yield Panel("ROC curve", chart([*chance, Series("", *roc_curve(first, second))], x, y))
    x, y = Axis("recall", 0, 1), Axis("precision", 0, 1)
    yield Panel(
        "Precision and recall", chart([Series("", *average_precision_curve(first, second))], x, y)
    )
    series = [*chance]
    for name, how in (("as learnt", None), ("calibrated", run.calibration)):
        both = [logits.sigmoid() if how is None else how(logits) for logits in (first, second)]
        series.append(Series(name, *link_reliability(*both), "marked"))
    x, y = Axis("probability, mean of each tenth", 0, 1), Axis("share of edges", 0, 1)
    yield Panel("Reliability", chart(series, x, y), "One edge for each other pair.")
    away = _squared(run, task)
    if away is not None:
        yield Panel("Distances", histogram([("edges", away[0]), ("other pairs", away[1])],
                    Axis("distance in the space of the model")))  # fmt: skip


def _squared(run: Run, task: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Distances of test edges and other pairs, by embeddings that see the run's whole graph."""
    part = task.parts.test
    if part.negatives is None:
        return None
    space, z = run.predictor.encoder.space, embeddings(run, run.graph).double()
    found = [
        space.squared_distance(z[pairs[0]], z[pairs[1]]).clamp_min(0).sqrt().numpy()
        for pairs in (part.positives, part.negatives)
    ]
    return found[0], found[1]


def _classes(run: Run, task: Any) -> Iterator[Panel]:
    logits, y = task.outputs("test")
    if not len(y):
        return
    names = run.names_of_classes()
    counts = np.array(run.metrics["confusion"]["test"], dtype=float)
    row, column, hit = counts.sum(1), counts.sum(0), np.diag(counts)
    shades = counts / np.maximum(row[:, None], 1)
    rows = [
        [name, *(f"{int(v):,}" for v in line)] for name, line in zip(names, counts, strict=True)
    ]
    yield Panel(
        "Confusion matrix",
        table(["class", *names], rows, shades=shades.tolist()),
        "A row for each true class, a column for each predicted one.",
        wide=True,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = hit / column, hit / row
        f1 = 2 * hit / (row + column)
    scores = [
        [name, *(f"{100 * np.nan_to_num(v):.1f}" for v in values), f"{int(size):,}"]
        for name, *values, size in zip(names, precision, recall, f1, row, strict=True)
    ]
    heads = ["class", "precision", "recall", "F1", "nodes"]
    yield Panel("Scores of each class", table(heads, scores), wide=len(names) > 12)
    series = [Series("", [0, 1], [0, 1], "guide")]
    logits, y = logits.double().cpu(), y.cpu()
    for name, chance in (
        ("as learnt", logits.softmax(1)),
        ("calibrated", run.calibration.classes(logits)),
    ):
        best, guess = chance.max(1)
        series.append(Series(name, *reliability(best, guess == y, torch.ones_like(best)), "marked"))
    x, y_axis = Axis("confidence, mean of each tenth", 0, 1), Axis("share that is right", 0, 1)
    yield Panel("Reliability", chart(series, x, y_axis))


def _embedding(run: Run, *, delta: bool) -> Iterator[Panel]:
    graph = run.graph
    radius = embeddings(run, graph).double().norm(dim=1).numpy()
    pairs = graph.pairs().numpy()
    degree = np.bincount(pairs.ravel(), minlength=graph.num_nodes)
    level = np.asarray(graph.columns.get("depth", depth(pairs, graph.num_nodes)), dtype=float)
    away = Axis("distance from the origin", low=0)
    jitter = np.random.default_rng(0).uniform(-0.3, 0.3, len(level))
    levels = np.unique(level[np.isfinite(level)])
    means = [float(radius[level == one].mean()) for one in levels]
    cloud = [Series("nodes", level + jitter, radius, "dots"), Series("mean", levels, means)]
    steps = Axis("depth" if "depth" in graph.columns else "hops from the centre")
    yield Panel("Radius against depth", chart(cloud, steps, away))
    cloud = [Series("", degree, radius, "dots")]
    yield Panel("Radius against degree", chart(cloud, Axis("degree", log=True), away))
    values, counts = np.unique(degree[degree > 0], return_counts=True)
    tail = counts[::-1].cumsum()[::-1] / max(1, len(degree))
    yield Panel("Degrees", chart([Series("", values, tail)], Axis("degree", log=True),
                Axis("share of nodes", log=True)),
                "The share of nodes with this degree or more.")  # fmt: skip
    if delta and graph.num_nodes >= 4 and pairs.shape[1]:
        from hgcn.data.gromov.report import hyperbolicity

        found = hyperbolicity(graph)
        heights = [100 * count / max(1, found.samples) for count in found.counts.values()]
        corners = [x for d in found.counts for x in (d - 0.2, d - 0.2, d + 0.2, d + 0.2)]
        outline = [h for height in heights for h in (0.0, height, height, 0.0)]
        bars = [Series("", corners, outline, "steps")]
        yield Panel(
            "Gromov's delta of four nodes",
            chart(bars, Axis("delta", low=-0.3), Axis("per cent", low=0)),
            f"{found.samples:,} random quadruples; a tree has delta 0.",
        )


def _settings(run: Run) -> Iterator[Panel]:
    from hgcn.config import Config

    given, usual = run.config.to_dict(), Config().to_dict()
    rows = [(name, _said(value)) for name, value in given.items() if value != usual.get(name)]
    yield Panel(
        "Settings", facts_list(rows),
        "Those that were given or chosen for the graph; the others are the defaults.", wide=True,
    )  # fmt: skip
    # What a run has before it is stored as well as after, so that the same run has the same report.
    known = [name for name in ENVIRONMENT if name in run.environment]
    about = {name: run.environment[name] for name in known} | run.environment.get("packages", {})
    rows = [(str(name), _said(value)) for name, value in about.items()]
    yield Panel("Environment", facts_list(rows), wide=True)


def _said(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 20 else text[:19] + "…"
