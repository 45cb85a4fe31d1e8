"""Kernels in Triton. tests/foreign/python.rs has the reference of each."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(z + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def sum_of_all(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own = tl.sum(tl.load(x + i, mask=i < n, other=0), axis=0)
    tl.atomic_add(total, own)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    values = tl.load(x + row * columns + column, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + column, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def transpose(x, y, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x + r * columns + c, mask=(r < rows) & (c < columns), other=0)
    r_out = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    c_out = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[:, None]
    tl.store(y + c_out * rows + r_out, tl.trans(tile), mask=(r_out < rows) & (c_out < columns))


@triton.jit
def prefix_sums(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0), axis=0), mask=i < n)


@triton.jit
def matrix_product(a, b, c, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        k = start + tl.arange(0, BLOCK)
        of_a = tl.load(a + row[:, None] * n + k[None, :], mask=(row[:, None] < n) & (k[None, :] < n), other=0.0)
        of_b = tl.load(b + k[:, None] * n + column[None, :], mask=(k[:, None] < n) & (column[None, :] < n), other=0.0)
        total += tl.dot(of_a, of_b, input_precision="ieee")
    mask = (row[:, None] < n) & (column[None, :] < n)
    tl.store(c + row[:, None] * n + column[None, :], total, mask=mask)


F, I, N = "*fp32", "*i32", "i32"
KERNELS = [
    (add, {"x": F, "y": F, "z": F, "n": N}, 128),
    (sum_of_all, {"x": I, "total": I, "n": N}, 256),
    (softmax, {"x": F, "y": F, "columns": N}, 128),
    (transpose, {"x": F, "y": F, "rows": N, "columns": N}, 16),
    (prefix_sums, {"x": I, "y": I, "n": N}, 128),
    (matrix_product, {"a": F, "b": F, "c": F, "n": N}, 16),
]


def compile(architecture):
    """The PTX of all kernels, one module after the other."""
    modules = []
    for kernel, signature, block in KERNELS:
        source = ASTSource(fn=kernel, signature=signature | {"BLOCK": "constexpr"}, constexprs={"BLOCK": block})
        compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": 4})
        modules.append(compiled.asm["ptx"] + f"\n// shared memory: {compiled.metadata.shared}\n")
    return "\n//#####\n".join(modules)
