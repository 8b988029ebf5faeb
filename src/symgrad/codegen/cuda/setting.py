"""What the mapping of one kernel is made for."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from symgrad.codegen.cuda.shape import LaunchShape
from symgrad.codegen.emission import Names


@dataclass(frozen=True, slots=True)
class Setting:
    """A kernel's surroundings."""

    shape: LaunchShape
    alias: Mapping[str, str]  # buffers that share memory alike, by one name
    tables: AbstractSet[str]  # what is read like a buffer and is part of the text
    names: Names  # that are in use
