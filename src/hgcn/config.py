"""The settings of a run, declared once: each field is a key of a TOML file and a flag of `hgcn`.

Importing this module loads nothing heavy: the command line is built from it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hgcn import names
from hgcn.errors import ConfigError
from hgcn.files import kind_of
from hgcn.text import near_miss, one_of

MAX_SEED = 2**32 - 1
FANOUT = r"\s*(-1|0*[1-9]\d{0,8})\s*(,\s*(-1|0*[1-9]\d{0,8})\s*)*"
LARGEST = {int: 10**12, float: 1e30}
"""Larger numbers are more than torch can take."""


def _setting(
    default: Any,
    help_: str,
    *,
    group: str,
    choices: Collection[str] | None = None,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
) -> Any:
    return field(
        default=default,
        metadata={
            "help": help_, "group": group, "choices": choices,
            "low": low, "high": high, "above": above,
        },
    )  # fmt: skip


@dataclass(frozen=True)
class Config:
    """All settings of one run.

    ``None`` means "choose for me"; what was chosen is in the run folder. Wrong settings are all
    reported at once.

    Example:
        >>> Config(task="link", lr=0.02).lr
        0.02
    """

    source: str | None = _setting(
        None, "name of a data set, file or folder; none for a graph held in memory", group="data"
    )
    features: str | None = _setting(
        None, "node features: a table keyed by id, or .npy/.npz", group="data"
    )
    labels: str | None = _setting(
        None, "node labels: a table keyed by id, .npy, or a column of the features", group="data"
    )
    feature_columns: str | None = _setting(
        None, "columns of the table to use as features, with commas between", group="data"
    )
    drop: str | None = _setting(
        None, "columns of the table not to use, with commas between", group="data"
    )
    text: str | None = _setting(
        None, "columns whose words become features, with commas between", group="data"
    )
    date_parts: bool = _setting(
        False, "dates give year, month, day, weekday and hour too", group="data"
    )
    directed: bool | None = _setting(None, "keep the direction of edges", group="data")
    normalise: str | None = _setting(
        None,
        "features: none, row (rows sum to one), standard (by training nodes), log",
        group="data",
        choices=names.NORMALISATIONS,
    )
    degree_features: bool | None = _setting(
        None, "add degrees to the features; always so for graphs without any", group="data"
    )

    task: str | None = _setting(
        None, "predict links, or classes of nodes", group="task", choices=names.TASKS
    )
    protocol: str = _setting(
        "clean", "how to split: clean, or as the paper's code did", group="task",
        choices=names.PROTOCOLS,
    )  # fmt: skip
    split: str | None = _setting(
        None, "own parts: a column of the nodes with train, val or test; a table of nodes or pairs "
        "with a column 'part'; split.json; or a folder with val.csv and test.csv of pairs",
        group="task",
    )  # fmt: skip
    val_share: float | None = _setting(
        None, "share of edges or nodes for validation", group="task", above=0, high=1
    )
    test_share: float | None = _setting(
        None, "share of edges or nodes for the test", group="task", above=0, high=1
    )
    val_as_input: bool = _setting(
        False, "links: show the validation edges to the network at the test", group="task"
    )
    split_seed: int | None = _setting(
        None, "seed of the split; by default the seed of the run", group="task", low=0,
        high=MAX_SEED,
    )  # fmt: skip
    select: str | None = _setting(
        None, f"validation score that picks the best epoch: {names.SELECTORS}", group="task"
    )

    model: str = _setting("hgcn", "which encoder", group="model", choices=names.MODELS)
    dim: int = _setting(16, "size of embeddings", group="model", low=1)
    layers: int | None = _setting(None, "number of layers", group="model", low=1)
    dropout: float | None = _setting(
        None, "dropout (of weights in hyperbolic layers)", group="model", low=0, high=0.99
    )
    feature_dropout: float | None = _setting(
        None,
        "share of the features zeroed in each step (0; 0.5 for words of links with --structure)",
        group="model",
        low=0,
        high=0.99,
    )
    act: str | None = _setting(
        None, "activation between layers", group="model", choices=names.ACTIVATIONS
    )
    last_act: str | None = _setting(
        None, "activation after the last layer", group="model", choices=names.ACTIVATIONS
    )
    c: float | None = _setting(
        None, "curvature -c to start from", group="model", low=1e-4, high=1e4
    )
    trainable_c: bool | None = _setting(None, "train the curvature of each layer", group="model")
    aggregation: str | None = _setting(
        None, "where neighbours are averaged", group="model",
        choices=names.AGGREGATIONS,
    )  # fmt: skip
    attention: bool | None = _setting(None, "weight neighbours by attention", group="model")
    heads: int | None = _setting(None, "attention heads", group="model", low=1)
    root_weight: bool | None = _setting(
        None, "map a node's own point apart from its neighbours'", group="model"
    )
    bias: bool | None = _setting(None, "learn biases", group="model")

    r: float = _setting(2.0, "Fermi-Dirac: squared distance of even odds", group="decoder")
    t: float = _setting(1.0, "Fermi-Dirac: temperature", group="decoder", above=0)
    trainable_decoder: bool | None = _setting(
        None, "learn r and t; by default with --structure", group="decoder"
    )
    structure: bool | None = _setting(
        None, "links: count also what two nodes have in common, neighbours and short paths; by "
        "default so", group="decoder",
    )  # fmt: skip
    classifier: str = _setting(
        "tangent", "classes by a linear map at the origin, or by hyperbolic hyperplanes",
        group="decoder", choices=names.CLASSIFIERS,
    )  # fmt: skip

    epochs: int = _setting(2000, "at most so many epochs", group="training", low=1)
    patience: int = _setting(
        100, "stop after so many epochs without a better validation score", group="training", low=1
    )
    eval_every: int = _setting(5, "epochs between validations", group="training", low=1)
    lr: float | None = _setting(
        None, "learning rate (links with --structure 0.02, else 0.01)", group="training", above=0
    )
    weight_decay: float = _setting(0.0, "L2 penalty, not on curvatures", group="training", low=0)
    ema: float = _setting(
        0.98, "share of the old that the moving average of weights keeps in each step; it is what "
        "is evaluated; 0 for the weights themselves", group="training", low=0, high=0.9999,
    )  # fmt: skip
    clip: float = _setting(
        1.0, "largest norm of the gradient; 0 for no limit", group="training", low=0
    )
    hidden_share: float | None = _setting(
        None, "links: share of edges hidden from messages and predicted in each step; 0 hides none "
        "(0.1 with --structure, else 0.3)",
        group="training", low=0, high=0.95,
    )  # fmt: skip
    negatives: float = _setting(
        1.0, "links: random pairs for each edge in the loss", group="training", above=0,
        high=1e6,
    )  # fmt: skip
    class_weights: bool = _setting(
        False, "nodes: weight classes against their frequency", group="training"
    )
    link_regulariser: float = _setting(
        0.0, "nodes: weight of the link prediction loss that is added", group="training", low=0
    )
    consistency: float = _setting(
        0.0, "nodes: weight of the agreement of predictions, labelled or not, when dropout is "
        "drawn anew; grows over 100 epochs", group="training", low=0,
    )  # fmt: skip
    pretrain: int = _setting(
        0, "nodes: epochs of link prediction before the classes", group="training", low=0
    )

    batch_size: int | None = _setting(
        None, "nodes or edges in a mini-batch; 0 for a full batch, which is the default where it "
        "fits into memory", group="batches", low=0,
    )  # fmt: skip
    fanout: str | None = _setting(
        None, "neighbours drawn for each node of a mini-batch, then for each of these, with commas "
        "between, the last one for all further ones; -1 for all of them (15,10,5)", group="batches",
    )  # fmt: skip
    sampling: str = _setting(
        "uniform", "draw neighbours evenly, or by edge weight", group="batches",
        choices=names.SAMPLINGS,
    )  # fmt: skip
    replacement: bool = _setting(False, "draw neighbours with replacement", group="batches")
    workers: int = _setting(
        1, "threads that make mini-batches ahead of time; results do not depend on it",
        group="batches", low=0, high=64,
    )  # fmt: skip

    seed: int = _setting(
        0, "seed of weights, dropout and sampling", group="run", low=0, high=MAX_SEED
    )
    device: str = _setting("cpu", "cpu, cuda, cuda:1, mps ...", group="run")
    dtype: str = _setting("float32", "floating point numbers", group="run", choices=names.DTYPES)

    def __post_init__(self) -> None:
        wrong = [
            message
            for setting in fields(self)
            if (message := _complaint(setting, getattr(self, setting.name)))
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
        for setting in fields(self):
            value = getattr(self, setting.name)
            if setting.metadata["group"] != group:
                group = setting.metadata["group"]
                lines.append(f"{chr(10) * bool(lines)}# {group}")
            if value is None:
                lines.append(f"# {setting.name} =")
            else:
                # JSON's numbers, strings and booleans are TOML's too, but for the escape of DEL.
                text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                lines.append(f"{setting.name} = {text}")
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


def _complaint(setting: Field[Any], value: Any) -> str | None:
    """A sentence on what is wrong with a value; None if it is valid."""
    name, facts = setting.name, setting.metadata
    if value is None:
        return None if setting.default is None else f"Expected `{name}` to be set, got none."
    kind = TYPES[name]
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool):
        words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        return f"Expected `{name}` to be {words[kind]}, got {value!r}."
    if facts["choices"] is not None and value not in facts["choices"]:
        return one_of(name, value, facts["choices"])
    low, high, above = facts["low"], facts["high"], facts["above"]
    bounds = []
    if low is not None:
        bounds.append((value >= low, f"at least {_shown(low)}"))
    if above is not None:
        bounds.append((value > above, f"above {_shown(above)}"))
    if high is not None:
        bounds.append((value <= high, f"at most {_shown(high)}"))
    if kind is float:
        bounds.append((abs(value) < float("inf"), "finite"))
    if kind in LARGEST and LARGEST[kind] < abs(value) < float("inf"):
        largest = _shown(LARGEST[kind])
        bounds = [(False, f"between -{largest} and {largest}")]
    if not all(holds for holds, _ in bounds):
        return f"Expected `{name}` to be {' and '.join(text for _, text in bounds)}, got {value!r}."
    return None


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"
