"""Every choice that a setting has, declared once.

The tables are open: ``MODELS.register("mine", Mine)`` adds a choice, which then works in settings,
flags and files. A package that registers something when it is installed names a function in the
entry-point group ``hgcn.plugins``. Importing this module loads nothing heavy: configuration and
help texts are made from it.
"""

from __future__ import annotations

from typing import Any

from hgcn.registry import Registry

MODELS: Registry[Any] = Registry(
    "model",
    {
        "hgcn": "hgcn.models.hyperbolic:HGCN",
        "hnn": "hgcn.models.hyperbolic:HNN",
        "mlp": "hgcn.models.linear:MLP",
        "gcn": "hgcn.models.pyg:GCN",
        "gat": "hgcn.models.pyg:GAT",
        "sage": "hgcn.models.pyg:SAGE",
        "sgc": "hgcn.models.pyg:SGC",
        "euc": "hgcn.models.shallow:Euc",
        "hyp": "hgcn.models.shallow:Hyp",
        "free": "hgcn.models.shallow:Free",
        "euc-mixed": "hgcn.models.mixed:EucMixed",
        "hyp-mixed": "hgcn.models.mixed:HypMixed",
    },
)
"""Encoders: subclasses of :class:`hgcn.models.Encoder`."""

TASKS: Registry[Any] = Registry(
    "task",
    {
        "link": "hgcn.training.links:LinkTask",
        "node": "hgcn.training.nodes:NodeTask",
        "hierarchy": "hgcn.training.hierarchy:HierarchyTask",
    },
)
"""Tasks, that is, what a network is trained for: subclasses of :class:`hgcn.training.task.Task`."""

AGGREGATIONS: Registry[Any] = Registry(
    "aggregation",
    {
        "local": "hgcn.nn.aggregation:local",
        "origin": "hgcn.nn.aggregation:origin",
        "centroid": "hgcn.nn.aggregation:centroid",
        "frechet": "hgcn.nn.aggregation:frechet",
    },
)
"""Means of the neighbours of each node: functions as in :mod:`hgcn.nn.aggregation`."""

ACTIVATIONS: Registry[Any] = Registry(
    "activation",
    {
        "relu": "torch:relu",
        "leaky_relu": "torch.nn.functional:leaky_relu",
        "elu": "torch.nn.functional:elu",
        "selu": "torch.nn.functional:selu",
        "gelu": "torch.nn.functional:gelu",
        "silu": "torch.nn.functional:silu",
        "tanh": "torch:tanh",
        "none": "hgcn.nn.activation:identity",
    },
)
"""Functions of tensors that keep zero where it is."""

NORMALISATIONS: Registry[Any] = Registry(
    "normalisation",
    {
        "none": "hgcn.data.features:UNCHANGED",
        "row": "hgcn.data.features:ROW",
        "standard": "hgcn.data.features:STANDARD",
        "log": "hgcn.data.features:LOG",
        "bins": "hgcn.data.features:BINS",
    },
)
"""Ways to scale features: each a :class:`hgcn.data.features.Normalisation`."""

CLASSIFIERS: Registry[Any] = Registry(
    "classifier",
    {"tangent": "hgcn.nn.decoders:TangentClassifier", "mlr": "hgcn.nn.decoders:HyperbolicMLR"},
)
"""Modules from embeddings to logits of classes."""

IS_A: Registry[Any] = Registry(
    "is_a", {"distance": "hgcn.nn.is_a:DistanceScore", "cone": "hgcn.nn.is_a:ConeScore"}
)
"""Modules from a lower and an upper point to the score of "is a"."""

LOGGERS: Registry[Any] = Registry(
    "log",
    {
        "tensorboard": "hgcn.runs.loggers:TensorBoard",
        "mlflow": "hgcn.runs.loggers:MLflow",
        "wandb": "hgcn.runs.loggers:WandB",
    },
)
"""Programs that are told how a training goes: subclasses of :class:`hgcn.runs.loggers.Logger`."""

SCORES = {
    "map": "MAP",
    "mean_rank": "mean rank",
    "roc_auc": "ROC AUC",
    "roc_auc_degrees": "ROC AUC, same degrees",
    "ap": "average precision",
    "mrr": "MRR",
    "accuracy": "accuracy",
    "f1": "F1",
    "f1_macro": "macro F1",
}
"""Scores: from their name in files to the name that people write."""

PLAIN_SCORES = ("mean_rank",)
"""Scores that are no shares, and are not shown in per cent."""

VAL_LOSS = "val_loss"
"""The column of a history with the loss of the validation part."""

SELECTORS = "roc_auc, ap (links); accuracy, f1, f1_macro (nodes); map (hierarchy)"
"""Scores that can pick the best epoch, for help; which of them a task has, the task says."""

PARTS = ("train", "val", "test")
"""The parts of every split."""

PROTOCOLS = ("clean", "legacy")
"""The rules of a split; "legacy" are those of the paper's own code, faults included."""

HOLD_OUTS = ("pairs", "edges", "nothing")
"""What of a hierarchy is held out of training; see :mod:`hgcn.data.splits.hierarchy`."""

SAMPLINGS = ("uniform", "weight")
"""How neighbours of a mini-batch are drawn: evenly, or by edge weight."""

POINT_COORDINATES = ("normal", "hyperboloid", "ball")
"""Coordinates of points of hyperbolic space."""

COORDINATES = (*POINT_COORDINATES, "mips")
"""The same, and vectors whose inner products order points as distances do (docs/neighbours.md)."""

DTYPES = ("float32", "float64")


def score_name(name: str) -> str:
    """The name of a score as people write it."""
    return SCORES.get(name, name)


def untrained_name(name: str) -> str:
    """The name of a score without training as people write it."""
    return "Adamic-Adar" if name == "adamic_adar" else name.replace("_", " ")
