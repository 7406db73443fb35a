"""Runs that travel: a run folder as one zip file, written, downloaded and opened again."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hgcn import files
from hgcn.data.datasets.download import cache_folder, download, writable
from hgcn.data.reading.bounds import check_growth
from hgcn.errors import RunError
from hgcn.locks import locked
from hgcn.runs.layout import (
    CARD,
    CONFIG,
    EMBEDDINGS,
    ENDING,
    ENVIRONMENT,
    OPTIONAL,
    PAGE,
    REPORT,
    SEALED,
)

if TYPE_CHECKING:
    from hgcn.runs.run import Run

PACKED = (*SEALED, *OPTIONAL, EMBEDDINGS, PAGE, REPORT, CARD, ENVIRONMENT)
"""The files of a run that a zip file may hold."""
ADDRESS = re.compile(r"(https?://[^#\s]+)(?:#sha256=([0-9a-f]{64}))?", re.IGNORECASE)
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every file in a zip file, so that equal runs give equal files."""


def push(run: Run, target: str | Path) -> Path:
    """Write a run to a new folder or, if the name ends in ``.zip``, to one file.

    A zip file gets its checksum beside it, in the form of ``sha256sum``.
    """
    target = Path(target)
    if files.exists(target):
        raise RunError(f"Expected a new file or folder, but there is one already ({target}).")
    if target.suffix.lower() != ENDING:
        _copy(run, target)
        return target
    files.make_folder(target.parent)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        _copy(run, folder)
        with files.replacing(target) as temporary:
            _pack(folder, temporary)
    files.write_text(Path(f"{target}.sha256"), f"{files.checksum(target)}  {target.name}\n")
    return target


def _copy(run: Run, target: Path) -> None:
    """The files of a run in another folder; where they were written before, as they are there."""
    from hgcn.runs.folder import save

    if run.path is None:
        save(run, target)
        del run._kept["path"]  # the copy is handed on
        return
    files.make_folder(target)
    for name in PACKED:
        if (run.path / name).is_file():
            files.write_bytes(target / name, (run.path / name).read_bytes())


def _pack(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in PACKED:
            if (folder / name).is_file():
                entry = zipfile.ZipInfo(name, EPOCH)
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, (folder / name).read_bytes(), zipfile.ZIP_DEFLATED)


def unpack(source: str | Path) -> Path:
    """The folder of a run that is given by an address or as a zip file.

    It is in the cache folder, by the checksum of the zip file: a second call finds it there.

    Args:
        source: a zip file, or ``https://...#sha256=CHECKSUM``. What is downloaded has to have that
            checksum, so it is what its maker has published.
    """
    home = cache_folder() / "runs"
    if "://" not in str(source):
        path = Path(source)
        if not files.exists(path):
            raise RunError(f"Expected a run as a zip file, but there is none at {path}.")
        return _opened(path, files.checksum(path), home)
    match = ADDRESS.fullmatch(str(source))
    if match is None or match[2] is None:
        raise RunError(
            f"Expected an address like https://host/run.zip#sha256=CHECKSUM, got {source}. The "
            "checksum is in the file run.zip.sha256 that `Run.push` writes."
        )
    url, checksum = match[1], match[2].lower()
    if (home / checksum / ENVIRONMENT).is_file():
        return home / checksum
    return _opened(download(url, home / f"{checksum}{ENDING}", sha256=checksum), checksum, home)


def _opened(path: Path, checksum: str, home: Path) -> Path:
    """Unpack a file, whole or not at all."""
    folder = home / checksum
    with writable(home), locked(home / f"{checksum}.lock"):
        if (folder / ENVIRONMENT).is_file():
            return folder
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            _extract(path, Path(scratch))
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(scratch, folder)
    return folder


def _extract(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as packed:
            entries = [entry for entry in packed.infolist() if not entry.is_dir()]
            for entry in entries:
                # In the file itself or in one folder, as archives of a release are often packed.
                parts = PurePosixPath(entry.filename).parts
                if parts[-1] not in PACKED or len(parts) > 2 or ".." in parts:
                    raise RunError(
                        f"Expected the files of a run, got {entry.filename!r} among them ({path})."
                    )
            names = [PurePosixPath(entry.filename).name for entry in entries]
            if len(set(names)) < len(names) or not {CONFIG, ENVIRONMENT} <= set(names):
                raise RunError(f"Expected the files of one run, got others ({path}).")
            check_growth(path, sum(entry.file_size for entry in entries), "Is it a run?")
            for entry, name in zip(entries, names, strict=True):
                # Python stops at the size that an entry declares, which is counted above.
                with packed.open(entry) as inside, (folder / name).open("wb") as outside:
                    shutil.copyfileobj(inside, outside)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise RunError(f"Expected a zip file with a run, but: {error} ({path}).") from error
    except ValueError as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{error}") from error
