"""Colours stay apart for readers with a colour-vision deficiency, and from the background."""

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour: str) -> np.ndarray:
    value = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.clip(to_xyz @ rgb, 1e-6, None) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palette(theme: str) -> list[str]:
    text = (files("hgcn.viewer") / "assets/colours.js").read_text()
    line = re.search(rf"PALETTES = {{.*?{theme}: \[(.*?)\]", text, re.S)[1]
    return re.findall(r"#[0-9a-f]{6}", line)


@pytest.mark.parametrize("kind", DEFICIENCIES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_palette_stays_apart(theme, kind):
    seen = [lab(np.asarray(DEFICIENCIES[kind]) @ linear(colour)) for colour in palette(theme)]
    assert len(seen) == 8
    nearest = min(np.linalg.norm(p - q) for p, q in itertools.combinations(seen, 2))
    # Just noticeable is 2.3; single dots of a few pixels need more.
    assert nearest > 15


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_palette_stands_out(theme):
    text = (files("hgcn.viewer") / "assets/style.css").read_text()
    disk = re.findall(r"--disk: (#[0-9a-f]{6})", text)[theme == "dark"]

    def luminance(colour: str) -> float:
        return float(linear(colour) @ [0.2126, 0.7152, 0.0722])

    for colour in palette(theme):
        pair = sorted((luminance(colour), luminance(disk)))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) > 1.9
