"""Sequences of elements, one for every point: what an op that takes elements in order takes.

A sequence is told by the relation (point, position) → element; positions are ordered lexicographically, and where
there is none, there is no element. An element may be a tuple, read from one atom each. Atoms are whatever the engine at
hand names elements by; a value is given as its pieces (atom, point → index) and the points at which it is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..relation.build import leading, names, passing
from ..relation.objects import Dom, Rel

Pieces = Sequence[tuple[Any, Rel]]


@dataclass(frozen=True, slots=True, eq=False)
class Letters:
    """Elements of sequences that are read from the same atoms: (batch point, position) → index of each atom."""

    atoms: tuple[Any, ...]
    rel: Rel


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """A sequence of elements for every batch point of the domain, at most one element at a position."""

    letters: tuple[Letters, ...]
    arity: int
    depth: int
    domain: Dom


def restricted_to(store: Any, sequences: Sequences, domain: Dom) -> Sequences:
    """The sequences of these points only."""
    everywhere = store.everything(sequences.depth)
    kept = tuple(
        Letters(letters.atoms, rel)
        for letters in sequences.letters
        if not store.empty(rel := store.restrict(letters.rel, store.set_product(domain, everywhere)))
    )
    return Sequences(kept, sequences.arity, sequences.depth, domain)


def read_at(store: Any, sequences: Sequences, rel: Rel) -> Sequences:
    """For each p the sequence at rel(p), where p may have a position as its last coordinates: that one comes first."""
    whole = store.side_by_side(rel, passing(store, sequences.depth))
    made = [Letters(letters.atoms, store.compose(whole, letters.rel)) for letters in sequences.letters]
    kept = tuple(letters for letters in made if not store.empty(letters.rel))
    return Sequences(kept, rel.arity_in, sequences.depth, store.domain(rel))


def earlier(store: Any, arity: int, depth: int) -> list[Rel]:
    """{(p, s) -> (p, t)} with position s before t, by the first coordinate in which they differ."""
    p, s, t = names("p", arity), names("s", depth), names("t", depth)
    ways = [" and ".join([f"{s[k]} < {t[k]}", *(f"{s[j]} = {t[j]}" for j in range(k))]) for k in range(depth)]
    return [store.rel(f"{{[{','.join([*p, *s])}] -> [{','.join([*p, *t])}] : {way}}}") for way in ways]


# elements of rows ---------------------------------------------------------------------------------------------------


class Elements(NamedTuple):
    """Tuples of elements that are read from the same atoms, where all of them are."""

    atoms: tuple[Any, ...]
    rels: tuple[Rel, ...]
    where: Dom


def row_elements(
    store: Any, values: Sequence[tuple[Pieces, Dom]], read: Rel, row_rank: int, limit: Callable[[int], None]
) -> tuple[list[Elements], Dom]:
    """The tuples of elements at each (batch point, row index), and the batch points at which all are defined.

    `read` relates (batch point, row index) to the points of every value.
    """
    everything, arity = store.domain(read), read.arity_in - row_rank
    lead = leading(store, read.arity_in, arity)
    domain = store.image(everything, lead)
    found = [Elements((), (), everything)]
    for pieces, defined in values:
        undefined = store.set_minus(store.range(read), defined)
        domain = store.set_minus(domain, store.image(store.preimage(undefined, read), lead))
        extended = []
        for atoms, rels, where in found:
            for atom, own in pieces:
                rel = store.compose(read, own)
                common = store.set_meet(where, store.domain(rel))
                if not store.set_empty(common):
                    extended.append(Elements((*atoms, atom), (*rels, rel), common))
        limit(len(extended))
        found = extended
    unknown = everything
    for each in found:
        unknown = store.set_minus(unknown, each.where)
    return found, store.set_minus(domain, store.image(unknown, lead))


def together(store: Any, rels: Sequence[Rel]) -> Rel:
    """{p -> all that the relations relate it to, one behind the other}."""
    joint = rels[0]
    for rel in rels[1:]:
        joint = store.pair(joint, rel)
    return joint


def collected(store: Any, parts: Sequence[tuple[tuple[Any, ...], Rel, int]], arity: int, domain: Dom) -> Sequences:
    """Sequences of parts (atoms, relation, dimensions of its positions), with positions of equally many dimensions."""
    depth = max((own for _, _, own in parts), default=0)
    by_atoms: dict[tuple[Any, ...], Rel] = {}
    for atoms, rel, own in parts:
        point = names("p", rel.arity_in)
        deeper = store.rel(f"{{[{','.join([*point, *['0'] * (depth - own)])}] -> [{','.join(point)}]}}")
        deep = store.compose(deeper, rel) if own < depth else rel
        by_atoms[atoms] = store.union(by_atoms[atoms], deep) if atoms in by_atoms else deep
    letters = tuple(Letters(atoms, rel) for atoms, rel in by_atoms.items())
    return restricted_to(store, Sequences(letters, arity, depth, domain), domain)


# updates, one after the other -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """One combination of index cases: who lands where under which guards."""

    guards: tuple[Any, ...]
    extra: int
    every: Dom
    """All (update element, element it lands on, guard indices)."""
    lands: Rel
    """Update element → element it lands on."""
    arities: tuple[int, int]


def placed(store: Any, joint: tuple[tuple[Any, ...], int, Rel], landing: Rel) -> Placed:
    """`landing` relates (update element, index values) to the element it lands on."""
    guards, count, rel = joint
    extra = rel.arity_out - count
    with_point = store.pair(store.identity_on(store.domain(rel)), rel)
    found = store.compose(with_point, store.side_by_side(landing, passing(store, extra)))
    lands = store.project_out(found, landing.arity_out, extra)
    every = store.range(store.pair(store.identity_on(store.domain(found)), found))
    return Placed(guards, extra, every, lands, (rel.arity_in, landing.arity_out))


def replaced(store: Any, base: Pieces, updates: Pieces, places: Sequence[Placed], domain: Dom) -> Pieces | None:
    """The result as a view where no index is unknown and no element is set twice, else None."""
    if any(place.guards for place in places):
        return None
    source: Rel | None = None
    for place in places:
        back = store.reverse(place.lands)
        source = back if source is None else store.union(source, back)
    if source is None or store.empty(source):
        return [(atom, store.restrict(rel, domain)) for atom, rel in base]
    if not store.single_valued(source):
        return None
    outside, inside = store.set_minus(domain, store.domain(source)), store.restrict(source, domain)
    found = [(atom, store.restrict(rel, outside)) for atom, rel in base]
    return [*found, *((atom, store.compose(inside, rel)) for atom, rel in updates)]


def update_sequences(
    store: Any,
    base: Pieces,
    updates: Pieces,
    places: Sequence[Placed],
    domain: Dom,
    devices: int,
    guard: Callable[[Any, tuple[Any, ...]], Any],
) -> Sequences:
    """For each element: itself at the least position, then each update that may land on it, guards told apart.

    Points of updates start with as many device coordinates. An element is (0, x) of the operand or (1, y) of an update:
    whose it is is part of what it is.
    """
    local = places[0].arities[0] - devices if places else 0
    depth = 2 + local + max((place.extra for place in places), default=0)
    # cases under other guards are told apart by number; of the cases under the same guards only one holds at a time
    cases = sorted({_numbers(place) for place in places})
    point = names("o", domain.arity)
    start = store.rel(f"{{[{','.join([*point, *['0'] * depth])}] -> [{','.join(point)}]}}")
    parts: list[tuple[tuple[Any, ...], Rel, int]] = []

    def add(atom: Any, turn: int, rel: Rel) -> None:
        tagged = store.pair(store.compose(store.project_out(rel, 0, rel.arity_out), _turn(store, turn)), rel)
        if not store.empty(tagged):
            parts.append(((atom,), tagged, depth))

    for atom, rel in base:
        add(atom, 0, store.compose(start, store.restrict(rel, domain)))
    for place in places:
        u, o, g = names("u", place.arities[0]), names("o", place.arities[1]), names("g", place.extra)
        whole = f"[{','.join([*u, *o, *g])}]"
        zeros = ["0"] * (depth - 2 - local - place.extra)
        position = [*o, "1", *u[devices:], str(cases.index(_numbers(place))), *g, *zeros]
        at = store.restrict(store.rel(f"{{{whole} -> [{','.join(position)}]}}"), place.every)
        read = store.compose(store.reverse(at), store.rel(f"{{{whole} -> [{','.join([*u, *g])}]}}"))
        for atom, rel in updates:
            add(guard(atom, place.guards), 1, store.compose(read, store.side_by_side(rel, passing(store, place.extra))))
    return collected(store, parts, domain.arity, domain)


def _turn(store: Any, turn: int) -> Rel:
    return store.rel(f"{{[] -> [{turn}]}}")


def _numbers(place: Placed) -> tuple[Hashable, ...]:
    return tuple(guard.number for guard in place.guards)
