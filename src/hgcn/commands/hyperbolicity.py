"""``hgcn hyperbolicity``: is a graph tree-like enough?"""

from __future__ import annotations

import argparse
import json

from hgcn.commands._loading import preload
from hgcn.errors import ConfigError

EXAMPLES = """\
examples:
  hgcn hyperbolicity cora                      a data set
  hgcn hyperbolicity friends.csv               an edge list
  hgcn hyperbolicity pubmed --exact            the exact delta; may take long
  hgcn hyperbolicity cora --samples 1000000    a finer distribution
  hgcn hyperbolicity cora --json | jq .delta   for programs
"""


MOST_SAMPLES = 10**9
"""More of them say nothing new, and take hours."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Measure Gromov's four-point delta of the largest component of a graph, which is\n"
        "0 for a tree, and say whether hyperbolic geometry should help."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="SOURCE", help="a data set, a file or a folder")
    parser.add_argument(
        "--samples",
        type=int,
        default=50_000,
        metavar="N",
        help="random quadruples for the average and the distribution (default: %(default)s)",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--exact",
        action="store_true",
        default=None,
        help="find the exact delta of a large graph too; small ones always get it",
    )
    how.add_argument(
        "--sampled",
        dest="exact",
        action="store_false",
        default=None,
        help="only sample, also in a small graph",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random quadruples")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a report")


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    if not 0 <= arguments.samples <= MOST_SAMPLES:
        raise ConfigError(
            f"Expected --samples to be in 0..{MOST_SAMPLES:,}, got {arguments.samples}."
        )
    if arguments.seed < 0:
        raise ConfigError(f"Expected --seed to be 0 or more, got {arguments.seed}.")
    preload(arguments, "hgcn.data")
    from rich.console import Console

    from hgcn.data import hyperbolicity, load

    graph = load(arguments.source)
    with Console(stderr=True).status("Measuring distances ..."):
        result = hyperbolicity(
            graph, samples=arguments.samples, exact=arguments.exact, seed=arguments.seed
        )
    print(json.dumps(result.as_dict(), indent=2) if arguments.json else result)
    return 0
