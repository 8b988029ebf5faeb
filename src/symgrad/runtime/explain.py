"""Why a program is as it is: what is fixed in it, what each pass did, what was fused, how much memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symgrad.ir import dims
from symgrad.passes.fusion_report import KernelReport, fusion_report
from symgrad.passes.threads import Sharing
from symgrad.passes.tile import Tiling, tilings
from symgrad.passes.unroll import unroll
from symgrad.runtime.compiler import Part
from symgrad.runtime.memories import program_least, program_memory
from symgrad.runtime.memory_tables import memory_record, memory_text, point_record
from symgrad.runtime.program import INTERPRETER, ONE, Program
from symgrad.runtime.tables import Json, bytes_text
from symgrad.trace.records import TraceRecord
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal


def explanation(program: Program) -> str:
    """A report for people, section by section."""
    memory, parts = program_memory(program), program.parts
    sections = [
        ("runs on", [_runs_on(program)]),
        ("inputs", [f"{type} {what}" for type, _, what in _inputs(program)]),
        ("fixed in the program", list(program.traced.notes) or ["nothing"]),
        ("loops and branches", list(program.traced.loops) or ["none"]),
        ("passes", list(_passes(program))),
        (
            "blocks of rows",
            [str(tiling) for part in parts for tiling in tilings(unroll(part.optimized))] or ["none"],
        ),
        ("threads", list(_threads(program))),
        ("kernels", list(_kernels(parts))),
        ("memory", [*memory_text(memory).splitlines(), *_less(program)]),
        ("the next process", [_next_process(program)]),
    ]
    return "\n".join(row for title, rows in sections for row in (f"{title}:", *(f"  {row}" for row in rows)))


def _runs_on(program: Program) -> str:
    if program.runs_on == program.target:
        return program.target
    return f"{program.runs_on}: {program.traced.ops} ops would take too long to compile"


def _next_process(program: Program) -> str:
    """What another process with the same function does."""
    record = program.traced.record
    if program.runs_on == INTERPRETER:
        return "traces again: what the interpreter runs is not kept"
    if isinstance(record, TraceRecord):
        return "need not trace again while all that this trace relied on is the same"
    return f"traces again: {record}"


def explanation_record(program: Program) -> Json:
    """The same as JSON."""
    parts, least = program.parts, program_least(program)
    return {
        "runs on": program.runs_on,
        "inputs": [{"type": type, "kind": kind, "what": what} for type, kind, what in _inputs(program)],
        "fixed": list(program.traced.notes),
        "loops": list(program.traced.loops),
        "next process": _next_process(program),
        "passes": [
            {"name": step.name, "seconds": step.seconds, "before": step.ops_before, "after": step.ops_after}
            for step in program.compilation.runner.steps
        ],
        "tilings": list(map(_tiling_record, _tilings(parts))),
        "threads": [] if program.threads == ONE else list(map(_sharing_record, program.threaded.sharings)),
        "kernels": [_kernel_record(report) for part in parts for report in fusion_report(part.fused)],
        "memory": memory_record(program_memory(program)),
        "least memory": None if least is None else point_record(least),
    }


def _inputs(program: Program) -> Iterator[tuple[str, str, str]]:
    """The type of each param, the kind of its source, and what it is."""
    params = program.traced.function.body.params
    for param, item in zip(params, program.traced.inputs, strict=True):
        match item:
            case ArgumentLeaf(path=path):
                yield str(param.type), "argument", f"argument {path}"
            case Captured(path=path):
                yield str(param.type), "captured", f"captured {path}, read at each call"
            case Literal():
                yield str(param.type), "literal", "made while tracing, kept beside the program"


def _passes(program: Program) -> Iterator[str]:
    for step in program.compilation.runner.steps:
        yield f"{step.name:<10} {step.ops_before:>5} -> {step.ops_after:<5} ops  {1e3 * step.seconds:8.2f} ms"


def _threads(program: Program) -> Iterator[str]:
    """Which rows threads share, or why they share none."""
    if program.threads == ONE:
        yield "one"
        return
    yield from map(str, program.threaded.sharings)
    if not program.threaded.sharings:
        left = program.threaded.left
        yield (
            "one: there is nothing to share, or too little"
            if left is None
            else f"one: sharing does not pay ({left})"
        )


def _kernels(parts: Sequence[Part]) -> Iterator[str]:
    """The kernels of each part, under its name if there are several."""
    for part in parts:
        rows = [row for report in fusion_report(part.fused) for row in str(report).splitlines()]
        if len(parts) > 1:
            yield f"{part.optimized.name}:"
            rows = [f"  {row}" for row in rows]
        yield from rows


def _less(program: Program) -> Iterator[str]:
    """What the least budget gives."""
    least = program_least(program)
    if least is not None:
        yield (
            f"with memory_budget= an arena of {bytes_text(least.arena)} would do,"
            f" for {least.ratio:.2f} times the time"
        )


def _sharing_record(sharing: Sharing) -> Json:
    return {
        "rows": sharing.rows,
        "threads": sharing.chunks,
        "ops": sharing.ops,
        "seconds without": sharing.before,
        "seconds with": sharing.after,
    }


def _tilings(parts: Sequence[Part]) -> Iterator[Tiling]:
    """The loops over blocks of rows in the parts."""
    for part in parts:
        yield from tilings(unroll(part.optimized))


def _tiling_record(tiling: Tiling) -> Json:
    return {
        "rows": tiling.blocks.region.size,
        "rows in a block": tiling.blocks.size,
        "blocks": tiling.blocks.count,
        "rest": tiling.blocks.rest,
        "ops": len(tiling.blocks.region.members),
        "seconds without": tiling.before,
        "seconds with": tiling.after,
    }


def _kernel_record(report: KernelReport) -> Json:
    return {
        "number": report.number,
        "space": [dims.format_dim(size) for size in report.space],
        "ops": report.ops,
        "lines": list(report.lines),
        "boundaries": [
            {"type": str(b.value.type), "after": b.maker, "reason": b.reason} for b in report.boundaries
        ],
    }
