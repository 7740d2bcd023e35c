"""Sums that hold a term of the original beside elements that it is a sum of.

Lemma *unfolding*: y + Σ e[R(p)], where y is Σ e[S(q)], is Σ of all these elements, and so for every ⊕. A prefix sum
shows it: the first device has a whole prefix, the next one adds its own elements to it, and both together are a longer
prefix. No element may be reached through two indices of y, unless ⊕ is idempotent. Theory: reassociated; exact for
integers and for what may be combined in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .splitting import taken_apart
from .value import Piece, Val

if TYPE_CHECKING:
    from .context import Definition
    from .walk import Walk


def unfolded(walk: Walk, value: Val) -> Val | None:
    """The sum with those named terms taken apart of which it holds elements too; None where there is none."""
    monoid = value.monoid
    if monoid is None or len(value.pieces) < 2:
        return None
    held = {piece.atom.number for piece in value.pieces}
    pieces: list[Piece] = []
    levels = value.levels
    for piece in value.pieces:
        definition = walk.context.definition_of(piece.atom)
        if (
            definition is None
            or definition.monoid is not monoid
            or not any(part.atom.number in held for part in definition.pieces)
        ):
            pieces.append(piece)
            continue
        levels = max(levels, definition.levels)
        parts = elements(walk, piece, definition)
        if parts is None:
            return None
        pieces += parts
    apart = taken_apart(walk, value, monoid, pieces, levels)
    if apart is not None:
        walk.context.used("unfolding")
    return apart


def elements(walk: Walk, piece: Piece, definition: Definition | Val) -> list[Piece] | None:
    """What a term is a sum of, through the relation by which a sum reads the term; None where it counts some twice."""
    if definition.monoid is None:
        return None
    parts: list[Piece] = []
    for part in definition.pieces:
        if not (definition.monoid.idempotent or walk.counts_once(piece.rel, part.rel)):
            return None
        rel = walk.store.compose(piece.rel, part.rel)
        parts.append(Piece(part.atom, rel, piece.coefficient * part.coefficient))
    return parts
