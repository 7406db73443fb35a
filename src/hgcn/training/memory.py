"""Settings that ask for more memory than there is: refused before or when it is taken."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from hgcn.config import Config
from hgcn.data.graph import Graph
from hgcn.errors import ConfigError

SETTINGS = ("dim", "layers", "heads", "negatives")
"""Settings that a need of memory grows with."""
NODE_NUMBERS = 13
"""Vectors of each node that a layer holds until the step is over, gradients included."""
EDGE_NUMBERS = 4
"""Numbers of each edge and self-loop that a layer holds until the step is over."""
EDGE_BYTES = 60
"""Bytes of each edge that do not depend on the layers: sorted rows, hidden edges."""
STRUCTURE_BYTES = 110
"""More bytes of each edge where the structural term counts on it."""
SAFE = 0.9
"""Share of the free memory that may be taken: the bytes above are measured, to a tenth or so."""
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup/memory.max")


def total_memory() -> int:
    """The bytes of memory that this process may have in all."""
    bounds = [1 << 62]
    if hasattr(os, "sysconf"):
        bounds.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    if CGROUP.is_file():  # the limit of a container
        text = CGROUP.read_text(encoding="ascii").strip()
        bounds += [int(text)] if text.isdecimal() else []
    if sys.platform != "win32":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        bounds += [limit] if limit != resource.RLIM_INFINITY else []
    return min(bounds)


def free_memory() -> int:
    """The bytes of memory that this process may still take, as far as the machine tells."""
    free = total_memory()
    if MEMINFO.is_file():
        text = MEMINFO.read_text(encoding="ascii")
        found = re.search(r"^MemAvailable: +(\d+) kB", text, re.MULTILINE)
        free = min(free, 1024 * int(found[1])) if found else free
    return free


def full_batch_bytes(graph: Graph, config: Config) -> int:
    """About the bytes that a training in full batches takes, beside the graph itself."""
    size = 8 if config.dtype == "float64" else 4
    layers, nodes, edges = config.layers or 1, graph.num_nodes, graph.edge_index.shape[1]
    numbers = layers * (NODE_NUMBERS * nodes * config.dim + EDGE_NUMBERS * (nodes + edges))
    return (EDGE_BYTES + STRUCTURE_BYTES * bool(config.structure)) * edges + size * numbers


def full_batch_fits(graph: Graph, config: Config) -> bool:
    """Whether training in full batches fits into memory; on another device than the CPU, always."""
    elsewhere = not config.device.startswith("cpu")
    return elsewhere or full_batch_bytes(graph, config) < SAFE * free_memory()


def check_memory(need: int, what: str, config: Config) -> None:
    """Refuse settings that need more bytes than this machine has."""
    total = total_memory()
    if need > total and config.device.startswith("cpu"):
        raise ConfigError(
            f"Expected {what} to fit into the memory of this machine, {total / 1e9:.3g} GB, got "
            f"settings that need {need / 1e9:.3g} GB or more: {_listed(config)}. Choose smaller "
            "ones."
        )


@contextlib.contextmanager
def enough_memory(config: Config) -> Iterator[None]:
    """Say which settings to change if memory runs out in this context."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        text = str(error)
        if isinstance(error, RuntimeError) and not (
            "allocate memory" in text or "out of memory" in text
        ):
            raise
        raise ConfigError(
            f"Expected settings that fit into memory, got {_listed(config)}, for which it does not "
            "suffice. Choose smaller ones, or a smaller graph or fewer features."
        ) from error


def _listed(config: Config) -> str:
    given = {name: getattr(config, name) for name in SETTINGS}
    return ", ".join(f"`{name}` {value}" for name, value in given.items() if value is not None)
