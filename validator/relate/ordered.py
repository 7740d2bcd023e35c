"""Results that depend on the order of elements: found again as a term of the same sequences, or given a new one.

What an op takes in which order, and why equal sequences give equal results, stands in `ops/sequence_relation.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ops.sequence_maps import Sequences, read_at, restricted_to
from ..ops.sequence_relation import Order
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .representatives import representatives
from .sequences import matching
from .value import AnyVal, Piece, Val

if TYPE_CHECKING:
    from .walk import Walk

MAX_DEPTH = 12
"""Sequences with more index dimensions than this are not followed further."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderedTerm:
    """What a function makes of sequences: one atom a result."""

    atoms: tuple[Atom, ...]
    sequences: Sequences
    unique: bool
    """Whether the original promises that at most one element of each sequence is present."""


def relate_in_order(walk: Walk, order: Order) -> list[AnyVal]:
    """The results by the terms that are made of the same sequences, or by a new term."""
    rest = order.sequences.domain
    found: list[tuple[tuple[Atom, ...], Rel]] = []
    for term in walk.context.rows.get(order.key, ()):
        match = matching(
            walk,
            order.sequences,
            term.sequences,
            rest,
            any_order=term.unique if order.any_order is None else order.any_order,
            any_count=order.any_count,
            in_place=order.in_place,
        )
        if match is not None:
            found.append((term.atoms, match))
            rest = walk.store.set_minus(rest, walk.store.domain(match))
            if walk.store.set_empty(rest):
                break
    if not walk.store.set_empty(rest):
        found.append(_fresh(walk, order, rest))
    results: list[AnyVal] = []
    for number, type_ in enumerate(order.types):
        pieces = tuple(Piece(atoms[number], rel) for atoms, rel in found)
        results.append(Val(type_, pieces, order.sequences.domain, theory=order.theory))
    return results


def taken_apart(
    walk: Walk, key: Hashable, atoms: tuple[Atom, ...], rels: Sequence[Rel], depth: int
) -> Sequences | None:
    """The sequences that elements are made of which are results of the same function, read at one place; else None."""
    store = walk.store
    for term in walk.context.rows.get(key, ()):
        if term.atoms != atoms:
            continue
        inner = term.sequences
        same = all(store.equal(rels[0], rel) for rel in rels[1:])
        known = store.set_subset(store.range(rels[0]), inner.domain)
        if same and known and depth + inner.depth <= MAX_DEPTH:
            return read_at(store, inner, rels[0])
    return None


def _fresh(walk: Walk, order: Order, domain: Dom) -> tuple[tuple[Atom, ...], Rel]:
    """A new term on these batch points, those with the same sequences along a whole coordinate named by the least."""
    own = restricted_to(walk.store, order.sequences, domain)
    choose = representatives(walk, domain, [(letters.rel, own.depth) for letters in own.letters])
    made = restricted_to(walk.store, own, walk.store.range(choose))
    arity, label = made.arity, walk.label()
    atoms: list[Atom] = []
    for type_ in order.types:
        atom = walk.context.atoms.fresh(AtomKind.ROWS, type_.dtype, arity, order.atoms, label=label, data=order.key)
        atoms.append(atom)
        walk.note_fresh(atom)
    term = OrderedTerm(tuple(atoms), made, order.unique and walk.is_original)
    walk.context.rows.setdefault(order.key, []).append(term)
    return term.atoms, choose
