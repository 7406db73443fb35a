"""One self-contained HTML file from one scene, or from two to compare.

The file asks the network for nothing and runs no script but its own: a Content-Security-Policy
names the script and the style by their hash. Text of the user (ids, names) is only ever data: it
travels in a JSON block whose angle brackets are escaped, and is shown as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hgcn import files
from hgcn.errors import DataError
from hgcn.geometry.normal import saturate
from hgcn.scenes.compare import aligned_to
from hgcn.scenes.scene import Categories, Column, Layer, Measured, Scene, Texts

# In this order they make one script; a file uses what the files before it declare.
_SCRIPTS = (
    "geometry.js",
    "data.js",
    "colours.js",
    "space.js",
    "raster.js",
    "renderer.js",
    "labels.js",
    "crowd.js",
    "picture.js",
    "pointer.js",
    "view.js",
    "panel.js",
    "card.js",
    "caption.js",
    "export.js",
    "main.js",
)


def write_page(path: str | Path, *scenes: Scene) -> Path:
    """Write the page of one scene, or of two side by side, and return its path.

    See :func:`render_page` for how a scene is made.
    """
    path = Path(path)
    files.write_text(path, render_page(*scenes))
    return path


def render_page(*scenes: Scene) -> str:
    """The page as text: HTML that opens by double click and needs nothing else.

    Example:
        >>> from hgcn.data import random_tree
        >>> from hgcn.viewer import scene_from_embeddings
        >>> graph = random_tree(5)
        >>> scene = scene_from_embeddings(graph, [torch.randn(5, 2)], [1.0])
        >>> render_page(scene)[:15]
        '<!doctype html>'
    """
    if len(scenes) not in (1, 2):
        raise DataError(f"Expected one scene, or two to compare, got {len(scenes)}.")
    if len(scenes) == 2:
        scenes = scenes[0], aligned_to(scenes[1], scenes[0])
    style, script = _asset("style.css"), page_script()
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; "
        f"style-src 'sha256-{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    values = {
        "policy": html.escape(policy),
        "title": html.escape(" and ".join(scene.name for scene in scenes)),
        "style": style,
        "script": script,
        "data": island([pack(scene) for scene in scenes]),
    }
    # One pass, so that a name that looks like a placeholder stays a name.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _asset("page.html"))


def page_script() -> str:
    """The script of the page, in one piece."""
    scripts = "\n".join(map(_asset, _SCRIPTS))
    return f'(() => {{\n"use strict";\n{scripts}\n}})();\n'


def _asset(name: str) -> str:
    path = resources.files("hgcn.viewer") / "assets" / name
    return path.read_text(encoding="utf-8")


def island(value: object) -> str:
    """JSON that cannot end the block it stands in, whatever text it holds."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def pack(scene: Scene) -> dict[str, Any]:
    """A scene as JSON; arrays as base64 of little-endian numbers."""
    missing = scene.missing
    return {
        "name": scene.name,
        "ids": scene.ids.tolist(),
        "directed": scene.directed,
        "rooted": scene.rooted,
        "edges": _array(scene.edges, "<i4"),
        "layers": [_layer(layer) for layer in scene.layers],
        "columns": [_column(name, column) for name, column in scene.columns.items()],
        "missing": missing
        and {
            "pairs": _array(missing.pairs, "<i4"),
            "probability": _array(missing.probability, "<f4"),
            "distance": _floats(missing.distance),
        },
        "labels": scene.labels and list(scene.labels),
        "note": scene.note,
        "metrics": [list(row) for row in scene.metrics],
    }


def _layer(layer: Layer) -> dict[str, Any]:
    points = torch.from_numpy(layer.points)
    if layer.curvature is not None:
        # In units of the curvature radius, and held where the geometry of the library holds them.
        root = torch.tensor(layer.curvature, dtype=torch.float64).sqrt()
        points = saturate(points, root)[0] * root
    lost = layer.lost
    return {
        "title": layer.title,
        "curvature": layer.curvature,
        "points": _array(points.numpy(), "<f8"),
        "lost": lost
        and {"error": lost.relative_error, "kept": lost.kept, "correlation": lost.correlation},
        "attention": _floats(layer.attention),
        "own": _floats(layer.own),
        "measured": layer.measured and _measured(layer.measured),
    }


def _measured(measured: Measured) -> dict[str, Any]:
    nearest = measured.nearest
    return {
        "radius": _array(measured.radius, "<f4"),
        "distance": _array(measured.distance, "<f4"),
        "kept": _array(measured.kept, "<f4"),
        "nearest": None if nearest is None else _array(nearest, "<i4"),
        "nearestDistance": _floats(measured.nearest_distance),
    }


def _floats(values: np.ndarray | None) -> dict[str, str] | None:
    return None if values is None else _array(values, "<f4")


def _column(name: str, column: Column) -> dict[str, Any]:
    if isinstance(column, Categories):
        return {"name": name, "codes": _array(column.codes, "<i4"), "names": list(column.names)}
    if isinstance(column, Texts):
        return {"name": name, "texts": list(column.values)}
    return {"name": name, "values": _array(column.values, "<f4")}


def _array(values: np.ndarray, dtype: str) -> dict[str, str]:
    data = np.ascontiguousarray(values, dtype=dtype).tobytes()
    return {"type": dtype, "data": base64.b64encode(data).decode("ascii")}


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
