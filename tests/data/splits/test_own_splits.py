"""Splits that users bring are taken as they are, and refused where they would show the answer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor

import hgcn
from hgcn.data import Graph, split_links, split_nodes
from hgcn.errors import ConfigError, DataError, GraphError, RunError

QUICK = {"epochs": 4, "eval_every": 2, "dim": 3}
RING = 40


def ring(**options: Any) -> Graph:
    names = [f"n{i}" for i in range(RING)]
    nodes = pl.DataFrame(
        {
            "id": names,
            "kind": ["a", "b"] * (RING // 2),
            "part": ["train"] * 20 + ["valid"] * 8 + ["test"] * 8 + [None] * 4,
        }
    )
    edges = pl.DataFrame({"source": names, "target": names[1:] + names[:1]})
    return hgcn.load(edges, nodes=nodes, **options)


def pairs_of(*ends: tuple[int, int]) -> Tensor:
    return torch.tensor(ends).T


def as_set(pairs: Tensor | None) -> set[frozenset[int]]:
    assert pairs is not None
    return {frozenset(pair) for pair in pairs.T.tolist()}


EDGES = {frozenset((i, (i + 1) % RING)) for i in range(RING)}


@pytest.mark.parametrize("form", ["column", "table", "json", "masks", "numbers"])
def test_nodes(form: str, tmp_path: Path) -> None:
    expected = {"train": range(20), "val": range(20, 28), "test": range(28, 36)}
    numbers = {part: torch.tensor(list(nodes)) for part, nodes in expected.items()}
    split: Any
    if form == "column":
        split = "part"
    elif form == "table":
        split = tmp_path / "parts.csv"
        rows = [(f"n{i}", part) for part, nodes in expected.items() for i in nodes]
        pl.DataFrame(rows, schema=["node", "part"], orient="row").write_csv(split)
    elif form == "json":
        split = tmp_path / "split.json"
        split.write_text(json.dumps({p: [f"n{i}" for i in nodes] for p, nodes in expected.items()}))
    elif form == "numbers":
        split = numbers
    else:
        split = {p: torch.isin(torch.arange(RING), nodes) for p, nodes in numbers.items()}
    found = split_nodes(ring(labels="kind", split=split))
    for part, nodes in numbers.items():
        torch.testing.assert_close(getattr(found, part), nodes)


def test_pairs_in_one_table(tmp_path: Path) -> None:
    rows = [("n3", "n4", "val", 1), ("n9", "n8", "test", 1), ("n0", "n9", "val", 0)]
    path = tmp_path / "pairs.csv"
    pl.DataFrame(rows, schema=["source", "target", "part", "label"], orient="row").write_csv(path)
    split = split_links(ring(split=path))
    assert as_set(split.val.positives) == {frozenset((3, 4))}
    assert as_set(split.test.positives) == {frozenset((8, 9))}
    assert as_set(split.val.negatives) == {frozenset((0, 9))}
    assert len(as_set(split.test.negatives)) == 1
    assert not as_set(split.test.negatives) & EDGES
    assert as_set(split.train.positives) == EDGES - {frozenset((3, 4)), frozenset((8, 9))}
    assert as_set(split.test.messages) == as_set(split.train.positives)


def test_pairs_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "val.csv").write_text("a,b\nn3,n4\nn5,n6\n")
    (tmp_path / "test.csv").write_text("source,target\nn9,n8\n")
    split = split_links(ring(split=tmp_path))
    assert as_set(split.val.positives) == {frozenset((3, 4)), frozenset((5, 6))}
    assert as_set(split.test.positives) == {frozenset((8, 9))}
    (tmp_path / "test.csv").unlink()
    with pytest.raises(DataError, match=r"test\.csv"):
        ring(split=tmp_path)


def test_pairs_that_are_no_edges_of_the_graph_can_be_asked() -> None:
    split = split_links(ring(split={"val": pairs_of((0, 10)), "test": pairs_of((1, 11))}))
    assert as_set(split.train.positives) == EDGES
    assert as_set(split.val.positives) == {frozenset((0, 10))}


FAULTS: dict[str, tuple[Any, str]] = {
    "pair in two parts": (
        {"val": pairs_of((0, 1)), "test": pairs_of((1, 0))},
        "each pair in one part",
    ),
    "train and test": (
        {"train": pairs_of((0, 1), (1, 2)), "val": pairs_of((3, 4)), "test": pairs_of((1, 2))},
        "each pair in one part",
    ),
    "self-loop": ({"val": pairs_of((3, 3)), "test": pairs_of((1, 2))}, "self-loop"),
    "no validation": ({"test": pairs_of((1, 2))}, "val part"),
    "shown": (
        {"val": pairs_of((1, 2)), "test": pairs_of((3, 4)), "train_messages": pairs_of((3, 4))},
        "not to be shown",
    ),
    "node out of range": ({"val": pairs_of((1, 99)), "test": pairs_of((3, 4))}, r"0\.\.39"),
    "unknown part": ({"vall": pairs_of((1, 2))}, "vall"),
    "nodes and pairs": ({"val": pairs_of((1, 2)), "test": torch.tensor([3])}, "got both"),
    "short mask": ({"train": torch.ones(3, dtype=torch.bool)}, "mask of 40"),
    "no such column": ("aprt", "Did you mean 'part'"),
    "node in two parts": ({"train": torch.tensor([1, 2]), "val": torch.tensor([2])}, "share no"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told(fault: str) -> None:
    split, words = FAULTS[fault]
    task = "node" if fault == "node in two parts" else "link"
    with pytest.raises((GraphError, DataError), match=words):
        hgcn.fit(ring(labels="kind"), split=split, task=task, **QUICK)


def test_words_other_than_parts_are_refused() -> None:
    with pytest.raises(DataError, match=r"part.*'a'.*row 0"):
        ring(split="kind", labels="part")


def test_the_run_keeps_to_the_split_of_a_file(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(RING)]
    edges = tmp_path / "edges.csv"
    pl.DataFrame({"source": names, "target": names[1:] + names[:1]}).write_csv(edges)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        "source,target,part\n"
        + "".join(f"n{i},n{i + 1},val\nn{i + 20},n{i + 21},test\n" for i in range(6))
    )
    run = hgcn.fit(edges, split=pairs, task="link", out=tmp_path / "run", **QUICK)
    again = hgcn.load_run(tmp_path / "run")
    assert again.config.split == str(pairs)
    assert again.evaluate() == run.metrics["test"]
    pairs.write_text("source,target,part\nn1,n2,val\nn3,n4,test\n")
    with pytest.raises(RunError, match="changed since"):
        hgcn.load_run(tmp_path / "run").evaluate()


def test_splits_of_hgcn_are_taken_as_they_are() -> None:
    graph = ring(labels="kind")
    links = split_links(graph, val=0.2, test=0.2, seed=7)
    again = split_links(hgcn.load(graph, split=links), seed=1)
    for part in ("train", "val", "test"):
        assert as_set(getattr(again, part).positives) == as_set(getattr(links, part).positives)
        torch.testing.assert_close(getattr(again, part).messages, getattr(links, part).messages)
    torch.testing.assert_close(again.test.negatives, links.test.negatives)
    nodes = split_nodes(graph, ratios=(0.5, 0.2, 0.3), seed=7)
    same = split_nodes(hgcn.load(graph, split=nodes), seed=1)
    torch.testing.assert_close(same.test, nodes.test)


def test_shares_beside_a_split_are_refused() -> None:
    with pytest.raises(ConfigError, match="got both"):
        hgcn.fit(ring(), split="part", val_share=0.1)


@pytest.mark.parametrize("labels", ["one list", "split lists"])
def test_parts_of_random_link_split_are_not_split_again(labels: str) -> None:
    transforms = pytest.importorskip("torch_geometric.transforms")
    whole = ring(labels="kind").to_pyg()
    whole.x = torch.randn(RING, 4, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    parts = transforms.RandomLinkSplit(
        num_val=0.1, num_test=0.2, is_undirected=True, split_labels=labels == "split lists"
    )(whole)
    graph = hgcn.load(parts)
    assert as_set(graph.edge_index) == EDGES
    assert not graph.directed
    split = split_links(graph)
    for part, data in zip(("train", "val", "test"), parts, strict=True):
        ours = getattr(split, part)
        if labels == "one list":
            positives = data.edge_label_index[:, data.edge_label == 1]
            negatives = data.edge_label_index[:, data.edge_label == 0]
        else:
            positives, negatives = data.pos_edge_label_index, data.neg_edge_label_index
        assert as_set(ours.positives) == as_set(positives)
        torch.testing.assert_close(ours.messages, data.edge_index)
        if part != "train":
            assert as_set(ours.negatives) == as_set(negatives)
    run = hgcn.fit(parts, **QUICK)
    assert run.config.task == "link"


def test_one_part_of_random_link_split_is_not_enough() -> None:
    transforms = pytest.importorskip("torch_geometric.transforms")
    parts = transforms.RandomLinkSplit(num_val=0.1, is_undirected=True)(ring().to_pyg())
    with pytest.raises(GraphError, match="all three"):
        hgcn.fit(parts[0], **QUICK)


def test_the_split_is_part_of_the_data() -> None:
    plain = ring()
    own = ring(split={"val": pairs_of((0, 1)), "test": pairs_of((1, 2))})
    assert plain.fingerprint() != own.fingerprint()
    few = own.subgraph(torch.arange(10))
    assert few.links is not None
    assert as_set(few.links["val"]) == {frozenset((0, 1))}
    np.testing.assert_array_equal(few.ids, own.ids[:10])
