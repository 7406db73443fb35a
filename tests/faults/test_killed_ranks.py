"""Ranks of torchrun that are killed: the job goes on by itself, and nothing is lost."""

import contextlib
import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fault_children import TRAIN, run
from fault_tally import FULL

WORDS = [*TRAIN, "--batch-size", "9", "--fanout", "-1", "--dropout", "0", "--dtype", "float64",
         "--epochs", "400" if FULL else "40", "--patience", "1000"]  # fmt: skip
LIMIT = 600
NETWORK = "10.213.77"
"""Addresses of the two machines are the first of this network."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


def torchrun(folder, *flags, before=(), **more):
    """Start a job in a folder: each epoch is stored."""
    words = [*before, sys.executable, "-m", "torch.distributed.run", *flags, "-m", "hgcn", *WORDS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HGCN_CHECKPOINT_SECONDS": "0", **more}
    log = (folder / f"{time.monotonic_ns()}.log").open("w")
    with log:
        return subprocess.Popen(
            words, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def ranks_of(agent):
    """Process ids of the ranks that torchrun has started, by rank."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, KeyError):
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == agent.pid:
                text = (folder / "environ").read_bytes().decode().split("\0")
                told = dict(line.split("=", 1) for line in text if "=" in line)
                found[int(told["RANK"])] = int(folder.name)
    return found


def stamp(folder):
    with contextlib.suppress(OSError):
        return (folder / "run" / "resume.safetensors").stat().st_mtime_ns
    return 0


def said(folder):
    return "\n".join(path.read_text()[-3000:] for path in sorted(folder.glob("*.log")))


def wait_for_epochs(folder, agents, count):
    """Wait until so many epochs were stored since now."""
    end, last = time.monotonic() + LIMIT, stamp(folder)
    while count:
        time.sleep(0.005)
        assert time.monotonic() < end, f"it hangs:\n{said(folder)}"
        assert all(agent.poll() is None for agent in agents), f"it has ended:\n{said(folder)}"
        if stamp(folder) != last:
            last, count = stamp(folder), count - 1


@contextlib.contextmanager
def ending(agents):
    """Kill jobs with all their ranks, if they are still there at the end."""
    try:
        yield
    finally:
        for agent in agents:
            with contextlib.suppress(ProcessLookupError):
                for pid in ranks_of(agent).values():
                    os.kill(pid, signal.SIGKILL)
                os.killpg(agent.pid, signal.SIGKILL)
            agent.wait()


def history(folder):
    with (folder / "run" / "history.csv").open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def calm(start, children, tmp_path_factory):
    """The history of the same training in one process that nobody disturbs."""
    folder = tmp_path_factory.mktemp("calm") / "files"
    shutil.copytree(start, folder)
    assert run(children, folder, WORDS).told() == 0
    return history(folder)


def check(folder, calm):
    """The run is whole, and its curve is that of one process, to rounding."""
    assert "Traceback" not in said(folder), said(folder)
    assert (folder / "run" / "environment.json").exists(), said(folder)
    assert not (folder / "run" / "resume.safetensors").exists()
    found = history(folder)
    assert [row["epoch"] for row in found] == [row["epoch"] for row in calm]
    for own, other in zip(found, calm, strict=True):
        # After hundreds of epochs rounding has grown to 1e-10, and losses have shrunk to 1e-4.
        assert own == pytest.approx(other, rel=1e-6, abs=1e-8)


@needs_proc
def test_a_killed_rank_is_started_again(start, calm, tmp_path, tally):
    kills = 20 if FULL else 1
    folder = tmp_path / "files"
    shutil.copytree(start, folder)
    agent = torchrun(folder, "--standalone", "--nproc-per-node=2", f"--max-restarts={kills}")
    count = tally("kill -9 one of two ranks", short=kills, full=kills)
    with ending([agent]):
        for number, draw in count:
            with count.attempt(f"kill {number}"):
                wait_for_epochs(folder, [agent], draw.randint(2, 6))
                os.kill(ranks_of(agent)[number % 2], signal.SIGKILL)
                time.sleep(0.5)  # what the ranks were storing is stored
        assert agent.wait(LIMIT) == 0, said(folder)
    check(folder, calm)


@pytest.fixture
def machines():
    """Two network namespaces with an address each, as two machines have them."""
    ip, names = shutil.which("ip"), [f"hgcn-{os.getpid()}-{k}" for k in (1, 2)]
    if ip is None:
        pytest.skip("there is no command `ip`")

    def do(*words):
        return subprocess.run([ip, *words], capture_output=True, text=True, check=False)

    ends = [f"hg{os.getpid() % 10**6}-{k}" for k in (1, 2)]
    steps = [
        *(["netns", "add", name] for name in names),
        ["link", "add", ends[0], "netns", names[0], "type", "veth", "peer", "name", ends[1],
         "netns", names[1]],
    ]  # fmt: skip
    for k, (name, end) in enumerate(zip(names, ends, strict=True), 1):
        steps += [
            ["-n", name, "addr", "add", f"{NETWORK}.{k}/24", "dev", end],
            ["-n", name, "link", "set", end, "up"],
            ["-n", name, "link", "set", "lo", "up"],
        ]
    try:
        for step in steps:
            done = do(*step)
            if done.returncode:
                pytest.skip(f"the kernel allows no network namespaces: {done.stderr.strip()}")
        yield [(["ip", "netns", "exec", name], end) for name, end in zip(names, ends, strict=True)]
    finally:
        for name in names:
            do("netns", "del", name)


@needs_proc
def test_two_machines_go_on_after_one_lost_a_rank(machines, start, calm, tmp_path, tally):
    kills = 5 if FULL else 1
    folder = tmp_path / "files"
    shutil.copytree(start, folder)
    count = tally("kill -9 a rank on one of two machines", short=kills, full=kills)
    agents = [
        torchrun(
            folder,
            "--nnodes=2",
            "--nproc-per-node=1",
            f"--max-restarts={kills}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={NETWORK}.1:29431",
            f"--rdzv-conf=is_host={k == 0}",
            f"--local-addr={NETWORK}.{k + 1}",
            "--rdzv-id=hgcn",
            before=before,
            GLOO_SOCKET_IFNAME=end,
        )
        for k, (before, end) in enumerate(machines)
    ]
    with ending(agents):
        for number, draw in count:
            with count.attempt(f"kill {number}"):
                wait_for_epochs(folder, agents, draw.randint(2, 6))
                (victim,) = ranks_of(agents[number % 2]).values()
                os.kill(victim, signal.SIGKILL)
                time.sleep(0.5)
        assert [agent.wait(LIMIT) for agent in agents] == [0, 0], said(folder)
    check(folder, calm)
