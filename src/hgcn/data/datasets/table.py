"""The data sets by name: what they are, where they come from, and how to get one."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hgcn.data.datasets.download import cache_folder, download, locked, writable
from hgcn.data.datasets.folder import read_graph, write_folder
from hgcn.data.datasets.simulate import disease, disease_m
from hgcn.data.graph import Graph
from hgcn.errors import DataError
from hgcn.text import one_of

SOURCES = Path(__file__).with_name("sources.toml")
SERVER = "https://raw.githubusercontent.com"
LP, NC = "lp", "nc"


@dataclass(frozen=True)
class Dataset:
    """A line of the table of data sets.

    Args:
        name: what :func:`load_dataset` takes.
        description: one line.
        nodes: number of nodes.
        edges: number of edges, each counted once, without self-loops.
        features: number of features; 0 for none.
        classes: number of classes; 0 for none.
        graphs: number of graphs; two or more are split by graph.
        licence: of the data, as far as their source states one.
        source: the repository they come from, or "simulated".
        tasks: "lp" (link prediction), "nc" (node classification) or both.
        delta: Gromov's hyperbolicity of the largest component, where it is known; a lower bound,
            from 20 million sampled quadruples, for pubmed, twitch and email_enron.
    """

    name: str
    description: str
    nodes: int
    edges: int
    features: int
    classes: int
    graphs: int
    licence: str
    source: str
    tasks: tuple[str, ...]
    delta: float | None = None


_PLANETOID = ("none stated (code: MIT)", "kimiyoung/planetoid")
_HGCN = "HazyResearch/hgcn"
_ENTRIES = (
    Dataset("cora", "citations among papers on machine learning",
            2708, 5278, 1433, 7, 1, *_PLANETOID, (LP, NC), 4.0),
    Dataset("citeseer", "citations among papers on computer science",
            3327, 4552, 3703, 6, 1, *_PLANETOID, (LP, NC), 6.5),
    Dataset("pubmed", "citations among papers on diabetes",
            19717, 44324, 500, 3, 1, *_PLANETOID, (LP, NC), 4.5),
    Dataset("airport", "flights; class: population of the country",
            3188, 18630, 4, 4, 1, "ODbL 1.0 (OpenFlights)", _HGCN, (LP, NC), 2.0),
    Dataset("airport_lp", "airport with population as a fifth feature",
            3188, 18630, 5, 4, 1, "ODbL 1.0 (OpenFlights)", _HGCN, (LP,), 2.0),
    Dataset("disease", "simulated epidemic on a tree",
            1044, 1043, 1000, 2, 1, "MIT (this package)", "simulated", (LP, NC), 0.0),
    Dataset("disease_m", "simulated epidemics on 91 trees",
            43193, 43102, 1000, 2, 91, "MIT (this package)", "simulated", (LP, NC), 0.0),
    Dataset("disease_lp", "epidemic tree released with the paper",
            2665, 2664, 11, 2, 1, "none stated", _HGCN, (LP, NC), 0.0),
    Dataset("twitch", "friends on Twitch in seven countries; class: explicit language",
            36890, 492575, 3170, 2, 7, "GPL-3.0 (MUSAE)",
            "CUAI/Non-Homophily-Large-Scale", (NC,), 1.5),
    Dataset("tissue_ppi", "protein interactions in nine brain tissues",
            16985, 217281, 0, 0, 9, "MIT", "mims-harvard/ohmnet", (LP,), 2.0),
    Dataset("wordnet_mammal", "hypernyms of the mammals of WordNet, direct ones",
            1180, 1180, 0, 0, 1, "WordNet 3.0", "dalab/hyperbolic_cones", (LP,), 1.0),
    Dataset("wordnet_mammal_closure", "hypernyms of the mammals of WordNet, all of them",
            1180, 6540, 0, 0, 1, "WordNet 3.0", "dalab/hyperbolic_cones", (LP,), 1.0),
    Dataset("openflights", "flights, from the raw tables of 2014",
            3214, 18858, 3, 0, 1, "ODbL 1.0", "jpatokal/openflights", (LP,), 2.0),
    Dataset("email_enron", "who wrote to whom at Enron",
            36692, 183831, 0, 0, 1, "none stated (SNAP)",
            "jongwook/graphdb-benchmarks", (LP,), 2.0),
)  # fmt: skip

DATASETS: Mapping[str, Dataset] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""All data sets by name."""

_BUILT_IN: dict[str, Callable[[], Graph]] = {"disease": disease, "disease_m": disease_m}
# Two views of one folder, and the file that differs.
_VIEWS = {
    "airport_lp": ("airport", {"features.npy": "features_lp.npy"}),
    "wordnet_mammal_closure": ("wordnet_mammal", {"edges.csv": "closure.csv"}),
}


def load_dataset(name: str, *, progress: bool = True, server: str = SERVER) -> Graph:
    """A data set by name.

    It is taken from the folder ``HGCN_DATA`` if that has it, else from the user's cache (of
    :mod:`hgcn.data.datasets.download`), else downloaded, checked, and put in the cache.

    Example:
        >>> load_dataset("disease")
        Graph('disease': 1,044 nodes, 1,043 edges, 1,000 features, 2 classes)

    Args:
        name: one of :data:`DATASETS`.
        progress: show a bar while downloading, where the terminal can.
        server: where to download from, if not from GitHub: a mirror with the same paths.
    """
    if name not in DATASETS:
        raise DataError(one_of("name", name, DATASETS))
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    folder = find_dataset(name) or _fetch(_VIEWS.get(name, (name,))[0], progress, server)
    return read_graph(
        folder,
        name=name,
        num_nodes=DATASETS[name].nodes,
        instead=_VIEWS.get(name, (name, {}))[1],
        **_NAMES.get(name, {}),
        notes=_NOTES.get(name, ()),
    )


def is_present(name: str) -> bool:
    """Whether a data set can be loaded without a download."""
    return name in _BUILT_IN or find_dataset(name) is not None


def find_dataset(name: str) -> Path | None:
    """The folder of a data set on this machine; None if it has none or needs none."""
    places = [cache_folder() / "datasets"]
    if own := os.environ.get("HGCN_DATA"):
        places.insert(0, Path(own).expanduser())
        if not places[0].is_dir():
            raise DataError(f"Expected HGCN_DATA to be a folder, got {own!r}, which is not there.")
    folder, _ = _VIEWS.get(name, (name, {}))
    found = (place / folder for place in places)
    return next((path for path in found if (path / "edges.csv").is_file()), None)


def _fetch(name: str, progress: bool, server: str) -> Path:
    # Parsers of old formats are needed only here.
    from hgcn.data.datasets.released import parse

    with SOURCES.open("rb") as file:
        files: dict[str, str] = tomllib.load(file)[name]
    cache = cache_folder()
    folder, raw = cache / "datasets" / name, cache / "raw" / name
    with writable(folder.parent), locked(folder.parent / f"{name}.lock"):
        if not (folder / "edges.csv").is_file():  # another process may have been first
            for place, sha256 in files.items():
                target = raw / place.rsplit("/", 1)[-1]
                download(f"{server}/{place}", target, sha256=sha256, progress=progress)
            write_folder(parse(name, raw), folder)
            shutil.rmtree(raw)
    return folder


_PLACE = ("latitude/90", "longitude/180", "altitude in feet/3000")
_AIRPORT = (*_PLACE, "log10(GDP per head)/7")
_POPULATION = ("under 10 million", "10 to 100 million", "100 to 1000 million", "over 1000 million")
_SICK = ("healthy", "infected")
# The names of classes are known by their sizes in the original data.
_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "cora": {
        "class_names": (
            "theory",
            "reinforcement learning",
            "genetic algorithms",
            "neural networks",
            "probabilistic methods",
            "case based",
            "rule learning",
        )
    },
    "citeseer": {"class_names": ("AI", "ML", "IR", "DB", "agents", "HCI")},
    "airport": {"feature_names": _AIRPORT, "class_names": _POPULATION},
    "airport_lp": {
        "feature_names": (*_AIRPORT, "log10(population)/7"),
        "class_names": _POPULATION,
    },
    "disease_lp": {"class_names": _SICK},
    "openflights": {"feature_names": _PLACE},
    "twitch": {"class_names": ("no explicit language", "explicit language")},
}
_NOTES = {
    "citeseer": ("15 nodes have neither features nor a label (-1) and are in no split.",),
    "airport": (
        "Population is unknown for 200 airports and GDP for 115; the source puts 1.0 there.",
        "Class and GDP are the same for all airports of a country.",
    ),
    "airport_lp": ("The class is a function of the fifth feature: do not classify with it.",),
    "disease_lp": ("The last feature is the position of the node in a drawing of the tree.",),
    "tissue_ppi": ("Tissues share genes and interactions: a model must not see the gene.",),
    "wordnet_mammal": ("Nodes are numbered from the root: the smaller one is the hypernym.",),
    "wordnet_mammal_closure": (
        "Nodes are numbered from the root: the smaller one is the hypernym.",
    ),
}
