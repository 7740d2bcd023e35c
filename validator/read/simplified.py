"""Programs without what XLA's passes write otherwise from stage to stage and every reader of them has to see alike."""

from __future__ import annotations

from .counters import merge_counters
from .ir import Program
from .scalars import fold_scalars


def simplified(program: Program) -> Program:
    """The program with scalars of constants computed, and without counters that tell nothing."""
    return merge_counters(fold_scalars(program))
