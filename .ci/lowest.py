"""Prints the lower bounds of pyproject.toml as constraints for pip.

Tools of developers are left out: they need not be old. Arguments like ``torch==2.13.0`` are taken
in place of a bound.
"""

import re
import sys
import tomllib
from pathlib import Path

TOOLS = {"bench", "dev", "dist", "docs", "test"}


def bounds(text: str) -> dict[str, str]:
    """The lowest version of each package that a user of hgcn may have."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"]]
    lines += [line for name, of in extras.items() if name not in TOOLS for line in of]
    found = (re.fullmatch(r"([\w-]+)>=([\w.]+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


if __name__ == "__main__":
    project = Path(__file__).parents[1] / "pyproject.toml"
    found = bounds(project.read_text(encoding="utf-8"))
    found |= dict(word.split("==") for word in sys.argv[1:])
    for name, version in found.items():
        sys.stdout.write(f"{name}=={version}\n")
