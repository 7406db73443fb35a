"""Checks the JavaScript of the page: its files make one script, so it is checked as one."""

import subprocess
import sys
import tempfile
from pathlib import Path

from hgcn.viewer.page import page_script

RULES = Path(__file__).with_name("oxlint.json")


def main() -> int:
    """Write the script to a file, and let the linter read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.js"
        path.write_text(page_script(), encoding="utf-8")
        linter = Path(sys.executable).with_name("oxlint")
        words = [linter, "--config", RULES, "--deny-warnings", "--quiet", path]
        return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
