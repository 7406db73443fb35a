"""The script of the page without a browser: its own tests, run by Node.js."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js, the program node")
def test_the_script_passes_its_own_tests():
    tests = Path(__file__).with_name("page.test.mjs")
    done = subprocess.run(
        ["node", "--test", tests], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
