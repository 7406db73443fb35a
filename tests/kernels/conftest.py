"""Triton's interpreter is slow: of each test for all backends it gets the first and last cases."""

from collections import defaultdict

import pytest

# The first two need thousands of calls or programs; test_triton_gpu.py has what they check.
LEFT_OUT = {"test_gradcheck", "test_rows_longer_than_a_block"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        callspec = getattr(item, "callspec", None)
        if item.path.name == "test_backends.py" and callspec.params.get("backend") == "triton":
            cases[item.originalname].append(item)
    dropped = {
        item
        for name, group in cases.items()
        for item in (group if name in LEFT_OUT else group[1:-1])
    }
    if dropped:
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=list(dropped))
