"""The processes of one training: a single one, or those that torchrun has started.

Each process has a rank, from 0 to ``world - 1``. All of them read the same graph and make the same
split; of each batch a rank computes its share. Only the first rank, 0, decides, writes and prints.

Importing this module does not load torch, and ``torch.distributed`` is loaded only if there are
several ranks.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from hgcn.cores import seconds_from
from hgcn.errors import ConfigError, RunError, explain

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed.distributed_c10d import Store

Given = ParamSpec("Given")
Result = TypeVar("Result")

WAIT_SECONDS = 1800.0
"""A rank waits so long for the others, unless ``HGCN_RANKS_SECONDS`` says otherwise."""
GREETING_SECONDS = 1.0
"""A rank that is not greeted back within this time asks again who is first."""
NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells each process in its environment."""


@dataclass(frozen=True)
class Ranks:
    """This process among those of a training."""

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that decides, writes and prints."""
        return self.rank == 0

    def share(self, low: int, high: int) -> tuple[int, int]:
        """The part of the numbers ``low..high - 1`` that is this rank's.

        Example:
            >>> [Ranks(rank, 3).share(10, 20) for rank in range(3)]
            [(10, 13), (13, 16), (16, 20)]
        """
        size = high - low
        return low + size * self.rank // self.world, low + size * (self.rank + 1) // self.world

    def on_first(self, function: Callable[[], Result]) -> Result:
        """The result of a function that the first rank calls, on every rank; and so its error."""
        if self.world == 1:
            return function()
        failure: Exception | None = None
        message: list[Any] = [None, None]
        if self.first:
            try:
                message[0] = function()
            except Exception as error:
                failure, message[1] = error, explain(error)
        import torch
        from torch import distributed

        with lost_others():
            distributed.broadcast_object_list(message, src=0, device=torch.device("cpu"))
        if failure is not None:
            raise failure
        if message[1] is not None:
            raise RunError(f"Rank 0 has failed: {message[1]}")
        result: Result = message[0]
        return result

    def add(self, tensor: Tensor) -> None:
        """Add up the tensors of all ranks, in place: each rank has the same sum, bit for bit."""
        from torch import distributed

        with lost_others():
            distributed.all_reduce(tensor)

    def gather(self, rows: Tensor, bounds: Sequence[int]) -> None:
        """Fill in the rows of the other ranks, in place.

        Args:
            rows: those from ``bounds[rank]`` to ``bounds[rank + 1]`` are known.
            bounds: where the rows of each rank begin, and the end.
        """
        from torch import distributed

        with lost_others():
            for rank in range(self.world):
                part = rows[bounds[rank] : bounds[rank + 1]]
                if len(part):
                    distributed.broadcast(part, src=rank)

    def check_same(self, what: str, value: Any) -> None:
        """Refuse to go on if a rank has another value than the others."""
        if self.world == 1:
            return
        from torch import distributed

        found: list[Any] = [None] * self.world
        with lost_others():
            distributed.all_gather_object(found, value)
        for rank, other in enumerate(found):
            if other != found[0]:
                raise RunError(
                    f"Expected the same {what} on all ranks, got another on rank {rank}. Are files "
                    "and versions the same on all machines?"
                )


ALONE = Ranks()
_joined: list[Ranks] = []
_stores: list[Store] = []


def current() -> Ranks:
    """The ranks that train together now: only this one outside of :func:`together`."""
    return _joined[-1] if _joined else ALONE


def started() -> Ranks:
    """This process among those that torchrun has started; alone without torchrun."""
    if not all(name in os.environ for name in NEEDED):
        return ALONE
    try:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except ValueError:
        rank, world = -1, 0
    if not 0 <= rank < world:
        raise ConfigError(
            "Expected RANK and WORLD_SIZE as torchrun sets them, got "
            f"{os.environ['RANK']!r} and {os.environ['WORLD_SIZE']!r}."
        )
    return Ranks(rank, world)


def goes_on() -> bool:
    """Whether an unfinished run is gone on with: torchrun starts the same command again."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def restarted() -> bool:
    """Whether torchrun has started this process in place of one that failed."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def job_name() -> str:
    """A name of the job that stays when torchrun starts it again; empty without torchrun."""
    if not goes_on():
        return ""
    name = os.environ["TORCHELASTIC_RUN_ID"]
    # Without --rdzv-id, the process that starts the ranks of this machine stays the same.
    return f"job-{os.getppid()}" if name in ("", "none") else name


def own_device(name: str) -> str:
    """The device that this rank computes on: of several ranks on "cuda" each has its own GPU.

    torch knows the GPU of a process only in the thread that chose it, so it is named.
    """
    several = current().world > 1 and name == "cuda"
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if several else name


def refuse_several(what: str) -> None:
    """Refuse what ranks cannot do together."""
    if started().world > 1:
        raise ConfigError(
            f"Expected one process for {what}, got {started().world} of torchrun, which train one "
            "network together. Start it without torchrun."
        )


def together(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let the ranks that torchrun has started work together in a function, which all of them call.

    Alone, the function is called as it is.
    """

    @functools.wraps(function)
    def joined(*given: Given.args, **named: Given.kwargs) -> Result:
        ranks = started()
        if ranks.world == 1 or _joined:
            return function(*given, **named)
        with _group(ranks):
            return function(*given, **named)

    return joined


@contextlib.contextmanager
def lost_others() -> Iterator[None]:
    """Say what it means if ranks cannot be reached."""
    try:
        yield
    except RuntimeError as error:
        reason = re.sub(r"^\[.*?\] ", "", str(error)).splitlines() or [type(error).__name__]
        raise RunError(
            "The other ranks cannot be reached any more. The one that failed first says why; what "
            f"was stored of the run can be gone on with. ({reason[0].split('. ')[0]})"
        ) from error


@contextlib.contextmanager
def _group(ranks: Ranks) -> Iterator[None]:
    """Join the process group, and leave it at the end: then no other rank waits for this one.

    A group that is there already, of a script that has its own, is used and stays.
    """
    import torch
    from torch import distributed

    own, hook = not distributed.is_initialized(), sys.excepthook
    if own:
        if torch.cuda.is_available():
            torch.cuda.set_device(_own_device(torch.cuda.device_count()))
        seconds = timedelta(seconds=seconds_from("HGCN_RANKS_SECONDS", WAIT_SECONDS))
        with lost_others():
            distributed.init_process_group(
                "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
                store=_meet(ranks, seconds),
                rank=ranks.rank,
                world_size=ranks.world,
                timeout=seconds,
            )
    _joined.append(ranks)
    try:
        yield
    finally:
        _joined.pop()
        if own:
            distributed.destroy_process_group()
            sys.excepthook = hook  # torch has put "[rank0]:" before every line of it


def _own_device(count: int) -> int:
    """The GPU of this rank, among those of its machine."""
    number = int(os.environ.get("LOCAL_RANK", "0"))
    if number >= count:
        raise ConfigError(
            f"Expected a GPU for each rank of a machine, got {count} for rank {number} of it. "
            "Start fewer processes, or hide the GPUs with CUDA_VISIBLE_DEVICES= ."
        )
    return number


def _meet(ranks: Ranks, wait: timedelta) -> Store:
    """A store that the ranks of this attempt share, and no earlier one.

    After a failure torchrun may hand out the store of the attempt before, with its addresses: ranks
    that believe them wait for the dead. So the first rank makes up a name for the attempt, and
    greets back every rank that greets it by that name. A rank that has read an old name is not
    greeted, and reads again.
    """
    from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

    if not _stores:
        served = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        serve = ranks.first and not served
        _stores.append(
            TCPStore(host, port, None, serve, wait, wait_for_workers=False, multi_tenant=True)
        )
    store = PrefixStore("hgcn", _stores[0])
    greeting = uuid.uuid4().hex
    if ranks.first:
        store.set("attempt", greeting)
        for rank in range(1, ranks.world):
            store.wait([f"{greeting}/hello/{rank}"], wait)
            store.set(f"{greeting}/back/{rank}", store.get(f"{greeting}/hello/{rank}").decode())
        return PrefixStore(greeting, store)
    end = time.monotonic() + wait.total_seconds()
    while time.monotonic() < end:
        store.wait(["attempt"], wait)
        attempt = store.get("attempt").decode()
        store.set(f"{attempt}/hello/{ranks.rank}", greeting)
        back = f"{attempt}/back/{ranks.rank}"
        with contextlib.suppress(RuntimeError):  # nobody of that name
            store.wait([back], timedelta(seconds=GREETING_SECONDS))
            if store.get(back).decode() == greeting:
                return PrefixStore(attempt, store)
            time.sleep(GREETING_SECONDS)
    raise RunError(f"Expected rank 0 within {wait.total_seconds():.0f} s, but it did not come.")
