"""The paper's figures from our own runs, and pictures of a run for notebooks.

Example:
    >>> from hgcn import figures
    >>> path = figures.save(figures.geometry_figure(), "geometry.svg")
"""

from hgcn.figures.attention import attention_figure, train_for_attention
from hgcn.figures.curvature import curvature_figure
from hgcn.figures.embeddings import embeddings_figure, train_for_embeddings
from hgcn.figures.geometry import geometry_figure
from hgcn.figures.hierarchy import hierarchy_figure
from hgcn.figures.lowdim import lowdim_figure
from hgcn.figures.reliability import reliability_figure
from hgcn.figures.training import training_figure
from hgcn.plots.style import save
from hgcn.runs.pictures import plot_disk

__all__ = [
    "attention_figure",
    "curvature_figure",
    "embeddings_figure",
    "geometry_figure",
    "hierarchy_figure",
    "lowdim_figure",
    "plot_disk",
    "reliability_figure",
    "save",
    "train_for_attention",
    "train_for_embeddings",
    "training_figure",
]
