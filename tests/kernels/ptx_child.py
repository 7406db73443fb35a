"""Compile every Triton kernel for cards that are not here; a line for each that worked.

    python tests/kernels/ptx_child.py 64 80 90     dimension 64, every kernel for sm_80 and sm_90
    python tests/kernels/ptx_child.py 2 80 90 turns        each kernel for one of them, in turn

A process of its own, without the interpreter: launches are caught, and their kernels are compiled
for the types of their arguments. Nothing is computed.
"""

import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from hgcn import kernels
from hgcn.kernels import backends, triton_gpu

TYPES = {
    torch.float32: "*fp32", torch.float64: "*fp64", torch.int64: "*i64", torch.int32: "*i32",
    torch.int8: "*i8",
}  # fmt: skip
OPTIONS = ("num_warps", "enable_fp_fusion")
caught = {}


def catch(kernel: JITFunction, *args: object, **options: object) -> None:
    caught.setdefault(kernel.__name__, (kernel, args, options))


def compiled_for(capability: int, kernel: JITFunction, args: tuple, options: dict) -> str:
    named = dict(zip(kernel.arg_names, args, strict=False))
    constants = {name: options[name] for name in kernel.arg_names if name in options}
    signature = dict.fromkeys(kernel.arg_names, "constexpr")
    signature |= {
        name: TYPES[x.dtype] if isinstance(x, torch.Tensor) else "i32" for name, x in named.items()
    }
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    chosen = {name: options[name] for name in OPTIONS}
    out = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=chosen)
    return out.asm["ptx"]


def launch_everything(d: int) -> None:
    edges = torch.arange(600).remainder(2).expand(2, -1)  # a hub, so that segments are folded
    g = kernels.neighbourhoods(edges, num_sources=2, num_targets=2, add_self_loops=False)
    v, w = torch.zeros(2, d, requires_grad=True), torch.zeros(600, requires_grad=True)
    c, bias = torch.ones((), requires_grad=True), torch.zeros(d, requires_grad=True)
    both, vector = torch.zeros(2, 2 * d, requires_grad=True), torch.zeros(1, d)
    outputs = [
        kernels.local_sum(v, v, w, c, g),
        kernels.translate(v, bias, c),
        kernels.squared_distance(v, v, c),
        kernels.weighted_sum(v, w, g),
        kernels.attention(both, None, bias, vector, w, g, negative_slope=0.2),
    ]
    for out in outputs:
        out.sum().backward()
    direction = torch.zeros(600, dtype=torch.int8)
    kernels.pair_counts(torch.zeros(2, 3, dtype=torch.int64), w.double(), direction, g)


if __name__ == "__main__":
    JITFunction.run = catch
    triton_gpu._can = lambda *tensors, width=1: True
    with backends.using("triton"):
        launch_everything(int(sys.argv[1]))
    capabilities, turns = [int(x) for x in sys.argv[2:4]], "turns" in sys.argv
    for number, (name, launch) in enumerate(sorted(caught.items())):
        for capability in capabilities[number % 2 :: 2] if turns else capabilities:
            ptx = compiled_for(capability, *launch)
            assert f".target sm_{capability}" in ptx
            assert "fma.rn.f32" not in ptx or name == "_exponentials"
            print(name, capability, flush=True)
