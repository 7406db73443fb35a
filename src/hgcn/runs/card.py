"""The card of a run: what it is, what it was trained on, how good it is, and how to use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import hgcn
from hgcn.data.datasets import DATASETS
from hgcn.names import PLAIN_SCORES, score_name

if TYPE_CHECKING:
    from hgcn.runs.run import Run

PURPOSES = {
    "link": "how likely a link between two nodes is",
    "node": "the class of each node",
    "hierarchy": "what is above each node of a hierarchy",
}


def card(run: Run) -> str:
    """The card, as Markdown that begins as model cards on the web do."""
    config, metrics = run.config, run.metrics
    source = str(metrics["source"])
    known = DATASETS.get(source)
    lines = [
        "---",
        "library_name: hgcn",
        f"tags: [graph, {'hyperbolic, ' * bool(metrics['curvatures'])}{config.model}]",
        "---",
        "",
        f"# {config.model} on {source}",
        "",
        f"A network of hgcn {run.environment.get('hgcn', hgcn.__version__)} that says "
        f"{PURPOSES.get(str(config.task), f'what the task {config.task} asks for')}.",
        "",
        "## Data",
        "",
        f"{source}: {run.num_nodes:,} nodes, {run.features.num_features:,} features"
        + (f", {len(run.class_names)} classes" if run.class_names else "")
        + ". "
        + (f"{known.description}. Licence: {known.licence}." if known else ""),
        f'The split is by seed {config.seed_of_split}, protocol "{config.protocol}".',
        "",
        "## Scores",
        "",
        *_scores(metrics),
        "",
        "The epoch was chosen on validation; the test part was looked at once, at the end.",
        *_warnings(metrics),
        "",
        "## Network",
        "",
        f"{metrics['parameters']:,} parameters, {config.dim} dimensions"
        + (f", curvatures {_curvatures(metrics)}" if metrics["curvatures"] else "")
        + f"; epoch {metrics['best_epoch']} of {metrics['epochs']}, seed {config.seed}.",
        "",
        "## Use",
        "",
        "```python",
        "import hgcn",
        "",
        'run = hgcn.load_run(".")  # this folder',
        f"run.{_first_call(str(config.task))}",
        "```",
        "",
        "`hgcn train --config config.toml` trains it again. It knows the graph that it was trained "
        "on; on a graph of another kind its answers mean little. Probabilities are calibrated on "
        "the validation part, if at all, and are no measure of fairness or of causes.",
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _scores(metrics: dict[str, Any]) -> Iterator[str]:
    parts = [part for part in ("val", "test") if part in metrics]
    yield f"| score | {' | '.join({'val': 'validation', 'test': 'test'}[p] for p in parts)} |"
    yield f"| --- |{' --: |' * len(parts)}"
    for name in metrics[parts[0]] if parts else ():
        plain = name in PLAIN_SCORES
        values = (metrics[part].get(name) for part in parts)
        shown = ["" if v is None else f"{v:.2f}" if plain else f"{100 * v:.2f} %" for v in values]
        yield f"| {score_name(name)} | {' | '.join(shown)} |"


def _warnings(metrics: dict[str, Any]) -> Iterator[str]:
    guess, score = (
        of.get("val", {}).get(metrics["select"]) for of in (metrics.get("guessing", {}), metrics)
    )
    if guess is not None and score is not None and score <= guess:
        yield "On validation it is no better than guessing."


def _curvatures(metrics: dict[str, Any]) -> str:
    return ", ".join(f"-{c:.3g}" for c in metrics["curvatures"])


def _first_call(task: str) -> str:
    return {
        "link": "top_links(10)  # the most probable missing links",
        "node": "predict_nodes()  # probabilities of the classes",
        "hierarchy": "roots()  # the top of the hierarchy",
    }.get(task, "embeddings()")
