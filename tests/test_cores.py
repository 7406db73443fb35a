"""Processors are counted and used alike on every system."""

import os

import pytest
import torch

from hgcn import cores


def test_cores_are_those_this_process_may_use() -> None:
    assert 1 <= cores.count_cores() <= (os.cpu_count() or 1)


def test_a_system_without_affinity_has_a_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores.count_cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores.count_cores() == 1


def _remember(word: str) -> None:
    os.environ["HGCN_TEST_WORD"] = word


def _tell(number: int) -> tuple[int, int, str | None]:
    return number, torch.get_num_threads(), os.environ.get("HGCN_TEST_WORD")


def test_workers_are_prepared_and_have_one_thread() -> None:
    with cores.worker_pool(1, _remember, "ready") as pool:
        assert list(pool.map(_tell, [3, 4])) == [(3, 1, "ready"), (4, 1, "ready")]
    assert "HGCN_TEST_WORD" not in os.environ
