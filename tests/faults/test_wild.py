"""Settings that nobody should choose: no NaN anywhere, no traceback, and the best is kept."""

import math
import warnings

import torch

from fault_children import check_reason, try_all
from hgcn.errors import DivergenceError
from hgcn.models import options_of
from hgcn.models.predictor import MODEL_OPTIONS
from hgcn.names import ACTIVATIONS, AGGREGATIONS, CLASSIFIERS, DTYPES, MODELS, NORMALISATIONS
from hgcn.runs.fit import fit
from small_graphs import tree


def wild(draw):
    """Settings drawn from the whole of what is allowed."""

    def some(**choices):
        return {name: value() for name, value in choices.items() if draw.random() < 0.5}

    def order(low, high):
        return 10 ** draw.uniform(low, high)

    settings = {
        "task": draw.choice(("link", "node")),
        "model": draw.choice(list(MODELS)),
        "dtype": draw.choice(DTYPES),
        "lr": order(-3, 0),
        "c": order(-4, 4),
        "layers": draw.choice((1, 2, 3, 4, 8, 16)),
        "aggregation": draw.choice(list(AGGREGATIONS)),
        "dim": draw.choice((1, 2, 3, 16)),
        "epochs": draw.choice((1, 5, 20)),
        "eval_every": draw.choice((1, 3)),
        "normalise": draw.choice(list(NORMALISATIONS)),
        "seed": draw.randrange(1000),
    }
    settings |= some(
        clip=lambda: draw.choice((0.0, 1.0, 1e6)),
        trainable_c=lambda: draw.random() < 0.5,
        attention=lambda: draw.random() < 0.5,
        act=lambda: draw.choice(list(ACTIVATIONS)),
        last_act=lambda: draw.choice(list(ACTIVATIONS)),
        classifier=lambda: draw.choice(list(CLASSIFIERS)),
        trainable_decoder=lambda: draw.random() < 0.5,
        t=lambda: order(-3, 3),
        r=lambda: draw.uniform(-10, 10),
        ema=lambda: draw.choice((0.0, 0.98)),
        weight_decay=lambda: order(-6, 1),
        dropout=lambda: draw.uniform(0.0, 0.9),
        link_regulariser=lambda: order(-2, 2),
        consistency=lambda: order(-2, 2),
    )
    has = options_of(settings["model"])
    if settings["model"] not in ("hgcn", "hnn", "hyp"):
        settings.pop("classifier", None)  # Euclidean embeddings have only the usual one
    return {name: v for name, v in settings.items() if name in has or name not in MODEL_OPTIONS}


def train(item):
    settings, scale, features, weights = item
    graph = tree(40, features=features or 1)
    graph = graph.replace(x=graph.x * scale if features else None)
    if weights and settings["model"] not in ("gat", "sage"):  # which have no place for them
        weight = scale ** torch.rand(graph.pairs().shape[1], dtype=torch.float64)
        graph = graph.replace(edge_weight=torch.cat((weight, weight)).float())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Other packages use it when they are imported.
        warnings.filterwarnings("ignore", ".*torch.jit.script", DeprecationWarning)
        try:
            run = fit(graph, **settings)
        except DivergenceError as error:
            check_reason(error)
            return
    metrics = run.metrics
    numbers = [
        *metrics["val"].values(), *metrics["test"].values(), *metrics["curvatures"],
        *(value for row in run.history for value in row.values()),
    ]  # fmt: skip
    assert all(map(math.isfinite, numbers)), metrics
    assert run.embeddings().isfinite().all()
    chance = run.predict_nodes() if settings["task"] == "node" else run.predict_links([[0], [1]])
    assert chance.isfinite().all()
    select = metrics["select"]
    best = max(row[select] for row in run.history)
    assert math.isclose(metrics["val"][select], best, rel_tol=1e-9), "the best was not kept"
    assert metrics["stopped"] in ("patience", "epochs") or metrics["stopped"].startswith("The ")


def test_wild_trainings(children, tally, tmp_path):
    count = tally("wild trainings", short=8, full=200)
    items = [
        (wild(draw), 10 ** draw.uniform(-6, 6), draw.choice((0, 1, 8)), draw.random() < 0.3)
        for _, draw in count
    ]
    try_all(children, tmp_path / "work", count, train, items)
