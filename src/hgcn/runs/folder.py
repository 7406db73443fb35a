"""The folder that a run is kept in: docs/run_folder.md describes its files."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import hgcn
from hgcn import files
from hgcn.config import Config, read_toml
from hgcn.data.graph import FINGERPRINT, Graph
from hgcn.errors import ConfigError, RunError
from hgcn.inference.calibration import Calibration
from hgcn.inference.feature_map import FeatureMap
from hgcn.locks import locked_or
from hgcn.nn.structure import FACTS
from hgcn.ranks import current
from hgcn.runs.card import card
from hgcn.runs.checks import check_auto, check_metrics, check_network
from hgcn.runs.layout import (
    AUTO,
    CARD,
    CONFIG,
    EMBEDDINGS,
    ENVIRONMENT,
    HISTORY,
    LOCK,
    METRICS,
    MODEL,
    RESUME,
    SEALED,
    is_packed,
)
from hgcn.runs.run import Run
from hgcn.runs.sharing import unpack
from hgcn.runs.trees import read_tree, write_tree
from hgcn.training.problem import build_network, has_device

FORMAT = 1
PACKAGES = ("torch", "torch_geometric", "numba", "numpy", "scikit-learn", "geoopt")
"""Packages whose versions are in environment.json."""


@contextmanager
def claimed(path: Path, config: Config, auto: dict[str, Any] | None = None) -> Iterator[None]:
    """Make the folder of a run, with its settings, and hold it: one process writes to a folder.

    The settings of a run to be resumed stay, and so does the record of how they were chosen.
    """
    files.make_folder(path)
    busy = RunError(f"Another process is writing to {path}. Wait for it, or choose another folder.")
    lock = path / LOCK
    with locked_or(lock, busy):
        if not (path / CONFIG).exists():
            if auto is not None:
                files.write_json(path / AUTO, auto)
            files.write_text(path / CONFIG, config.to_toml())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # some systems keep a file that is open
                lock.unlink()


def check_unfinished(path: Path, config: Config) -> None:
    """Refuse a folder that another process has written a run to, before it was claimed."""
    if (path / ENVIRONMENT).exists() or Config(**read_toml(path / CONFIG)) != config:
        raise RunError(
            f"Expected {path} to be for this run alone, but another process has written one there "
            "in the meantime. Choose another folder."
        )


def finish(run: Run, path: Path) -> None:
    """Write the results of a run into the folder that was begun; environment.json comes last."""
    files.write_text(path / HISTORY, history_csv(run.history))
    files.write_json(path / METRICS, run.metrics)
    about = {
        "format": FORMAT,
        "in_channels": run.features.num_features,
        "num_nodes": run.num_nodes,
        "class_names": None if run.class_names is None else list(run.class_names),
        "features": run.features.to_tree(),
    }
    write_tree(path / MODEL, {"about": about, "weights": run.predictor.state_dict()})
    if "graph" in run._kept:
        files.write_blocks(path / EMBEDDINGS, run.embedding_blocks())
    files.write_text(path / CARD, card(run))
    about_run = {**run.environment, "num_classes": run.predictor.num_classes}
    sealed = [*SEALED]
    if "auto" in run.metrics:
        files.write_json(path / AUTO, run.metrics["auto"])
        sealed.append(AUTO)
    about_run["files"] = {name: files.checksum(path / name) for name in sealed}
    files.write_json(path / ENVIRONMENT, about_run)
    run._kept["path"] = path


def save(run: Run, path: str | Path) -> Path:
    """Write the folder of a run."""
    path = Path(path)
    if (path / ENVIRONMENT).exists():
        raise RunError(f"Expected a new folder, but {path} holds a finished run already.")
    files.make_folder(path)
    files.write_text(path / CONFIG, run.config.to_toml())
    finish(run, path)
    return path


def load_run(path: str | Path) -> Run:
    """Read a run; one that is truncated, changed or foreign is refused.

    Args:
        path: the run folder; or a zip file that :meth:`hgcn.Run.push` wrote; or its address, as
            ``https://host/run.zip#sha256=CHECKSUM``.

    Example:
        >>> import hgcn
        >>> run = hgcn.fit("disease", task="node", epochs=2, dim=2, out="runs/small")
        >>> hgcn.load_run("runs/small").metrics == run.metrics
        True
    """
    path = unpack(path) if is_packed(path) else Path(path)
    if not (files.exists(path) and path.is_dir()):
        raise RunError(f"Expected a run folder, but there is none at {path}.")
    if not (path / ENVIRONMENT).is_file():
        raise RunError(f"Expected a finished run in {path}, got {_instead(path)}")
    environment = files.read_json(path / ENVIRONMENT)
    found = environment.get("format") if isinstance(environment, dict) else None
    if found != FORMAT:
        newer = isinstance(found, int) and found > FORMAT
        raise RunError(
            f"Expected {path / ENVIRONMENT} to be of format {FORMAT}, got {found!r:.40}. "
            + ("A newer hgcn made the run: install that." if newer else "Is it a run of hgcn?")
        )
    seals = environment.get("files")
    chosen = isinstance(seals, dict) and AUTO in seals
    for name in (*SEALED, AUTO) if chosen else SEALED:
        if not isinstance(seals, dict) or files.checksum(path / name) != seals.get(name):
            raise RunError(
                f"Expected {path / name} as the run left it, but it was changed or truncated since."
            )
    try:
        return _read(path, environment)
    except (ConfigError, RunError):
        raise
    except (
        ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError,
        RuntimeError,
    ) as error:  # fmt: skip
        # The checksums agree, so somebody has written both the file and its checksum.
        reason = " ".join(str(error).split())
        raise RunError(
            f"Expected {path} to be a run of hgcn, got a foreign one: {reason}"
        ) from error


def _instead(path: Path) -> str:
    """What is in a folder that holds no finished run, and what to do."""
    go_on = f"Go on with: hgcn train --resume {path}"
    if seeds := seed_folders(path):
        finished = [seed for seed in seeds if (seed / ENVIRONMENT).is_file()]
        hint = f"Choose one of them, such as {finished[0]}" if finished else go_on
        return f"a folder of several seeds. {hint}"
    return f"no {ENVIRONMENT}.{f' {go_on}' * (path / RESUME).is_file()}"


def seed_folders(path: Path) -> list[Path]:
    """The run folders in a folder of several seeds, in order."""
    found = path.glob("seed-*") if files.exists(path) else ()
    return sorted(found, key=lambda one: (len(one.name), one.name))


def _read(path: Path, environment: dict[str, Any]) -> Run:
    config = Config(**read_toml(path / CONFIG))
    if not has_device(config.device):
        config = config.replace(device="cpu")
    tree = read_tree(path / MODEL)
    about = tree["about"]
    names = about["class_names"]
    features = FeatureMap.from_tree(about["features"])
    predictor = build_network(
        config,
        in_channels=about["in_channels"],
        num_nodes=about["num_nodes"],
        num_classes=environment.get("num_classes", _num_classes(tree["weights"])),
    )
    _check_term(path, tree["weights"])
    predictor.load_state_dict(tree["weights"])
    check_network(predictor.state_dict(), features, about, predictor.num_classes)
    metrics = check_metrics(files.read_json(path / METRICS))
    run = Run(
        config=config,
        metrics=metrics,
        history=read_history(path / HISTORY),
        predictor=predictor.eval(),
        features=features,
        num_nodes=about["num_nodes"],
        class_names=None if names is None else tuple(names),
        calibration=Calibration.from_tree(metrics.get("calibration")),
        environment=environment,
    )
    run._kept["path"] = path
    return run


def _check_term(path: Path, weights: dict[str, Tensor]) -> None:
    """Refuse a structural term of an older version, which read fewer facts of a pair."""
    term = weights.get("structure.hidden.weight")
    if term is not None and term.shape[1] < FACTS:
        raise RunError(
            f"Expected a structural term of {FACTS} facts of each pair in {path}, got one of "
            f"{term.shape[1]}: the run was made by an older version of hgcn. Train it anew with: "
            f"hgcn train --config {path / CONFIG}"
        )


def _num_classes(weights: dict[str, Tensor]) -> int:
    """The number of classes of a run of an older version, by the shape of its classifier."""
    sizes = [len(v) for k, v in weights.items() if k in ("classifier.weight", "classifier.normal")]
    return sizes[0] if sizes else 0


def describe_environment(graph: Graph, seconds: float) -> dict[str, Any]:
    """The facts that a reader needs to repeat a run: versions, machine, time, data."""
    return {
        "format": FORMAT,
        "hgcn": hgcn.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "ranks": current().world,
        "packages": dict(_versions()),
        "data_sha256": graph.fingerprint(),
        "fingerprint": FINGERPRINT,
        "seconds": round(seconds, 2),
    }


@functools.cache
def _versions() -> Mapping[str, str]:
    """The versions of other packages; each costs a file to be parsed."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):  # not every run needs all of them
            found[name] = version(name)
    return found


def read_auto(path: Path) -> dict[str, Any] | None:
    """The record of how the settings of a folder were chosen; None if they were not."""
    if not (path / AUTO).exists():
        return None
    record = files.read_json(path / AUTO)
    try:
        return check_auto(record)
    except ValueError as error:
        raise RunError(f"Expected {path / AUTO} as hgcn writes it, got: {error}.") from error


def history_csv(history: Sequence[dict[str, Any]]) -> str:
    """The history as CSV; numbers are written so that they are read back exactly."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(history[0]) if history else ["epoch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def read_history(path: Path) -> list[dict[str, Any]]:
    """The rows of a history file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        if "epoch" not in (reader.fieldnames or ()):
            raise ValueError("there is no column 'epoch'")
        return [{k: int(v) if k == "epoch" else float(v) for k, v in row.items()} for row in rows]
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror}.") from error
    except (TypeError, ValueError, csv.Error) as error:
        raise RunError(f"Expected {path} to be a table of numbers, got: {error}.") from error
