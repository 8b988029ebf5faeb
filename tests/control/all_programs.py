"""All programs by name."""

from __future__ import annotations

from control import (
    golden_programs,
    programs_branches,
    programs_dynamics,
    programs_matrices,
    programs_sequences,
    programs_state,
    programs_stencils,
)
from control.program import Program

_FAMILIES = (
    programs_stencils,
    programs_matrices,
    programs_dynamics,
    programs_sequences,
    programs_branches,
    programs_state,
    golden_programs,
)
PROGRAMS: dict[str, Program] = {program.name: program for family in _FAMILIES for program in family.PROGRAMS}
