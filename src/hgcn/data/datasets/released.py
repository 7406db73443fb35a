"""Makes plain folders from the files of public repositories, as their authors left them.

Each parser takes the folder of the raw files and returns contents by file name (see ``folder``).
"""

from __future__ import annotations

import csv
import io
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hgcn.data.datasets.folder import Files
from hgcn.data.datasets.unpickle import load_pickle
from hgcn.data.reading.arrays import load_array
from hgcn.data.reading.bounds import load_json
from hgcn.data.reading.lines import read_bytes
from hgcn.errors import DataError

TISSUES = (
    "cerebellum",
    "frontal_lobe",
    "medulla_oblongata",
    "midbrain",
    "occipital_lobe",
    "parietal_lobe",
    "pons",
    "substantia_nigra",
    "temporal_lobe",
)
COUNTRIES = ("DE", "ENGB", "ES", "FR", "PTBR", "RU", "TW")
TWITCH_FEATURES = 3170
# Columns of the table airports.dat of OpenFlights, and what the features divide them by.
AIRPORT_COLUMNS = {
    "name": 1,
    "city": 2,
    "iata": 4,
    "country": 3,
    "timezone": 11,
    "latitude": 6,
    "longitude": 7,
    "altitude_ft": 8,
}
AIRPORT_TEXTS = ("name", "city", "iata", "country")
UNITS = {"latitude": 90, "longitude": 180, "altitude_ft": 3000}
FAULTS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError, EOFError, OSError, UserWarning, zlib.error, csv.Error,
)  # fmt: skip
"""What the parsers raise on files that are not what they should be."""


def parse(name: str, raw: Path) -> Files:
    """The plain files of a data set, from the folder of its raw files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # NumPy only warns of a file of nothing
            return PARSERS[name](raw)
    except DataError:
        raise
    except FAULTS as error:
        raise DataError(
            f"Expected the raw files of {name!r} in {raw}, got others: "
            f"{type(error).__name__}: {error}"
        ) from error


def undirected(pairs: np.ndarray) -> np.ndarray:
    """Each pair of nodes once, the smaller first, in order; self-loops are left out."""
    ordered = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1)
    return np.unique(ordered[ordered[:, 0] != ordered[:, 1]], axis=0)


def planetoid(raw: Path, *, name: str) -> Files:
    """A citation network as Yang, Cohen and Salakhutdinov (2016) published it.

    ``allx`` holds the first nodes. Row k of ``tx`` is the node on line k of ``test.index``; nodes
    of that range that are missing there (in citeseer) have neither features nor a label.
    """
    from scipy import sparse

    raw_file = {
        suffix: load_pickle(raw / f"ind.{name}.{suffix}")
        for suffix in ("y", "ally", "ty", "allx", "tx", "graph")
    }
    test = np.loadtxt(raw / f"ind.{name}.test.index", np.int64)
    known = len(raw_file["ally"])
    if test.min() < 0 or test.max() >= 2 * (known + len(test)):
        raise DataError(f"Expected numbers of nodes in ind.{name}.test.index, got {test.max()}.")
    nodes = max(known, int(test.max()) + 1)
    labels = np.full(nodes, -1)
    labels[:known] = raw_file["ally"].argmax(axis=1)
    labels[test] = raw_file["ty"].argmax(axis=1)

    shape = (nodes, raw_file["allx"]["_shape"][1])
    rows, columns, values = [], [], []
    for suffix, nodes_of_rows in (("allx", np.arange(known)), ("tx", test)):
        matrix = raw_file[suffix]
        rows.append(np.repeat(nodes_of_rows, np.diff(matrix["indptr"])))
        columns.append(matrix["indices"])
        values.append(matrix["data"])
    triples = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    features = sparse.csr_matrix(triples, shape, dtype=np.float32)
    features.sort_indices()

    lists = raw_file["graph"]
    source = np.repeat(list(lists), [len(found) for found in lists.values()])
    target = np.concatenate([np.asarray(found, np.int64) for found in lists.values()])
    train = len(raw_file["y"])
    return {
        "edges.csv": undirected(np.stack((source, target), axis=1)),
        "features.npz": features,
        "labels.npy": labels,
        "split.json": {
            "protocol": "planetoid public split",
            "train": list(range(train)),
            "val": list(range(train, train + 500)),
            "test": np.sort(test).tolist(),
        },
    }


def airport(raw: Path) -> Files:
    """The flight network of Chami et al. (2019), with names from OpenFlights.

    The stored graph has five numbers a node. The first four are the features of node
    classification; the fifth, log10(population of the country)/7, is cut into the classes.
    Coordinates are taken from these numbers; codes and countries from OpenFlights, which has
    changed a few of them since.
    """
    graph = load_pickle(raw / "airport.p")
    ids = list(graph["_node"])
    number = {airport_id: node for node, airport_id in enumerate(ids)}
    features = np.array([graph["_node"][airport_id]["feat"] for airport_id in ids])
    pairs = [(number[a], number[b]) for a, ends in graph["_adj"].items() for b in ends]
    coordinates = {
        column: [f"{value:.10g}" for value in features[:, at] * unit]
        for at, (column, unit) in enumerate(UNITS.items())
    }
    return {
        "edges.csv": undirected(np.array(pairs)),
        "features.npy": features[:, :4],
        "features_lp.npy": features,
        "labels.npy": np.digitize(features[:, 4], [7 / 7, 8 / 7, 9 / 7]),
        "nodes.csv": {
            "node": list(map(str, range(len(ids)))),
            "openflights_id": list(map(str, ids)),
            **airport_texts(raw, ids),
            **coordinates,
        },
    }


def airport_texts(raw: Path, ids: Iterable[Any]) -> dict[str, np.ndarray]:
    """Names of airports and more, from the folder of the table of OpenFlights."""
    table, unknown = _airports(raw), dict.fromkeys(AIRPORT_TEXTS, "")
    rows = [table.get(str(key), unknown) for key in ids]
    return {column: np.array([row[column] for row in rows]) for column in AIRPORT_TEXTS}


def _airports(raw: Path) -> dict[str, dict[str, str]]:
    with (raw / "airports.dat").open(encoding="utf-8", newline="") as file:
        return {
            row[0]: {name: row[at].replace("\\N", "") for name, at in AIRPORT_COLUMNS.items()}
            for row in csv.reader(file)
        }


def openflights(raw: Path) -> Files:
    """The flight network of the raw OpenFlights tables.

    Its nodes are the airports with a known id in both tables, by first appearance in the routes.
    """
    table = _airports(raw)
    number: dict[str, int] = {}
    pairs = []
    with (raw / "routes.dat").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            ends = row[3], row[5]
            if all(end in table for end in ends):
                pairs.append([number.setdefault(end, len(number)) for end in ends])
    nodes = {column: [table[key][column] for key in number] for column in AIRPORT_COLUMNS}
    return {
        "edges.csv": undirected(np.array(pairs)),
        "features.npy": np.stack(
            [np.array(nodes[column], dtype=np.float64) / unit for column, unit in UNITS.items()], 1
        ),
        "nodes.csv": {
            "node": list(map(str, range(len(number)))),
            "openflights_id": list(number),
            **nodes,
        },
    }


def disease_lp(raw: Path) -> Files:
    """The tree that the code of Chami et al. (2019) takes for link prediction."""
    return {
        "edges.csv": np.loadtxt(raw / "disease_lp.edges.csv", np.int64, delimiter=","),
        "features.npy": load_array(raw / "disease_lp.feats.npz").toarray(),
        "labels.npy": load_array(raw / "disease_lp.labels.npy").astype(np.int64),
    }


def twitch(raw: Path) -> Files:
    """Seven friendship networks of Twitch (Rozemberczki, Allen and Sarkar, 2019)."""
    from scipy import sparse

    edges, labels, graph_ids, features = [], [], [], []
    first = 0
    for graph, country in enumerate(COUNTRIES):
        with (raw / f"musae_{country}_target.csv").open(encoding="utf-8", newline="") as file:
            mature = {int(row["new_id"]): row["mature"] == "True" for row in csv.DictReader(file)}
        nodes = len(mature)
        labels.append(np.array([mature[node] for node in range(nodes)], np.int64))
        graph_ids.append(np.full(nodes, graph))
        path = raw / f"musae_{country}_edges.csv"
        pairs = np.loadtxt(path, np.int64, delimiter=",", skiprows=1)
        edges.append(undirected(pairs) + first)
        content = load_json(raw / f"musae_{country}_features.json")
        lists = [sorted(set(content[str(node)])) for node in range(nodes)]
        crow = np.concatenate(([0], np.cumsum([len(found) for found in lists])))
        columns = np.array([column for found in lists for column in found], np.int32)
        ones = np.ones(len(columns), np.float32)
        features.append(sparse.csr_matrix((ones, columns, crow), (nodes, TWITCH_FEATURES)))
        first += nodes
    return {
        "edges.csv": np.concatenate(edges),
        "features.npz": sparse.vstack(features, format="csr"),
        "labels.npy": np.concatenate(labels),
        "graph_ids.npy": np.concatenate(graph_ids),
        "split.json": {
            "protocol": "by graph: train DE, validate ENGB, test the other five (cross-graph split"
            " used by Wu et al., ICLR 2022); not part of the data source",
            "graph_names": list(COUNTRIES),
            "train_graphs": [0],
            "val_graphs": [1],
            "test_graphs": [2, 3, 4, 5, 6],
        },
    }


def tissue_ppi(raw: Path) -> Files:
    """Protein interactions in nine tissues of the human brain (Zitnik and Leskovec, 2017)."""
    edges, genes, graph_ids = [], [], []
    first = 0
    for graph, tissue in enumerate(TISSUES):
        pairs = np.loadtxt(raw / f"{tissue}.edgelist", np.int64)
        found, ends = np.unique(pairs, return_inverse=True)
        edges.append(undirected(ends) + first)
        genes.append(found)
        graph_ids.append(np.full(len(found), graph))
        first += len(found)
    return {
        "edges.csv": np.concatenate(edges),
        "gene_ids.npy": np.concatenate(genes),
        "graph_ids.npy": np.concatenate(graph_ids),
        "split.json": {
            "protocol": "by graph, chosen by us: train 7 tissues, validate pons, "
            "test parietal_lobe; no official split",
            "graph_names": list(TISSUES),
            "train_graphs": [0, 1, 2, 3, 4, 7, 8],
            "val_graphs": [6],
            "test_graphs": [5],
        },
    }


def wordnet_mammal(raw: Path) -> Files:
    """The hypernyms of the mammals of WordNet: the direct ones, and all of them (the closure).

    Nodes are numbered breadth first from the root, those of one depth by name.
    """
    lines = (raw / "mammal_closure.tsv").read_text("utf-8").split("\n")
    pairs = {tuple(line.split("\t")) for line in lines if line}
    above: dict[str, set[str]] = {}
    for child, ancestor in pairs:
        above.setdefault(ancestor, set())
        above.setdefault(child, set()).discard(child)
        if child != ancestor:
            above[child].add(ancestor)
    # A direct parent is an ancestor that is not above another ancestor.
    parents = {
        child: found - set[str]().union(*(above[ancestor] for ancestor in found))
        for child, found in above.items()
    }
    below: dict[str, list[str]] = {name: [] for name in above}
    for child in sorted(parents):
        for parent in parents[child]:
            below[parent].append(child)
    depth = {name: 0 for name in sorted(above) if not above[name]}
    queue = deque(depth)
    while queue:
        parent = queue.popleft()
        for child in below[parent]:
            if child not in depth:
                depth[child] = depth[parent] + 1
                queue.append(child)
    names = sorted(depth, key=lambda name: (depth[name], name))
    number = {name: node for node, name in enumerate(names)}

    def numbered(relation: Mapping[str, set[str]]) -> np.ndarray:
        found = [(number[child], number[end]) for child, ends in relation.items() for end in ends]
        return np.array(sorted(found), dtype=np.int64)

    return {
        "edges.csv": numbered(parents),
        "closure.csv": numbered(above),
        "nodes.csv": {
            "node": list(map(str, range(len(names)))),
            "synset": names,
            "depth": [str(depth[name]) for name in names],
        },
    }


def email_enron(raw: Path) -> Files:
    """Who wrote to whom at Enron (SNAP)."""
    text = read_bytes(raw / "email-Enron.txt.gz").decode()
    pairs = np.loadtxt(io.StringIO(text), np.int64)
    ends = np.unique(pairs, return_inverse=True)[1]
    return {"edges.csv": undirected(ends)}


PARSERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    **{name: partial(planetoid, name=name) for name in ("cora", "citeseer", "pubmed")},
    "airport": airport,
    "disease_lp": disease_lp,
    "email_enron": email_enron,
    "openflights": openflights,
    "tissue_ppi": tissue_ppi,
    "twitch": twitch,
    "wordnet_mammal": wordnet_mammal,
}
