"""Sums that the partitioned program writes as additions of single elements.

A ring whose devices hold one summand each adds them one by one: every step is an addition of two elements, and only the
last one is the original's sum. Lemma *splitting* takes such a chain apart; what is left is a sum like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.monoid import combination
from .atoms import AtomKind
from .fold import resolve
from .splitting import split
from .value import Val

if TYPE_CHECKING:
    from .walk import Walk

MAX_LINKS = 64
"""Additions of one chain that are taken apart."""


def added_up(walk: Walk, name: str, value: Val) -> Val | None:
    """The chain that ends in this op's result as the original's terms that it adds up to; None where it is none."""
    monoid, signs = combination(name, value.type.dtype) or (None, ())
    if walk.is_original or monoid is None or len(signs) < 2:
        return None
    if not any(piece.atom.kind is AtomKind.LIFT and piece.atom.number in walk.origins for piece in value.pieces):
        return None
    total = walk.as_sum(value, monoid)
    for _ in range(MAX_LINKS):
        apart = split(walk, total)
        if apart is None:
            break
        total = apart
    held = {piece.atom.number for piece in total.pieces}
    wholes = [d for number in held for d in walk.context.definitions.get(number, ()) if d.original]
    if not any(d.monoid is monoid and held <= {piece.atom.number for piece in d.pieces} for d in wholes):
        return None
    whole = resolve(walk, total)
    if not whole.is_view:
        return None
    return walk.equated(value if walk.trace is None else walk.trace.ordinary(value), whole)
