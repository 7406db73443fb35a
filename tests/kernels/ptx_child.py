"""Compile every Triton kernel for cards that are not here, as a launch on one would.

    python tests/kernels/ptx_child.py 80:float32:16 90:float64:256

Each argument is a card, a type and a dimension. A line for each kernel tells its registers, and the
bytes of a thread's stack, which are numbers that found no register. Nothing is computed.

A process of its own, without the interpreter: launches are caught, and end when the kernel is
compiled. What the compiler is told of the arguments is what it is told on a card: that a number is
one or a multiple of 16, and that an address is.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from hgcn import kernels
from hgcn.kernels import backends, csr, triton_gpu

TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
launch = JITFunction.run
compiled = {}


class Card:
    """What Triton asks a driver when it compiles."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return self.capability  # compiled kernels are kept for each device

    def get_current_stream(self, device: int) -> int:
        return 0


def catch(kernel: JITFunction, *args: object, warmup: bool, **options: object) -> None:
    made = launch(kernel, *args, warmup=True, **options)
    assert f".target sm_{driver.active.capability}" in made.asm["ptx"]
    # Triton's exponential has a product and a sum in one, whatever the options.
    assert "fma.rn." not in made.asm["ptx"] or kernel.__name__ == "_exponentials"
    compiled[made.hash] = (kernel.__name__, made)


def launch_everything(d: int, dtype: torch.dtype) -> None:
    edges = torch.arange(600).remainder(2).expand(2, -1)  # a hub, so that segments are folded
    g = csr._build_on_device(edges, 2, 2, add_self_loops=False)  # whose indices have 64 bits
    v, w, c, bias, both, vector = (
        torch.zeros(shape, dtype=dtype, requires_grad=True)
        for shape in ((2, d), (600,), (), (d,), (2, 2 * d), (1, d))
    )
    outputs = [
        kernels.local_sum(v, v, w, c, g),
        kernels.local_sum(v, v.flip(0), w, c, g),
        kernels.translate(v, bias, c),
        kernels.translate(v, v, c),
        kernels.squared_distance(v, v, c),
        kernels.weighted_sum(v, w, g),
        kernels.attention(both, None, bias, vector, w, g, negative_slope=0.2),
    ]
    for out in outputs:
        out.sum().backward()
    direction = torch.zeros(600, dtype=torch.int8)
    kernels.pair_counts(torch.zeros(2, 3, dtype=torch.int64), w.double(), direction, g)
    made = len(compiled)
    for rows in (1, 16):
        points = torch.zeros(rows, d, dtype=dtype)
        kernels.squared_distance(points, points, c)
    assert len(compiled) == made, "numbers of pairs compile nothing anew"


def resources(kernel: object) -> tuple[int, int]:
    """Registers and bytes of stack of a thread."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        told = subprocess.run(
            [TOOLS / "cuobjdump", "-res-usage", file.name],
            capture_output=True,
            text=True,
            check=True,
        )
    registers, stack = re.search(r"REG:(\d+) STACK:(\d+)", told.stdout).groups()
    return int(registers), int(stack)


if __name__ == "__main__":
    JITFunction.run = catch
    triton_gpu._can = lambda *tensors, width=1: True
    for wanted in sys.argv[1:]:
        capability, dtype, dimension = wanted.split(":")
        driver.set_active(Card(int(capability)))
        compiled.clear()
        with backends.using("triton"):
            launch_everything(int(dimension), getattr(torch, dtype))
        for name, kernel in compiled.values():
            print(name, *wanted.split(":"), *resources(kernel), flush=True)
