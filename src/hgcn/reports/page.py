"""The page of a report: sections of charts and tables, in one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hgcn import files


@dataclass(frozen=True)
class Panel:
    """A chart or table with its heading, as HTML whose text is escaped.

    Args:
        title: the heading.
        body: the content.
        note: a sentence below it.
        wide: whether it takes the whole width of the page.
    """

    title: str
    body: str
    note: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """Panels under one heading."""

    title: str
    panels: Sequence[Panel]


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    shades: Sequence[Sequence[float]] = (),
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """A table.

    Args:
        heads: the heading of each column.
        rows: the cells; the first of each row is its heading.
        shades: colours of the cells after the first of each row, from 0 to 1.
        groups: headings above those of the columns, and over how many columns each one goes.
    """
    parts = ["<table><thead>"]
    if groups:
        cells = [
            f'<th colspan="{count}" scope="colgroup">{html.escape(name)}</th>'
            for name, count in groups
        ]
        parts.append(f'<tr class="groups">{"".join(cells)}</tr>')
    parts.append("<tr>")
    parts += [f'<th scope="col">{html.escape(head)}</th>' for head in heads]
    parts.append("</tr></thead><tbody>")
    for number, row in enumerate(rows):
        parts.append(f'<tr><th scope="row">{html.escape(row[0])}</th>')
        for at, cell in enumerate(row[1:]):
            shade = round(9 * min(1.0, shades[number][at])) if shades else 0
            look = f' class="h{shade}"' if shade else ""
            parts.append(f"<td{look}>{html.escape(cell)}</td>")
        parts.append("</tr>")
    parts.append("</tbody></table>")
    return "".join(parts)


def facts_list(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values, in as many columns as there is room for."""
    body = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in rows
    )
    return f"<dl>{body}</dl>"


def render_report(title: str, facts: str, sections: Sequence[Section]) -> str:
    """The page as text: HTML without any script, which asks the network for nothing."""
    style = (resources.files("hgcn.reports") / "assets" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    body = "".join(_section(section) for section in sections if section.panels)
    name = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{name}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n'
        f"</head>\n<body>\n<header><h1>{name}</h1><p>{html.escape(facts)}</p></header>\n"
        f"<main>{body}</main>\n</body>\n</html>\n"
    )


def write_report(path: str | Path, title: str, facts: str, sections: Sequence[Section]) -> Path:
    """Write the page of a report and return its path."""
    path = Path(path)
    files.write_text(path, render_report(title, facts, sections))
    return path


def _section(section: Section) -> str:
    panels = "".join(
        f'<figure class="{"wide" if panel.wide else "panel"}"><figcaption>'
        f"{html.escape(panel.title)}</figcaption>{panel.body}"
        + (f'<p class="note">{html.escape(panel.note)}</p>' if panel.note else "")
        + "</figure>"
        for panel in section.panels
    )
    heading = html.escape(section.title)
    return f'<section><h2>{heading}</h2><div class="grid">{panels}</div></section>\n'
