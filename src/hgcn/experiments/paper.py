"""The numbers printed in the paper: test scores in per cent, and statistics of its data."""

from __future__ import annotations

METHODS = (
    "euc", "hyp", "euc-mixed", "hyp-mixed", "mlp", "hnn", "gcn", "gat", "sage", "sgc", "hgcn",
)  # fmt: skip
"""The rows of Table 1."""

TITLES = {
    "euc": "Euc", "hyp": "Hyp", "euc-mixed": "Euc-Mixed", "hyp-mixed": "Hyp-Mixed", "mlp": "MLP",
    "hnn": "HNN", "gcn": "GCN", "gat": "GAT", "sage": "SAGE", "sgc": "SGC", "hgcn": "HGCN",
    "disease": "Disease", "disease_m": "Disease-M", "ppi": "PPI", "airport": "Airport",
    "pubmed": "PubMed", "cora": "Cora", "citeseer": "CiteSeer", "twitch": "Twitch",
    "debian": "Debian",
}  # fmt: skip
"""The names of models and data sets, those of the paper where it has them."""

COLUMNS = (
    ("disease", "link"), ("disease", "node"), ("disease_m", "link"), ("disease_m", "node"),
    ("ppi", "link"), ("ppi", "node"), ("airport", "link"), ("airport", "node"),
    ("pubmed", "link"), ("pubmed", "node"), ("cora", "link"), ("cora", "node"),
)  # fmt: skip

_ROWS = {
    "euc": "59.8 32.5 - - - - 92.0 60.9 83.3 48.2 82.5 23.8",
    "hyp": "63.5 45.5 - - - - 94.5 70.2 87.5 68.5 87.6 22.0",
    "euc-mixed": "49.6 35.2 - - - - 91.5 68.3 86.0 63.0 84.4 46.1",
    "hyp-mixed": "55.1 56.9 - - - - 93.3 69.6 83.8 73.9 85.6 45.9",
    "mlp": "72.6 28.8 55.3 55.9 67.8 55.3 89.8 68.6 84.1 72.4 83.1 51.5",
    "hnn": "75.1 41.0 60.9 56.2 72.9 59.3 90.8 80.5 94.9 69.8 89.0 54.6",
    "gcn": "64.7 69.7 66.0 59.4 77.0 69.7 89.3 81.4 91.1 78.1 90.4 81.3",
    "gat": "69.8 70.4 69.5 62.5 76.8 70.5 90.5 81.5 91.2 79.0 93.7 83.0",
    "sage": "65.9 69.1 67.4 61.3 78.1 69.1 90.4 82.1 86.2 77.4 85.5 77.9",
    "sgc": "65.1 69.5 66.2 60.5 76.1 71.3 89.8 80.6 94.1 78.9 91.5 81.0",
    "hgcn": "90.8 74.5 78.1 72.2 84.5 74.6 96.4 90.6 96.3 80.3 92.9 79.9",
}

TABLE1: dict[tuple[str, str, str], float] = {
    (row, *column): float(text)
    for row, line in _ROWS.items()
    for column, text in zip(COLUMNS, line.split(), strict=True)
    if text != "-"
}
"""Table 1: from model, data set and task to ROC AUC (links) or F1 (nodes)."""

ABLATION: dict[tuple[str, str], float] = {
    ("HGCN", "disease"): 78.4,
    ("HGCN-Att_o", "disease"): 80.9,
    ("HGCN-Att", "disease"): 82.0,
    ("HGCN-C", "disease"): 89.1,
    ("HGCN-Att-C", "disease"): 90.8,
    ("HGCN", "airport"): 91.8,
    ("HGCN-Att_o", "airport"): 92.3,
    ("HGCN-Att", "airport"): 92.5,
    ("HGCN-C", "airport"): 94.9,
    ("HGCN-Att-C", "airport"): 96.4,
}
"""Table 2. A name tells what is added: attention (at the origin: Att_o), trained curvature (C)."""

DELTA = {"disease": 0.0, "disease_m": 0.0, "ppi": 1.0, "airport": 1.0, "pubmed": 3.5, "cora": 11.0}
"""Gromov's delta as printed. For Cora it cannot be: half the diameter is 9.5."""

DATASETS = {
    "cora": (2708, 5429, 7, 1433),
    "pubmed": (19717, 88651, 3, 500),
    "ppi": (17598, 5429, 4, 17),
    "airport": (3188, 18631, 4, 4),
    "disease": (1044, 1043, 2, 1000),
    "disease_m": (43193, 43102, 2, 1000),
}
"""Nodes, edges, classes and features as printed."""

SEAL = {
    "usair": "96.6 ± 0.7",
    "netscience": "98.9 ± 0.5",
    "yeast": "97.9 ± 0.5",
    "power": "87.6 ± 1.6",
}
"""ROC AUC that SEAL published for its graphs (Zhang and Chen, NeurIPS 2018), not the paper."""
