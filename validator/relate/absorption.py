"""Elements that a sum holds twice: by themselves, and in a term that is a sum of them.

Lemma *absorption*: max(y, e) is y where y is a maximum of elements of which e is one, and so for every idempotent ⊕.
A row of a mask shows it: one device has all that is left of the row and so its maximum, constants included, and
another one has nothing but constants. Theory: exact, whatever the element type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .atoms import AtomKind
from .value import Piece, Val

if TYPE_CHECKING:
    from .walk import Walk


def absorbed(walk: Walk, value: Val) -> Val:
    """The value without the elements that one of its named terms holds at the same points."""
    if value.monoid is None or not value.monoid.idempotent or len(value.pieces) < 2:
        return value
    store = walk.store
    pieces = {piece.atom.number: piece for piece in value.pieces}
    if len(pieces) < len(value.pieces):
        return value
    for whole in value.pieces:
        definition = walk.context.definition_of(whole.atom) if whole.atom.kind is AtomKind.NAMED else None
        if definition is None or definition.monoid is not value.monoid or whole.atom.number not in pieces:
            continue
        for part in definition.pieces:
            mine = pieces.get(part.atom.number)
            if mine is None:
                continue
            rest = store.minus(mine.rel, store.compose(pieces[whole.atom.number].rel, part.rel))
            if store.empty(rest):
                del pieces[mine.atom.number]
            elif not store.equal(rest, mine.rel):
                pieces[mine.atom.number] = Piece(mine.atom, rest, mine.coefficient)
    if all(pieces.get(piece.atom.number) is piece for piece in value.pieces):
        return value
    walk.context.used("absorption")
    return replace(value, pieces=tuple(pieces.values()))
