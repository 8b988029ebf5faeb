"""Memory reports as text and as JSON."""

from __future__ import annotations

import linecache
from collections.abc import Sequence

from symgrad.errors import Loc
from symgrad.passes.memory_report import MemoryReport, Resident
from symgrad.passes.remat.curve import CurvePoint
from symgrad.passes.remat.frontier import Plan
from symgrad.runtime.memories import Batch
from symgrad.runtime.tables import Json, bytes_text, loc_record, pairs, table
from symgrad.runtime.variables import name_of


# ---- one call ----------------------------------------------------------------------------------------------
def memory_text(report: MemoryReport) -> str:
    """What a call needs, and what lies in the arena where it needs most."""
    rows = [
        ("inputs", bytes_text(report.inputs)),
        ("results", bytes_text(report.results)),
        ("arena", bytes_text(report.arena)),
        ("lower bound", f"{bytes_text(report.lower_bound)}: what is alive at once at the peak"),
        ("residuals", _of_peak(report.residuals, report.most_residuals, "made forward, read backward")),
        ("temporaries", _of_peak(report.temporaries, report.most_temporaries, "all others")),
    ]
    rows += [("grows", f"{each}, {_where(each.loc)}") for each in report.grown]
    peak = report.peak_op
    if peak is None:
        return pairs(rows)
    where = peak.op if peak.loc is None else f"{peak.op} at {peak.loc}"
    return "\n".join(
        [
            pairs(rows),
            f"in the arena at the peak, during op {report.peak_at} of {len(report.timeline)}, {where}:",
            *(f"  {row}" for row in _residents_text(report.peak).splitlines()),
        ]
    )


def _of_peak(nbytes: int, most: int, what: str) -> str:
    return f"{bytes_text(nbytes)} at the peak, {most:,} at most: {what}"


def values_text(report: MemoryReport) -> str:
    """All that lies in the arena at some time, in the order in which it is made."""
    return _residents_text(report.values)


def _residents_text(residents: Sequence[Resident]) -> str:
    rows = [
        (
            f"{resident.nbytes:,}",
            str(resident.value.type),
            name_of(resident.value, resident.loc) or "-",
            resident.role.value,
            str(resident.made),
            str(resident.read),
            _where(resident.loc),
        )
        for resident in residents
    ]
    return table(("bytes", "type", "name", "is a", "made", "last read", "made at"), rows, right=(0, 4, 5))


def memory_record(report: MemoryReport) -> dict[str, Json]:
    """The same as JSON, with all values and all moments."""
    peak = report.peak_op
    return {
        "inputs": report.inputs,
        "results": report.results,
        "arena": report.arena,
        "lower_bound": report.lower_bound,
        "residuals": report.residuals,
        "temporaries": report.temporaries,
        "most_residuals": report.most_residuals,
        "most_temporaries": report.most_temporaries,
        "peak": None
        if peak is None
        else {"number": report.peak_at, "op": peak.op, "line": loc_record(peak.loc)},
        "alive_at_peak": list(map(_resident_record, report.peak)),
        "values": list(map(_resident_record, report.values)),
        "grown": [
            {"bytes_an_iteration": each.row, "type": str(each.value.type), "line": loc_record(each.loc)}
            for each in report.grown
        ],
        "timeline": [
            {
                "op": moment.op,
                "line": loc_record(moment.loc),
                "residuals": moment.residuals,
                "temporaries": moment.temporaries,
            }
            for moment in report.timeline
        ],
    }


def _resident_record(resident: Resident) -> Json:
    return {
        "bytes": resident.nbytes,
        "type": str(resident.value.type),
        "name": name_of(resident.value, resident.loc),
        "role": resident.role.value,
        "offset": resident.offset,
        "made": resident.made,
        "read": resident.read,
        "line": loc_record(resident.loc),
        "last_read_line": loc_record(resident.reader),
        "inside_one_op": resident.inside,
    }


def _where(loc: Loc | None) -> str:
    """A place in the source with its text."""
    if loc is None:
        return "-"
    text = linecache.getline(loc.file, loc.line).strip()
    return f"{loc}  {text}".rstrip()


# ---- less memory -------------------------------------------------------------------------------------------
def plans_text(plans: Sequence[Plan]) -> str:
    """What each plan takes, beside the first one, which has no budget."""
    rows = [
        (bytes_text(plan.arena), f"{plan.seconds / plans[0].seconds:.2f}", str(plan.repeats))
        for plan in plans
    ]
    return table(("arena", "time", "ops again"), rows, right=(1, 2))


def plans_record(plans: Sequence[Plan]) -> Json:
    """The same as JSON."""
    return [{"arena": plan.arena, "seconds": plan.seconds, "repeats": plan.repeats} for plan in plans]


def curve_text(points: Sequence[CurvePoint]) -> str:
    """What each budget gives, beside the program without one."""
    rows = [
        (f"{point.budget:,}", bytes_text(point.arena), f"{point.ratio:.2f}", str(point.repeats))
        for point in points
    ]
    return table(("budget", "arena", "time", "ops again"), rows, right=(0, 2, 3))


def curve_record(points: Sequence[CurvePoint]) -> Json:
    """The same as JSON."""
    return list(map(point_record, points))


def point_record(point: CurvePoint) -> Json:
    """What a budget gives, as JSON."""
    return {
        "budget": point.budget,
        "arena": point.arena,
        "seconds": point.seconds,
        "ratio": point.ratio,
        "repeats": point.repeats,
    }


# ---- batches -----------------------------------------------------------------------------------------------
def batches_text(batches: Sequence[Batch]) -> str:
    """What each batch needs."""
    rows = [
        (
            f"{batch.size:,}",
            *(
                f"{nbytes:,}"
                for nbytes in (
                    batch.report.inputs,
                    batch.report.results,
                    batch.report.residuals,
                    batch.report.temporaries,
                    batch.report.lower_bound,
                    batch.report.arena,
                )
            ),
        )
        for batch in batches
    ]
    head = ("batch", "inputs", "results", "residuals", "temporaries", "peak", "arena")
    return table(head, rows, right=range(len(head)))


def batches_record(batches: Sequence[Batch]) -> Json:
    """The same as JSON, with the whole report of each."""
    return [{"batch": batch.size, **memory_record(batch.report)} for batch in batches]
