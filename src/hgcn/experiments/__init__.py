"""The paper's tables and figures as lists of runs, and a store of what was run."""

from hgcn.experiments.cells import EXPERIMENTS, Cell
from hgcn.experiments.store import Store

__all__ = ["EXPERIMENTS", "Cell", "Store"]
