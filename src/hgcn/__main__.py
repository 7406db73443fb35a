"""``python -m hgcn`` is the command ``hgcn``."""

import sys

from hgcn.cli import main

if __name__ == "__main__":
    sys.exit(main())
