"""The interactive page: embeddings of a graph on the Poincaré disk, in one HTML file.

Example:
    >>> import torch
    >>> from hgcn import viewer
    >>> from hgcn.data.graph import Graph
    >>> graph = Graph(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> scene = viewer.scene_from_embeddings(graph, [torch.randn(3, 8)], [1.0])
    >>> path = viewer.write_page("disk.html", scene)
"""

from hgcn.deprecated import renamed
from hgcn.scenes.build import scene_from_embeddings
from hgcn.scenes.projection import ProjectionLoss, project
from hgcn.scenes.scene import Categories, Layer, Measured, MissingLinks, Numbers, Scene, Texts
from hgcn.viewer.page import render_page, write_page
from hgcn.viewer.server import serve

__all__ = [
    "Categories",
    "Layer",
    "Measured",
    "MissingLinks",
    "Numbers",
    "ProjectionLoss",
    "Scene",
    "Texts",
    "project",
    "render_page",
    "scene_from_embeddings",
    "serve",
    "write_page",
]

__getattr__ = renamed(__name__, {"Distortion": "ProjectionLoss"})
