"""Ready-made callbacks that tell other programs how a training goes: ``--log`` and ``fit(log=)``.

A logger is made with the run folder and the settings, called after each epoch, and closed with the
scores of the run, or with none if training came to no end. Each needs a package of its own.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, final

from hgcn.config import Config
from hgcn.errors import ConfigError
from hgcn.names import LOGGERS
from hgcn.packages import require
from hgcn.ranks import current
from hgcn.training.loop import Progress

LOGS = "logs"
"""The folder of TensorBoard's files in a run folder."""


class Logger(ABC):
    """What is told of a training, and to whom.

    Args:
        folder: the run folder; None if nothing is written.
        config: the settings of the training.
    """

    def __init__(self, folder: Path | None, config: Config) -> None:
        self.folder = folder
        self.config = config

    def __call__(self, progress: Progress) -> None:
        """Tell of an epoch."""
        values = {"loss": progress.loss}
        if progress.score is not None:
            values["validation"] = progress.score
        values |= {f"curvature/{i}": c for i, c in enumerate(progress.curvatures)}
        self.tell(values, progress.epoch)

    @abstractmethod
    def tell(self, values: Mapping[str, float], epoch: int) -> None:
        """Tell the values of an epoch."""

    @abstractmethod
    def close(self, scores: Mapping[str, float]) -> None:
        """Tell the scores of the best epoch, by their names, and end."""


@final
class TensorBoard(Logger):
    """Files for TensorBoard, in the folder ``logs`` of the run folder."""

    def __init__(self, folder: Path | None, config: Config) -> None:
        super().__init__(folder, config)
        if folder is None:
            raise ConfigError("Expected a run folder (`out`) for the files of TensorBoard.")
        require("tensorboard", "`--log tensorboard`")

    @cached_property
    def _writer(self) -> Any:
        # Only with the first epoch: settings that cannot be trained leave no folder behind.
        writer: Any = import_module("torch.utils.tensorboard").SummaryWriter(
            f"{self.folder}/{LOGS}"
        )
        writer.add_text("settings", "    " + self.config.to_toml().replace("\n", "\n    "))
        return writer

    def tell(self, values: Mapping[str, float], epoch: int) -> None:
        """Add a point to each curve."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, epoch)

    def close(self, scores: Mapping[str, float]) -> None:
        """Add the scores and close the file."""
        if "_writer" in vars(self):
            self.tell(scores, self.config.epochs)
            self._writer.close()


@final
class MLflow(Logger):
    """A run of MLflow, at the place that ``MLFLOW_TRACKING_URI`` says."""

    def __init__(self, folder: Path | None, config: Config) -> None:
        super().__init__(folder, config)
        self._mlflow = require("mlflow", "`--log mlflow`")
        self._mlflow.set_experiment("hgcn")
        self._mlflow.start_run(run_name=None if folder is None else folder.name)
        self._mlflow.log_params(config.to_dict())

    def tell(self, values: Mapping[str, float], epoch: int) -> None:
        """Add a point to each curve."""
        self._mlflow.log_metrics(_as_mlflow_names(values), step=epoch)

    def close(self, scores: Mapping[str, float]) -> None:
        """Add the scores and end the run."""
        self._mlflow.log_metrics(_as_mlflow_names(scores))
        self._mlflow.end_run("FINISHED" if scores else "KILLED")


def _as_mlflow_names(values: Mapping[str, float]) -> dict[str, float]:
    """Scores as MLflow takes them: hits@10 is hits_at_10 there."""
    return {name.replace("@", "_at_"): value for name, value in values.items()}


@final
class WandB(Logger):
    """A run of Weights & Biases, in the project ``hgcn`` unless ``WANDB_PROJECT`` names another."""

    def __init__(self, folder: Path | None, config: Config) -> None:
        super().__init__(folder, config)
        wandb = require("wandb", "`--log wandb`")
        name = None if folder is None else folder.name
        project = os.environ.get("WANDB_PROJECT", "hgcn")
        self._run = wandb.init(config=config.to_dict(), name=name, project=project)

    def tell(self, values: Mapping[str, float], epoch: int) -> None:
        """Add a point to each curve."""
        self._run.log(dict(values), step=epoch)

    def close(self, scores: Mapping[str, float]) -> None:
        """Add the scores and end the run."""
        self._run.summary.update(dict(scores))
        self._run.finish(exit_code=0 if scores else 1)


class Log:
    """The callback of a training with a logger: both it and the user's own are called."""

    def __init__(self, logger: Logger | None, also: Callable[[Progress], None] | None) -> None:
        self.logger = logger
        self.also = also
        self.scores: dict[str, float] = {}

    def __call__(self, progress: Progress) -> None:
        """Tell of an epoch."""
        for told in (self.logger, self.also):
            if told is not None:
                told(progress)

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Take the scores that are told at the end."""
        self.scores = {
            f"{part}/{name}": float(value)
            for part in ("val", "test")
            for name, value in metrics.get(part, {}).items()
        }


@contextmanager
def logging_to(
    name: str | None,
    folder: Path | None,
    config: Config,
    on_epoch: Callable[[Progress], None] | None,
) -> Iterator[Log]:
    """A callback that tells a logger of each epoch, and on leaving of the scores.

    Args:
        name: of the logger, as in :data:`hgcn.names.LOGGERS`; None for no logger.
        folder: the run folder.
        config: the settings.
        on_epoch: the user's own callback.
    """
    logger = None
    if name is not None and current().first:
        logger = LOGGERS.find(name)(folder, config)
    log = Log(logger, on_epoch)
    try:
        yield log
    finally:
        if logger is not None:
            logger.close(log.scores)
