"""The data sets of this package, and how one is loaded by name."""

from __future__ import annotations

import contextlib
import os
import shutil
import tomllib
from pathlib import Path

import numpy as np

from hgcn.data.datasets.dataset import Dataset, Datasets
from hgcn.data.datasets.download import cache_folder, download, writable
from hgcn.data.datasets.folder import write_folder
from hgcn.data.datasets.ogb import ARXIV, COLLAB, PRODUCTS, Benchmark
from hgcn.data.datasets.simulate import RATIOS, disease, disease_m
from hgcn.data.graph import Graph
from hgcn.data.reading.arrays import load_array
from hgcn.data.reading.folder import folder_fields, holds_edges
from hgcn.errors import DataError
from hgcn.locks import locked
from hgcn.text import one_of

SOURCES = Path(__file__).with_name("sources.toml")
PRESETS = Path(__file__).with_name("presets")
SERVER = "https://raw.githubusercontent.com"

AIRPORTS = ("openflights_id",)
_LINK, _BOTH = ("link",), ("link", "node")
_TREE = ("link", "hierarchy")
_PLANETOID = ("none stated (code: MIT)", "kimiyoung/planetoid")
_HGCN = "HazyResearch/hgcn"
_ODBL = ("ODbL 1.0 (OpenFlights)", _HGCN)
_SIMULATED = ("MIT (this package)", "simulated")
_CONES = ("WordNet 3.0", "dalab/hyperbolic_cones")
_SEAL = ("none stated", "Zhang and Chen 2018")
_OGB = "snap-stanford/ogb"
_LOCAL = ("Read from HGCN_DATA: no address of plain files is known.",)
_POSITION = ("latitude/90", "longitude/180", "altitude in feet/3000")
_AIRPORT = (*_POSITION, "log10(GDP per head)/7")
_POPULATION = ("under 10 million", "10 to 100 million", "100 to 1000 million", "over 1000 million")
_SICK = ("healthy", "infected")
_SECTIONS = (
    "admin", "cli-mono", "comm", "database", "debug", "devel", "doc", "editors", "education",
    "electronics", "embedded", "fonts", "games", "gnome", "gnu-r", "gnustep", "golang", "graphics",
    "hamradio", "haskell", "httpd", "interpreters", "introspection", "java", "javascript", "kde",
    "kernel", "libdevel", "libs", "lisp", "localization", "mail", "math", "metapackages", "misc",
    "net", "news", "ocaml", "oldlibs", "otherosfs", "perl", "php", "python", "ruby", "rust",
    "science", "shells", "sound", "tasks", "tex", "text", "utils", "vcs", "video", "web", "x11",
    "xfce", "zope",
)  # fmt: skip
_FROM_THE_ROOT = ("Nodes are numbered from the root: the smaller one is the hypernym.",)

# The names of classes are known by their sizes in the original data.
_ENTRIES = (
    Dataset(
        "cora", "citations among papers on machine learning",
        2708, 5278, 1433, 7, 1, *_PLANETOID, _BOTH, 4.0,
        folder="cora", presets=PRESETS,
        class_names=(
            "theory", "reinforcement learning", "genetic algorithms", "neural networks",
            "probabilistic methods", "case based", "rule learning",
        ),
    ),
    Dataset(
        "citeseer", "citations among papers on computer science",
        3327, 4552, 3703, 6, 1, *_PLANETOID, _BOTH, 6.5,
        folder="citeseer", presets=PRESETS,
        class_names=("AI", "ML", "IR", "DB", "agents", "HCI"),
        notes=("15 nodes have neither features nor a label (-1) and are in no split.",),
    ),
    Dataset(
        "pubmed", "citations among papers on diabetes",
        19717, 44324, 500, 3, 1, *_PLANETOID, _BOTH, 4.5,
        folder="pubmed", presets=PRESETS, class_names=(),
    ),
    Dataset(
        "airport", "flights; class: population of the country",
        3188, 18630, 4, 4, 1, *_ODBL, _BOTH, 2.0,
        folder="airport", presets=PRESETS, ids=AIRPORTS,
        class_names=_POPULATION, feature_names=_AIRPORT,
        notes=(
            "Population is unknown for 200 airports and GDP for 115; the source puts 1.0 there.",
            "Class and GDP are the same for all airports of a country.",
        ),
    ),
    Dataset(
        "airport_lp", "airport with population as a fifth feature",
        3188, 18630, 5, 4, 1, *_ODBL, _LINK, 2.0,
        folder="airport", presets=PRESETS, ids=AIRPORTS,
        instead={"features": "features_lp.npy"},
        class_names=_POPULATION, feature_names=(*_AIRPORT, "log10(population)/7"),
        notes=("The class is a function of the fifth feature: do not classify with it.",),
    ),
    Dataset(
        "disease", "simulated epidemic on a tree",
        1044, 1043, 1000, 2, 1, *_SIMULATED, _BOTH, 0.0,
        load=disease, presets=PRESETS, ratios=RATIOS,
    ),
    Dataset(
        "disease_m", "simulated epidemics on 91 trees",
        43193, 43102, 1000, 2, 91, *_SIMULATED, _BOTH, 0.0,
        load=disease_m, presets=PRESETS,
    ),
    Dataset(
        "disease_lp", "epidemic tree released with the paper",
        2665, 2664, 11, 2, 1, "none stated", _HGCN, _BOTH, 0.0,
        folder="disease_lp", presets=PRESETS, class_names=_SICK, ratios=RATIOS,
        notes=("The last feature is the position of the node in a drawing of the tree.",),
    ),
    Dataset(
        "twitch", "friends on Twitch in seven countries; class: explicit language",
        36890, 492575, 3170, 2, 7, "GPL-3.0 (MUSAE)", "CUAI/Non-Homophily-Large-Scale",
        ("node",), 1.5,
        folder="twitch", presets=PRESETS,
        class_names=("no explicit language", "explicit language"),
    ),
    Dataset(
        "tissue_ppi", "protein interactions in nine brain tissues",
        16985, 217281, 0, 0, 9, "MIT", "mims-harvard/ohmnet", _LINK, 2.0,
        folder="tissue_ppi", presets=PRESETS,
        # A gene occurs in several tissues.
        columns={"gene": "gene_ids.npy"}, ids=("graph", "gene"),
        notes=("Tissues share genes and interactions: a model must not see the gene.",),
    ),
    Dataset(
        "wordnet_mammal", "hypernyms of the mammals of WordNet, direct ones",
        1180, 1180, 0, 0, 1, *_CONES, _TREE, 1.0,
        folder="wordnet_mammal", presets=PRESETS, ids=("synset",), notes=_FROM_THE_ROOT,
    ),
    Dataset(
        "wordnet_mammal_closure", "hypernyms of the mammals of WordNet, all of them",
        1180, 6540, 0, 0, 1, *_CONES, _LINK, 1.0,
        folder="wordnet_mammal", presets=PRESETS, ids=("synset",), notes=_FROM_THE_ROOT,
        instead={"edges": "closure.csv"},
    ),
    Dataset(
        "wordnet_noun", "hypernyms of the nouns of WordNet, direct ones",
        82115, 84427, 0, 0, 1, "WordNet 3.0", "WordNet", _TREE, 4.5,
        folder="wordnet_noun", presets=PRESETS, notes=(*_FROM_THE_ROOT, *_LOCAL),
    ),
    Dataset(
        "openflights", "flights, from the raw tables of 2014",
        3214, 18858, 3, 0, 1, "ODbL 1.0", "jpatokal/openflights", _LINK, 2.0,
        folder="openflights", presets=PRESETS, ids=AIRPORTS, feature_names=_POSITION,
    ),
    Dataset(
        "email_enron", "who wrote to whom at Enron",
        36692, 183831, 0, 0, 1, "none stated (SNAP)", "jongwook/graphdb-benchmarks", _LINK, 2.0,
        folder="email_enron", presets=PRESETS,
    ),
    Dataset(
        "usair", "airlines of the US",
        332, 2126, 0, 0, 1, *_SEAL, _LINK, 1.0,
        folder="usair", presets=PRESETS, notes=_LOCAL,
    ),
    Dataset(
        "netscience", "co-authors in network science",
        1461, 2742, 0, 0, 1, *_SEAL, _LINK, 2.5,
        folder="netscience", presets=PRESETS, notes=_LOCAL,
    ),
    Dataset(
        "yeast", "protein interactions of yeast",
        2375, 11693, 0, 0, 1, *_SEAL, _LINK, 3.5,
        folder="yeast", presets=PRESETS, notes=_LOCAL,
    ),
    Dataset(
        "power", "the power grid of the US",
        4941, 6594, 0, 0, 1, *_SEAL, _LINK, 10.0,
        folder="power", presets=PRESETS, notes=_LOCAL,
    ),
    Dataset(
        "debian", "packages of Debian 12 and what they depend on; class: section",
        63436, 264054, 1024, 58, 1, "those of the packages", "Debian", _BOTH, 1.5,
        folder="debian", presets=PRESETS, ids=("name",), class_names=_SECTIONS,
        notes=("Features are the words of the one-line description, hashed.", *_LOCAL),
    ),
    Dataset(
        "ogbn-arxiv", "citations among papers of arXiv (OGB)",
        169343, 0, 128, 40, 1, "ODC-BY (OGB)", _OGB, ("node",),
        load=lambda: ARXIV.load(data_folders()), here=lambda: _has(ARXIV), presets=PRESETS,
    ),
    Dataset(
        "ogbn-products", "products that are bought together (OGB)",
        2449029, 0, 100, 47, 1, "Amazon licence (OGB)", _OGB, ("node",),
        load=lambda: PRODUCTS.load(data_folders()), here=lambda: _has(PRODUCTS), presets=PRESETS,
    ),
    Dataset(
        "ogbl-collab", "authors who work together (OGB)",
        235868, 0, 128, 0, 1, "ODC-BY (OGB)", _OGB, _LINK,
        load=lambda: COLLAB.load(data_folders()), here=lambda: _has(COLLAB), presets=PRESETS,
    ),
)  # fmt: skip

DATASETS = Datasets("data set", {entry.name: entry for entry in _ENTRIES})
"""All data sets by name; ``DATASETS.register("mine", Dataset("mine", ...))`` adds one."""


def load_dataset(
    name: str, *, directed: bool | None = None, progress: bool = True, server: str = SERVER
) -> Graph:
    """A data set by name.

    It is made by its own function, if it has one. Else it is read from the folder ``HGCN_DATA`` if
    that has it, else from the user's cache (of :mod:`hgcn.data.datasets.download`), else
    downloaded, checked, and put in the cache.

    Example:
        >>> load_dataset("disease")
        Graph('disease': 1,044 nodes, 1,043 edges, 1,000 features, 2 classes)

    Args:
        name: one of :data:`DATASETS`.
        directed: keep the direction in which edges are written in the files.
        progress: show a bar while downloading, where the terminal can.
        server: the address to download from: GitHub, or a mirror with the same paths.
    """
    if name not in DATASETS:
        raise DataError(one_of("name", name, DATASETS))
    entry = DATASETS[name]
    if entry.load is None:
        found = find_dataset(name) or _fetch(entry, progress, server)
        graph = _read(entry, found, directed)
    else:
        graph = entry.load()
        if not isinstance(graph, Graph):
            raise DataError(
                f"Expected the function of the data set {name!r} to return a Graph, got "
                f"{type(graph).__name__}. Does it call hgcn.data.as_graph at last?"
            )
        own = {key: value for key, value in entry.fields().items() if getattr(graph, key) != value}
        graph = graph.replace(**own) if own else graph
    for what in ("nodes", "edges", "features", "classes", "graphs"):
        known, found = getattr(entry, what), getattr(graph, f"num_{what}")
        if known and found != known:
            raise DataError(
                f"Expected the data set {name!r} to have {known:,} {what}, as its entry in the "
                f"table says, got {found:,}. Is a file damaged or missing?"
            )
    return graph


def is_present(name: str) -> bool:
    """Whether a data set can be loaded without a download.

    Example:
        >>> is_present("disease")  # it is simulated
        True
    """
    entry = DATASETS.get(name)
    if entry is not None and entry.here is not None:
        return entry.here()
    return (entry is not None and entry.load is not None) or find_dataset(name) is not None


def _has(benchmark: Benchmark) -> bool:
    return benchmark.folder(data_folders()) is not None


def find_dataset(name: str) -> Path | None:
    """The folder of a data set on this machine; None if it has none or needs none."""
    entry = DATASETS.get(name)
    folder = name if entry is None else entry.folder
    if folder is None:
        return None
    roots = [Path()] if isinstance(folder, Path) else data_folders()
    found = (root / folder for root in roots)
    return next((path for path in found if holds_edges(path)), None)


def data_folders() -> list[Path]:
    """The folders that hold data sets, in the order in which they are searched."""
    folders = [cache_folder() / "datasets"]
    if own := os.environ.get("HGCN_DATA"):
        folders.insert(0, Path(os.path.expanduser(own)))  # noqa: PTH111
        # Unlike those of Path, these functions raise nothing for absurd names.
        if not os.path.isdir(folders[0]):  # noqa: PTH112
            raise DataError(f"Expected HGCN_DATA to be a folder, got {own!r}, which is not there.")
    return folders


def _read(entry: Dataset, folder: Path, directed: bool | None = None) -> Graph:
    fields = folder_fields(
        folder, directed=directed, instead=entry.instead, num_nodes=entry.nodes or None
    )
    columns = fields["columns"]
    columns |= {column: load_array(folder / file) for column, file in entry.columns.items()}
    for column, file in entry.columns.items():
        shape = columns[column].shape
        if shape != (fields["num_nodes"],):
            raise DataError(
                f"Expected a number for each of {fields['num_nodes']:,} nodes, got the shape "
                f"{list(shape)} ({folder / file})."
            )
    # Names of the table replace those that were found, and would hide how many these are.
    found = fields.get("class_names")
    if entry.classes and found is not None and len(found) != entry.classes:
        raise DataError(
            f"Expected the data set {entry.name!r} to have {entry.classes} classes, got "
            f"{len(found)} ({folder}). Is a file damaged?"
        )
    for column in entry.ids:
        if column not in columns:
            wrong = one_of("ids", column, columns)
            if not columns:
                wrong = f"Expected a column {column!r} of ids, got no columns: is a file missing?"
            raise DataError(f"{wrong} (data set {entry.name!r}, {folder})")
    if len(entry.ids) == 1:
        fields["ids"] = columns[entry.ids[0]]
    elif entry.ids:
        rows = zip(*(columns[column].tolist() for column in entry.ids), strict=True)
        fields["ids"] = np.array([":".join(map(str, row)) for row in rows])
    if entry.ids and (len(np.unique(fields["ids"])) < len(fields["ids"]) or "" in fields["ids"]):
        raise DataError(
            f"Expected an id of its own for each node of the data set {entry.name!r}, got one "
            f"twice, or none ({folder}). Is a file damaged?"
        )
    if entry.ids == AIRPORTS and "name" not in columns:
        fields["columns"] = _airport_names(columns[AIRPORTS[0]].tolist()) | columns
    return Graph(**(fields | entry.fields()))


def _airport_names(ids: list[int]) -> dict[str, np.ndarray]:
    """What people call airports, if the table of OpenFlights is among the data sets."""
    from hgcn.data.datasets.released import FAULTS, airport_texts

    for root in data_folders():
        # Pictures are not worth an error.
        with contextlib.suppress(*FAULTS):
            return airport_texts(root / "openflights", ids)
    return {}


def _fetch(entry: Dataset, progress: bool, server: str) -> Path:
    # Parsers of old formats are needed only here.
    from hgcn.data.datasets.released import parse

    with SOURCES.open("rb") as file:
        sources: dict[str, dict[str, str]] = tomllib.load(file)
    name = str(entry.folder)
    if name not in sources:
        raise DataError(
            f"Expected the data set {entry.name!r} in the folder {name!r} with a file edges.csv, "
            "got none, and there is nothing to download: no address of plain files is known. "
            "Is the path right, and HGCN_DATA the folder above it?"
        )
    cache = cache_folder()
    folder, raw = cache / "datasets" / name, cache / "raw" / name
    with writable(folder.parent), locked(folder.parent / f"{name}.lock"):
        if not holds_edges(folder):  # another process may have been first
            for path, sha256 in sources[name].items():
                target = raw / path.rsplit("/", 1)[-1]
                download(f"{server}/{path}", target, sha256=sha256, progress=progress)
            write_folder(parse(name, raw), folder)
            shutil.rmtree(raw)
    return folder
