"""What one call in flight has for itself: device memory, a stream, and the program's work as one graph.

The first call runs the steps one by one, which loads what is loaded late; the second captures them; every one
from then on is one launch. Inputs that lie elsewhere have graphs of their own: a loop that hands its results
back to itself alternates between addresses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.codegen.calls import Blas
from symgrad.codegen.cuda.build import Cubin
from symgrad.codegen.cuda.device import STATUS, DeviceKernel, DeviceModule, Home, Launch
from symgrad.codegen.places import located
from symgrad.errors import CudaError, InternalError
from symgrad.ir.types import I64
from symgrad.runtime.cuda import driver
from symgrad.runtime.cuda.cublas import Handle, product_of
from symgrad.runtime.cuda.layout import Layout, address_of
from symgrad.runtime.cuda.staging import staging

GRAPHS = 4  # of one frame
GRAPH_VARIABLE = "SYMGRAD_CUDA_GRAPH"  # "0": no graphs, and a look for errors after each step


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program whose kernels the driver has."""

    module: DeviceModule
    layout: Layout
    kernels: Mapping[str, DeviceKernel]
    functions: Mapping[str, Any]  # by kernel
    graphs: bool  # whether steps become graphs

    @property
    def uses_blas(self) -> bool:
        """Whether cuBLAS is called."""
        return any(isinstance(step, Blas) for step in self.module.steps)


def loaded(module: DeviceModule, layout: Layout, cubins: Sequence[Cubin]) -> Loaded:
    """The program with its machine code handed to the driver."""
    functions = {cubin.name: driver.function(driver.load(cubin.code), cubin.entry) for cubin in cubins}
    kernels = {kernel.name: kernel for kernel in module.kernels}
    return Loaded(module, layout, kernels, functions, os.environ.get(GRAPH_VARIABLE) != "0")


@dataclass(frozen=True, slots=True)
class _Step:
    """One step on addresses."""

    put: Callable[[], None]  # into the stream
    what: str  # it does, for errors


class Frame:
    """The memory and the stream of one call."""

    def __init__(self, program: Loaded, base: int) -> None:
        self.base = base
        self.stream = driver.stream()
        self._program = program
        self._blas: Handle | None = None
        if program.uses_blas:
            self._blas = Handle(int(self.stream), base + program.layout.workspace.offset)
        self.params = tuple(base + part.offset for part in program.layout.params)
        self.results = tuple(base + part.offset for part in program.layout.results)
        self.staging = staging(program.module, program.layout)
        self._own = {b.name: base + program.layout.offset(b) for b in program.module.buffers}
        self._status = np.zeros(1, np.int64)
        self._warm = False
        self._graphs: dict[
            tuple[tuple[int, int], ...], driver.Graph
        ] = {}  # last used last, by what is elsewhere

    def execute(self, elsewhere: dict[int, int]) -> None:
        """Put the steps into the stream, on params that lie at these addresses instead of their own."""
        if not self._program.graphs:
            self._one_by_one(elsewhere)
        elif not self._warm:
            self._put(elsewhere)
            self._warm = True
        else:
            self._launch(elsewhere)

    def finish(self) -> int:
        """Wait until all is done; the number of a refusal that applies, or 0."""
        if self._program.module.refusals:
            driver.to_host(address_of(self._status), self._own[STATUS], self._status.nbytes, self.stream)
        driver.wait(self.stream)
        return int(self._status[0])

    def close(self) -> None:
        """Give everything back; what fails after an error fails quietly, for it is known already."""
        closing = [
            *(graph.close for graph in self._graphs.values()),
            *([] if self.staging is None else [self.staging.close]),
            *([] if self._blas is None else [self._blas.close]),
            lambda: driver.close_stream(self.stream),
            lambda: driver.free(self.base),
        ]
        for close in closing:
            try:
                close()
            except CudaError:
                continue

    # ---- the steps ----
    def _put(self, elsewhere: Mapping[int, int]) -> None:
        for step in self._steps(elsewhere):
            step.put()

    def _launch(self, elsewhere: dict[int, int]) -> None:
        key = tuple(elsewhere.items())
        graph = self._graphs.pop(key, None)
        if graph is None:
            graph = self._captured(elsewhere)
        self._graphs[key] = graph
        graph.launch()

    def _captured(self, elsewhere: Mapping[int, int]) -> driver.Graph:
        """A new graph, or the one that was not used for longest, made anew for other addresses."""
        if len(self._graphs) < GRAPHS:
            return driver.Graph(self.stream, lambda: self._put(elsewhere))
        graph = self._graphs.pop(next(iter(self._graphs)))
        try:
            graph.renew(lambda: self._put(elsewhere))
        except BaseException:
            graph.close()
            raise
        return graph

    def _one_by_one(self, elsewhere: Mapping[int, int]) -> None:
        for step in self._steps(elsewhere):
            try:
                step.put()
                driver.wait(self.stream)
            except CudaError as error:
                error.what = f"{step.what}: {error.what}"
                error.cure = None
                raise

    def _steps(self, elsewhere: Mapping[int, int]) -> list[_Step]:
        """The steps on this frame's addresses, and params elsewhere."""
        module, stream = self._program.module, self.stream
        at = self._own
        if elsewhere:
            params = (b for b in module.buffers if b.home is Home.PARAM and b.number in elsewhere)
            at = {**at, **{b.name: elsewhere[b.number] for b in params}}
        steps: list[_Step] = []
        if module.refusals:
            steps.append(
                _Step(lambda: driver.zero(at[STATUS], I64.itemsize, stream), "the number of a refusal")
            )
        for step in module.steps:
            match step:
                case Launch():
                    steps.append(self._kernel(step, at))
                case Blas():
                    steps.append(self._product(step, at))
        return steps

    def _kernel(self, step: Launch, at: Mapping[str, int]) -> _Step:
        kernel = self._program.kernels[step.kernel]
        function = self._program.functions[step.kernel]
        launch = driver.KernelLaunch(function, kernel.grid, kernel.block, [at[b] for b in step.buffers])
        where = f" ({located(kernel.locs)})" if kernel.locs else ""
        return _Step(lambda: launch(self.stream), f"kernel {kernel.name}{where}")

    def _product(self, step: Blas, at: Mapping[str, int]) -> _Step:
        if self._blas is None:
            raise InternalError("a product of matrices without cuBLAS")
        dtype = next(b.dtype for b in self._program.module.buffers if b.name == step.result)
        addresses = [
            at[name] + offset.const * dtype.itemsize
            for name, offset in zip((step.a, step.b, step.result), step.at, strict=True)
        ]
        where = f" ({located([step.loc])})" if step.loc is not None else ""
        return _Step(self._blas.product(product_of(step, dtype), *addresses), f"product of matrices{where}")
