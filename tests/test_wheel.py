"""The wheel alone is enough: it is built, installed into an empty environment, and used there."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from hgcn import fit
from hgcn.packages import EXTRAS

ROOT = Path(__file__).parents[1]
MOST_BYTES = 1_000_000
pytest.importorskip("hatchling", reason="hatchling builds the wheel")


def call(*words: str | Path, cwd: Path, **more: str) -> str:
    """Run a command without what the environment of the tests says of Python and of data."""
    hidden = ("PYTHON", "HGCN_", "PIP_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)} | more
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    path = os.environ.get("PYTHONPATH", "")
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    call(*command, cwd=ROOT, PYTHONPATH=path)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_is_small_and_has_all_that_is_no_code(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "hgcn/figures/curvature.json" in source
    assert {name for name in packed if ".dist-info/" not in name} == source


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel, and the other packages of this one.

    Extras are hidden: training, predicting and viewing need none.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": home, "platbase": home}))
    # A line in a .pth file adds a folder without the .pth files in it, so not our own sources.
    (site / "others.pth").write_text("\n".join(p for p in sys.path if "-packages" in p))
    (commands,) = (home / name for name in ("bin", "Scripts") if (home / name).is_dir())
    python = commands / "python"
    call(
        sys.executable, "-m", "pip", "-q", "--python", python, "install",
        "--no-deps", "--no-index", "--no-compile", wheel, cwd=home,
    )  # fmt: skip
    hidden = "\n".join(f"sys.modules[{name!r}] = None" for name in EXTRAS)
    (site / "sitecustomize.py").write_text(f"import sys\n{hidden}\n")
    return commands


def share_compiled(site: Path) -> None:
    """Let the installed sources use what was compiled for ours: it takes half a minute of work."""
    for path in (ROOT / "src").rglob("*.py"):
        shutil.copystat(path, site / path.relative_to(ROOT / "src"))
    for path in (ROOT / "src").rglob("*.nb[ci]"):
        copy = site / path.relative_to(ROOT / "src")
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(path, copy)


def test_training_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """The command of the wheel, without any extra, gives what the sources here give."""
    hgcn = installed / "hgcn"
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    fit("disease", epochs=3, out=ours)
    where = call(installed / "python", "-c", "import hgcn; print(hgcn.__file__)", cwd=tmp_path)
    share_compiled(Path(where).parents[1])
    assert Path(where).is_relative_to(installed.parent)
    theirs.mkdir()
    assert "test" in call(hgcn, "train", "disease", "--epochs", "3", "--out", "run", cwd=theirs)
    assert (theirs / "run" / "disk.html").read_bytes() == (ours / "disk.html").read_bytes()
    assert (theirs / "run" / "history.csv").read_bytes() == (ours / "history.csv").read_bytes()
