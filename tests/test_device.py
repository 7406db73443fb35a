"""Everything on a device that is not there: what would fail on a GPU, or wait for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils import backend_registration

pytest.importorskip("triton", reason="needs Triton, of the extra gpu")
pytestmark = pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
    reason="needs a torch that takes a device made in Python",
)


def test_networks_are_trained_and_applied_where_they_are():
    """Steps of training wait for nothing, and whatever else there is computes on one device.

    The device knows its own tensors from those of the CPU, and notes what it would be waited for
    (``stand_in.py``). One process has it all, as torch is loaded once for it.
    """
    child = Path(__file__).with_name("device_child.py")
    made = subprocess.run(
        [sys.executable, child],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.splitlines() == [
        "noticed",
        "fused link",
        "fused node",
        "link",
        "link directed",
        "link in batches",
        "node",
        "node of words",
        "node in batches",
        "node centroid",
        "hierarchy",
        "hierarchy of features",
        "rows descend",
        "link applied",
        "node applied",
        "hierarchy applied",
        "without float64",
        "resumed",
        "estimators",
    ], made.stderr
