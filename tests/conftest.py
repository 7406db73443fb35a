import logging
import os
import signal
import warnings

import pytest
import torch
from hypothesis import settings

pytest.register_assert_rewrite("fault_children")

# The first call of a torch operation can take a second, so no example has a deadline.
settings.register_profile("hgcn", deadline=None)
# The same examples on every run: a change is never blamed for another one's unlucky draw.
settings.register_profile("hgcn-ci", settings.get_profile("hgcn"), derandomize=True)
settings.load_profile("hgcn-ci" if os.environ.get("CI") else "hgcn")


# torch says once in a process, whichever test makes the first one, that CSR matrices are young.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.eye(1).to_sparse_csr()

# Triton decides at its import, by whichever test that is, whether it interprets its kernels.
os.environ["TRITON_INTERPRET"] = "1"

# Tests that were started in the background ignore Ctrl-C, and so would the processes they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _usual_level_of_logs() -> None:
    """Let warnings through: a command with --quiet leaves the level of its process raised."""
    logging.getLogger("hgcn").setLevel(logging.NOTSET)
