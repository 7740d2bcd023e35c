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

from ..ops.record import Theory
from ..relation.build import names
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .guards import Guarded
from .moves import gathered
from .sequences import Letters, Sequences, matching, restricted_to
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class UpdatedTerm:
    """A named result of such a scatter, by what each of its elements may be."""

    atom: Atom
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
    placed = [_placed(walk, joint, landing) for joint in joints]
    for place in placed:
        domain = store.set_minus(domain, store.image(undefined, place.lands))
    known = _known(walk, base, updates, placed, domain) if computation is None else None
    if known is not None:
        walk.context.used("updates in order")
        return Val(base.type, known, domain, theory=theory)
    sequences = _sequences(walk, base, updates, placed, domain)
    key = ("updated", base.type.dtype, computation)
    rest = domain
    pieces: list[Piece] = []
    for term in walk.context.rows.get(key, ()):
        match = matching(walk, sequences, term.sequences, rest, any_order=term.unique and not sorted_)
        if match is not None:
            pieces.append(Piece(term.atom, match))
            rest = store.set_minus(rest, store.domain(match))
            if store.set_empty(rest):
                break
    if not store.set_empty(rest):
        operands = tuple(dict.fromkeys(atom for letters in sequences.letters for atom in letters.atoms))
        atom = walk.context.atoms.fresh(AtomKind.ROWS, base.type.dtype, rest.arity, operands, label=walk.label())
        walk.note_fresh(atom)
        term = UpdatedTerm(atom, restricted_to(walk, sequences, rest), unique and walk.is_original)
        walk.context.rows.setdefault(key, []).append(term)
        pieces.append(Piece(atom, store.identity_on(rest)))
    walk.context.used("updates in order")
    return Val(base.type, tuple(pieces), domain, theory=theory)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """One combination of index cases: who lands where under which guards."""

    guards: tuple[Atom, ...]
    extra: int
    every: Dom
    """All (update element, element it lands on, guard indices)."""
    lands: Rel
    """Update element → element it lands on."""
    arities: tuple[int, int]


def _numbers(place: _Placed) -> tuple[int, ...]:
    return tuple(guard.number for guard in place.guards)


def _placed(walk: Walk, joint: Guarded, landing: Rel) -> _Placed:
    store = walk.store
    guards, count, rel = joint
    extra = rel.arity_out - count
    keep = _keep(walk, extra)
    with_point = store.pair(store.identity_on(store.domain(rel)), rel)
    placed = store.compose(with_point, store.side_by_side(landing, keep))
    lands = store.project_out(placed, landing.arity_out, extra)
    every = store.range(store.pair(store.identity_on(store.domain(placed)), placed))
    return _Placed(guards, extra, every, lands, (rel.arity_in, landing.arity_out))


def _keep(walk: Walk, count: int) -> Rel:
    inner = ",".join(names("g", count))
    return walk.store.rel(f"{{[{inner}] -> [{inner}]}}")


def _known(walk: Walk, base: Val, updates: Val, placed: Sequence[_Placed], domain: Dom) -> tuple[Piece, ...] | None:
    """The result as a view where no index is unknown and no element is set twice, else None."""
    store = walk.store
    if any(place.guards for place in placed):
        return None
    source: Rel | None = None
    for place in placed:
        back = store.reverse(place.lands)
        source = back if source is None else store.union(source, back)
    pieces = [Piece(piece.atom, store.restrict(piece.rel, domain)) for piece in base.pieces]
    if source is not None and not store.empty(source):
        if not store.single_valued(source):
            return None
        outside = store.set_minus(domain, store.domain(source))
        pieces = [Piece(piece.atom, store.restrict(piece.rel, outside)) for piece in base.pieces]
        inside = store.restrict(source, domain)
        pieces.extend(Piece(piece.atom, store.compose(inside, piece.rel)) for piece in updates.pieces)
    return gathered(store, pieces)


def _sequences(walk: Walk, base: Val, updates: Val, placed: Sequence[_Placed], domain: Dom) -> Sequences:
    """For each element: itself at the least position, then each update that may land on it, guards told apart."""
    store = walk.store
    devices = len(walk.mesh.sizes)
    local = updates.type.rank
    depth = 2 + local + max((place.extra for place in placed), default=0)
    # cases under other guards are told apart by number; of the cases under the same guards only one holds at a time
    cases = sorted({_numbers(place) for place in placed})
    point = names("o", domain.arity)
    start = store.rel(f"{{[{','.join([*point, *['0'] * depth])}] -> [{','.join(point)}]}}")
    by_atom: dict[Atom, Rel] = {}

    def add(atom: Atom, turn: int, rel: Rel) -> None:
        # whether an element is the operand's or an update's is part of what it is
        tagged = store.pair(store.compose(walk.forget(rel), store.rel(f"{{[] -> [{turn}]}}")), rel)
        if not store.empty(tagged):
            by_atom[atom] = store.union(by_atom[atom], tagged) if atom in by_atom else tagged

    for piece in base.pieces:
        add(piece.atom, 0, store.compose(start, store.restrict(piece.rel, domain)))
    for place in placed:
        u, o, g = names("u", place.arities[0]), names("o", place.arities[1]), names("g", place.extra)
        whole = f"[{','.join([*u, *o, *g])}]"
        zeros = ["0"] * (depth - 2 - local - place.extra)
        position = [*o, "1", *u[devices:], str(cases.index(_numbers(place))), *g, *zeros]
        at = store.restrict(store.rel(f"{{{whole} -> [{','.join(position)}]}}"), place.every)
        read = store.compose(store.reverse(at), store.rel(f"{{{whole} -> [{','.join([*u, *g])}]}}"))
        for piece in updates.pieces:
            rel = store.compose(read, store.side_by_side(piece.rel, _keep(walk, place.extra)))
            add(walk.context.atoms.guard(piece.atom, place.guards), 1, rel)
    letters = tuple(Letters((atom,), rel) for atom, rel in by_atom.items())
    return restricted_to(walk, Sequences(letters, domain.arity, depth, domain), domain)
