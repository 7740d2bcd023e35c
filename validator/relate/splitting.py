"""Sums over sums of two operands, as sums over each of them, but for the neutral element.

Lemma *splitting*: Σ over x ∈ R(p) of (y[a(x)] + z[b(x)]) is Σ y[a(x)] + Σ z[b(x)], and so with −, for y[a(x)] alone
with its sign changed, and for any other ⊕. No element may be reached through two x, unless ⊕ is idempotent. Theory:
reassociated; exact for integers and for what may be combined in any order. Of others nothing may cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ops.monoid import Monoid, combination
from ..ops.record import Theory
from .atoms import AtomKind
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


def split(walk: Walk, value: Val) -> Val | None:
    """The sum with every element that is itself a sum of operands taken apart; None where there is none."""
    monoid = value.monoid
    if monoid is None:
        return None
    pieces: list[Piece] = []
    for piece in value.pieces:
        pieces += _parts(walk, piece, monoid) or (piece,)
    apart = taken_apart(walk, value, monoid, pieces, value.levels)
    if apart is not None:
        walk.context.used("splitting")
    return apart


def taken_apart(walk: Walk, value: Val, monoid: Monoid, pieces: Sequence[Piece], levels: int) -> Val | None:
    """The sum as these pieces, sums of at most `levels` steps themselves; None where they are its own or cancel."""
    if len(pieces) == len(value.pieces) and all(new is old for new, old in zip(pieces, value.pieces, strict=True)):
        return None
    walk.limit_pieces(len(pieces))
    merged = walk.merged(pieces, monoid, value.type.dtype)
    if merged is None:
        return None
    exact = monoid.reorders_exactly(value.type.dtype)
    theory = value.theory if exact else strongest([value.theory, Theory.REASSOCIATED])
    return Val(value.type, merged, value.domain, monoid, levels + 1, theory)


def _parts(walk: Walk, piece: Piece, monoid: Monoid) -> list[Piece] | None:
    """One element's operands with their signs; None where it is no sum of them, or they are counted otherwise."""
    atom, store = piece.atom, walk.store
    operation = walk.operation_of(atom) if atom.kind is AtomKind.LIFT else None
    if operation is None:
        return None
    name, _, reads = operation
    combined, signs = combination(name, atom.dtype) or (None, ())
    if combined is not monoid:
        return None
    parts = []
    for operand, read, sign in zip(atom.operands, reads, signs, strict=True):
        if operand.arity == 0:
            number = walk.number_of(operand)
            if number is None or number != monoid.neutral(atom.dtype):
                return None
            continue
        if read is not None and not monoid.idempotent and not walk.counts_once(piece.rel, read):
            return None
        rel = piece.rel if read is None else store.compose(piece.rel, read)
        parts.append(Piece(operand, rel, sign * piece.coefficient))
    return parts
