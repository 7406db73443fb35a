"""The settings as keywords, for editors and type checkers.

They are those of :class:`hgcn.config.Config`; a test holds the two together.
"""

from __future__ import annotations

from typing import TypedDict


class NetworkSettings(TypedDict, total=False):
    """The settings of a network and of its training: those of an estimator."""

    normalise: str | None
    degree_features: bool | None
    select: str | None
    model: str
    dim: int
    layers: int | None
    dropout: float | None
    point_dropout: float | None
    feature_dropout: float | None
    node_dropout: float
    propagation: int
    act: str | None
    last_act: str | None
    c: float | None
    trainable_c: bool | None
    aggregation: str | None
    attention: bool | None
    heads: int | None
    symmetric: bool | None
    root_weight: bool | None
    bias: bool | None
    r: float
    t: float
    trainable_decoder: bool | None
    structure: bool | None
    classifier: str
    is_a: str | None
    epochs: int
    patience: int | None
    eval_every: int
    lr: float | None
    weight_decay: float | None
    ema: float
    clip: float
    hidden_share: float | None
    negatives: float | None
    degree_negatives: float
    step_nodes: int | None
    class_weights: bool | None
    link_regulariser: float
    consistency: float | None
    views: int
    smooth: float
    ties_by_loss: bool | None
    pretrain: int
    batch_size: int | None
    fanout: str | None
    sampling: str
    replacement: bool
    workers: int
    device: str
    dtype: str


class Settings(NetworkSettings, total=False):
    """All settings of a run, but for the graph."""

    features: str | None
    labels: str | None
    feature_columns: str | None
    drop: str | None
    text: str | None
    date_parts: bool
    directed: bool | None
    task: str | None
    hold_out: str | None
    protocol: str
    split: str | None
    val_share: float | None
    test_share: float | None
    val_as_input: bool
    split_seed: int | None
    seed: int
