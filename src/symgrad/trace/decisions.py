"""How the loops of a function are staged: decisions that hold for all attempts to trace one call.

A trace runs the user's code anew each time a decision turns out wrong, so that nothing has to be undone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypeAlias

from symgrad.trace.carried import Form

# A loop whose unrolled ops are not more than these is unrolled: there is less to run, and more to simplify.
SMALL_UNROLLED = 64
# Iterations so few that nothing else is tried.
FEW_TRIPS = 3
# Ops of an unrolled loop beyond which compile time would be minutes.
MAX_UNROLLED = 20_000
# Iterations that a `while` with a known condition makes in Python before it is staged from the start.
MAX_KNOWN_TRIPS = 64


Site: TypeAlias = "tuple[str, int, int, int | None, str]"  # a loop or branch: the arguments of a Loc


@dataclass(slots=True)
class Learned:
    """What earlier attempts to stage a loop found out."""

    carried: set[str] = field(default_factory=lambda: set[str]())  # slots beyond the assigned variables
    forms: dict[str, Form] = field(default_factory=lambda: dict[str, Form]())  # what slots come to hold
    rebound: set[str] = field(default_factory=lambda: set[str]())  # variables that come to hold other arrays
    ended: set[str] = field(default_factory=lambda: set[str]())  # arrays that the body ends by a write
    counters: dict[str, int] = field(default_factory=lambda: dict[str, int]())  # and what they grow by
    bound: dict[str, Form] = field(
        default_factory=lambda: dict[str, Form]()
    )  # by the body, before it reads them


@dataclass(slots=True)
class Decisions:
    """What has been decided about each loop."""

    unrolled: dict[Site, str] = field(default_factory=lambda: dict[Site, str]())  # and why
    staged: set[Site] = field(default_factory=lambda: set[Site]())  # from the start, whatever the condition
    outcomes: dict[Site, str] = field(default_factory=lambda: dict[Site, str]())  # of the others, as told
    unread: set[str] = field(
        default_factory=lambda: set[str]()
    )  # functions that cannot be converted, as told
    learned: dict[Site, Learned] = field(default_factory=lambda: dict[Site, Learned]())

    def about(self, site: Site) -> Learned:
        """What is known of a loop."""
        return self.learned.setdefault(site, Learned())

    def notes(self) -> list[str]:
        """How each loop and branch runs, in the order of the lines."""
        outcomes = self.outcomes | {site: f"unrolled: {reason}" for site, reason in self.unrolled.items()}
        return sorted(self.unread) + [
            f"{os.path.basename(site[0])}:{site[1]} {outcome}"
            for site, outcome in sorted(outcomes.items(), key=lambda item: item[0][:3])
        ]


class Restart(BaseException):
    """The trace must start again with another decision; no Exception, so that user code lets it pass."""
