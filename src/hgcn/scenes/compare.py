"""Two scenes side by side: the second is turned until it lies as the first does."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from hgcn.scenes.home import from_home
from hgcn.scenes.projection import turn_to
from hgcn.scenes.scene import Scene


def aligned_to(scene: Scene, other: Scene) -> Scene:
    """The scene with all layers turned or mirrored, as its last layer lies nearest to the other's.

    Nodes are matched by their ids. Rotations and reflections about the origin change no
    distance, and turn what is seen from the mean of all nodes as they turn what is seen from there.
    """
    number = {node: at for at, node in enumerate(other.ids.tolist())}
    common = [(at, number[node]) for at, node in enumerate(scene.ids.tolist()) if node in number]
    if len(common) < 2:
        return scene
    mine, theirs = map(list, zip(*common, strict=True))
    turn = turn_to(_seen(scene, mine), _seen(other, theirs)).numpy()
    layers = [replace(layer, points=layer.points @ turn) for layer in scene.layers]
    return replace(scene, layers=layers)


def _seen(scene: Scene, nodes: list[int]) -> Tensor:
    """Some nodes of the last layer, as the picture shows them at first."""
    layer = scene.layers[-1]
    return from_home(torch.from_numpy(layer.points)[nodes], layer.curvature, rooted=scene.rooted)
