"""What a file may ask of the reader: its kind, its lines, how far it grows, how deep it nests.

Each bound is far above what honest files have. It is there so that no file takes time or memory
out of proportion to its size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hgcn.errors import DataError
from hgcn.files import kind_of, parse_json
from hgcn.text import near_miss

STDIN = Path("-")
"""The path that stands for standard input."""
MOST_STDIN = 1 << 30
"""Bytes of standard input, whose end nobody knows before."""
MOST_LINE = 1 << 22
"""Bytes of a line."""
MOST_COLUMNS = 100_000
"""Columns of a table: such a line of a text file has about two million bytes."""
FREE_GROWTH = 1 << 30
"""Bytes that any packed file may have when it is unpacked."""
MOST_GROWTH = 200
"""How many times its size a packed file may be beyond that. Edge lists reach 10, matrices of
almost nothing but zeros 200; a file that is made to do harm has 1000 and more."""


def check_file(path: Path) -> None:
    """Refuse whatever is no regular file: a pipe or a device may have no end."""
    try:
        kind = kind_of(path)
    except FileNotFoundError:
        near = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = near_miss(path.name, sorted(other.name for other in near))
        raise DataError(f"Expected a file, got none ({path}).{hint}") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"Expected a readable file, got: {reason} ({path}).") from None
    if kind is not None:
        pipe = f" Write {STDIN} for standard input." if kind == "a pipe" else ""
        raise DataError(f"Expected a regular file, got {kind} ({path}).{pipe}")


def most_unpacked(packed: int) -> int:
    """The most bytes that a packed file of this size may hold."""
    return max(FREE_GROWTH, MOST_GROWTH * packed)


def check_growth(path: Path, size: int, hint: str) -> None:
    """Refuse a packed file whose content has, or would have, more bytes than it may."""
    packed = path.stat().st_size
    if size > most_unpacked(packed):
        refuse_growth(str(path), packed, hint)


def refuse_growth(path: str, packed: int, hint: str) -> None:
    """Raise the error for a packed file that holds too much."""
    raise DataError(
        f"Expected a packed file to hold at most {most_unpacked(packed):,} bytes, that is 1 GiB or "
        f"{MOST_GROWTH} times its size, got more ({path}, {packed:,} bytes). {hint}"
    )


def check_columns(number: int, path: str) -> None:
    """Refuse a table with absurdly many columns."""
    if number > MOST_COLUMNS:
        raise DataError(
            f"Expected at most {MOST_COLUMNS:,} columns, got {number:,} ({path}). Give features as "
            "an .npz or .npy file."
        )


def check_lines(data: bytes, path: str, first: int = 1) -> None:
    """Refuse a text with a line of more than ``MOST_LINE`` bytes."""
    # Such a line covers a whole block of half that size. To look for a line end in each block is
    # quick: most have one near their start.
    block = MOST_LINE // 2
    for start in range(0, len(data), block):
        if data.find(b"\n", start, start + block) >= 0:
            continue
        begin = data.rfind(b"\n", 0, start) + 1
        end = data.find(b"\n", begin)
        length = (len(data) if end < 0 else end) - begin
        if length > MOST_LINE:
            line = data.count(b"\n", 0, begin) + first
            raise DataError(
                f"Expected lines of at most {MOST_LINE:,} bytes, got one of {length:,} ({path}, "
                f"line {line}). Is it a table, with a line for each row?"
            )


def load_json(path: Path) -> Any:
    """The content of a JSON file."""
    check_file(path)
    try:
        return parse_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"Expected a readable file, got: {error.strerror} ({path}).") from None
    except UnicodeDecodeError:
        raise DataError(f"Expected text in UTF-8, got other bytes ({path}).") from None
    except ValueError as error:
        where = f", line {error.lineno}" if hasattr(error, "lineno") else ""
        reason = getattr(error, "msg", None) or error
        raise DataError(f"Expected JSON, got something else ({path}{where}): {reason}.") from None
