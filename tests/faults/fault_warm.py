"""Imported once by the process that others are forked from: they need not import and compile.

polars must not be imported here: its threads do not survive a fork.
"""

import rich.live  # noqa: F401

import hgcn.cli
import hgcn.commands._display
import hgcn.commands.search
import hgcn.commands.train
import hgcn.runs.pictures
import hgcn.tuning.search  # noqa: F401
from hgcn.data.reading import source  # noqa: F401
from small_graphs import quick_run

for _task in ("link", "node"):
    quick_run(_task)
