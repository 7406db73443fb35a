"""Writes the pages of the reference: the API from its docstrings, the commands from their parsers.

They are made anew with each build of the site, so they cannot get out of date.
"""

import argparse
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

from hgcn.cli import COMMANDS

MODULES = (
    "hgcn", "hgcn.geometry", "hgcn.nn", "hgcn.models", "hgcn.data", "hgcn.estimators",
    "hgcn.sampling.pyg", "hgcn.viewer", "hgcn.figures", "hgcn.errors",
)  # fmt: skip
"""The public modules; their ``__all__`` says which names are public."""
METHODS = ("Run", "Graph", "Config")
"""Classes whose methods are shown, too."""


def public_names(module: str) -> dict[str, object]:
    """What a public module offers, in the order of the alphabet, without modules and constants."""
    found = import_module(module)
    named = {name: getattr(found, name) for name in sorted(found.__all__, key=str.lower)}
    return {name: value for name, value in named.items() if callable(value)}


def api_page() -> str:
    """The page of all public functions and classes, for Sphinx's autodoc."""
    lines = ["# API", "", "What is listed here is [public](../stability.md).", ""]
    shown: set[int] = set()
    for module in MODULES:
        found = import_module(module)
        about = (found.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        lines += [f"## {module}", "", about, "", "```{eval-rst}", f".. currentmodule:: {module}"]
        for name, value in public_names(module).items():
            if id(value) in shown:  # by another module, which offers it too
                continue
            shown.add(id(value))
            kind = "autofunction"
            if inspect.isclass(value):
                kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
            lines += ["", f".. {kind}:: {name}"]
            if name in METHODS:
                lines += ["   :members:"]
        lines += ["```", ""]
    return "\n".join(lines)


def commands_page() -> str:
    """The page of all commands: what ``--help`` prints."""
    lines = ["# Commands", ""]
    for name, about in COMMANDS.items():
        parser = argparse.ArgumentParser(
            prog=f"hgcn {name}", formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command: ModuleType = import_module(f"hgcn.commands.{name}")
        command.configure(parser)
        shown = parser.format_help()
        lines += [f"## hgcn {name}", "", f"{about[0].upper()}{about[1:]}.", "", "```text"]
        lines += [shown.rstrip(), "```", ""]
    return "\n".join(lines)


def public_table() -> str:
    """The table of public names in stability.md."""
    rows = ["| module | names |", "| --- | --- |"]
    for module in MODULES:
        names = sorted(import_module(module).__all__, key=str.lower)
        rows.append(f"| `{module}` | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(rows)


def write_reference(folder: Path) -> None:
    """Write both pages; one that has not changed is left alone, so that Sphinx does so, too."""
    folder.mkdir(exist_ok=True)
    for name, text in (("api.md", api_page()), ("commands.md", commands_page())):
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    page = Path(__file__).with_name("stability.md")
    old = page.read_text(encoding="utf-8")
    between = re.compile(r"(?<=<!-- begin public -->\n\n).*?(?=\n\n<!-- end public -->)", re.DOTALL)
    page.write_text(between.sub(lambda _: public_table(), old), encoding="utf-8")
