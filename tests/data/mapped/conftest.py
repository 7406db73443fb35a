import pytest

from hgcn.data.mapped import blocks, edges, nodes, sorting


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and ranges so small that even a few edges make many of them."""
    for module, name, value in (
        (blocks, "BLOCK_ROWS", 7),
        (blocks, "BLOCK_BYTES", 64),
        (sorting, "RANGE", 5),
        (edges, "RANGE", 5),
        (sorting, "SAMPLES", 4),
        (nodes, "ROWS", 3),
    ):
        monkeypatch.setattr(module, name, value)
