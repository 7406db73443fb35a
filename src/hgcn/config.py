"""The settings of a run, declared once: each field is a key of a TOML file and a flag of `hgcn`.

Importing this module loads nothing heavy: the command line is built from it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hgcn import names
from hgcn.declared import complaint, setting
from hgcn.errors import ConfigError
from hgcn.files import kind_of
from hgcn.text import near_miss

MAX_SEED = 2**32 - 1
FANOUT = r"\s*(-1|0*[1-9]\d{0,8})\s*(,\s*(-1|0*[1-9]\d{0,8})\s*)*"


@dataclass(frozen=True)
class Config:
    """All settings of one run.

    ``None`` means "choose for me"; what was chosen is in the run folder. Wrong settings are all
    reported at once.

    Example:
        >>> Config(task="link", lr=0.02).lr
        0.02
    """

    source: str | None = setting(
        None, "name of a data set, file or folder; none for a graph held in memory", group="data"
    )
    features: str | None = setting(
        None, "node features: a table keyed by id, or .npy/.npz", group="data"
    )
    labels: str | None = setting(
        None, "node labels: a table keyed by id, .npy, or a column of the features", group="data"
    )
    feature_columns: str | None = setting(
        None, "columns of the table to use as features, with commas between", group="data"
    )
    drop: str | None = setting(
        None, "columns of the table not to use, with commas between", group="data"
    )
    text: str | None = setting(
        None, "columns whose words become features, with commas between", group="data"
    )
    date_parts: bool = setting(
        False, "dates give year, month, day, weekday and hour too", group="data"
    )
    directed: bool | None = setting(None, "keep the direction of edges", group="data")
    normalise: str | None = setting(
        None,
        "how features are scaled: rows that sum to one, by mean and deviation of training nodes, "
        "logarithms, or steps between quantiles of training nodes (dense columns)",
        group="data",
        choices=names.NORMALISATIONS,
    )
    degree_features: bool | None = setting(
        None, "add degrees to the features; always so for graphs without any", group="data"
    )

    task: str | None = setting(
        None, "links, classes of nodes, or what is above each", group="task", choices=names.TASKS
    )
    hold_out: str | None = setting(
        None, "hierarchy: random pairs, edges and all that follows from them alone, or nothing "
        "(pairs; edges if the model reads features)", group="task", choices=names.HOLD_OUTS,
    )  # fmt: skip
    protocol: str = setting(
        "clean", "how to split: clean, or as the paper's code did", group="task",
        choices=names.PROTOCOLS,
    )  # fmt: skip
    split: str | None = setting(
        None, "own parts: a column of the nodes with train, val or test; a table of nodes or pairs "
        "with a column 'part'; split.json; or a folder with val.csv and test.csv of pairs",
        group="task",
    )  # fmt: skip
    val_share: float | None = setting(
        None, "share of edges or nodes for validation", group="task", above=0, high=1
    )
    test_share: float | None = setting(
        None, "share of edges or nodes for the test", group="task", above=0, high=1
    )
    val_as_input: bool = setting(
        False, "links: show the validation edges to the network at the test", group="task"
    )
    split_seed: int | None = setting(
        None, "seed of the split; by default that of the run", group="task", low=0, high=MAX_SEED
    )
    select: str | None = setting(
        None, f"validation score that picks the best epoch: {names.SELECTORS}", group="task"
    )

    model: str = setting("hgcn", "which encoder", group="model", choices=names.MODELS)
    dim: int = setting(16, "size of embeddings", group="model", low=1)
    layers: int | None = setting(None, "number of layers", group="model", low=1)
    dropout: float | None = setting(
        None, "dropout (of weights in hyperbolic layers)", group="model", low=0, high=0.99
    )
    point_dropout: float | None = setting(
        None, "share of the coordinates of points zeroed before each hyperbolic layer in training",
        group="model", low=0, high=0.99,
    )  # fmt: skip
    feature_dropout: float | None = setting(
        None,
        "share of the features zeroed in each step (0; for words up to 0.8, by task and labels)",
        group="model",
        low=0,
        high=0.99,
    )
    node_dropout: float = setting(
        0.0, "share of the nodes whose features are all left out in a step of training",
        group="model", low=0, high=0.99,
    )  # fmt: skip
    propagation: int = setting(
        0, "hops over which features are propagated before the network reads them, by the mean of "
        "all steps of GCN's normalisation", group="model", low=0, high=1000,
    )  # fmt: skip
    act: str | None = setting(
        None, "activation between layers", group="model", choices=names.ACTIVATIONS
    )
    last_act: str | None = setting(
        None, "activation after the last layer", group="model", choices=names.ACTIVATIONS
    )
    c: float | None = setting(None, "curvature -c to start from", group="model", low=1e-4, high=1e4)
    trainable_c: bool | None = setting(None, "train the curvature of each layer", group="model")
    aggregation: str | None = setting(
        None, "where neighbours are averaged", group="model",
        choices=names.AGGREGATIONS,
    )  # fmt: skip
    attention: bool | None = setting(None, "weight neighbours by attention", group="model")
    heads: int | None = setting(None, "attention heads", group="model", low=1)
    symmetric: bool | None = setting(
        None,
        "normalise messages by the degrees of both ends, as GCN does; by default for words of "
        "nodes with few labels",
        group="model",
    )
    root_weight: bool | None = setting(
        None, "map a node's own point apart from its neighbours'", group="model"
    )
    bias: bool | None = setting(None, "learn biases", group="model")

    r: float = setting(2.0, "Fermi-Dirac: squared distance of even odds", group="decoder")
    t: float = setting(1.0, "Fermi-Dirac: temperature", group="decoder", above=0)
    trainable_decoder: bool | None = setting(
        None, "learn r and t; by default with --structure", group="decoder"
    )
    structure: bool | None = setting(
        None, "links: count also what two nodes have in common, neighbours and short paths; by "
        "default so", group="decoder",
    )  # fmt: skip
    classifier: str = setting(
        "tangent", "classes by a linear map at the origin, or by hyperbolic hyperplanes",
        group="decoder", choices=names.CLASSIFIERS,
    )  # fmt: skip

    is_a: str | None = setting(
        None, "hierarchy: distance or cones; by default cones for free points", group="decoder",
        choices=names.IS_A,
    )  # fmt: skip

    epochs: int = setting(2000, "at most so many epochs", group="training", low=1)
    patience: int | None = setting(
        None, "stop after so many epochs without a better validation score (100; 200 where little "
        "is for validation; 20 where an epoch is many mini-batches of links)", group="training",
        low=1,
    )  # fmt: skip
    eval_every: int = setting(5, "epochs between validations", group="training", low=1)
    lr: float | None = setting(
        None, "learning rate (0.01 to 0.1, by task, model and features)", group="training", above=0
    )
    weight_decay: float | None = setting(
        None, "L2 penalty, not on curvatures (0; 5e-4 for words of nodes with few labels)",
        group="training", low=0,
    )  # fmt: skip
    ema: float = setting(
        0.98, "share of the old that the moving average of weights keeps in each step; it is what "
        "is evaluated; 0 for the weights themselves", group="training", low=0, high=0.9999,
    )  # fmt: skip
    clip: float = setting(
        1.0, "largest norm of the gradient; 0 for no limit", group="training", low=0
    )
    hidden_share: float | None = setting(
        None, "links: share of edges hidden from messages and predicted in each step; 0 hides none "
        "(with --structure 0.1, at most 4,096 edges; else 0.3)",
        group="training", low=0, high=0.95,
    )  # fmt: skip
    negatives: float | None = setting(
        None, "links: random pairs for each edge in the loss (1; 5 with --structure and "
        "words, few edges for each); hierarchy: nodes in each step that ancestors are told from "
        "(1000)", group="training", above=0, high=1e6,
    )  # fmt: skip
    degree_negatives: float = setting(
        0.0, "links: share of the random pairs whose nodes are drawn by degree, so that degrees "
        "tell less", group="training", low=0, high=1,
    )  # fmt: skip
    step_nodes: int | None = setting(
        None,
        "hierarchy: nodes in each step (64 to 8192, by size and model)",
        group="training",
        low=1,
    )
    class_weights: bool | None = setting(
        None, "nodes: weight classes against their frequency; by default for words with few labels",
        group="training",
    )  # fmt: skip
    link_regulariser: float = setting(
        0.0, "nodes: weight of the link prediction loss that is added", group="training", low=0
    )
    consistency: float | None = setting(
        None, "nodes: weight of the agreement of predictions, labelled or not, when dropout is "
        "drawn anew; grows over 100 epochs (0; 2 for words with few labels)", group="training",
        low=0,
    )  # fmt: skip
    views: int = setting(
        2, "nodes: draws of dropout whose predictions are to agree, with --consistency",
        group="training", low=2, high=100,
    )  # fmt: skip
    smooth: float = setting(
        0.0, "nodes: share that a node takes from its neighbours when classes are smoothed along "
        "edges after training, those of training nodes as known; 0 leaves them as they are",
        group="training", low=0, high=0.99,
    )  # fmt: skip
    ties_by_loss: bool | None = setting(
        None, "of epochs with the same validation score take the one of the lowest validation "
        "loss (hierarchies: training loss), not the first; the default of hierarchies, and of "
        "nodes unless --consistency is given",
        group="training",
    )  # fmt: skip
    pretrain: int = setting(
        0, "nodes: epochs of link prediction before the classes", group="training", low=0
    )

    batch_size: int | None = setting(
        None, "nodes or edges in a mini-batch; 0 for a full batch, which is the default where it "
        "fits into memory, for links up to 100,000 edges", group="batches", low=0,
    )  # fmt: skip
    fanout: str | None = setting(
        None, "neighbours drawn for each node of a mini-batch, then for each of these, with commas "
        "between, the last one for all further ones; -1 for all of them (15,10,5)", group="batches",
    )  # fmt: skip
    sampling: str = setting(
        "uniform", "draw neighbours evenly, or by edge weight", group="batches",
        choices=names.SAMPLINGS,
    )  # fmt: skip
    replacement: bool = setting(False, "draw neighbours with replacement", group="batches")
    workers: int = setting(
        1, "threads that make mini-batches ahead of time; results do not depend on it",
        group="batches", low=0, high=64,
    )  # fmt: skip

    seed: int = setting(
        0, "seed of weights, dropout and sampling", group="run", low=0, high=MAX_SEED
    )
    device: str = setting("cpu", "cpu, cuda, cuda:1, mps ...", group="run")
    dtype: str = setting("float32", "floating point numbers", group="run", choices=names.DTYPES)

    def __post_init__(self) -> None:
        wrong = [
            message
            for field in fields(self)
            if (message := complaint(field, getattr(self, field.name), TYPES[field.name]))
        ]
        shares = (self.val_share, self.test_share)
        if sum(share for share in shares if isinstance(share, (int, float))) >= 1:
            wrong.append(
                "Expected `val_share` and `test_share` to leave a share for training, got "
                f"{self.val_share} and {self.test_share}."
            )
        if self.split is not None and shares != (None, None):
            wrong.append(
                "Expected `split` or shares of the parts, got both: the parts are those of "
                f"{self.split!r}."
            )
        if isinstance(self.fanout, str) and not re.fullmatch(FANOUT, self.fanout):
            wrong.append(
                "Expected `fanout` to be whole numbers of at least 1, or -1, with commas between, "
                f"like '15,10', got {self.fanout!r}."
            )
        counts = (self.pretrain, self.epochs)
        if all(isinstance(count, int) for count in counts) and 1 <= self.epochs <= self.pretrain:
            wrong.append(
                f"Expected `pretrain` to be below `epochs`, got {self.pretrain} and {self.epochs}: "
                "its epochs are the first ones."
            )
        if wrong:
            raise ConfigError("\n".join(wrong))

    @property
    def seed_of_split(self) -> int:
        """The seed of the split: its own, or that of the run."""
        return self.seed if self.split_seed is None else self.split_seed

    @property
    def fanouts(self) -> tuple[int, ...]:
        """The numbers of ``fanout``, hop by hop."""
        return tuple(int(part) for part in self.fanout.split(",")) if self.fanout else ()

    def replace(self, **changes: Any) -> Config:
        """A copy with some settings changed."""
        check_names(changes)
        return replace(self, **changes)

    def to_toml(self) -> str:
        """The settings as TOML; those left open are commented out."""
        lines: list[str] = []
        group = None
        for field in fields(self):
            value = getattr(self, field.name)
            if field.metadata["group"] != group:
                group = field.metadata["group"]
                lines.append(f"{chr(10) * bool(lines)}# {group}")
            if value is None:
                lines.append(f"# {field.name} =")
            else:
                # JSON's numbers, strings and booleans are TOML's too, but for the escape of DEL.
                text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                lines.append(f"{field.name} = {text}")
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The settings as a plain dictionary."""
        return asdict(self)


TYPES = {
    name: next(kind for kind in (get_args(hint) or (hint,)) if kind is not type(None))
    for name, hint in get_type_hints(Config).items()
}
"""The type of each setting, without the None."""


def check_names(settings: Mapping[str, Any]) -> None:
    """Refuse names that are no settings, all at once, with the near miss suggested."""
    unknown = [name for name in settings if name not in TYPES]
    if unknown:
        raise ConfigError(
            "\n".join(f"There is no setting {n!r}.{near_miss(n, TYPES)}" for n in unknown)
        )


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings of a TOML file."""
    path = Path(path)
    try:
        kind = kind_of(path)
        if kind is not None:
            raise ConfigError(f"Expected a regular file of settings, got {kind} ({path}).")
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"Expected a TOML file, but {path} cannot be read: {error.strerror}."
        ) from error
    try:
        settings = tomllib.loads(content.decode())
        str(settings)  # whole numbers in base 16 may have more digits than can be written
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"Expected {path} to be TOML: {error}.") from error
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        raise ConfigError(
            f"Expected numbers of at most {most:,} digits, got a longer one ({path})."
        ) from error
    try:
        check_names(settings)
    except ConfigError as error:
        raise ConfigError(f"In {path}:\n{error}") from error
    return settings
