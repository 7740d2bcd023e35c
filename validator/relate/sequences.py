"""When two families of sequences (`ops/sequence_maps.py`) are the same.

Two families that are told by different positions, such as a whole dimension on one
side and devices × local elements on the other, are the same at b and m(b) if equal elements are paired by a map of
positions that loses none and keeps their order. All of it is decided on relations, nothing is enumerated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ops.sequence_maps import Sequences
from ..relation.build import names
from ..relation.store import Dom, Rel

if TYPE_CHECKING:
    from .walk import Walk


def matching(
    walk: Walk,
    mine: Sequences,
    other: Sequences,
    domain: Dom,
    *,
    any_order: bool = False,
    any_count: bool = False,
    in_place: bool = False,
) -> Rel | None:
    """A single-valued m of batch points with equal sequences everywhere on its domain.

    `in_place` asks for equal elements at equal positions, `any_order` for the same elements in some order, and
    `any_count` besides lets an element occur any number of times.
    """
    store = walk.store
    theirs = {letters.atoms: letters.rel for letters in other.letters}
    parts = [
        store.compose(letters.rel, store.reverse(theirs[letters.atoms]))
        for letters in mine.letters
        if letters.atoms in theirs
    ]
    same: Rel | None = None
    for part in parts:
        same = part if same is None else store.union(same, part)
    if same is None:
        return None
    if in_place:
        aligned = _aligned(walk, mine, other)
        if aligned is None:
            return None
        same = store.meet(same, aligned)
        parts = [store.meet(part, aligned) for part in parts]
    lead = walk.leading_map(mine.arity + mine.depth, mine.arity)
    back = store.reverse(lead)

    def points_of(pairs: Rel) -> Rel:
        return store.restrict(store.project_out(store.compose(back, pairs), other.arity, other.depth), domain)

    match = points_of(same)
    if store.empty(match):
        return None
    if not store.single_valued(match):
        starts = store.restrict_range(store.restrict(same, _first(walk, mine)), _first(walk, other))
        for pairs in (starts, *parts):
            narrowed = store.meet(match, points_of(pairs))
            others = store.restrict(match, store.set_minus(store.domain(match), store.domain(narrowed)))
            match = store.union(narrowed, others)
    if not store.single_valued(match):
        match = store.lexmin(match)
    match = store.restrict_range(match, other.domain)
    # equal positions are in order
    ordered = not (in_place or (any_order and any_count))
    bad = _differing(walk, mine, other, match, same, lead, ordered=ordered, any_order=any_order)
    good = store.set_minus(store.domain(match), bad)
    return None if store.set_empty(good) else store.restrict(match, good)


def _differing(
    walk: Walk,
    mine: Sequences,
    other: Sequences,
    match: Rel,
    same: Rel,
    lead: Rel,
    *,
    ordered: bool,
    any_order: bool,
) -> Dom:
    """The batch points b at which the sequence is not shown to be the other's at match(b).

    `same` relates (b, position) to every (b', position') that holds the same element. `ordered` asks for one partner
    each, all different, and unless `any_order` is allowed in the same order.
    """
    store = walk.store
    points = store.domain(match)
    positions = names("k", other.depth)
    anywhere = store.rel(f"{{[] -> [{','.join(positions)}]}}")
    at_match = store.compose(lead, match)
    free = store.compose(walk.forget(at_match), anywhere)
    partners = store.project_out(store.meet(same, store.pair(at_match, free)), 0, other.arity)
    own: Dom | None = None
    for letters in mine.letters:
        where = store.domain(letters.rel)
        own = where if own is None else store.set_union(own, where)
    needed: Rel | None = None
    for letters in other.letters:
        where = _positions(walk, letters.rel, other)
        needed = where if needed is None else store.union(needed, where)
    assert own is not None and needed is not None
    bad = walk.leading(store.set_minus(own, store.domain(partners)), mine.arity)
    if ordered and not store.single_valued(partners):
        partners = store.lexmin(partners)
    reached = store.compose(store.reverse(lead), partners)
    missed = store.minus(store.compose(match, needed), reached)
    bad = store.set_union(bad, store.domain(missed))
    if ordered:
        bad = store.set_union(bad, _disordered(walk, mine, other, partners, lead, any_order))
    return store.set_meet(bad, points)


def _aligned(walk: Walk, mine: Sequences, other: Sequences) -> Rel | None:
    """All pairs (b, position) → (b', position) of equal positions; None where those have other dimensions."""
    if mine.depth != other.depth:
        return None
    b, c, k = names("b", mine.arity), names("c", other.arity), names("k", mine.depth)
    return walk.store.rel(f"{{[{','.join([*b, *k])}] -> [{','.join([*c, *k])}]}}")


def _first(walk: Walk, sequences: Sequences) -> Dom:
    """The points (b, position) at which sequences begin."""
    store = walk.store
    places: Rel | None = None
    for letters in sequences.letters:
        where = _positions(walk, letters.rel, sequences)
        places = where if places is None else store.union(places, where)
    assert places is not None
    first = store.lexmin(places)
    return store.range(store.pair(store.identity_on(store.domain(first)), first))


def _positions(walk: Walk, rel: Rel, sequences: Sequences) -> Rel:
    """{b -> position} where some element is."""
    store = walk.store
    point = names("p", sequences.arity + sequences.depth)
    tail = ",".join(point[sequences.arity :])
    to_tail = store.restrict(store.rel(f"{{[{','.join(point)}] -> [{tail}]}}"), store.domain(rel))
    lead = walk.leading_map(len(point), sequences.arity)
    return store.compose(store.reverse(store.restrict(lead, store.domain(rel))), to_tail)


def _disordered(walk: Walk, mine: Sequences, other: Sequences, partners: Rel, lead: Rel, any_order: bool) -> Dom:
    """The batch points at which positions s < s' have partners that are not t < t' (or equal, if any order will do)."""
    store = walk.store
    point = names("p", mine.arity + mine.depth)
    tail = store.rel(f"{{[{','.join(point)}] -> [{','.join(point[mine.arity :])}]}}")
    graph = store.compose(store.reverse(lead), store.pair(store.restrict(tail, store.domain(partners)), partners))
    twice = store.pair(graph, graph)
    s, t, u, v = names("s", mine.depth), names("t", other.depth), names("u", mine.depth), names("v", other.depth)
    tuples = ",".join([*s, *t, *u, *v])
    wrong = [" and ".join(f"{a} = {b}" for a, b in zip(t, v, strict=True)) or "1 = 1"]
    if not any_order:
        wrong += _less(v, t)
    found = store.set_minus(store.domain(graph), store.domain(graph))
    for first in _less(s, u):
        # one way at a time: their union has as many pieces as there are pairs of ways
        ahead = store.restrict_range(twice, store.dom(f"{{[{tuples}] : {first}}}"))
        if store.empty(ahead):
            continue
        for second in wrong:
            clash = store.restrict_range(ahead, store.dom(f"{{[{tuples}] : {second}}}"))
            if not store.empty(clash):
                found = store.set_union(found, store.domain(clash))
    return found


def _less(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """left < right lexicographically, as alternatives."""
    ways = []
    for k in range(len(left)):
        same = [f"{a} = {b}" for a, b in zip(left[:k], right[:k], strict=True)]
        ways.append(" and ".join([*same, f"{left[k]} < {right[k]}"]))
    return ways
