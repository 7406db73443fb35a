"""Graphs: reading, checking, datasets, simulators, splits and hyperbolicity."""

from hgcn.data.graph import Graph

__all__ = ["Graph"]
