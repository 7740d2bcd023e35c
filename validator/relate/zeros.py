"""Terms that are another term plus zero, in a proof to which the sign of zero does not matter.

Compilers drop x + 0.0, with which Python's `sum` starts, and x + 0.0 · 0.0, the square of an imaginary part: x stands
for it in all that follows. That is an instance of rule *neutral-up-to-sign*, and theory reassociated. So it is used
only where a proof that keeps the sign of zero was looked for and not found: both programs may have the zero, and then
the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..ops.record import Theory
from ..rules.constants import Constants
from .atoms import Atom, AtomKind, name_of

if TYPE_CHECKING:
    from .walk import Walk

_DROPPED = {"stablehlo.add": 1.0, "stablehlo.subtract": -1.0}
"""The sign of the zero that only changes a zero; with the other one nothing changes, and no term is made."""

MAX_OPS = 8
"""A constant that is computed by more ops is none here."""


def without_zero(walk: Walk, atom: Atom) -> Atom | None:
    """What a term of floats adds zero to, which has the term's own indices; None where it adds no zero."""
    sign = _DROPPED.get(name_of(atom) or "")
    if sign is None or not atom.dtype.is_float or atom.dtype.is_positive:
        return None
    first, second = atom.operands
    for zero, other in ((second, first), (first, second)) if sign > 0 else ((second, first),):
        number = None if zero.arity else _number(walk, zero)
        if number == 0 and math.copysign(1.0, number) == sign:
            return other if other.arity == atom.arity else None
    return None


def _number(walk: Walk, atom: Atom) -> float | None:
    """The number that a term is, if it is a constant, or computed from constants without rounding."""
    if atom.kind is AtomKind.CONSTANT:
        number = walk.number_of(atom)
        return float(number) if isinstance(number, (int, float)) else None
    constants = Constants(Theory.REASSOCIATED)
    found = _computed(walk, constants, atom, MAX_OPS) if atom.kind is AtomKind.LIFT else None
    return None if found is None else float(constants.number(found))


def _computed(walk: Walk, constants: Constants, atom: Atom, limit: int) -> int | None:
    """The constant that a term is, if it is one that no op has rounded."""
    if atom.kind is AtomKind.CONSTANT:
        number = walk.number_of(atom)
        return constants.intern(number, atom.dtype) if isinstance(number, (int, float)) else None
    name = (name_of(atom) or "").removeprefix("stablehlo.")
    if not limit or len(atom.operands) > 2 or any(each.dtype is not atom.dtype for each in atom.operands):
        return None
    parts = [_computed(walk, constants, each, limit - 1) for each in atom.operands]
    found = [part for part in parts if part is not None]
    if not found or len(found) < len(parts):
        return None
    fold = constants.fold_unary if len(found) == 1 else constants.fold_binary
    return fold(name, constants.dtype_name(atom.dtype), *found)
