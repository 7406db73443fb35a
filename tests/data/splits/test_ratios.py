"""Shares of training, validation and test where a split is drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hgcn.data import Graph, disease_spread, load, read, split_nodes
from hgcn.names import PARTS


def test_shares_are_those_of_the_caller_then_of_the_graph_then_70_15_15() -> None:
    y = torch.zeros(100, dtype=torch.int64)
    graph = Graph(torch.empty(2, 0, dtype=torch.int64), 100, y=y, ratios=(0.2, 0.3, 0.4))

    def sizes(graph: Graph, **options: Any) -> list[int]:
        return [len(getattr(split_nodes(graph, **options), part)) for part in PARTS]

    assert sizes(graph) == [20, 30, 40]
    assert sizes(graph, ratios=(0.5, 0.25, 0.25)) == [50, 25, 25]
    assert sizes(graph.replace(ratios=None)) == [70, 15, 15]


def test_a_file_of_the_name_disease_is_like_any_other(tmp_path: Path) -> None:
    edges = "".join(f"{node},{node + 1}\n" for node in range(199))
    (tmp_path / "disease.csv").write_text("source,target\n" + edges)
    graph = read(tmp_path / "disease.csv", labels=np.arange(200) % 2)
    assert graph.name == "disease"
    assert graph.ratios is None
    split = split_nodes(graph)
    assert [len(getattr(split, part)) for part in PARTS] == [140, 30, 30]


def test_disease_is_split_as_in_the_paper() -> None:
    for graph in (load("disease"), disease_spread(500, seed=1)):
        split = split_nodes(graph)
        shares = [len(getattr(split, part)) / graph.num_nodes for part in PARTS]
        assert shares == pytest.approx([0.3, 0.1, 0.6], abs=0.003)
