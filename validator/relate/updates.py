"""Scatters that are no sum: replacing elements, or changing them by any computation.

Lemma *updates in order*: out[o] is a function of a sequence: the operand's element at o, then every update u that may
land on o in the order of the updates, each under the guard that u's index is one that leads to o. It is what the update
computation makes of those that are present, one after the other; for a `set` it is the last. If the device's sequence
at o is the original's at m(o), with equal guards and in the same order, the results are equal. Where the original
promises unique indices at most one update of a sequence is present, and the order of the updates is free; equal guards
inherit that. Without that promise StableHLO leaves the order open; an implementation is taken to go by the order of the
updates. A device that promises sorted indices must keep the original's order even then.
Where all indices are known and no element is set twice there is nothing to decide: the result is a piecewise view.
Theory: exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ops.guarded import Guarded
from ..ops.record import Theory
from ..ops.sequence_maps import Sequences, placed, replaced, restricted_to, update_sequences
from ..ops.values import gathered
from ..relation.store import Rel
from .atoms import Atom, AtomKind
from .sequences import matching
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class UpdatedTerm:
    """A named result of such a scatter, by what each of its elements may be."""

    atoms: tuple[Atom, ...]
    sequences: Sequences
    unique: bool


def relate_updates(
    walk: Walk,
    base: Val,
    updates: Val,
    joints: Sequence[Guarded],
    landing: Rel,
    theory: Theory,
    unique: bool,
    sorted_: bool,
    computation: Hashable | None,
) -> Val:
    """`landing` relates (device, update element, index values) to the element it lands on.

    `computation` names what an update does to an element; None where it replaces it.
    """
    store = walk.store
    theory = strongest([base.theory, updates.theory, theory])
    undefined = store.set_minus(walk.points(updates.type), updates.domain)
    domain = base.domain
    places = [placed(store, joint, landing) for joint in joints]
    for place in places:
        domain = store.set_minus(domain, store.image(undefined, place.lands))
    before, after = ([(piece.atom, piece.rel) for piece in value.pieces] for value in (base, updates))
    known = replaced(store, before, after, places, domain) if computation is None else None
    if known is not None:
        walk.context.used("updates in order")
        return Val(base.type, gathered(store, [Piece(atom, rel) for atom, rel in known]), domain, theory=theory)
    devices, guard = len(walk.mesh.sizes), walk.context.atoms.guard
    sequences = update_sequences(store, before, after, places, domain, devices, guard)
    key = ("updated", base.type.dtype.value, computation)
    rest = domain
    pieces: list[Piece] = []
    for term in walk.context.rows.get(key, ()):
        match = matching(walk, sequences, term.sequences, rest, any_order=term.unique and not sorted_)
        if match is not None:
            pieces.append(Piece(term.atoms[0], match))
            rest = store.set_minus(rest, store.domain(match))
            if store.set_empty(rest):
                break
    if not store.set_empty(rest):
        operands = tuple(dict.fromkeys(atom for letters in sequences.letters for atom in letters.atoms))
        atom = walk.context.atoms.fresh(
            AtomKind.ROWS, base.type.dtype, rest.arity, operands, label=walk.label(), data=key
        )
        walk.note_fresh(atom)
        term = UpdatedTerm((atom,), restricted_to(store, sequences, rest), unique and walk.is_original)
        walk.context.rows.setdefault(key, []).append(term)
        pieces.append(Piece(atom, store.identity_on(rest)))
    walk.context.used("updates in order")
    return Val(base.type, tuple(pieces), domain, theory=theory)
