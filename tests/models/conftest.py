from collections.abc import Iterator

import numba
import pytest


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small graphs gain nothing from threads, and on a busy machine these wait for one another."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
