"""Checks the JavaScript of the page: its files make one script, so it is checked as one.

The linter comes from the npm registry. Where it cannot be had, a line says that nothing is checked.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hgcn.viewer.page import page_script

RULES = Path(__file__).with_name("oxlint.json")
LINTER = "oxlint@1.89.0"


def main() -> int:
    """Write the script to a file, and let the linter read it."""
    npx = shutil.which("npx")
    words = [npx, "--yes", LINTER]
    if (
        npx is None
        or subprocess.run([*words, "--version"], check=False, capture_output=True).returncode
    ):
        print(f"The JavaScript is not checked: npx cannot get {LINTER}.", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.js"
        path.write_text(page_script(), encoding="utf-8")
        words += ["--config", str(RULES), "--deny-warnings", "--quiet", str(path)]
        return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
