"""Runs that travel: as a zip file, by an address, from an older version."""

import shutil
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest
import torch

import hgcn
from hgcn import files
from hgcn.cli import main
from hgcn.errors import DataError, RunError
from hgcn.runs.layout import CARD, EMBEDDINGS, PAGE, SEALED

PAGE_FILES = Path(__file__).parents[1] / "page_files"
OLD = Path(__file__).parent / "run-0.1.0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "ring"
    tree = hgcn.data.tree_with_features(0.8, depth=3)
    hgcn.fit(tree, task="link", epochs=2, dim=2, structure=False, out=path)
    return path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path / "cache"))


def same(one: hgcn.Run, other: hgcn.Run) -> None:
    assert one.metrics == other.metrics
    weights = other.predictor.state_dict()
    for name, weight in one.predictor.state_dict().items():
        torch.testing.assert_close(weight, weights[name], rtol=0, atol=0)


def test_a_zip_file_holds_the_whole_run(folder: Path, tmp_path: Path) -> None:
    run = hgcn.load_run(folder)
    path = run.push(tmp_path / "run.zip")
    found = hgcn.load_run(path)
    same(run, found)
    assert found.path is not None
    for name in (*SEALED, EMBEDDINGS, PAGE, CARD):
        assert (found.path / name).read_bytes() == (folder / name).read_bytes()
    again = hgcn.load_run(path).push(tmp_path / "again.zip")
    assert again.read_bytes() == path.read_bytes()
    checksum, name = Path(f"{path}.sha256").read_text().split()
    assert (checksum, name) == (files.checksum(path), "run.zip")


def test_push_to_a_folder_leaves_what_is_there(folder: Path, tmp_path: Path) -> None:
    run = hgcn.load_run(folder)
    same(run, hgcn.load_run(run.push(tmp_path / "copy")))
    assert run.path == folder
    (tmp_path / "other.zip").write_text("mine")
    with pytest.raises(RunError, match="Expected a new file"):
        run.push(tmp_path / "other.zip")
    assert (tmp_path / "other.zip").read_text() == "mine"


def certificate(folder: Path) -> Path:
    """A certificate of this computer that is valid for a day, and its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    path = folder / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=test -addext"
    subprocess.run(
        ["openssl", *words.split(), "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out", path],
        check=True, capture_output=True,
    )  # fmt: skip
    return path


@pytest.fixture(params=["https", "http"])
def address(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A server of this computer that hands out the test's folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    if request.param == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate(tmp_path))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"{request.param}://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_run_is_read_from_an_address(folder: Path, tmp_path: Path, address: str) -> None:
    run = hgcn.load_run(folder)
    path = run.push(tmp_path / "run.zip")
    whole = f"{address}/run.zip#sha256={files.checksum(path)}"
    same(run, hgcn.load_run(whole))
    path.unlink()
    same(run, hgcn.load_run(whole))  # from the cache
    with pytest.raises(RunError, match=r"#sha256=CHECKSUM, got https?://"):
        hgcn.load_run(f"{address}/run.zip")


def test_commands_take_a_packed_run(
    tmp_path: Path,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pages are written beside a zip file; those of an address into the present folder."""
    run = hgcn.fit(PAGE_FILES / "edges.csv", epochs=2, dim=2, structure=False)
    whole = f"{address}/run.zip#sha256={files.checksum(run.push(tmp_path / 'run.zip'))}"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for source, home in (("../run.zip", tmp_path), (whole, tmp_path / "here")):
        assert main(["neighbours", source, "ann", "-k", "3"]) == 0
        assert main(["view", source, "--no-open"]) == 0
        assert main(["report", source, "--no-open"]) == 0
        assert main(["compare", source, source]) == 0
        assert capsys.readouterr().out.splitlines()[0] == "id,rank,neighbour,distance"
        assert {path.name for path in home.glob("*.html")} == {"run.html", "run-report.html"}


def test_a_download_that_is_another_file_is_refused(
    folder: Path, tmp_path: Path, address: str
) -> None:
    hgcn.load_run(folder).push(tmp_path / "run.zip")
    with pytest.raises(DataError, match="to have SHA-256"):
        hgcn.load_run(f"{address}/run.zip#sha256={'0' * 64}")
    assert not list((tmp_path / "cache" / "runs").glob("0*.zip"))


@pytest.mark.parametrize("name", ["../metrics.json", "a/b/config.toml", "run.py", "/etc/x.toml"])
def test_a_foreign_file_in_a_zip_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    path = hgcn.load_run(folder).push(tmp_path / "run.zip")
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(name, "x")
    with pytest.raises(RunError, match="Expected the files of a run, got"):
        hgcn.load_run(path)
    assert not list((tmp_path / "cache" / "runs").glob("*/config.toml"))


def test_a_zip_file_that_is_cut_off_or_a_bomb_is_refused(folder: Path, tmp_path: Path) -> None:
    path = hgcn.load_run(folder).push(tmp_path / "run.zip")
    (tmp_path / "cut.zip").write_bytes(path.read_bytes()[:-200])
    with pytest.raises(RunError, match="Expected a zip file with a run"):
        hgcn.load_run(tmp_path / "cut.zip")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("config.toml", "environment.json"):
            packed.writestr(name, b"")
        entry = packed.getinfo("config.toml")
        entry.file_size = 1 << 40  # what a bomb would declare
    with pytest.raises(RunError, match="at most"):
        hgcn.load_run(tmp_path / "bomb.zip")
    with pytest.raises(RunError, match=r"none at .*none\.zip"):
        hgcn.load_run(tmp_path / "none.zip")


def test_a_run_of_version_0_1_0_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It predicts what it did; its embeddings are those that it wrote then."""
    for path in PAGE_FILES.glob("*.csv"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    run = hgcn.load_run(OLD)
    assert run.environment["hgcn"] == "0.1.0"
    stored = torch.from_numpy(pl.read_parquet(OLD / EMBEDDINGS).drop("id").to_numpy())
    torch.testing.assert_close(run.embeddings().double(), stored.double(), rtol=1e-4, atol=1e-5)
    assert run.evaluate() == pytest.approx(run.metrics["test"])
    assert run.class_names == ("lab", "lead", "sales")


def test_the_card_says_what_a_user_must_know(folder: Path) -> None:
    run = hgcn.load_run(folder)
    text = (folder / CARD).read_text()
    assert text.startswith("---\nlibrary_name: hgcn\n")
    assert f"{100 * run.metrics['test']['roc_auc']:.2f} %" in text
    assert "## Data" in text
    assert f"{run.num_nodes:,} nodes" in text
    block = text.split("```python\n")[1].split("```")[0].replace('"."', repr(str(folder)))
    names = {"hgcn": hgcn}
    exec(block.splitlines()[2], names)
    assert isinstance(names["run"], hgcn.Run)
