"""The checks of a graph, made once when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hgcn.data.sparse import all_finite, has_sorted_rows, stored_values
from hgcn.errors import GraphError
from hgcn.names import PARTS

if TYPE_CHECKING:
    from hgcn.data.graph import Graph

LINK_LISTS = tuple(part + what for part in PARTS for what in ("", "_negatives", "_messages"))
"""The lists of pairs that a split of links may have."""


def _expect(holds: bool, expected: str, got: object, hint: str = "") -> None:
    if not holds:
        raise GraphError(f"Expected {expected}, got {got}.{hint and ' ' + hint}")


def check_graph(graph: Graph) -> None:
    """Refuse fields that do not make a graph."""
    n, edges = graph.num_nodes, graph.edge_index
    _expect(n >= 1, "a graph to have at least one node", n)
    _expect(
        edges.dim() == 2 and edges.shape[0] == 2 and edges.dtype == torch.int64,
        "`edge_index` to be an int64 tensor of shape [2, number of edges]",
        f"{edges.dtype} of shape {list(edges.shape)}",
    )
    if edges.numel():
        low, high = _range(graph)
        hint = "Are the ids 1-based?" if low == 1 and high == n else ""
        _expect(
            low >= 0 and high < n, f"`edge_index` to hold ids in 0..{n - 1}", f"{low}..{high}", hint
        )
    for name, length in (
        ("x", n),
        ("y", n),
        ("graph_ids", n),
        ("edge_weight", edges.shape[1]),
    ):
        value = getattr(graph, name)
        if value is not None:
            _expect(len(value) == length, f"`{name}` to have {length} rows", len(value))
    _check_values(graph)
    if graph.graph_ids is not None:
        first, second = graph.graph_ids[edges]
        _expect(
            graph.graph_ids.dtype == torch.int64 and int(graph.graph_ids.min()) >= 0,
            "`graph_ids` to be 0, 1, ... as int64",
            f"{graph.graph_ids.dtype} from {graph.graph_ids.min()}",
        )
        crossing = first != second
        _expect(
            not bool(crossing.any()),
            "each edge to stay inside one graph of `graph_ids`",
            f"{int(crossing.sum())} that do not",
        )
    for name, values in {"ids": graph.ids, **graph.columns}.items():
        _expect(len(values) == n, f"`{name}` to have {n} entries", len(values))
    ratios = graph.ratios
    if ratios is not None:
        inside = len(ratios) == 3 and all(0 <= share <= 1 for share in ratios)
        _expect(
            inside and sum(ratios) < 1 + 1e-9,
            "`ratios` to be three shares in 0..1 that add up to 1 at most",
            ratios,
        )
    for part, nodes in (graph.split or {}).items():
        _expect(part in PARTS, f"parts of `split` among {PARTS}", repr(part))
        _expect(_inside(nodes, n), f"`split[{part!r}]` to hold nodes in 0..{n - 1}", "others")
    for name, pairs in (graph.links or {}).items():
        _expect(name in LINK_LISTS, f"names in `links` among {LINK_LISTS}", repr(name))
        _expect(
            pairs.dim() == 2 and len(pairs) == 2 and not pairs.is_floating_point(),
            f"`links[{name!r}]` to be pairs of nodes, shape [2, number of pairs]",
            f"{pairs.dtype} of shape {list(pairs.shape)}",
        )
        _expect(_inside(pairs, n), f"`links[{name!r}]` to hold nodes in 0..{n - 1}", "others")
    if graph.table is not None:
        _expect(len(graph.table) == n, f"`table` to have {n} rows", len(graph.table))


def _range(graph: Graph) -> tuple[int, int]:
    """The smallest and the largest node of the edges; some edges are looked at at a time."""
    low, high = [], []
    for block in torch.split(graph.edge_index, 1 << 24, dim=1):
        least, most = block.aminmax()
        low.append(int(least))
        high.append(int(most))
        graph.release()
    return min(low), max(high)


def _inside(nodes: Tensor, n: int) -> bool:
    return nodes.numel() == 0 or (int(nodes.min()) >= 0 and int(nodes.max()) < n)


def _check_values(graph: Graph) -> None:
    x, y, weight = graph.x, graph.y, graph.edge_weight
    if x is not None:
        _expect(
            x.dim() == 2
            and x.dtype == torch.float32
            and x.layout in (torch.strided, torch.sparse_csr),
            "`x` to be a float32 matrix, dense or CSR",
            f"{x.dtype}, {x.layout}, shape {list(x.shape)}",
        )
        _expect(
            all_finite(stored_values(x), graph.release),
            "`x` to be finite",
            "NaN or infinite values",
        )
        _expect(
            has_sorted_rows(x),
            "the columns of each row of a CSR `x` to be sorted",
            "rows that are not",
        )
        names = graph.feature_names
        _expect(
            names is None or len(names) == x.shape[1],
            f"{x.shape[1]} feature names",
            names and len(names),
        )
    if y is not None:
        _expect(
            y.dim() == 1 and y.dtype == torch.int64 and bool((y >= -1).all()),
            "`y` to hold classes 0, 1, ... and -1 for unknown, as int64",
            f"{y.dtype} of shape {list(y.shape)}",
        )
        _expect(
            graph.class_names is None or int(y.max()) < len(graph.class_names),
            "a name for each class",
            graph.class_names,
        )
    if weight is not None:
        _expect(
            all_finite(weight) and bool((weight > 0).all()),
            "`edge_weight` to be positive and finite",
            "other values",
        )
