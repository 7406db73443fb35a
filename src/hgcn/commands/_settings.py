"""Settings as flags: one flag for each field of `Config`, which alone declares settings."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

from hgcn.config import TYPES, Config, read_toml
from hgcn.errors import ConfigError
from hgcn.text import short_name

NOT_FLAGS = ("source",)
FEW = 4
"""So many choices of a setting are shown beside its flag, more of them in its help."""


def add_settings(parser: argparse.ArgumentParser, only: Collection[str] | None = None) -> None:
    """Add a flag for each setting, or for some, in groups."""
    groups: dict[str, Any] = {}
    for setting in fields(Config):
        if setting.name in NOT_FLAGS or (only is not None and setting.name not in only):
            continue
        facts = setting.metadata
        group = groups.get(facts["group"])
        if group is None:
            group = groups[facts["group"]] = parser.add_argument_group(f"{facts['group']} settings")
        flag = "--" + setting.name.replace("_", "-")
        default = setting.default
        choices = () if facts["choices"] is None else tuple(facts["choices"])
        text = facts["help"].replace("%", "%%")
        if len(choices) > FEW:
            text += f": {', '.join(choices)}"
        if default is not None:
            shown = str(default).lower() if isinstance(default, bool) else default
            text += f" ({shown})"
        if TYPES[setting.name] is bool:
            group.add_argument(
                flag, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text
            )
            continue
        metavar = {int: "N", float: "X", str: "NAME"}[TYPES[setting.name]]
        if 0 < len(choices) <= FEW:
            metavar = "|".join(choices)
        group.add_argument(flag, default=argparse.SUPPRESS, help=text, metavar=metavar)


def given_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that flags were given for.

    Text where a number is expected stays text: `Config` refuses it, together with everything else
    that is wrong.
    """
    given: dict[str, Any] = {}
    for name, text in vars(arguments).items():
        if name in TYPES and name not in NOT_FLAGS:
            try:
                given[name] = text if isinstance(text, bool) else TYPES[name](text)
            except ValueError:
                given[name] = text
    return given


def source_and_settings(
    arguments: argparse.Namespace, given: dict[str, Any], command: str
) -> tuple[str, dict[str, Any]]:
    """The source, and the settings of the file of --config under those of the flags."""
    settings = read_toml(arguments.config) if arguments.config else {}
    own = settings.pop("source", None)
    source = arguments.source or own
    if source is None:
        raise ConfigError(
            f"Expected the name of a data set, a file or a folder to {command} on: "
            f"hgcn {command} cora. `hgcn datasets` lists the names."
        )
    return str(source), {**settings, **given}


def new_folder(source: str, ending: str = "", *, job: str = "") -> Path:
    """A folder that is not there yet, named after a source and the time.

    The folder of a job that may be started again is named after the job: it may be there.
    """
    if job:
        return Path("runs") / f"{short_name(source)}-{short_name(job)}"
    stem = f"{short_name(source)}{ending}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder = Path("runs") / stem
    count = 1
    while folder.exists():
        count += 1
        folder = Path("runs") / f"{stem}-{count}"
    return folder


def above_zero(flag: str, text: str) -> int:
    """The value of a flag that must be a whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f"Expected {flag} to be a whole number above 0, got {text!r}.")
    return number
