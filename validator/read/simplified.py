"""Programs without what XLA's passes write otherwise from stage to stage and every reader of them has to see alike."""

from __future__ import annotations

from .counters import merge_counters
from .ir import Program
from .scalars import fold_scalars
from .separate import separate_reductions


def simplified(program: Program) -> Program:
    """The program with scalars computed, without counters that tell nothing, and with a reduction for each operand."""
    return separate_reductions(merge_counters(fold_scalars(program)))
