"""Names of files: of a run folder, which docs/run_folder.md describes, and of a packed run."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

CONFIG, HISTORY, METRICS = "config.toml", "history.csv", "metrics.json"
MODEL, EMBEDDINGS, ENVIRONMENT = "model.safetensors", "embeddings.parquet", "environment.json"
RESUME, LOCK, CARD = "resume.safetensors", ".lock", "README.md"
PAGE, REPORT = "disk.html", "report.html"
AUTO = "auto.json"
"""What was tried before training, of a run whose settings were chosen (:mod:`hgcn.runs.auto`)."""
SEALED = (CONFIG, METRICS, HISTORY, MODEL)
"""Files whose checksums are in environment.json, with those that not every run has."""
OPTIONAL = (AUTO,)
ENDING = ".zip"


def is_packed(source: str | Path) -> bool:
    """Whether a run is given by an address or as a zip file, rather than as a folder."""
    path = Path(source)
    return "://" in str(source) or (path.suffix.lower() == ENDING and not path.is_dir())


def name_of_packed(source: str | Path) -> Path:
    """The path of a packed run without its ending; of an address, in the present folder."""
    if "://" in str(source):
        source = PurePosixPath(urlsplit(str(source)).path).name
    return Path(source).with_suffix("")
