"""Reading values through index maps, and putting them together from parts: slices, pads, selects by position."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..ops.monoid import Monoid
from ..read.ir import TensorType
from ..relation.store import Dom, Rel, Store
from .atoms import Atom, AtomKind
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


def base_atom(atom: Atom) -> Atom:
    """The atom that a guarded atom reads, or the atom itself."""
    return atom.operands[0] if atom.kind is AtomKind.GUARD else atom


def gathered(store: Store, pieces: Iterable[Piece], idempotent: bool = False) -> tuple[Piece, ...]:
    """The same pieces with one piece an atom and coefficient where that counts nothing twice.

    Overlapping pieces of one atom are cut apart and their coefficients added, unless counting twice changes nothing.
    """
    pieces = tuple(pieces)
    if len(pieces) == 1:
        return () if store.empty(pieces[0].rel) else pieces
    by_atom: dict[int, list[Piece]] = {}
    for piece in pieces:
        if store.empty(piece.rel):
            continue
        group = by_atom.setdefault(piece.atom.number, [])
        pending = [piece]
        while pending:
            new = pending.pop()
            for position, old in enumerate(group):
                if idempotent:
                    group[position] = Piece(old.atom, store.union(old.rel, new.rel), 1)
                    break
                common = store.meet(old.rel, new.rel)
                if store.empty(common):
                    if old.coefficient == new.coefficient:
                        group[position] = Piece(old.atom, store.union(old.rel, new.rel), old.coefficient)
                        break
                    continue
                group.pop(position)
                total = old.coefficient + new.coefficient
                for part in (
                    Piece(old.atom, store.minus(old.rel, common), old.coefficient),
                    Piece(new.atom, store.minus(new.rel, common), new.coefficient),
                    Piece(new.atom, common, total),
                ):
                    if part.coefficient and not store.empty(part.rel):
                        pending.append(part)
                break
            else:
                group.append(new)
    return tuple(piece for group in by_atom.values() for piece in group)


def read_through(walk: Walk, value: Val, rel: Rel, type_: TensorType) -> Val:
    """out[p] = value[rel(p)] for a single-valued relation between points; valid for views and for sums."""
    store = walk.store
    pieces = tuple(
        Piece(piece.atom, composed, piece.coefficient)
        for piece in value.pieces
        if not store.empty(composed := store.compose(rel, piece.rel))
    )
    domain = store.preimage(value.domain, rel)
    return Val(type_, pieces, domain, value.monoid, value.levels, value.theory)


def as_sum(walk: Walk, value: Val, monoid: Monoid) -> Val:
    """A view as a sum of one element a point, neutral elements left out; a sum of the monoid is returned as it is."""
    if value.monoid is monoid:
        return value
    assert value.is_view
    neutral = monoid.neutral(value.type.dtype)
    pieces = []
    levels = value.levels
    for piece in value.pieces:
        rest = without_constant(walk.store, piece, neutral)
        if rest is not None:
            pieces.append(rest)
        if rest is not piece and not monoid.reorders_exactly(value.type.dtype):
            # -0.0 + 0.0 is 0.0: a float sum over neutral elements is a sum all the same
            levels = max(levels, 1)
    return Val(value.type, tuple(pieces), value.domain, monoid, levels, value.theory)


def without_constant(store: Store, piece: Piece, constant: int | float | None) -> Piece | None:
    """The piece less the points at which it is this constant; None where nothing is left."""
    base = base_atom(piece.atom)
    if constant is None:
        return piece
    if base.kind is AtomKind.CONSTANT and same_number(base.data, constant):
        return None
    if base.kind is AtomKind.INTEGER and constant == constant // 1 and abs(constant) != float("inf"):
        hit = store.fix_range(piece.rel, 0, int(constant))
        if not store.empty(hit):
            rest = store.minus(piece.rel, hit)
            return None if store.empty(rest) else Piece(piece.atom, rest, piece.coefficient)
    return piece


def same_number(data: object, constant: int | float) -> bool:
    """Whether a constant atom's number is this one, the sign of zero included."""
    return data == constant and not (isinstance(data, float) and data == 0 and math.copysign(1, data) < 0)


def piecewise(walk: Walk, parts: Sequence[tuple[Rel, Val]], type_: TensorType) -> Val:
    """out[p] = part[rel(p)] for whichever part's relation holds p; the relations' domains must be disjoint."""
    store = walk.store
    if not parts:
        # no element, or none that is defined
        points = walk.points(type_)
        return Val(type_, (), store.set_minus(points, points))
    monoids = {value.monoid for _, value in parts if value.monoid is not None}
    if len(monoids) > 1:
        parts = [(rel, walk.close(value, "parts are partial results of different reducers")) for rel, value in parts]
        monoids = set()
    monoid = next(iter(monoids), None)
    pieces: list[Piece] = []
    domain: Dom | None = None
    for rel, value in parts:
        moved = read_through(walk, value, rel, type_)
        if monoid is not None:
            moved = as_sum(walk, moved, monoid)
        pieces.extend(moved.pieces)
        domain = moved.domain if domain is None else store.set_union(domain, moved.domain)
    assert domain is not None
    return Val(
        type_,
        gathered(store, pieces, monoid is not None and monoid.idempotent),
        domain,
        monoid,
        max(value.levels for _, value in parts),
        strongest([value.theory for _, value in parts]),
    )


def restricted(walk: Walk, value: Val, domain: Dom) -> Val:
    """The value at those points only; elsewhere it becomes undefined."""
    store = walk.store
    pieces = tuple(
        Piece(piece.atom, rel, piece.coefficient)
        for piece in value.pieces
        if not store.empty(rel := store.restrict(piece.rel, domain))
    )
    return Val(
        value.type, pieces, store.set_meet(value.domain, domain), value.monoid, value.levels, value.theory, value.known
    )
