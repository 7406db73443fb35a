"""Two scenes side by side: the second is turned until it lies as the first does."""

from __future__ import annotations

from dataclasses import replace

import torch

from hgcn.scenes.projection import turn_to
from hgcn.scenes.scene import Scene


def aligned_to(scene: Scene, other: Scene) -> Scene:
    """The scene with all layers turned or mirrored, as its last layer lies nearest to the other's.

    Nodes are matched by their ids. Rotations and reflections about the origin change no distance.
    """
    number = {node: at for at, node in enumerate(other.ids.tolist())}
    common = [(at, number[node]) for at, node in enumerate(scene.ids.tolist()) if node in number]
    if len(common) < 2:
        return scene
    mine, theirs = map(list, zip(*common, strict=True))
    points = torch.from_numpy(scene.layers[-1].points)[mine]
    turn = turn_to(points, torch.from_numpy(other.layers[-1].points)[theirs]).numpy()
    layers = [replace(layer, points=layer.points @ turn) for layer in scene.layers]
    return replace(scene, layers=layers)
