"""From points that somebody already has to a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from hgcn.data.graph import Graph
from hgcn.nearest.points import Points
from hgcn.scenes.build import scene_from_embeddings
from hgcn.scenes.sample import MOST_NODES_DRAWN, sample_note, sample_of_nodes, sampled
from hgcn.scenes.scene import Numbers, Scene


def points_scene(
    points: Points,
    graph: Graph | None = None,
    *,
    name: str | None = None,
    label_column: str | None = None,
    say: Callable[[str], Any] = lambda step: None,
) -> Scene:
    """The scene of points, coloured by their radius.

    Args:
        points: the points.
        graph: a graph to draw, with its edges, labels and columns. Each of its nodes has the point
            of the same id; points that are no nodes are left out.
        name: heading of the picture; what errors call the points if not given.
        label_column: the column of the graph that names nodes; by default one is looked for.
        say: called with what is done next.
    """
    rows = np.arange(len(points.z)) if graph is None else points.find(graph.ids)
    if graph is None:
        nothing = torch.empty((2, 0), dtype=torch.int64)
        graph = Graph(nothing, len(points.z), ids=points.ids)
    z, note, count = points.z[torch.from_numpy(rows)], "", len(rows)
    if count > MOST_NODES_DRAWN:
        drawn = sample_of_nodes(graph, MOST_NODES_DRAWN)
        note = sample_note(graph, drawn)
        z, graph = z[drawn], sampled(graph, drawn)
    scene = scene_from_embeddings(
        graph, [z], [points.space], name=name or points.name, label_column=label_column, say=say
    )
    # Without edges, degree and depth say nothing.
    others = scene.columns if graph.edge_index.shape[1] else {}
    radius = Numbers(z.norm(dim=1).numpy())
    return replace(
        scene,
        layers=[replace(scene.layers[0], title="Embedding")],
        columns={"radius": radius, **others},
        metrics=[("points", f"{count:,}"), ("dimensions", str(z.shape[1]))],
        note=note,
    )
