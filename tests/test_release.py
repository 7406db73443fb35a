"""What a project shows to strangers is there, and says what is so."""

import re
from pathlib import Path

import hgcn

ROOT = Path(__file__).parents[1]


def test_the_citation_has_the_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {hgcn.__version__}\n" in text
    assert "arxiv.org/abs/1910.12933" in text


def test_the_address_of_the_clone_is_a_placeholder_in_one_place() -> None:
    """Once there is an address, it is put there, and this test is changed with it."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")]
    found = [page.name for page in pages if re.search(r"git clone", page.read_text("utf-8"))]
    assert found == ["README.md"]
    assert (ROOT / "README.md").read_text("utf-8").count("ADDRESS") == 2


def test_the_workflow_runs_what_everybody_runs() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "- run: .ci/run\n" in text
    assert "os: [ubuntu-latest, macos-latest]" in text
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for asked in re.findall(r"run: make (.+)", text):
        assert set(asked.split()) <= set(targets)


def test_pages_of_the_project_name_one_another() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("CITATION.cff", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", "CHANGELOG.md"):
        assert (ROOT / name).is_file()
        assert name == "CHANGELOG.md" or f"]({name})" in readme
    assert "CODE_OF_CONDUCT.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
