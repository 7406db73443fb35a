"""How tree-like are the data sets, and how fast is that found?

Writes its tables into docs/hyperbolicity.md. The data sets are those that are at hand without a
download. Times are seconds of processor time on one thread, after the kernels are compiled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import networkx
import numpy as np
import torch
from _document import ROOT, markdown_table, text_table, write_between_markers
from _measure import number, set_threads

from hgcn.data import Graph, as_graph, load
from hgcn.data.datasets import DATASETS, is_present
from hgcn.data.datasets.generators import barabasi_albert, hyperbolic_random, random_tree
from hgcn.data.gromov import Hyperbolicity, hyperbolicity

GUIDE = ROOT / "docs" / "hyperbolicity.md"
WANTED = (
    "disease_lp",
    "wordnet_mammal",
    "airport",
    "email_enron",
    "pubmed",
    "cora",
    "citeseer",
    "tissue_ppi",
)
EXACT = ("pubmed",)  # larger than what is computed exactly unasked
NODES = 2_500
PAIRED = 40  # quadruples that NetworkX gets; it needs seconds for them
QUADRUPLES = 50_000


def graphs() -> Iterator[tuple[str, Graph]]:
    for name in WANTED:
        if name in DATASETS and is_present(name):
            yield name, load(name)
    yield "random tree", random_tree(NODES, seed=0)
    yield "hyperbolic random graph", hyperbolic_random(NODES, seed=0)
    yield "Barabási–Albert, 2 edges a node", barabasi_albert(NODES, 2, seed=0)
    for degree in (3, 5, 20):
        edges = NODES * degree // 2
        graph = networkx.gnm_random_graph(NODES, edges, seed=0)
        yield f"Erdős–Rényi, degree {degree}", as_graph(graph)
    small_world = networkx.watts_strogatz_graph(NODES, 4, 0.05, seed=0)
    yield "Watts–Strogatz, degree 4", as_graph(small_world)
    grid = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(50, 50))
    yield "grid, 50 x 50", as_graph(grid)


def timed(graph: Graph, exact: bool | None) -> tuple[Hyperbolicity, float]:
    begin = time.process_time()
    result = hyperbolicity(graph, exact=exact)
    return result, time.process_time() - begin


def row(name: str, result: Hyperbolicity, seconds: float) -> list[str]:
    return [
        name,
        f"{result.nodes:,}",
        f"{result.delta:g}" if result.exact else f"≥ {result.delta:g}",
        f"{result.diameter}" if result.diameter_exact else f"≥ {result.diameter}",
        f"{result.relative:.2f}",
        f"{result.average:.3f}",
        f"{result.relative_average:.3f}",
        f"{result.against_random:.2f}",
        number(seconds),
    ]


def against_networkx(graph: Graph) -> list[str]:
    """Sampling of many quadruples against six searches of NetworkX for each."""
    whole = networkx.Graph(graph.pairs().T.tolist())
    nodes = sorted(max(networkx.connected_components(whole), key=len))
    generator = np.random.default_rng(0)
    begin = time.process_time()
    for a, b, c, d in (generator.choice(nodes, 4, replace=False) for _ in range(PAIRED)):
        for one, two in ((a, b), (c, d), (a, c), (b, d), (a, d), (b, c)):
            networkx.shortest_path_length(whole, one, two)
    theirs = (time.process_time() - begin) * QUADRUPLES / PAIRED
    _, ours = timed(graph, exact=False)
    return [graph.name, number(theirs), number(ours), f"{theirs / ours:,.0f}"]


def large() -> list[str]:
    """A million nodes and ten million edges."""
    edges = torch.randint(1_000_000, (2, 10_000_000), generator=torch.Generator().manual_seed(0))
    result, seconds = timed(Graph(torch.cat((edges, edges.flip(0)), dim=1), 1_000_000), None)
    return ["random, 10,000,000 edges", *row("", result, seconds)[1:]]


def main() -> None:
    set_threads(1)
    hyperbolicity(as_graph(networkx.cycle_graph(9)))
    header = ("graph", "nodes", "delta", "diameter", "2 delta / diameter", "average delta")
    header = (*header, "relative average", "against random", "seconds")
    rows = []
    for name, graph in graphs():
        rows.append((timed(graph, True if name in EXACT else None), name))
        print(*row(name, *rows[-1][0]), sep="  ", flush=True)
    rows.sort(key=lambda entry: entry[0][0].against_random)
    table = [row(name, *found) for found, name in rows]
    table.append(large())
    print(text_table(header, table))
    speed_header = ("graph", "NetworkX, s", "hgcn, s", "times faster")
    speed = [against_networkx(load(name)) for name in ("cora", "pubmed") if is_present(name)]
    print(text_table(speed_header, speed))
    if len(rows) < len(WANTED) + 8:
        raise SystemExit("Some data sets are not at hand: the document is left as it is.")
    write_between_markers(GUIDE, "deltas", markdown_table(header, table))
    write_between_markers(GUIDE, "speed", markdown_table(speed_header, speed))


if __name__ == "__main__":
    main()
