"""Several processes that train together do what one does."""

import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import rank_children
from hgcn import ranks
from hgcn.errors import ConfigError
from hgcn.inference.layerwise import _shares
from hgcn.ranks import Ranks, job_name, own_device, started
from hgcn.runs.folder import load_run
from hgcn.sampling import Adjacency, NeighbourSampler

TESTS = Path(__file__).parents[1]


def environment(rank: int, world: int, port: int) -> dict[str, str]:
    """What torchrun tells a process; of torchrun itself there is one in tests/faults."""
    own = {"RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank, "MASTER_PORT": port}
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    told = {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    return {**os.environ, **told, **{name: str(value) for name, value in own.items()}}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each of two ranks found, and the folder."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    words = [sys.executable, str(TESTS / "rank_children.py"), str(folder)]
    processes = [
        subprocess.Popen(words, env=environment(rank, 2, port), stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=600)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)], folder


@pytest.fixture(scope="module")
def alone():
    return rank_children.curves()


def assert_close(one, two, tolerance, where=""):
    """Two trees of numbers are the same to rounding."""
    assert type(one) is type(two), where
    if isinstance(one, dict):
        assert set(one) == set(two), where
        for name in set(one) - {"seconds"}:
            # It is found by steps that end at a tolerance of their own.
            within = max(tolerance, 1e-4) if name == "calibration" else tolerance
            assert_close(one[name], two[name], within, f"{where} {name}")
    elif isinstance(one, list):
        assert len(one) == len(two), where
        for first, second in zip(one, two, strict=True):
            assert_close(first, second, tolerance, where)
    elif isinstance(one, float):
        assert math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance), (where, one, two)
    else:
        assert one == two, where


@pytest.mark.parametrize("name", rank_children.CASES)
def test_two_ranks_have_the_curve_and_the_scores_of_one(name, told, alone):
    """Losses, scores of all pairs or nodes, and all else in the metrics."""
    tolerance = 2e-4 if "float32" in name else 1e-9
    one = json.loads(json.dumps(alone[name]))
    assert one["history"]
    assert_close(told[0][0]["curves"][name], one, tolerance, name)


def test_every_rank_has_the_same_run(told):
    (first, second), _ = told
    assert first["curves"] == second["curves"]
    assert first["dropout"] == second["dropout"]


def test_only_the_first_rank_writes_and_all_know_where(told):
    (first, second), folder = told
    assert first["path"] == second["path"] == str(folder / "run")
    run = load_run(folder / "run")
    assert run.environment["ranks"] == 2
    assert not (folder / "run" / "resume.safetensors").exists()


def test_what_ranks_cannot_do_together_is_refused_on_all(told):
    for rank, found in enumerate(told[0]):
        assert "above 0 for 2 processes to divide, got 0" in found["full batch"]
        for name in ("auto", "seeds", "search"):
            assert "got 2 of torchrun" in found[name]
        assert "the same graph on all ranks, got another on rank 1" in found["graph"]
        assert "holds a run already" in found["again"]
        assert found["again"].startswith("Rank 0 has failed: ") == bool(rank)
    assert "cannot be reached" in told[0][0]["own"]
    assert "`dim`" in told[0][1]["own"]


def test_shares_are_disjoint_and_all_there_is():
    for world in (1, 2, 3, 7):
        shares = [range(*Ranks(rank, world).share(5, 16)) for rank in range(world)]
        assert [number for share in shares for number in share] == list(range(5, 16))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_nodes_of_a_layer_are_divided_by_their_work():
    hub = torch.stack((torch.arange(1, 100), torch.zeros(99, dtype=torch.long)))
    assert _shares(Adjacency.of(hub, None, 100), 2) == [0, 1, 100]
    assert _shares(Adjacency.of(hub.flip(0), None, 100), 4) == [0, 26, 51, 76, 100]
    assert _shares(Adjacency.of(hub[:, :2], None, 3), 3) == [0, 1, 2, 3]


@pytest.mark.parametrize("more", [{}, {"replace": True}, {"by_weight": True}], ids=str)
def test_a_share_of_a_batch_has_the_draws_of_the_whole(more):
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(50, (2, 2000), generator=generator)
    weight = torch.rand(2000, generator=generator)
    sampler = NeighbourSampler(Adjacency.of(edges, weight, 50), [3, 3], **more)

    def drawn(nodes):
        sample = sampler.sample(nodes, seed=9)
        pairs = sample.nodes[sample.edge_index]
        rows = {}
        for (source, target), stands in zip(pairs.T.tolist(), sample.stands.tolist(), strict=True):
            rows.setdefault(target, []).append((source, stands))
        return rows

    whole = drawn(torch.arange(20))
    for share in (torch.arange(7), torch.arange(7, 20)):
        own = drawn(share)
        assert own
        assert own == {target: whole[target] for target in own}


@pytest.mark.parametrize(("rank", "world"), [("2", "2"), ("-1", "2"), ("x", "2"), ("0", "")])
def test_a_wrong_environment_is_refused(rank, world, monkeypatch):
    for name, value in environment(0, 2, 1).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world)
    with pytest.raises(ConfigError, match="as torchrun sets them"):
        started()


def test_every_rank_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert own_device("cuda") == "cuda"
    monkeypatch.setattr(ranks, "_joined", [Ranks(7, 8)])
    assert [own_device(name) for name in ("cuda", "cuda:1", "cpu")] == ["cuda:3", "cuda:1", "cpu"]
    assert ranks._own_device(4) == 3
    with pytest.raises(ConfigError, match="a GPU for each rank of a machine, got 2"):
        ranks._own_device(2)


def test_a_job_keeps_its_name(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert job_name() == ""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert job_name() == f"job-{os.getppid()}"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "night-7")
    assert job_name() == "night-7"


def test_one_process_does_not_load_what_several_need():
    code = (
        "import sys, hgcn.ranks as r; assert 'torch' not in sys.modules;"
        "r.together(lambda: 0)(); r.ALONE.on_first(lambda: 0); r.ALONE.check_same('', 0);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
