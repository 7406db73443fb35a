"""The cache of compiled code: it notices a change in every file that the code is made of."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import pytest
import torch

import hgcn
from hgcn import compiled
from hgcn.locks import locked

PACKAGE = Path(hgcn.__file__).parent

SCRIPT = """if True:
    import sys
    import numpy as np
    from hgcn.kernels.numba_cpu import points
    block = np.empty(8 * points.STRIDE)
    points.find_polar(np.full((1, 4), 30.0), 1.0, block)
    print(block[points.RADIUS * points.STRIDE], sum(points.find_polar.stats.cache_hits.values()))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package in a folder of its own."""
    ignore = shutil.ignore_patterns("__pycache__", "static", "*.svg")
    shutil.copytree(PACKAGE, tmp_path / "src" / "hgcn", ignore=ignore)
    return tmp_path / "src" / "hgcn"


def run(package: Path, script: str = SCRIPT, **environment: str) -> tuple[float, int]:
    """The saturated radius of a point at 60, and how many functions came from the cache."""
    variables = {**os.environ, "PYTHONPATH": str(package.parent), **environment}
    variables.setdefault("NUMBA_CACHE_DIR", str(package.parent / "cache"))
    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, check=True, capture_output=True, text=True
    )
    radius, hits = done.stdout.split()
    assert ("compiling kernels" in done.stderr) == (hits == "0")
    return float(radius), int(hits)


def edit(path: Path, before: str, after: str) -> None:
    source = path.read_text()
    assert before in source
    path.write_text(source.replace(before, after))


def test_a_change_in_another_file_is_noticed(copy: Path) -> None:
    cache = str(copy.parent / "cache")
    first = run(copy, NUMBA_CACHE_DIR=cache)
    assert first[1] == 0
    assert run(copy, NUMBA_CACHE_DIR=cache) == (first[0], 1)
    # A helper in another file, then a constant in a file that has no compiled function.
    edit(copy / "kernels/numba_cpu/scalars.py", "+ beyond / root,", "+ 2 * beyond / root,")
    second = run(copy, NUMBA_CACHE_DIR=cache)
    assert second[1] == 0
    assert second[0] - 40 == pytest.approx(2 * (first[0] - 40))
    edit(copy / "geometry/normal.py", "MAX_RADIUS = 40.0", "MAX_RADIUS = 50.0")
    third = run(copy, NUMBA_CACHE_DIR=cache)
    assert third[1] == 0
    assert third[0] > 50
    # A file that no compiled code is made of does not count.
    edit(copy / "errors.py", "class HGCNError", "# Changed.\nclass HGCNError")
    assert run(copy, NUMBA_CACHE_DIR=cache) == (third[0], 1)


def test_a_file_changed_after_its_import_is_not_cached(copy: Path) -> None:
    """The code in memory is then older than the files, and would be kept under their name."""
    cache = str(copy.parent / "cache")
    late = f"""if True:
        import hgcn.kernels, pathlib
        path = pathlib.Path({str(copy)!r}) / "kernels/numba_cpu/scalars.py"
        source = path.read_text()
        path.write_text(source.replace("+ beyond / root,", "+ 2 * beyond / root,"))
        exec({SCRIPT!r})
    """
    first = run(copy, late, NUMBA_CACHE_DIR=cache)
    second = run(copy, NUMBA_CACHE_DIR=cache)
    assert second[1] == 0
    assert second[0] - 40 == pytest.approx(2 * (first[0] - 40))


def test_every_source_of_compiled_code_counts() -> None:
    names = {path.relative_to(PACKAGE).as_posix() for path in compiled.compiled_sources()}
    assert {"geometry/normal.py", "kernels/rows.py", "kernels/numba_cpu/instructions.py"} <= names
    for path in PACKAGE.rglob("*.py"):
        name, source = path.relative_to(PACKAGE).as_posix(), path.read_text()
        if name != "compiled.py":
            assert "njit" not in source, f"{name} should use hgcn.compiled"
        if "numba.extending" in source or "@compiled" in source:
            assert name in names or name == "compiled.py"


def test_the_stamp_is_cheap() -> None:
    compiled.source_stamp()
    compiled.source_stamp.cache_clear()
    begin = time.process_time()
    assert compiled.source_stamp() == compiled.source_stamp() is not None
    assert time.process_time() - begin < 0.2  # 10 ms on an idle machine


def test_an_index_of_other_sources_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may name a class that was renamed since, and to unpickle it would fail."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    old, new = (compiled._StampedCache(edit, stamp)._cache_file for stamp in ("old", "new"))
    assert old._index_path == new._index_path
    old.flush()
    index = Path(old._index_path)
    index.write_bytes(index.read_bytes()[:-8] + b"no class")
    assert new._load_index() == {}


def test_without_a_folder_to_write_to_it_compiles_each_time(copy: Path) -> None:
    """The package's folder, Numba's folder and the home folder cannot be written to."""
    (copy.parent / "file").write_text("")
    nowhere = str(copy.parent / "file" / "below")
    for _ in range(2):
        script = f"import numba.core.caching as c; c.CacheImpl._locator_classes[1:] = []\n{SCRIPT}"
        script = script.replace("if True:\n", "\nif True:\n")
        assert run(copy, script, NUMBA_CACHE_DIR=nowhere)[1] == 0


def test_the_time_of_compiling_is_told() -> None:
    double = numba.njit(lambda x: 2 * x)
    with compiled.compile_timer() as seconds:
        assert seconds() == 0
        start = time.perf_counter()
        assert double(3) == 6
        assert 0 < seconds() <= time.perf_counter() - start
        before = seconds()
        assert double(4) == 8  # nothing is left to compile
        assert seconds() == before
    assert double(1.5) == 3.0
    assert seconds() == before


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("chunks", [0, 1, 5, 100])
def test_every_chunk_is_computed_once(chunks: int, threads: int) -> None:
    seen: list[int] = []
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    compiled.in_chunks(lambda first, last, to: to.extend(range(first, last)), chunks, seen)
    torch.set_num_threads(before)
    assert sorted(seen) == list(range(chunks))


def test_an_error_in_any_thread_is_told() -> None:
    main = threading.current_thread()

    def kernel(first: int, last: int) -> None:
        if threading.current_thread() is not main:
            raise ValueError(f"chunk {first}")
        time.sleep(0.1)  # so that the other thread gets a share

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.raises(ValueError, match="chunk"):
        compiled.in_chunks(kernel, 8)
    torch.set_num_threads(before)


def test_one_process_compiles_and_others_wait(tmp_path: Path) -> None:
    """The lock is held here, as by a process that compiles: another one begins when it is free."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    child = [sys.executable, "-c", SCRIPT]
    begin = time.perf_counter()
    subprocess.run(child, env=environment, check=True, capture_output=True)
    alone = time.perf_counter() - begin
    (lock,) = tmp_path.rglob("*.find_polar.lock")
    for file in lock.parent.glob("points.find_polar-*"):
        file.unlink()
    with locked(lock):
        waiting = subprocess.Popen(child, env=environment, stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(2 * alone + 2)
    assert waiting.communicate(timeout=60)[0].split()[-1] == "0"
    assert waiting.returncode == 0
