"""Small programs for a GPU, written by hand, so that what runs them is tested by itself."""

from __future__ import annotations

from collections.abc import Sequence

from symgrad.codegen.calls import Blas
from symgrad.codegen.cuda.build import Cubin, build
from symgrad.codegen.cuda.device import (
    ALIGNMENT,
    STATUS,
    DeviceBuffer,
    DeviceKernel,
    DeviceModule,
    Home,
    Launch,
    Pointer,
)
from symgrad.codegen.loops import Refusal
from symgrad.codegen.steps import Argument
from symgrad.errors import Loc
from symgrad.ir.types import I64, DType, array_type
from symgrad.passes.blas_form import Steps

HOPPER = (9, 0)


def axpy(dtype: str, size: int) -> DeviceModule:
    """a · x + y, its result 16 bytes at a time where they are whole."""
    of = array_type(dtype, size)
    name, lanes = of.dtype.name, 16 // of.dtype.itemsize
    names = [f"{v}{k}" for v in "xy" for k in range(lanes)]
    xs, ys = ", ".join(names[:lanes]), ", ".join(names[lanes:])
    sums = ", ".join(f"fma(factor, x{k}, y{k})" for k in range(lanes))
    whole = size // lanes * lanes
    text = f"""def axpy(a, x, y, z):
    thread = int64(cuda.blockIdx.x) * 32 + int64(cuda.threadIdx.x)
    factor = {name}(a[0])
    for i in range(thread * {lanes}, {whole}, {2 * 32 * lanes}):
        {xs} = load_wide(x, i)
        {ys} = load_wide(y, i)
        store_wide(z, i, ({sums}))
    for i in range({whole} + thread, {size}, {2 * 32}):
        z[i] = fma(factor, x[i], y[i])
"""
    pointers = tuple(Pointer(p, of.dtype) for p in "axyz")
    kernel = DeviceKernel("axpy", pointers, text, grid=2, block=32)
    scalar = array_type(dtype)
    params = (Argument("a", scalar), Argument("x", of), Argument("y", of))
    buffers = (
        DeviceBuffer("a", of.dtype, 1, Home.PARAM, 0),
        DeviceBuffer("x", of.dtype, size, Home.PARAM, 1),
        DeviceBuffer("y", of.dtype, size, Home.PARAM, 2),
        DeviceBuffer("z", of.dtype, size, Home.RESULT, 0),
    )
    steps = (Launch("axpy", ("a", "x", "y", "z")),)
    return DeviceModule("axpy", params, (Argument("z", of),), buffers, (kernel,), steps, arena_bytes=0)


def root_sum(size: int, blocks: int = 3) -> DeviceModule:
    """The sum of square roots in two stages; a negative element is refused."""
    of = array_type("f64", size)
    first = f"""def partial(x, parts, status):
    shared = cuda.shared.array(32, float64)
    lane = int64(cuda.threadIdx.x)
    total = 0.0
    for i in range(int64(cuda.blockIdx.x) * 32 + lane, {size}, {32 * blocks}):
        if x[i] < 0.0:
            atomic_max_int64(status, 0, 1)
        total = total + sqrt(x[i])
    shared[lane] = total
    cuda.syncthreads()
    if lane == 0:
        total = 0.0
        for k in range(32):
            total = total + shared[k]
        parts[int64(cuda.blockIdx.x)] = total
"""
    second = f"""def whole(parts, result):
    if cuda.threadIdx.x == 0:
        total = 0.0
        for k in range({blocks}):
            total = total + parts[k]
        result[0] = total
"""
    real = of.dtype
    loc = Loc(__file__, 1, function="loss")
    kernels = (
        DeviceKernel(
            "partial",
            (Pointer("x", real), Pointer("parts", real), Pointer(STATUS, I64)),
            first,
            blocks,
            32,
            (loc,),
        ),
        DeviceKernel("whole", (Pointer("parts", real), Pointer("result", real)), second, 1, 32, (loc,)),
    )
    buffers = (
        DeviceBuffer("x", real, size, Home.PARAM, 0),
        DeviceBuffer("result", real, 1, Home.RESULT, 0),
        DeviceBuffer("parts", real, blocks, Home.ARENA, 0),
        DeviceBuffer(STATUS, I64, 1, Home.ARENA, ALIGNMENT),
    )
    steps = (Launch("partial", ("x", "parts", STATUS)), Launch("whole", ("parts", "result")))
    return DeviceModule(
        "root_sum", (Argument("x", of),), (Argument("result", array_type("f64")),), buffers, kernels, steps,
        2 * ALIGNMENT, (Refusal("the square root of a negative number", loc, ValueError),),
    )  # fmt: skip


def product(call: Blas, dtype: DType, sizes: tuple[int, int, int]) -> DeviceModule:
    """A product of matrices, the result taken over from the third param first."""
    a, b, c = (array_type(dtype, size) for size in sizes)
    text = f"""def carry(start, c):
    for i in range(int64(cuda.threadIdx.x), {sizes[2]}, 32):
        c[i] = start[i]
"""
    kernel = DeviceKernel("carry", (Pointer("start", dtype), Pointer("c", dtype)), text, 1, 32)
    buffers = (
        DeviceBuffer("a", dtype, sizes[0], Home.PARAM, 0),
        DeviceBuffer("b", dtype, sizes[1], Home.PARAM, 1),
        DeviceBuffer("start", dtype, sizes[2], Home.PARAM, 2),
        DeviceBuffer("c", dtype, sizes[2], Home.RESULT, 0),
    )
    params = (Argument("a", a), Argument("b", b), Argument("start", c))
    steps = (Launch("carry", ("start", "c")), call)
    return DeviceModule("product", params, (Argument("c", c),), buffers, (kernel,), steps, 0)


def matrices(dtype: str, batch: int, m: int, n: int, k: int, trans_a: bool, trans_b: bool) -> Blas:
    """A call for matrices that follow one another in memory, transposed as is said."""
    left = Steps(m * k, 1, m) if trans_a else Steps(m * k, k, 1)
    right = Steps(k * n, 1, k) if trans_b else Steps(k * n, n, 1)
    return Blas(batch, m, n, k, "a", "b", "c", (left, right, Steps(m * n, n, 1)), None)


def unbuilt(module: DeviceModule) -> tuple[Cubin, ...]:
    """What stands for machine code where nothing reads it."""
    return tuple(
        Cubin(k.name, f"sg_{module.name}_{k.name}_{id(module)}", b"\177ELF", HOPPER, 1, 0, 0, 0, "")
        for k in module.kernels
    )


def built(module: DeviceModule) -> Sequence[Cubin]:
    """The machine code for the GPU that the stand-in is."""
    return [build(kernel, HOPPER) for kernel in module.kernels]
