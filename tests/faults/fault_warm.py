"""Imported once by the process that others are forked from: they need not import and compile.

polars may be imported here but not used: the threads that it then starts do not survive a fork.
"""

import tempfile
from pathlib import Path

import polars  # noqa: F401
import rich.live  # noqa: F401
import safetensors.torch  # noqa: F401

import hgcn.cli
import hgcn.commands._display
import hgcn.commands.ancestors
import hgcn.commands.embed
import hgcn.commands.neighbours
import hgcn.commands.predict
import hgcn.commands.search
import hgcn.commands.train
import hgcn.commands.view
import hgcn.nearest.scan
import hgcn.runs.seeds
import hgcn.training.hierarchy
import hgcn.tuning.search  # noqa: F401
from hgcn.data.reading import source  # noqa: F401
from hgcn.runs.pictures import write_run_page
from small_graphs import quick_run

with tempfile.TemporaryDirectory() as _folder:
    for _task in ("link", "node"):
        write_run_page(Path(_folder) / "page.html", quick_run(_task))
