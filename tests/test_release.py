"""What a project shows to strangers is there, and says what is so."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hgcn

ROOT = Path(__file__).parents[1]


def test_the_citation_has_the_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {hgcn.__version__}\n" in text
    assert "arxiv.org/abs/1910.12933" in text


def test_the_changelog_begins_with_this_version_or_with_what_comes_after_it() -> None:
    headings = re.findall(r"^## \[(.+?)\](.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    released = [heading for heading in headings if heading != ("Unreleased", "")]
    (date,) = re.findall(
        r'^date-released: "(.+)"$', (ROOT / "CITATION.cff").read_text("utf-8"), re.M
    )
    assert released[0] == (hgcn.__version__, f" - {date}")


def test_the_address_of_the_clone_is_a_placeholder_in_one_place() -> None:
    """Once there is an address, it is put there, and this test is changed with it."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")]
    found = [page.name for page in pages if re.search(r"git clone", page.read_text("utf-8"))]
    assert found == ["README.md"]
    assert (ROOT / "README.md").read_text("utf-8").count("ADDRESS") == 2


def test_figures_beside_peers_are_those_of_the_pages_they_come_from() -> None:
    """Those pages are written by benchmarks, this table by hand."""
    text = (ROOT / "docs" / "peers.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([^|]*\d[^|]*) \| \[(\w+\.md)\]", text, re.MULTILINE)
    assert len(rows) >= 6
    for figures, page in rows:
        known = (ROOT / "docs" / page).read_text("utf-8")
        for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?", figures):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", known), (page, number)


def test_the_workflow_runs_what_everybody_runs() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "- run: .ci/run\n" in text
    assert "os: [ubuntu-latest, macos-latest]" in text
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for asked in re.findall(r"run: make (.+)", text):
        assert {word for word in asked.split() if "=" not in word} <= set(targets)


def test_nothing_that_a_program_left_is_kept() -> None:
    """It would be in every clone, and in the source archive."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == ""
    )


def test_pages_of_the_project_name_one_another() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("CITATION.cff", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", "CHANGELOG.md"):
        assert (ROOT / name).is_file()
        assert name == "CHANGELOG.md" or f"]({name})" in readme
    assert "CODE_OF_CONDUCT.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_runs_of_a_release_are_packed_with_all_that_they_show(tmp_path, monkeypatch, capsys):
    """The small one here in place of the three that take an hour."""
    path = ROOT / ".ci" / "release_runs.py"
    spec = importlib.util.spec_from_file_location("release_runs", path)
    release_runs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(release_runs)
    assert set(release_runs.RUNS) == {"airport", "wordnet_noun", "debian"}
    monkeypatch.setattr(release_runs, "RUNS", {"disease": {"task": "node", "epochs": 2, "dim": 2}})
    release_runs.main(["--out", str(tmp_path)])
    name, checksum = capsys.readouterr().out.strip().split("#sha256=")
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path / "cache"))
    run = hgcn.load_run(tmp_path / name)
    assert run.metrics["epochs"] == 2
    assert run.path is not None
    for shown in ("README.md", "disk.html", "report.html"):
        assert (run.path / shown).is_file()
    assert checksum in (tmp_path / f"{name}.sha256").read_text()
    with pytest.raises(SystemExit):
        release_runs.main(["mars"])
