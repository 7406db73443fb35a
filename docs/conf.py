"""Settings of Sphinx; `make docs` builds the site, and a warning is an error there."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["COLUMNS"] = "90"  # the width of the help of commands

from reference import write_reference  # noqa: E402

import hgcn  # noqa: E402

write_reference(HERE / "reference")

project = "hgcn"
author = "The hgcn authors"
version = release = hgcn.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"hgcn {release}"
html_copy_source = False
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = False
