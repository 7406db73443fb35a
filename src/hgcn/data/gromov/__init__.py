"""How tree-like a graph is: Gromov's delta of four nodes."""

from hgcn.data.gromov.report import Hyperbolicity, hyperbolicity

__all__ = ["Hyperbolicity", "hyperbolicity"]
