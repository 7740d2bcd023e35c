"""Results that depend on the order of elements: found again as a term of the same sequences, or given a new one.

What an op takes in which order, and why equal sequences give equal results, stands in `ops/sequence_relation.py`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ops.choices import Made
from ..ops.digest import rows_digest
from ..ops.sequence_maps import Sequences, restricted_to
from ..ops.sequence_relation import Order
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .representatives import representatives
from .sequences import matching
from .value import AnyVal, Piece, Val

if TYPE_CHECKING:
    from .walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class OrderedTerm:
    """What a function makes of sequences: one atom a result."""

    atoms: tuple[Atom, ...]
    sequences: Sequences
    unique: frozenset[Hashable] | None
    """The blocks around the op of which the original promises that at most one element of each sequence is present."""


def relate_in_order(walk: Walk, order: Order) -> list[AnyVal]:
    """The results by the terms that are made of the same sequences, or by a new term."""
    rest, blocks = order.sequences.domain, frozenset(walk.context.blocks)
    found: list[tuple[tuple[Atom, ...], Rel]] = []
    for term in walk.context.rows.get(order.key, ()):
        # of a block that is not run nobody promises anything
        unique = term.unique is not None and term.unique <= blocks
        match = matching(
            walk,
            order.sequences,
            term.sequences,
            rest,
            any_order=unique if order.any_order is None else order.any_order,
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
    return results[order.skipped :]


def made_in_order(walk: Walk, atom: Atom) -> Made | None:
    """Which result of which function an atom is, and of what sequences."""
    for term in walk.context.rows.get(atom.data, ()) if atom.kind is AtomKind.ROWS else ():
        if isinstance(term, OrderedTerm) and atom in term.atoms:
            return Made(rows_digest(atom.data, (), ()), term.atoms.index(atom), term, term.sequences)
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
    promised = frozenset(walk.context.blocks) if order.unique and walk.is_original else None
    term = OrderedTerm(tuple(atoms), made, promised)
    walk.context.rows.setdefault(order.key, []).append(term)
    return term.atoms, choose
