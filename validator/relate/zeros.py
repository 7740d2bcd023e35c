"""Terms that are another term plus zero, in a proof to which the sign of zero does not matter.

Compilers drop x + 0.0, with which Python's `sum` starts, and x + 0.0 · 0.0, the square of an imaginary part: x stands
for it in all that follows. That is an instance of rule *neutral-up-to-sign*, and theory reassociated. So it is used
only where a proof that keeps the sign of zero was looked for and not found: both programs may have the zero, and then
the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .atoms import Atom, AtomKind, name_of

if TYPE_CHECKING:
    from .walk import Walk

_DROPPED = {"stablehlo.add": 1.0, "stablehlo.subtract": -1.0}
"""The sign of the zero that only changes a zero; with the other one nothing changes, and no term is made."""


def without_zero(walk: Walk, atom: Atom) -> Atom | None:
    """What a term of floats adds zero to, which has the term's own indices; None where it adds no zero."""
    sign = _DROPPED.get(name_of(atom) or "")
    if sign is None or not atom.dtype.is_float or atom.dtype.is_positive:
        return None
    first, second = atom.operands
    for zero, other in ((second, first), (first, second)) if sign > 0 else ((second, first),):
        number = walk.number_of(zero) if zero.kind is AtomKind.CONSTANT else None
        if isinstance(number, (int, float)) and number == 0 and math.copysign(1.0, number) == sign:
            return other if other.arity == atom.arity else None
    return None
