"""`hgcn figures`: the paper's figures, one command each."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.commands._loading import preload
from hgcn.errors import ConfigError
from hgcn.text import one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hgcn.runs.run import Run

NAMES = {
    "geometry": "geodesics of the disk, distance against curvature (figure 1)",
    "embeddings": "GCN and HGCN on Disease and Cora, first and last layer (figure 3)",
    "curvature": "ROC AUC against a fixed curvature, from the store (figure 4)",
    "lowdim": "links and nodes in 2 to 16 dimensions, from the store",
    "attention": "attention of a node two hops far, GAT and HGCN (figure 5)",
    "training": "loss, validation score and curvatures of a run",
    "reliability": "how often links of a probability are there",
}

LISTED = "\n".join(f"  {name:<12}{text}" for name, text in NAMES.items())
EXAMPLES = f"""\
figures:
{LISTED}

examples:
  hgcn figures geometry                           writes geometry.svg
  hgcn figures embeddings --out figure3.pdf       trains four small runs first
  hgcn figures embeddings runs/a runs/b           draws runs of yours
  hgcn figures curvature --store results/runs.jsonl
  hgcn figures lowdim                             after hgcn reproduce lowdim
  hgcn figures attention --node 17
  hgcn figures training runs/a --out training.png
  hgcn figures reliability runs/a
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("name", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("runs", metavar="RUN", nargs="*", help="run folders, to train none")
    parser.add_argument("-o", "--out", metavar="FILE", help=".svg, .pdf or .png (NAME.svg)")
    parser.add_argument(
        "--store", default="results/runs.jsonl", metavar="FILE", help="(results/runs.jsonl)"
    )
    parser.add_argument("--node", metavar="ID", help="attention: whose; by default a good example")
    parser.add_argument("--color", metavar="COLUMN", help="embeddings: depth, label, degree ...")
    parser.add_argument("--dim", metavar="N", help="embeddings: size of those that are trained (3)")
    parser.add_argument("--seed", default="0", metavar="N", help="of runs that are trained (0)")
    parser.add_argument("--epochs", metavar="N", help="at most so many, for runs that are trained")
    parser.add_argument("--dpi", default="200", metavar="N", help="pixels an inch (200)")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    """Draw the figure and write it."""
    if arguments.name not in NAMES:
        raise ConfigError(one_of("NAME", arguments.name, NAMES))
    _refuse_unused(arguments)
    from hgcn.plots.style import check_path, save

    path = check_path(arguments.out or f"{arguments.name}.svg")
    dpi = _number(arguments, "dpi") or 0
    if not 10 <= dpi <= 2000:
        raise ConfigError(f"Expected --dpi to be in 10..2000, got {arguments.dpi!r}.")
    preload(arguments, "hgcn.figures")
    save(_DRAW[arguments.name](arguments), path, dpi=dpi)
    sys.stdout.write(f"{path}\n")
    return 0


USED_BY = {
    "runs": ("embeddings", "attention", "training", "reliability"),
    "node": ("attention",),
    "color": ("embeddings",),
    "dim": ("embeddings",),
    "epochs": ("embeddings", "attention"),
}


def _refuse_unused(arguments: argparse.Namespace) -> None:
    """An option that the figure would ignore is a mistake."""
    for option, figures in USED_BY.items():
        if getattr(arguments, option) and arguments.name not in figures:
            shown = "RUN" if option == "runs" else f"--{option}"
            raise ConfigError(
                f"Expected no {shown} for the figure {arguments.name!r}: it is for "
                f"{', '.join(figures)}."
            )


def _geometry(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.geometry import geometry_figure

    return geometry_figure()


def _curvature(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.curvature import curvature_figure

    return curvature_figure(Path(arguments.store))


def _lowdim(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.lowdim import lowdim_figure

    return lowdim_figure(Path(arguments.store))


def _training(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.training import training_figure

    return training_figure(_only(arguments))


def _reliability(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.reliability import reliability_figure

    return reliability_figure(_only(arguments))


def _only(arguments: argparse.Namespace) -> Run:
    if len(arguments.runs) != 1:
        raise ConfigError(
            f"Expected one run folder: hgcn figures {arguments.name} RUN; got "
            f"{len(arguments.runs)}."
        )
    return _opened(arguments)[0]


def _embeddings(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.embeddings import embeddings_figure, train_for_embeddings

    runs = _opened(arguments) or _trained(train_for_embeddings, arguments)
    return embeddings_figure(runs, color=arguments.color)


def _attention(arguments: argparse.Namespace) -> Figure:
    from hgcn.figures.attention import attention_figure, train_for_attention

    runs = _opened(arguments) or _trained(train_for_attention, arguments)
    return attention_figure(runs, node=arguments.node)


def _opened(arguments: argparse.Namespace) -> list[Run]:
    from hgcn.runs.folder import load_run

    return [load_run(path) for path in arguments.runs]


def _trained(train: Any, arguments: argparse.Namespace) -> list[Run]:
    """The runs that the figure needs, trained now with a line of progress for each."""
    from contextlib import ExitStack

    from hgcn.commands._display import TrainingDisplay

    numbers = {name: _number(arguments, name) for name in ("dim", "seed", "epochs")}
    with ExitStack() as stack:

        def watch(name: str) -> Any:
            stack.close()
            if not arguments.quiet:
                sys.stderr.write(f"training {name}\n")
            return stack.enter_context(TrainingDisplay(arguments.quiet)).update

        given = {name: value for name, value in numbers.items() if value is not None}
        return list(train(on_run=watch, **given))


def _number(arguments: argparse.Namespace, name: str) -> int | None:
    text = getattr(arguments, name)
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ConfigError(f"Expected --{name} to be a whole number, got {text!r}.") from None


_DRAW = {
    "geometry": _geometry,
    "embeddings": _embeddings,
    "curvature": _curvature,
    "lowdim": _lowdim,
    "attention": _attention,
    "training": _training,
    "reliability": _reliability,
}
