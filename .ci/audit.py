"""Asks the vulnerability service about every installed package; fails if it knows of a fault.

Without the service there is no answer, which is told and is no failure: checks work offline, too.
"""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

SECONDS = 120
OURS = {"hgcn", "pip", "setuptools", "wheel"}
"""Not audited: the package itself, and what came with the user's Python."""


def main() -> int:
    """Ask, and say the answer in a line for each fault, or in one for all."""
    versions = {found.name: found.version for found in distributions()}
    # The local part, as in 2.13.0+cpu, says how a version was built; the service does not know it.
    lines = [f"{n}=={v.partition('+')[0]}" for n, v in sorted(versions.items()) if n not in OURS]
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "requirements.txt"
        asked.write_text("\n".join(lines))
        answer = ask(asked)
    if answer is None:
        print("audit: the vulnerability service could not be reached; packages are not checked.")
        return 0
    faults = [(found, fault) for found in answer for fault in found.get("vulns", ())]
    for found, fault in faults:
        fixed = ", ".join(fault["fix_versions"]) or "none"
        print(f"audit: {found['name']} {found['version']}: {fault['id']}; fixed in: {fixed}.")
    unknown = sum("vulns" not in found for found in answer)
    if unknown:
        print(f"audit: the vulnerability service has no answer for {unknown} of {len(lines)}.")
    return 1 if faults else 0


def ask(asked: Path) -> list[dict] | None:
    """What the service knows of each package; None if it does not answer."""
    words = ["--requirement", asked, "--no-deps", "--disable-pip", "--format", "json"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", *words],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        answer: list[dict] = json.loads(done.stdout)["dependencies"]
        return answer
    except (subprocess.TimeoutExpired, ValueError):
        return None


if __name__ == "__main__":
    sys.exit(main())
