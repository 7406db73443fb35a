"""The training loop, and the state from which it goes on after an interruption."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hgcn.config import Config
from hgcn.errors import ConfigError, DivergenceError, RunError
from hgcn.geometry.scalars import wide
from hgcn.models.predictor import Predictor
from hgcn.names import VAL_LOSS
from hgcn.ranks import current
from hgcn.sampling import seed_of
from hgcn.training.gradients import add_up
from hgcn.training.interruption import Held, held_signals
from hgcn.training.memory import enough_memory
from hgcn.training.task import Task


@dataclass(frozen=True)
class Best:
    """The best validation so far; patience is counted in epochs."""

    score: float = -math.inf
    epoch: int = 0
    loss: float = math.inf

    def is_beaten(self, score: float, loss: float) -> bool:
        """Whether a later epoch is better: by its score, or by its loss if scores are the same."""
        return score > self.score or (score == self.score and loss < self.loss)


@dataclass
class Progress:
    """The state of training after an epoch, as a display needs it.

    The loss is that of the epoch on the CPU. Another device is not made to wait for it: there it is
    the one of the last epoch that was validated, and not a number before the first.
    """

    epoch: int
    epochs: int
    loss: float
    score: float | None
    best: Best
    patience_left: int
    curvatures: list[float]
    seconds: float


class Average:
    """A moving average of the weights of a network, less noisy than they are; it is evaluated.

    Args:
        module: the network.
        decay: share of the old average that is kept in each step, less in the first steps; 0 for
            the weights themselves.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.weights = [*module.parameters()]
        self.decay = decay
        self.values = [weight.detach().clone() for weight in self.weights]

    def update(self, step: int) -> None:
        """Take in the weights after a step; the first ones as they are."""
        keep = min(self.decay, (step - 1) / (step + 9))
        with torch.no_grad():
            for value, weight in zip(self.values, self.weights, strict=True):
                value.lerp_(weight, 1 - keep)

    def load(self, values: list[Tensor]) -> None:
        """Set the averages, to go on from them."""
        for value, stored in zip(self.values, values, strict=True):
            value.copy_(stored)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the network the averages as its weights, within this context."""
        own = [weight.data for weight in self.weights]
        self._set(self.values)
        try:
            yield
        finally:
            self._set(own)

    def _set(self, values: list[Tensor]) -> None:
        for weight, value in zip(self.weights, values, strict=True):
            weight.data = value


@dataclass
class State:
    """Everything that the rest of training depends on."""

    predictor: Predictor
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    average: Average
    epoch: int = 0
    steps: int = 0
    best: Best = field(default_factory=Best)
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""

    def to_tree(self) -> dict[str, Any]:
        """The state as a tree of tensors, numbers and strings, without the history."""
        return {
            "weights": self.predictor.state_dict(),
            "best_weights": self.best_weights,
            "average": self.average.values,
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "dropout": torch.get_rng_state(),
            "dropout_there": [torch.cuda.get_rng_state(gpu) for gpu in _gpus(self.predictor)],
            "epoch": self.epoch,
            "steps": self.steps,
            "best": asdict(self.best),
        }

    def load_tree(self, tree: dict[str, Any]) -> None:
        """Set the state to the one that :meth:`to_tree` returned."""
        self.predictor.load_state_dict(tree["weights"])
        self.best_weights = tree["best_weights"]
        self.average.load(tree["average"])
        self.optimizer.load_state_dict(tree["optimizer"])
        self.generator.set_state(tree["generator"])
        torch.set_rng_state(tree["dropout"])
        for gpu, drawn in zip(_gpus(self.predictor), tree.get("dropout_there", ()), strict=False):
            torch.cuda.set_rng_state(drawn, gpu)
        self.epoch = tree["epoch"]
        self.steps = tree.get("steps", self.epoch)  # an epoch of older ones is one step
        self.best = Best(**tree["best"])


def train(
    task: Task,
    *,
    resume: Callable[[State], None] | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    checkpoint: Callable[[State], None] | None = None,
) -> State:
    """Train until the validation score has not improved for a while; keep the best weights.

    The weights of the best epoch are loaded into the network at the end. Ctrl-C ends training as
    early stopping does.

    Args:
        task: the task, which holds the network and its data.
        resume: called once before the first step, to set the state of an interrupted training.
        on_epoch: called after each epoch.
        checkpoint: called after each epoch, to store the state if it is time for that.
    """
    # Dropout draws from generators of torch's own, whose states are given back afterwards.
    with (
        torch.random.fork_rng(_gpus(task.predictor), device_type="cuda"),
        enough_memory(task.config),
    ):
        torch.manual_seed(task.config.seed)
        return _train(task, resume, on_epoch, checkpoint)


def _gpus(predictor: Predictor) -> list[torch.device]:
    """The device of a network, if dropout has a generator of its own there."""
    return [predictor.device] if predictor.device.type == "cuda" else []


def _train(
    task: Task,
    resume: Callable[[State], None] | None,
    on_epoch: Callable[[Progress], None] | None,
    checkpoint: Callable[[State], None] | None,
) -> State:
    config, predictor = task.config, task.predictor
    if config.lr is None or config.patience is None:
        raise ConfigError("Expected a learning rate (`lr`) and `patience` to train with, got None.")
    optimizer = task.make_optimizer(config.lr, config.weight_decay or 0.0)
    rates = [group["lr"] for group in optimizer.param_groups]
    generator = torch.Generator().manual_seed(config.seed)
    state = State(predictor, optimizer, generator, Average(predictor, config.ema))
    if resume is not None:
        resume(state)
    start = time.perf_counter()
    together = current().world > 1
    loss = math.nan
    try:
        with held_signals(patient=together) as let_in:
            while not _is_over(state, config):
                epoch = state.epoch + 1
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * task.lr_factor(epoch)
                last, due = _train_epoch(task, state, epoch, let_in), _is_due(task, epoch)
                if last.is_cpu or due:
                    loss = _finite(last, epoch)
                score, curvatures = _validate(task, state, epoch, loss) if due else (None, [])
                state.epoch = epoch
                if on_epoch is not None:
                    left = config.patience - (epoch - (state.best.epoch or epoch))
                    seconds = time.perf_counter() - start
                    on_epoch(
                        Progress(
                            epoch, config.epochs, loss, score, state.best, left, curvatures, seconds
                        )
                    )
                if checkpoint is not None:
                    checkpoint(state)
                if not together:  # ranks stop after the same step
                    let_in()
    except DivergenceError as error:
        if not state.best_weights:
            raise DivergenceError(
                f"Training diverged before any validation: {error} Try a smaller learning rate "
                "(`lr`), or other features (`normalise`)."
            ) from error
        state.stopped = str(error)
    except KeyboardInterrupt:
        if not state.best_weights:
            raise
        state.stopped = "interrupted"
    predictor.load_state_dict(state.best_weights)
    predictor.eval()
    return state


def _is_over(state: State, config: Config) -> bool:
    """Whether training has come to its end, and why."""
    if state.epoch >= config.epochs:
        state.stopped = "epochs"
    elif state.best.epoch and state.epoch - state.best.epoch >= (config.patience or math.inf):
        state.stopped = "patience"
    return bool(state.stopped)


def _is_due(task: Task, epoch: int) -> bool:
    """Whether to validate after an epoch."""
    config = task.config
    return epoch > task.warm_up and (epoch % config.eval_every == 0 or epoch == config.epochs)


def _finite(loss: Tensor, epoch: int) -> float:
    """A loss as a number, for which a GPU is waited for."""
    value = float(loss)
    if not math.isfinite(value):
        raise DivergenceError(f"The loss is {value} in epoch {epoch}.")
    return value


def _train_epoch(task: Task, state: State, epoch: int, let_in: Held) -> Tensor:
    """Make a step of the optimiser for each batch; returns the mean loss before the steps."""
    state.predictor.train()
    ranks = current()
    if ranks.world > 1:  # dropout of each rank is its own, and needs no state to go on from
        torch.manual_seed(seed_of(task.config.seed, epoch, ranks.rank))
    losses = []
    # Closed also if a step fails: threads that make batches end with their epoch.
    with contextlib.closing(_generator(task.batches(epoch, state.generator))) as batches:
        for batch in batches:
            loss, stop = _step(task, state, epoch, batch, bool(let_in.waiting))
            losses.append(loss)
            state.steps += 1
            state.average.update(state.steps)
            if ranks.world == 1:
                let_in()
            elif stop:
                raise KeyboardInterrupt
    if not losses:
        raise RunError(f"Expected the task to have a batch for epoch {epoch}, got none.")
    return wide(torch.stack(losses)).mean()


def _generator(batches: Iterator[Any]) -> Generator[Any]:
    yield from batches


def _step(task: Task, state: State, epoch: int, batch: Any, stop: bool) -> tuple[Tensor, bool]:
    """Make one step of the optimiser; returns the loss before it, and whether to stop after it.

    Only on the CPU, where it costs nothing, a step is not made if a number is not finite. A network
    on a GPU is lost then, and the next validation says so.
    """
    clip, ranks = task.config.clip, current()
    state.optimizer.zero_grad()
    loss = task.loss(batch)
    if loss.requires_grad or ranks.world == 1:  # the share of a rank may be empty
        torch.autograd.backward(loss)
    loss = loss.detach()
    if ranks.world > 1:
        total, stop = add_up(ranks, [*state.predictor.parameters()], float(loss), stop)
        loss = torch.tensor(total, dtype=torch.float64)
    if loss.is_cpu:
        _finite(loss, epoch)
    if clip:
        norm = nn.utils.clip_grad_norm_(state.predictor.parameters(), clip)
        if norm.is_cpu and not math.isfinite(norm):
            raise DivergenceError(f"The norm of the gradient is {norm} in epoch {epoch}.")
    state.optimizer.step()
    return loss, stop


def _validate(task: Task, state: State, epoch: int, loss: float) -> tuple[float, list[float]]:
    """Validate the averaged weights; returns score and curvatures."""
    config, predictor = task.config, task.predictor
    predictor.eval()
    with state.average.in_place():
        own = task.validate()
        score, part_loss = current().on_first(lambda: own)
        tie = math.inf
        if config.ties_by_loss:
            tie = loss if part_loss is None else part_loss
        if not math.isfinite(score):
            raise DivergenceError(f"The validation score is {score} in epoch {epoch}.")
        if state.best.is_beaten(score, tie):
            state.best, state.best_weights = Best(score, epoch, tie), _copy(predictor)
        curvatures = predictor.curvature_values()
    row = {"epoch": epoch, "loss": loss, task.select: score}
    if part_loss is not None:
        row[VAL_LOSS] = part_loss
    state.history.append(row | {f"c{i}": c for i, c in enumerate(curvatures)})
    return score, curvatures


def _copy(predictor: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in predictor.state_dict().items()}
