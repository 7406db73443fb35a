"""Makes every picture of the README and the documentation anew, from today's code.

``make pictures`` trains what they show (some minutes) and writes ``docs/images``. Pictures of the
page are taken by a browser.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from hgcn.cli import main as hgcn

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PAGES = {
    "airports": "airport --task link",
    "mammals": "wordnet_mammal --task hierarchy --dim 2 --epochs 150 --hold-out nothing",
}
"""Pictures of pages, and what is trained for them."""
RUNS = {
    "cora": "cora --task link",
}
FIGURES = {
    "geometry.svg": "geometry",
    "embeddings.png": "embeddings",
    "attention.svg": "attention",
    "training.svg": "training {cora}",
}
"""Figures, and the commands that draw them from the runs above."""


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of a page as it opens."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"Expected one of the browsers {', '.join(BROWSERS)}, found none.")
    with tempfile.TemporaryDirectory() as scratch:
        taken = Path(scratch) / "page.png"
        words = [program, "--headless", "--no-sandbox", "--window-size=1440,900", "--timeout=8000",
                 f"--screenshot={taken}", page.as_uri()]  # fmt: skip
        subprocess.run(words, check=True, capture_output=True)
        image = Image.open(taken).convert("RGB")
        if image.getpixel((700, 20)) == (0, 0, 0):
            sys.exit(f"Expected a picture of {page.name}, but the browser has not drawn it. Again?")
        image.save(picture, quality=88)


def command(words: list[str]) -> None:
    """Run a command of hgcn, and stop if it fails."""
    if hgcn(words) != 0:
        sys.exit(f"hgcn {' '.join(words)} failed.")


def main() -> None:
    """Make all pictures, or those whose names begin as an argument does."""
    wanted = tuple(sys.argv[1:]) or ("",)
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: Path(scratch) / name for name in (*PAGES, *RUNS)}

        def train(name: str, settings: str) -> None:
            if not folders[name].exists():
                command(["train", *settings.split(), "--out", str(folders[name]), "--quiet"])

        for name, settings in PAGES.items():
            if name.startswith(wanted):
                train(name, settings)
                photograph(folders[name] / "disk.html", IMAGES / f"{name}.webp")
        for name, drawn in FIGURES.items():
            if name.startswith(wanted):
                for run, settings in RUNS.items():
                    if f"{{{run}}}" in drawn:
                        train(run, settings)
                words = drawn.format(**folders).split()
                command(["figures", *words, "--out", str(IMAGES / name), "--quiet"])


if __name__ == "__main__":
    main()
