"""What is looked up at the place of an extreme, as an extreme's place of its own.

Devices that share the entries of a row find the extreme of their own part, tell each other what they found, and look up
whose extreme it is, and where that one has it: g[w], where w is the place of the extreme among values v and g tells a
place for each of them.

Lemma *place of a place*: let f reduce pairs of a value and an index so that it finds where the extreme is, as
`extreme_of` has it. f's choice depends on nothing but how values compare, and how indices do among themselves. So if
w is the index in f over the pairs (v_k, t_k), and g grows strictly with t, then g[w] is the index in f over the pairs
(v_k, g[t_k]). Where g[t] is itself the index, or a growing function of it, in f over the pairs (x_j, u_j), and v_k
compares like the value that goes with it (it is their extreme, or the value read at the place), f being associative
gives the index in f over all these pairs, one sequence after the other. The index must grow strictly from each pair to
the next in the order of (t, u), so that ties are decided as they are in the parts. Start values drop out: each sequence
begins with a pair that has the start's index, before which the start gives way, whatever the value is. Theory: exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..read.ir import TensorType
from ..relation.build import names, passing
from ..relation.objects import Dom, Rel
from .choices import Chooser, Made, chooser_of
from .engine import Engine
from .guarded import Guarded, expanded, split_guarded
from .sequence_maps import Letters, Sequences, collected, read_at
from .sequence_relation import Order
from .values import Piece


class _Pairs(NamedTuple):
    """Pairs of a value and an index that is looked up, at positions of so many dimensions."""

    value: Any
    rel: Rel
    """(point, position) → (where the value is read, t, u, the index)"""
    depth: int


def looked_up(engine: Engine, value: Any) -> Any:
    """An integer that is read at the place of an extreme, as such a place itself; None where it is none."""
    type_, store = value.type, engine.store
    if value.monoid is not None or not type_.dtype.is_integer or type_.dtype.is_bool or not value.pieces:
        return None
    parts = [(engine.unguarded(piece.atom)[0], split_guarded(engine, piece)) for piece in value.pieces]
    guards = parts[0][1].guards
    if len(guards) != 1 or any(part.guards != guards for _, part in parts):
        return None
    made = engine.made_in_order(guards[0])
    chooser, at = chooser_of(engine, made), _guarded_at(engine, [part for _, part in parts])
    if made is None or chooser is None or at is None or not store.set_equal(store.domain(at), value.domain):
        return None
    outer = _sequences_at(engine, made, chooser, at)
    pairs: list[_Pairs] = []
    for letters in outer.letters if outer is not None else ():
        inner = _looked_up_by(engine, chooser, letters, value.domain.arity, parts)
        if inner is None:
            return None
        pairs += inner
    if not pairs or not _grows(engine, pairs, value.domain.arity):
        return None
    integer = engine.integer(type_.dtype)
    found = [((each.value, integer), _dropped(store, each.rel, [-3, -2]), each.depth) for each in pairs]
    sequences = collected(store, found, value.domain.arity, value.domain)
    if not _begins(engine, sequences, chooser.start):
        return None
    types = TensorType(type_.shape, pairs[0].value.dtype), type_
    atoms = tuple(dict.fromkeys(atom for letters in sequences.letters for atom in letters.atoms))
    free, often = chooser.laws.commutative, chooser.laws.commutative and chooser.laws.idempotent
    engine.used("place of a place")
    order = Order(chooser.key, sequences, types, value.theory, atoms, free, often, first=-1, skipped=1)
    return engine.in_order(order)[0]


def _looked_up_by(
    engine: Engine, chooser: Chooser, letters: Letters, arity: int, parts: Sequence[tuple[Any, Guarded]]
) -> list[_Pairs] | None:
    """The pairs that stand for those of one kind; None where some of them are no known integer or place."""
    store, pairs = engine.store, []
    width, depth = letters.atoms[0].arity, letters.rel.arity_in - arity
    lead, covered = _lead(engine, letters.rel, arity), []
    for atom, part in parts:
        # (point, position) → (value, t, what is read, the guard's element, its integer)
        joint = store.pair(letters.rel, store.compose(lead, part.rel))
        joint = _tied(store, joint, width, joint.arity_out - 1)
        if store.empty(joint):
            continue
        read = _dropped(store, joint, range(width + 1 + atom.arity, joint.arity_out))
        cases = [split_guarded(engine, piece) for piece in expanded(engine, atom)]
        made = _found_by(engine, chooser, letters.atoms[0], read, depth, cases)
        if made is None or not store.single_valued(read):
            return None
        covered.append(store.domain(read))
        pairs += made
    return pairs if _is_cut_into(engine, store.domain(letters.rel), covered) else None


def _found_by(
    engine: Engine, chooser: Chooser, value: Any, read: Rel, depth: int, cases: Sequence[Guarded]
) -> list[_Pairs] | None:
    """`read` relates (point, position) to (value, t, index of an atom), of which `cases` are what integers it is."""
    store, width, here = engine.store, value.arity, engine.store.domain(read)
    pairs, covered = [], []
    if not any(case.guards for case in cases):
        for case in cases:
            rel = store.compose(read, store.side_by_side(passing(store, width + 1), case.rel))
            if not store.empty(rel):
                pairs.append(_Pairs(value, _arranged(store, rel, [*range(width + 1), "0", width + 1]), depth))
                covered.append(store.domain(rel))
        return pairs if _is_cut_into(engine, here, covered) else None
    guards = cases[0].guards
    if len(guards) != 1 or any(case.guards != guards for case in cases):
        return None
    # (point, position) → (t, integer, the guard's element, its integer)
    place = _dropped(store, read, range(width))
    reads = [store.compose(place, store.side_by_side(passing(store, 1), case.rel)) for case in cases]
    made = engine.made_in_order(guards[0])
    at = _guarded_at(engine, [Guarded(guards, 2, rel) for rel in reads])
    if chooser_of(engine, made) != chooser or made is None or at is None or not store.set_equal(store.domain(at), here):
        return None
    inner = _sequences_at(engine, made, chooser, at)
    where = _dropped(store, read, range(width, read.arity_out))
    if inner is None or not _goes_with(engine, chooser, value, where, guards[0], made, at, inner):
        return None
    for letters in inner.letters:
        lead, own = _lead(engine, letters.rel, read.arity_in), letters.atoms[0].arity
        covered = []
        for rel in reads:
            # … and what the sequence has there: (value, u, t, integer, the guard's element, its integer)
            joint = store.pair(letters.rel, store.compose(lead, rel))
            joint = _tied(store, joint, own, joint.arity_out - 1)
            if store.empty(joint):
                continue
            told = _arranged(store, joint, [*range(own), own + 1, own, own + 2])
            pairs.append(_Pairs(letters.atoms[0], told, depth + inner.depth))
            covered.append(store.domain(joint))
        if not _is_cut_into(engine, store.domain(letters.rel), covered):
            return None
    return pairs


# which values these are ---------------------------------------------------------------------------------------------


def _goes_with(
    engine: Engine, chooser: Chooser, value: Any, where: Rel, index: Any, made: Made, at: Rel, inner: Sequences
) -> bool:
    """Whether a value, read through `where`, compares like the one at the index that is read through `at`."""
    store, own = engine.store, engine.made_in_order(value)
    if own is not None and own.term == made.term and own.number == 0:
        return store.equal(where, at)
    # a value without a definition may be the only one
    monoid, pieces = engine.defined_as(value) or (chooser.extreme, (Piece(value, passing(store, value.arity)),))
    read = [(*engine.unguarded(piece.atom), store.compose(where, piece.rel)) for piece in pieces]
    if monoid is chooser.extreme:
        have, want = {}, {}
        for atom, guards, rel in read:
            if guards:
                return False
            have[atom] = store.union(have[atom], rel) if atom in have else rel
        for letters in inner.letters:
            atom, values = letters.atoms[0], _dropped(store, letters.rel, [-1])
            every = store.compose(store.reverse(_lead(engine, values, at.arity_in)), values)
            want[atom] = store.union(want[atom], every) if atom in want else every
        return have.keys() == want.keys() and all(store.equal(have[atom], want[atom]) for atom in want)
    if monoid is not None or not read or any(guards != (index,) for _, guards, _ in read):
        return False
    tested = _guarded_at(engine, [Guarded((index,), atom.arity, rel) for atom, _, rel in read])
    if tested is None or not store.equal(tested, at):
        return False
    for letters in inner.letters:
        lead, own_arity, covered = _lead(engine, letters.rel, at.arity_in), letters.atoms[0].arity, []
        for atom, _, rel in read:
            joint = store.pair(letters.rel, store.compose(lead, rel))
            joint = _tied(store, joint, own_arity, joint.arity_out - 1)
            if store.empty(joint):
                continue
            if atom is not letters.atoms[0]:
                return False
            same = joint
            for k in range(own_arity):
                same = _tied(store, same, k, own_arity + 1 + k)
            if not store.equal(same, joint):
                return False
            covered.append(store.domain(joint))
        if not _is_cut_into(engine, store.domain(letters.rel), covered):
            return False
    return True


# sequences ----------------------------------------------------------------------------------------------------------


def _sequences_at(engine: Engine, made: Made, chooser: Chooser, at: Rel) -> Sequences | None:
    """The pairs that an index was found in, at each point; None unless indices are known and the start gives way."""
    sequences, store = made.sequences, engine.store
    if made.number != 1 or not store.set_subset(store.range(at), sequences.domain):
        return None
    if any(len(each.atoms) != 2 or not engine.is_integer(each.atoms[1]) for each in sequences.letters):
        return None
    read = read_at(store, sequences, at)
    return read if _begins(engine, read, chooser.start) else None


def _begins(engine: Engine, sequences: Sequences, start: int) -> bool:
    """Whether at each point the first pair has this index, which is the last that its letters are read by."""
    store, arity, first = engine.store, sequences.arity, None
    for letters in sequences.letters:
        position = engine.leading_map(arity + sequences.depth, arity)
        tail = _dropped(store, passing(store, arity + sequences.depth), range(arity))
        domain = store.domain(letters.rel)
        places = store.compose(store.reverse(store.restrict(position, domain)), store.restrict(tail, domain))
        first = places if first is None else store.union(first, places)
    if first is None or not store.set_subset(sequences.domain, store.domain(first)):
        return False
    first = store.lexmin(first)
    here = store.range(store.pair(store.identity_on(store.domain(first)), first))
    only = store.dom(f"{{[{start}]}}")
    reads = [store.restrict(letters.rel, here) for letters in sequences.letters]
    return all(store.set_subset(store.range(_dropped(store, rel, range(rel.arity_out - 1))), only) for rel in reads)


def _grows(engine: Engine, pairs: Iterable[_Pairs], arity: int) -> bool:
    """Whether at each point the index is another one for each (t, u), and grows with them."""
    store, told = engine.store, None
    for each in pairs:
        last = _dropped(store, each.rel, range(each.rel.arity_out - 3))
        every = store.compose(store.reverse(_lead(engine, each.rel, arity)), last)
        told = every if told is None else store.union(told, every)
    assert told is not None
    twice = store.pair(told, told)
    wrong = "((t < s or (t = s and u < v)) and n >= m) or (t = s and u = v and n < m)"
    return store.empty(store.restrict_range(twice, store.dom(f"{{[t, u, n, s, v, m] : {wrong}}}")))


# relations ----------------------------------------------------------------------------------------------------------


def _guarded_at(engine: Engine, parts: Sequence[Guarded]) -> Rel | None:
    """{p -> the element that the one guard of all these tests}; None where that is not one."""
    store, found = engine.store, None
    for part in parts:
        rest = [*range(part.width), part.rel.arity_out - 1]
        element = _dropped(store, part.rel, rest)
        found = element if found is None else store.union(found, element)
    return found if found is not None and store.single_valued(found) else None


def _is_cut_into(engine: Engine, whole: Dom, parts: Sequence[Dom]) -> bool:
    """Whether each point of a set is in exactly one of its parts."""
    store, rest = engine.store, whole
    for part in parts:
        if not store.set_subset(part, rest):
            return False
        rest = store.set_minus(rest, part)
    return store.set_empty(rest)


def _lead(engine: Engine, rel: Rel, arity: int) -> Rel:
    """{(p, position) -> p} where a relation is defined."""
    return engine.store.restrict(engine.leading_map(rel.arity_in, arity), engine.store.domain(rel))


def _dropped(store: Any, rel: Rel, dropped: Iterable[int]) -> Rel:
    """A relation without some coordinates of its range."""
    gone = {k % rel.arity_out for k in dropped}
    return _arranged(store, rel, [k for k in range(rel.arity_out) if k not in gone])


def _arranged(store: Any, rel: Rel, kept: Sequence[int | str]) -> Rel:
    """A relation with these coordinates of its range, or numbers in their place."""
    every = names("z", rel.arity_out)
    target = [place if isinstance(place, str) else every[place] for place in kept]
    return store.compose(rel, store.rel(f"{{[{','.join(every)}] -> [{','.join(target)}]}}"))


def _tied(store: Any, rel: Rel, first: int, second: int) -> Rel:
    """A relation where two coordinates of its range are equal."""
    every = names("z", rel.arity_out)
    return store.restrict_range(rel, store.dom(f"{{[{','.join(every)}] : {every[first]} = {every[second]}}}"))
