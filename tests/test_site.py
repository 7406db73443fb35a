"""The documentation as a site: built without a warning, whole, and opened in a browser."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from browser import NAMES, Browser, find_browser

ROOT = Path(__file__).parents[1]
for package in ("sphinx", "furo", "myst_parser"):
    pytest.importorskip(package, reason="pip install 'hgcn[docs]'")
# The site is built once for all tests, also when they run in several processes.
pytestmark = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("site")
    words = ["-q", "-W", "--keep-going", "-d", str(home / "doctrees"), "docs", str(home / "html")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "html"


class Places(HTMLParser):
    """Where a page can be entered, and where its links and pictures lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag in ("a", "img"):
                self.targets.append(value)


def test_every_page_is_there_and_no_link_is_broken(site: Path) -> None:
    assert {path.stem for path in ROOT.glob("docs/*.md")} <= {p.stem for p in site.glob("*.html")}
    pages = {page: Places(page.read_text("utf-8")) for page in site.glob("**/*.html")}
    broken = []
    for page, places in pages.items():
        for target in places.targets:
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (page.parent / unquote(name)).resolve() if name else page
            known = pages.get(file)
            if not file.exists() or (anchor and known and unquote(anchor) not in known.anchors):
                broken.append(f"{page.name}: {target}")
    assert not broken


@pytest.mark.skipif(find_browser() is None, reason=f"needs a browser, one of {', '.join(NAMES)}")
def test_the_site_in_a_browser(site: Path) -> None:
    """Pictures are drawn, nothing is asked of other computers, and the search finds a function."""
    browser = Browser()
    try:
        page = browser.open(site / "index.html")
        assert page.text("h1").startswith("hgcn")
        addresses = page.eval(
            "[...document.querySelectorAll('.toctree-wrapper a')].map(a => a.href)"
        )
        reference = next(a for a in addresses if a.endswith("reference/api.html"))
        for address in addresses:
            if address == reference:
                continue
            page.call("Page.navigate", url=address)
            page.wait(f"document.readyState === 'complete' && location.href === {address!r}")
            assert page.text("h1").strip(), address
            # Pictures far below are loaded only when one scrolls there.
            page.eval("document.querySelectorAll('img').forEach(i => { i.loading = 'eager'; })")
            page.wait("[...document.images].every(i => i.complete && i.naturalWidth)")
        assert page.problems() == []
        # The search asks for the pages that it found, which browsers refuse where these are files.
        page.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q=local_log")
        page.wait("document.querySelector('#search-results a[href*=\"reference/api\"]')")
        asked = [
            event["params"]["request"]["url"]
            for event in browser.events(page.session)
            if event["method"] == "Network.requestWillBeSent"
        ]
        assert not [url for url in asked if not url.startswith(("file:", "data:"))]
        # Last, because its formulas are drawn by MathJax, which comes from the web.
        page.call("Page.navigate", url=f"{reference}#hgcn.geometry.distance")
        page.wait("document.getElementById('hgcn.geometry.distance')")
    finally:
        browser.close()
