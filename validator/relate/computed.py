"""Floats that programs compute from constants alone, as the constants that they are.

Compilers compute them ahead, and what is multiplied by √1 is then not multiplied at all. These are instances of the
rules that fold constants; only what no op rounds is taken for its number here, which holds in every theory. Where both
programs compute a constant alike no law is needed: it is left as it is until no proof is found without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.record import Theory
from ..rules.constants import Constants
from .atoms import Atom, AtomKind, name_of
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

_LEAST_BITS = 16
"""Narrower floats may have one zero, or none, and no negative numbers."""


def computed(walk: Walk, atom: Atom) -> Piece | None:
    """The number that a lifted term of constants is, read from the term's index of no places; None where it is none."""
    known = [operand.kind is AtomKind.CONSTANT for operand in atom.operands]
    if atom.arity or not all(known) or not 1 <= len(known) <= 2:
        return None
    if not atom.dtype.is_float or atom.dtype.bits < _LEAST_BITS:
        return None
    constants, name = Constants(Theory.REASSOCIATED), (name_of(atom) or "").removeprefix("stablehlo.")
    numbers = [walk.number_of(operand) for operand in atom.operands]
    if any(not isinstance(number, (int, float)) for number in numbers):
        return None
    cells = [constants.intern(number, of.dtype) for number, of in zip(numbers, atom.operands, strict=True)]
    dtype = constants.dtype_name(atom.dtype)
    if name == "convert":
        found = constants.fold_convert(constants.dtype_of(cells[0]), dtype, cells[0])
        if found is not None and constants.fraction(found) != constants.fraction(cells[0]):
            return None
    else:
        found = (constants.fold_unary if len(cells) == 1 else constants.fold_binary)(name, dtype, *cells)
    everywhere = walk.store.everything(0)
    return None if found is None else walk.constant_piece(constants.number(found), atom.dtype, everywhere)
