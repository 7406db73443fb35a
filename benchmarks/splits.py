"""How long does it take to split a graph and to draw negatives?

Writes its table into docs/splits.md. Times are of processor time on one thread, after the kernels
are compiled; memory is the peak of the process, the graph included.
"""

from __future__ import annotations

import resource
import time

import torch
from _document import ROOT, markdown_table, text_table, write_between_markers
from _measure import number, set_threads

from hgcn.data import Graph, load
from hgcn.data.splits import split_links

GUIDE = ROOT / "docs" / "splits.md"
DRAWN = 4_000
REPEATS = 300


def random_graph(nodes: int, edges: int) -> Graph:
    ends = torch.randint(nodes, (2, edges), generator=torch.Generator().manual_seed(0))
    both = torch.cat((ends, ends.flip(0)), dim=1)
    return Graph(both[:, both[0] != both[1]], nodes, name=f"random, {edges:,} edges")


def measure(graph: Graph) -> list[str]:
    generator = torch.Generator().manual_seed(0)
    begin = time.process_time()
    split = split_links(graph)
    seconds = time.process_time() - begin
    begin = time.process_time()
    for _ in range(REPEATS):
        split.sample_negatives(DRAWN, generator)
    milliseconds = (time.process_time() - begin) / REPEATS * 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cells = [f"{graph.num_nodes:,}", number(seconds), number(milliseconds), number(peak)]
    return [graph.name, *cells]


def main() -> None:
    set_threads(1)
    measure(random_graph(100, 300))
    header = ("graph", "nodes", "split, s", f"{DRAWN:,} negatives, ms", "peak memory, GiB")
    graphs = [lambda: load("cora"), lambda: load("pubmed")]
    graphs += [lambda m=m: random_graph(m // 10, m) for m in (1_000_000, 10_000_000)]
    rows = [measure(make()) for make in graphs]
    print(text_table(header, rows))
    write_between_markers(GUIDE, "times", markdown_table(header, rows))


if __name__ == "__main__":
    main()
