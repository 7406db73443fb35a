"""Data sets written as folders of plain files: CSV, JSON, ``.npy`` and ``.npz``, no pickles.

The layout is that of :mod:`hgcn.data.reading.folder`, which reads them.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Contents by file name. The type of a content follows from the name:
# edges.csv, closure.csv: int64 array [E, 2]; nodes.csv: dict of columns of text;
# .json: dict; .npy: array; .npz: SciPy CSR matrix.
Files = dict[str, Any]


def write_folder(files: Mapping[str, Any], folder: Path) -> None:
    """Store contents under their names; the folder appears whole or not at all."""
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, content in files.items():
            _write(content, made / name)
        made.chmod(0o755)
        if folder.is_dir():  # left by an older version, or damaged
            shutil.rmtree(folder)
        made.replace(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write(content: Any, path: Path) -> None:
    if path.suffix == ".npy":
        np.save(path, content, allow_pickle=False)
    elif path.suffix == ".npz":
        from scipy import sparse

        sparse.save_npz(path, content)
    elif path.suffix == ".json":
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")
    elif isinstance(content, np.ndarray):
        with path.open("w", encoding="utf-8", newline="\n") as file:
            np.savetxt(file, content, "%d", delimiter=",", header="source,target", comments="")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(content)
            writer.writerows(zip(*content.values(), strict=True))
