"""Tables for the terminal and for Markdown, and functions that write them into documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "geometry.md"
README = ROOT / "README.md"

Rows = Sequence[Sequence[str]]


def text_table(header: Sequence[str], rows: Rows) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    )


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *rows))


def write_between_markers(path: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- begin name -->`` and ``<!-- end name -->``.

    A document that has only the placeholder ``<!-- name -->`` gets the two markers in its place.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    block = f"{begin}\n\n{text.strip()}\n\n{end}"
    pattern = rf"{re.escape(begin)}.*?{re.escape(end)}|<!-- {re.escape(name)} -->"
    document, found = re.subn(
        pattern, lambda _: block, path.read_text("utf-8"), count=1, flags=re.DOTALL
    )
    if not found:
        raise SystemExit(f"Expected the markers {begin} and {end} in {path}, found neither.")
    path.write_text(document, "utf-8")
