"""Names for sums and piecewise values, which make them terms of the program on their own points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..relation.store import Rel
from .atoms import Atom, AtomKind
from .fold import as_named
from .representatives import representatives
from .value import Piece, Val

if TYPE_CHECKING:
    from .walk import Walk


def known_or_named(walk: Walk, value: Val, *, canonical: bool = True) -> Val:
    """A view under one name: the original's, if it needs one for the same, too, else one of its own.

    A name that is not `canonical` tells elements apart that are equal somewhere.
    """
    known = as_named(walk, value) if value.is_view and not walk.is_original else None
    return known or name_value(walk, value, canonical=canonical)


def name_value(walk: Walk, value: Val, *, canonical: bool = True) -> Val:
    """A name for a sum or piecewise value: a new atom on the value's own points, remembered by what it stands for.

    A sum that has no element at some points holds the neutral element there, as a piece of its own.
    """
    return walk.changed(value, _named(walk, value, canonical))


def _named(walk: Walk, value: Val, canonical: bool) -> Val:
    store = walk.store
    value, neutral = _without_empty_points(walk, value)
    pieces = value.pieces
    choose = _representatives(walk, value) if canonical else store.identity_on(value.domain)
    kept = store.range(choose)
    definition = tuple(Piece(p.atom, store.restrict(p.rel, kept), p.coefficient) for p in pieces)
    atom = _known(walk, value, definition) if walk.is_original else _made(walk, value, definition)
    named = (Piece(atom, choose), *neutral)
    domain = value.domain
    for piece in neutral:
        domain = store.set_union(domain, store.domain(piece.rel))
    return Val(value.type, named, domain, None, 0, value.theory)


def _known(walk: Walk, value: Val, definition: tuple[Piece, ...]) -> Atom:
    """The original's one name for what is defined alike, which both factors of x · x have, or two uses of a mask."""
    parts = tuple((piece.atom.number, piece.rel.number, piece.coefficient) for piece in definition)
    key = value.type.dtype, value.domain.arity, value.monoid, value.levels, parts
    found = walk.context.names.get(key)
    if found is None:
        found = walk.context.names[key] = _made(walk, value, definition)
    return found


def _made(walk: Walk, value: Val, definition: tuple[Piece, ...]) -> Atom:
    operands = tuple(piece.atom for piece in definition)
    atom = walk.context.atoms.fresh(
        AtomKind.NAMED, value.type.dtype, value.domain.arity, operands, label=walk.label(), data=definition
    )
    walk.context.define(atom, definition, value.monoid, value.levels, original=walk.is_original)
    _define_flat(walk, atom, definition, value)
    walk.note_fresh(atom)
    return atom


def _without_empty_points(walk: Walk, value: Val) -> tuple[Val, tuple[Piece, ...]]:
    """A sum where it has elements, and apart from it the neutral element where it has none."""
    store = walk.store
    if value.monoid is None or not value.pieces:
        return value, ()
    covered = store.domain(value.pieces[0].rel)
    for piece in value.pieces[1:]:
        covered = store.set_union(covered, store.domain(piece.rel))
    empty = store.set_minus(value.domain, covered)
    if store.set_empty(empty):
        return value, ()
    neutral = walk.neutral_piece(value.monoid, value.type.dtype, empty)
    if neutral is None:
        return value, ()
    kept = store.set_minus(value.domain, empty)
    return Val(value.type, value.pieces, kept, value.monoid, value.levels, value.theory), (neutral,)


def _define_flat(walk: Walk, atom: Atom, definition: tuple[Piece, ...], value: Val) -> None:
    """A sum of the original's own sums also by its elements: lemma *sum of sums*, where nothing is counted twice."""
    if value.monoid is None or len(definition) != 1:
        return
    piece = definition[0]
    inner = [
        d
        for group in (walk.context.definitions.get(p.number, ()) for p in piece.atom.operands)
        for d in group
        if d.atom is piece.atom and d.monoid is value.monoid and len(d.pieces) == 1
    ]
    for each in inner[:1]:
        below = each.pieces[0]
        if not (value.monoid.idempotent or walk.counts_once(piece.rel, below.rel)):
            continue
        flat = Piece(below.atom, walk.store.compose(piece.rel, below.rel), piece.coefficient * below.coefficient)
        walk.context.define(atom, (flat,), value.monoid, value.levels + each.levels, original=walk.is_original)


def _representatives(walk: Walk, value: Val) -> Rel:
    """p → the least point that holds the same element: for sums only along whole coordinates."""
    store = walk.store
    if not value.is_view or value.has_guards:
        return representatives(walk, value.domain, [(piece.rel, 0) for piece in value.pieces])
    if all(store.injective(piece.rel) for piece in value.pieces):
        return store.identity_on(value.domain)
    same: Rel | None = None
    for piece in value.pieces:
        part = store.compose(piece.rel, store.reverse(piece.rel))
        same = part if same is None else store.union(same, part)
    assert same is not None
    return store.lexmin(same)
